/*
 * Round trips: messages to the far end and back on a connection of its own within a load's session,
 * so that the path is measured and not the queue of a bulk stream's own socket. The thread blocks
 * while it waits, as netperf's and qperf's do: it does not spin.
 *
 * Unpaced, one message is in flight and each round trip begins when the one before has ended: the
 * times add up to the time that was measured. Paced, a message is sent each pace_ns, answered or
 * not, and each counts from the instant it was due: a far end that stalls delays all that were due
 * meanwhile, and so does a busy CPU on this side, as it would any application's.
 */
#ifndef OVL_LOAD_RR_H
#define OVL_LOAD_RR_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/hist.h"
#include "load/load.h"

#define OVL_RR_THREAD	  "ovl-rr" /* name of its threads */
#define OVL_RR_SILENCE_NS 3000000000ull

struct ovl_rr;

/**
 * Open the connection of a path of a load that has started; nothing is sent on it yet. Close it
 * before the load is stopped. message_bytes: 1…65536. NULL with *err: OVL_EXIT_PEER when the far
 * end answers no round trips (an iperf3 server, a sink, an older `ovltrace peer`), or as
 * ovl_load_start.
 */
struct ovl_rr *ovl_rr_open(const struct ovl_load *load, enum ovl_load_which which,
			   uint32_t message_bytes, struct ovl_err *err);
/** On a connected socket, which becomes its own; name is for sentences. For tests. */
struct ovl_rr *ovl_rr_take_socket(int fd, const char *name, uint32_t message_bytes,
				  struct ovl_err *err);
/** Begin, after a few round trips that are not counted. pace_ns 0: unpaced. */
void ovl_rr_start(struct ovl_rr *rr, uint64_t pace_ns);
/**
 * Add what was counted since the last call to *out. 0, or -errno with *err: the connection is dead,
 * or the far end has not answered for OVL_RR_SILENCE_NS. Call it twice as often: the time before a
 * longer pause between two calls is not held against the far end.
 */
int ovl_rr_read(struct ovl_rr *rr, struct ovl_hist *out, struct ovl_err *err);
/**
 * End what was started, when all that was due has been answered (a wait of at most
 * OVL_RR_SILENCE_NS after the last answer), and read the rest as ovl_rr_read does.
 */
int ovl_rr_pause(struct ovl_rr *rr, struct ovl_hist *out, struct ovl_err *err);
/** Kernel thread id. */
pid_t ovl_rr_tid(const struct ovl_rr *rr);
/** rr may be NULL. */
void ovl_rr_close(struct ovl_rr *rr);

#endif
