/*
 * The waterfall of a run: the rows of the lane that limits the overlay, their losses, standard
 * errors and what each would be worth.
 */
#ifndef OVL_MODEL_FALL_H
#define OVL_MODEL_FALL_H

#include <stdbool.h>
#include <stdint.h>

#include "model/model.h"
#include "model/rows.h"
#include "model/verdict.h"

/** Rows of one lane in both phases (ns), and the connection's of the same slices. */
struct ovl_fall_in {
	/* rows are the connection's (OVL_ROWS_CONN), else a CPU's (OVL_ROWS_CPU) */
	bool connection;
	bool saturated; /* idle is a term of its own */
	uint64_t u[OVL_ROW_COUNT], o[OVL_ROW_COUNT];
	bool conn_valid;
	uint64_t conn_u[OVL_ROWS_CONN], conn_o[OVL_ROWS_CONN];
	uint64_t bytes_u, bytes_o;
};

/** Terms by enum ovl_row; underlay − overlay = Σ of the shown ones + unexplained, exactly. */
struct ovl_fall {
	int64_t bps[OVL_ROW_COUNT];
	bool shown[OVL_ROW_COUNT];
	uint64_t o_ns[OVL_ROW_COUNT]; /* overlay time behind the term */
	int64_t underlay_bps, overlay_bps, unexplained_bps;
};

/**
 * Split the loss. On a CPU that is not saturated, idle's loss goes to the connection's states in
 * proportion to their overlay shares, each capped at its own loss as TCP_INFO shows it (what a cap
 * leaves over goes to the states that still have room); the rest is unexplained, as is unclassified
 * time. A negative idle loss is slack that the overlay used up: a term in any case.
 * Errors as ovl_waterfall_split.
 */
int ovl_fall_split(const struct ovl_fall_in *in, struct ovl_fall *out);

/**
 * Underlay rows estimated from overlay rows (no underlay was measured): rows that the underlay
 * would also have keep their time; rows that only the overlay has get 0 (half of IP, the second
 * pass); exogenous rows keep their share of wall time. low: only encapsulation, decapsulation and
 * the second pass; else also bridge, segmentation, aggregation, fragmentation and half of
 * netfilter.
 * Payload bytes are the overlay's.
 */
void ovl_fall_estimate(const uint64_t *o, bool low, uint64_t *u);

/** Fill *w for the lane of *choice. 0 or -ENOMEM; what cannot be drawn says so in why_not. */
int ovl_fall_build(const struct ovl_model_state *state, const struct ovl_facts *facts,
		   const struct ovl_choice *choice, struct ovl_waterfall *w);

#endif
