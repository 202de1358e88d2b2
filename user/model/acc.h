/*
 * Accumulators of lanes: pooled sums of clocks, samples and TCP_INFO that can be added up and taken
 * apart again (the jackknife leaves pairs out). Pure.
 */
#ifndef OVL_MODEL_ACC_H
#define OVL_MODEL_ACC_H

#include <stdbool.h>
#include <stdint.h>

#include "bpf/abi.h"
#include "model/rows.h"
#include "model/sample.h"

/**
 * One CPU as a lane: its clock and its busy samples by row. Samples on the entry of the interrupt
 * that woke the CPU (OVL_CTX_WAKE) were idle time or the entry's own work; which, only the clock
 * can tell, and only over many of them. They are kept apart, and whenever rows are made from the
 * sums as many of them count as busy as busy time × hz leaves over the certain samples
 * (model/wake.h).
 */
struct ovl_lane_acc {
	uint64_t wall_ns, idle_ns, steal_ns;
	uint64_t n[OVL_ROWS_SAMPLED];	/* certain ones */
	uint64_t wake[OVL_STAGE_COUNT]; /* their row is their stage */
};

/** The connection as a lane (sender's TCP_INFO), over the measured part of the slices. */
struct ovl_conn_acc {
	uint64_t wall_ns, bytes, retransmits;
	uint64_t busy_us, rwnd_us, sndbuf_us;
};

/** One CPU in one phase. Wake samples are in lane.wake only. */
struct ovl_cpu_acc {
	struct ovl_lane_acc lane;
	uint64_t n_stage[OVL_STAGE_COUNT];    /* by the stage of the cost table */
	uint64_t n_class[OVL_TASK_CLASSES];   /* task and user context */
	uint64_t n_softirq, n_softirq_rx;     /* _rx: in stages of the receive side */
	uint64_t n_path_task, n_path_softirq; /* in stages of the packet path */
};

/**
 * Is this stage work of the packet path (not user mode, system calls or unspecified kernel work)?
 */
bool ovl_acc_path_stage(int stage);
void ovl_acc_clock(struct ovl_lane_acc *to, const struct ovl_cpu_clock *clock);
/** Count a hit in a lane; row as ovl_row_of says. */
void ovl_acc_lane_hit(struct ovl_lane_acc *to, const struct ovl_hit *hit, int row);
/** The same for a CPU; stage: where the cost table has it. */
void ovl_acc_cpu_hit(struct ovl_cpu_acc *to, const struct ovl_hit *hit, int row, int stage);
/** busy = wall − idle − steal, 0 when the clocks disagree. */
uint64_t ovl_acc_busy_ns(const struct ovl_lane_acc *a);
/** Certain busy samples of a lane. */
uint64_t ovl_acc_samples(const struct ovl_lane_acc *a);
/** Wake samples of a lane, busy or not. */
uint64_t ovl_acc_wakes(const struct ovl_lane_acc *a);

void ovl_acc_lane_add(struct ovl_lane_acc *to, const struct ovl_lane_acc *a);
void ovl_acc_lane_sub(struct ovl_lane_acc *from, const struct ovl_lane_acc *a);
void ovl_acc_conn_add(struct ovl_conn_acc *to, const struct ovl_conn_acc *c);
void ovl_acc_conn_sub(struct ovl_conn_acc *from, const struct ovl_conn_acc *c);

#endif
