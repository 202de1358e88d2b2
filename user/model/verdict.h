/*
 * The verdict: what limits the overlay, asked before any waterfall, and the lane to draw it for.
 *
 * With our load, for the overlay slices, first match wins:
 * 1. no byte arrived                          blocked (the sender tried) or no_traffic
 * 2. a CPU with idle ≤ max(3 %, 2 SE)         its softirq, task, daemon or proxy, or steal; by the
 * larger share
 * 3. a state of the connection ≥ 50 %         rwnd, sndbuf: window; app: application; net: loss or
 * window
 * 4. unknown, with all lanes as evidence
 * Without load: no_traffic, a full CPU that works for the packet path, or unknown
 * (ovl_node_verdict).
 *
 * Confidence = min(threshold, distance) × (1 − ledger error), with
 *   threshold = 0.5 + 0.5 × how deep inside its threshold the verdict is (CPU: 1 − idle/threshold;
 *               connection: (share − 0.5)/0.5),
 *   distance  = 0.5 + 0.5 × min(1, points between first and second candidate / 10 points).
 * What counters prove (blocked, no_traffic) has confidence 1, unknown 0.
 */
#ifndef OVL_MODEL_VERDICT_H
#define OVL_MODEL_VERDICT_H

#include <stdbool.h>
#include <stdint.h>

#include "model/model.h"
#include "model/state.h"

#define OVL_SECOND     0.03 /* lanes this close to the first are named too */
#define OVL_NEARLY     0.15 /* a CPU with no more idle than this still explains the path's pace */
#define OVL_CONN_SHARE 0.50 /* a state of the connection that limits has at least this share */

/** The lane that the waterfall is drawn for. */
struct ovl_choice {
	bool drawn; /* there is one */
	bool connection;
	bool saturated;
	int cpu; /* the lane's CPU, for the connection the fullest CPU of the path; -1: none */
	uint32_t n_runners_up;
	char runners_up[4][32];
	char why_not[OVL_TEXT_MAX];
};

/** Fill *v, and *choice for the waterfall. */
void ovl_verdict_build(const struct ovl_model_state *state, const struct ovl_facts *facts,
		       struct ovl_verdict *v, struct ovl_choice *choice);
#endif
