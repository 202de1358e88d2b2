/*
 * The waterfall's formula: a goodput difference split exactly over the rows of one lane. Pure
 * arithmetic on plain structs, so that vectors and property tests drive it directly.
 *
 * A lane is one serial resource whose wall time is the sum of its rows, idle included. With W the
 * sum of all rows, X that of the exogenous ones, P = W − X, B the payload bytes of a phase, a = P/W
 * and b = B/P, for the phases u (underlay) and o (overlay):
 *
 *   path row        loss = 8e9 · (t_o·B_u − t_u·B_o) / (P_u·P_o) · (a_u + a_o)/2
 *   exogenous row   loss = 8e9 · (t_o/W_o − t_u/W_u) · (b_u + b_o)/2
 *
 * Their sum is T_u − T_o with T = 8e9·B/W (product rule for T = 8e9·a·b).
 */
#ifndef OVL_MODEL_WATERFALL_H
#define OVL_MODEL_WATERFALL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** Time of one row in both phases; exogenous: time the path could not use (other tasks, steal). */
struct ovl_waterfall_row {
	uint64_t u_ns, o_ns;
	bool exogenous;
};

struct ovl_waterfall_in {
	const struct ovl_waterfall_row
		*rows; /* all rows of the lane: their sums are the wall times */
	size_t n;
	uint64_t bytes_u, bytes_o; /* payload delivered in these times; 0 allowed */
};

/** Rounded ends, and what rounding the losses left: underlay − overlay = Σ loss + rest, exactly. */
struct ovl_waterfall_ends {
	int64_t underlay_bps, overlay_bps, rest_bps;
};

/**
 * Losses of in->n rows in bit/s into loss_bps[], each rounded half away from zero.
 * 0, -EDOM: a phase has no wall time or none that the path could use, -ERANGE: no real goodput
 * (above 10^16 bit/s: damaged input). On error nothing is written.
 */
int ovl_waterfall_split(const struct ovl_waterfall_in *in, int64_t *loss_bps,
			struct ovl_waterfall_ends *ends);

/** One lane's part in the question "what if this row cost nothing". */
struct ovl_waterfall_lane {
	double wall_ns, busy_ns; /* overlay phase */
	double removed_ns;	 /* time the change takes off this lane */
	bool limiting;		 /* the lane the waterfall is drawn for */
};

/**
 * Goodput after the change. *low_bps: the limiting lane keeps its idle time per byte; *high_bps:
 * that is used as well. Both are bounded by the busy time of every other lane; NAN when bytes is 0
 * or nothing would be left to bound it.
 */
void ovl_waterfall_removed(const struct ovl_waterfall_lane *lanes, size_t n, uint64_t bytes,
			   double *low_bps, double *high_bps);

#endif
