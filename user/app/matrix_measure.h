/*
 * One row of a matrix in one turn: a lab is made, loaded, and taken down again, whatever happens in
 * between.
 */
#ifndef OVL_APP_MATRIX_MEASURE_H
#define OVL_APP_MATRIX_MEASURE_H

#include <stdbool.h>

#include "app/matrix_suite.h"
#include "base/err.h"
#include "model/matrix.h"

/** How rows are measured, and what was met on the way. */
struct ovl_matrix_how {
	double bulk_s;	    /* measured seconds of bulk; as many again where there is an underlay */
	double latency_s;   /* of round trips */
	bool trace;	    /* false: bandwidth and latency alone */
	int signal_fd;	    /* readable: the user wants an end */
	bool stopped;	    /* it was: the row that was at work is not measured */
	char untraced[256]; /* why tracing was given up, "": it was not */
};

/** Refuse when a lab of this suite is up already: it is not ours to use or to take down. */
int ovl_matrix_labs_free(const struct ovl_matrix_suite *suite, struct ovl_err *err);
/**
 * Measure a row. 0 (also when how->stopped); -ENOENT with *err when a program that the row needs
 * is missing; else -errno with *err. The lab is gone in any case, or the error says that it is not.
 */
int ovl_matrix_measure(const struct ovl_matrix_path *path, struct ovl_matrix_how *how,
		       struct ovl_matrix_turn *turn, struct ovl_err *err);

#endif
