/* A row's latency: round trips of a small message, one at a time, over its path alone. */
#ifndef OVL_APP_MATRIX_LATENCY_H
#define OVL_APP_MATRIX_LATENCY_H

#include "app/matrix_measure.h"
#include "base/err.h"
#include "load/load.h"
#include "model/matrix.h"

/**
 * Fill turn->latency_ns with the median of how->latency_s of round trips; the load carries nothing
 * meanwhile. 0 (also when how->stopped) or -errno with *err.
 */
int ovl_matrix_latency(const struct ovl_load *load, struct ovl_matrix_how *how,
		       struct ovl_matrix_turn *turn, struct ovl_err *err);

#endif
