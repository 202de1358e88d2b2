/*
 * The suites of `ovltrace matrix`: published tables as data. Each row is a path through a lab, with
 * the figures that the table gives for it. Pure.
 */
#ifndef OVL_APP_MATRIX_SUITE_H
#define OVL_APP_MATRIX_SUITE_H

#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "lab/lab.h"
#include "model/matrix.h"

/** One row: what to build, and where in it the load runs. */
struct ovl_matrix_path {
	const char *key, *label;
	struct ovl_lab_spec lab;
	const char *from, *to; /* ends of that lab */
	/* device to look at, and the end that has it; NULL: the lab's own */
	const char *iface, *at;
	const char *host;    /* key of the row that is its 100 %; NULL: the lab's underlay */
	const char *against; /* key of the row that its cost is compared with; NULL: none */
	double seed_bps;     /* 0: none given */
	/* round trip, so twice what qperf prints; 0: none given */
	double seed_latency_ns;
	const char *seed_note; /* NULL: none */
};

struct ovl_matrix_suite {
	const char *name, *about;
	const struct ovl_matrix_path *paths;
	uint32_t n;
};

/** Suite by number from 0, NULL after the last. */
const struct ovl_matrix_suite *ovl_matrix_suite_at(uint32_t i);
/** Suite by name. NULL with OVL_EXIT_USAGE and a sentence that names all. */
const struct ovl_matrix_suite *ovl_matrix_suite_find(const char *name, struct ovl_err *err);
/** Append one line per suite: its name and what it stands for. */
void ovl_matrix_suites(struct ovl_buf *out);
/** An empty matrix of the suite's rows. */
void ovl_matrix_suite_rows(const struct ovl_matrix_suite *suite, struct ovl_matrix *m);
/** Row that is measured at place `i` of a turn: each turn begins one row later. */
uint32_t ovl_matrix_suite_order(const struct ovl_matrix_suite *suite, uint32_t turn, uint32_t i);

#endif
