/*
 * One iperf3 test being served: the control connection, its streams, and what they carried.
 * Internal to the receiving engine.
 */
#ifndef OVL_LOAD_IPERF3_RUN_H
#define OVL_LOAD_IPERF3_RUN_H

#include <stdint.h>

#include "load/iperf3_server.h"
#include "load/mover.h"

struct ovl_conn;
struct ovl_conn_ctx;

struct ovl_iperf3_run {
	struct ovl_conn *control; /* NULL: no test runs */
	struct ovl_conn *stream[OVL_IPERF3_STREAMS_MAX];
	struct ovl_mover_source source; /* when the test is a reverse one */
	uint64_t start_ns;
	uint64_t measure_ns; /* when the omitted time ended; 0: not yet */
	uint64_t active_ns;  /* when bytes were last seen to move */
	uint64_t moved_bytes;
	uint64_t user_ns, system_ns;		     /* CPU time at measure_ns */
	uint64_t base_bytes[OVL_IPERF3_STREAMS_MAX]; /* at measure_ns */
	uint64_t base_retransmits[OVL_IPERF3_STREAMS_MAX];
	uint64_t gone_bytes[OVL_IPERF3_STREAMS_MAX]; /* carried by streams that left early */
	struct ovl_iperf3_results ours;		     /* from the end of the test on */
};

/** Can the connection have the congestion control that is asked for? It gets it; false: errno. */
bool ovl_iperf3_run_congestion(const struct ovl_conn *conn, const struct ovl_iperf3_params *params);
/** Give a stream's socket what the client asked for. */
void ovl_iperf3_run_dress(const struct ovl_conn *conn, const struct ovl_iperf3_params *params);
/** A client's cookie has come: begin to talk. 0 or -errno: close. */
int ovl_iperf3_run_begin(struct ovl_conn_ctx *ctx, struct ovl_conn *conn, uint64_t now_ns);
/** The control connection can be read or written. 0 or -errno: close. */
int ovl_iperf3_run_control(struct ovl_conn_ctx *ctx, struct ovl_conn *conn, uint64_t now_ns);
/** A connection has sent the running test's cookie. 0 or -errno: close. */
int ovl_iperf3_run_join(struct ovl_conn_ctx *ctx, struct ovl_conn *conn, uint64_t now_ns);
/** A stream can be read or written. 0 or -errno: close. */
int ovl_iperf3_run_data(struct ovl_conn_ctx *ctx, struct ovl_conn *conn);
/** End of the omitted time, silence. Due at ovl_iperf3_run_due_ns and at each tick. */
void ovl_iperf3_run_tick(struct ovl_conn_ctx *ctx, uint64_t now_ns);
/** When the next tick must not be missed; UINT64_MAX: any time. */
uint64_t ovl_iperf3_run_due_ns(const struct ovl_conn_ctx *ctx);
/** A connection of the test, or one that wanted to be, is being closed. */
void ovl_iperf3_run_leave(struct ovl_conn_ctx *ctx, struct ovl_conn *conn, uint64_t now_ns);

#endif
