/*
 * Rows: what the time of a lane is split into. A CPU's lane has the stages, the exogenous rows and
 * idle; the connection's lane has the four states of the sender's socket.
 */
#ifndef OVL_MODEL_ROWS_H
#define OVL_MODEL_ROWS_H

#include <stdbool.h>

#include "model/sample.h"
#include "model/stage.h"

enum ovl_row {
	/* 0 … OVL_STAGE_COUNT − 1: the stages, unclassified included */
	OVL_ROW_OTHER_TASKS = OVL_STAGE_COUNT, /* exogenous from here … */
	OVL_ROW_OVLTRACE,
	OVL_ROW_STEAL, /* … to here; rows below this one are counted by samples */
	OVL_ROW_IDLE,  /* last row of a CPU's lane */
	OVL_ROW_APP,   /* the connection's lane */
	OVL_ROW_RWND,
	OVL_ROW_SNDBUF,
	OVL_ROW_NET,
	OVL_ROW_COUNT,
};
#define OVL_ROWS_SAMPLED OVL_ROW_STEAL /* rows that samples are counted for */
#define OVL_ROWS_CPU	 OVL_ROW_APP   /* rows of a CPU's lane */
#define OVL_ROWS_CONN	 (OVL_ROW_COUNT - OVL_ROW_APP)

/**
 * Row of a sample on a lane's CPU: softirq, hard interrupts and wake samples always belong to their
 * stage, whatever task is current; task and user context of ovltrace and of tasks that do not serve
 * the load are exogenous. −1: damaged.
 */
int ovl_row_of(const struct ovl_hit *hit);
bool ovl_row_exogenous(int row);
/**
 * Key of the waterfall's term: the stage's, or other_tasks, ovltrace, steal, slack, app, rwnd,
 * sndbuf, net.
 */
const char *ovl_row_key(int row);
/** Words for a screen, ≤ 40 columns. */
const char *ovl_row_label(int row);

#endif
