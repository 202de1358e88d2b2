/*
 * Lanes: serial resources whose wall time is split completely into rows. Here: a CPU, and the
 * connection as the sender's TCP_INFO sees it.
 */
#ifndef OVL_MODEL_LANE_H
#define OVL_MODEL_LANE_H

#include <stdbool.h>
#include <stdint.h>

#include "model/state.h"

/**
 * How one CPU spent a phase; shares of its wall time. NAN: no clock, or no samples to share busy
 * out.
 */
struct ovl_lane_shares {
	double idle, steal, busy;
	/* the rest of busy is ovltrace, hard interrupts and settled wake samples */
	double softirq, softirq_rx; /* softirq context; of it in receive stages */
	double task;		    /* task and user context of the load, its daemon and proxy */
	double tx, rx;		    /* … of the load's sending and receiving threads */
	double daemon, proxy, other;
	double path_task, path_softirq; /* in stages of the packet path, by context */
};

/** States of the connection; shares of wall time that add up to 1. */
struct ovl_lane_states {
	bool valid; /* TCP_INFO was read */
	double app, rwnd, sndbuf, net;
};

/**
 * Rows of a CPU over wall_ns (the load's measured time; 0: the CPU clock's own), OVL_ROWS_CPU of
 * them; their sum is the wall time exactly. Idle and steal come from the clock, busy is shared out
 * by samples, wake samples settled at hz (0: unknown); busy time without any sample is
 * unclassified.
 */
void ovl_lane_cpu_rows(const struct ovl_lane_acc *a, uint32_t hz, uint64_t wall_ns, uint64_t *rows);
/**
 * Rows of the connection (OVL_ROWS_CONN: app, rwnd, sndbuf, net); their sum is c->wall_ns exactly.
 */
void ovl_lane_conn_rows(const struct ovl_conn_acc *c, uint64_t *rows);

void ovl_lane_cpu_shares(const struct ovl_cpu_acc *a, uint32_t hz, struct ovl_lane_shares *out);
void ovl_lane_conn_shares(const struct ovl_conn_acc *c, struct ovl_lane_states *out);

/**
 * Standard error of the idle share of pinned CPU `which` (0 sender's, 1 receiver's), overlay
 * slices.
 */
double ovl_lane_idle_stderr(const struct ovl_model_state *state, int which);

#endif
