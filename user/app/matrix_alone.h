/* A row's bandwidth without instruments: the load's own counts, underlay and overlay in turns. */
#ifndef OVL_APP_MATRIX_ALONE_H
#define OVL_APP_MATRIX_ALONE_H

#include "app/matrix_measure.h"
#include "app/options.h"
#include "app/scene.h"
#include "base/err.h"
#include "load/load.h"
#include "model/matrix.h"

/** Fill turn's goodput and its host's. 0 (also when how->stopped) or -errno with *err. */
int ovl_matrix_alone(struct ovl_load *load, const struct ovl_scene *scene,
		     const struct ovl_options *o, struct ovl_matrix_how *how,
		     struct ovl_matrix_turn *turn, struct ovl_err *err);

#endif
