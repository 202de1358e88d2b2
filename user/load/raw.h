/*
 * Senders without a protocol (iperf 2, netcat, strangers): counted, and a test as long as they
 * bring something. Internal to the receiving engine.
 */
#ifndef OVL_LOAD_RAW_H
#define OVL_LOAD_RAW_H

#include <stdint.h>

#include "load/conn.h"

/* to be brought in each OVL_CONN_STEP_NS: less than the slowest -b does */
#define OVL_RAW_LEAST_BYTES 1024

/** The first bytes are no protocol's: count them, unless that would disturb a test. 0 or -EBUSY. */
int ovl_raw_begin(struct ovl_conn_ctx *ctx, struct ovl_conn *conn);
/** More has come. 0, or -EBUSY: it became a test beside another. */
int ovl_raw_moved(struct ovl_conn_ctx *ctx, struct ovl_conn *conn, uint64_t now_ns);
/** It ends: told of, but of many only some (allow.h). */
void ovl_raw_leave(struct ovl_conn_ctx *ctx, struct ovl_conn *conn, uint64_t now_ns);
/** All are gone: tell how many nobody was told of. */
void ovl_raw_finish(struct ovl_conn_ctx *ctx);

#endif
