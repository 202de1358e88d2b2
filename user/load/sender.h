/*
 * The sending side: threads with all connections of both paths, of which those of one path are
 * written to. The first opens them and ends the tests, the others only carry (worker.h).
 */
#ifndef OVL_LOAD_SENDER_H
#define OVL_LOAD_SENDER_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "load/client.h"
#include "load/far.h"
#include "load/load.h"
#include "load/mover.h"
#include "load/track.h"
#include "load/worker.h"

struct ovl_sender_stream {
	int fd; /* stays open until the sender ends, also when dead */
	enum ovl_load_which which;
	_Atomic bool dead;		 /* set by its worker under lock */
	bool going;			 /* reverse: the peer has been told to send */
	uint64_t acked_base_bytes;	 /* tcpi_bytes_acked after the handshake */
	_Atomic uint64_t received_bytes; /* reverse: got from the far end */
	/* carried until ovl_load_mark, under lock */
	uint64_t mark_bytes, mark_retransmits;
	uint8_t rx[OVL_WIRE_REPORT_BYTES];
	uint32_t rx_n;
	struct ovl_track track; /* under lock */
};

struct ovl_sender {
	struct ovl_load_spec spec; /* defaults filled in */
	struct ovl_client client[OVL_LOAD_PATHS];
	struct ovl_far far[OVL_LOAD_PATHS];
	struct ovl_sender_stream *stream; /* those of a path are neighbours */
	uint32_t streams;
	struct ovl_worker *worker; /* the first is the sender's own thread */
	uint32_t workers;
	struct ovl_mover_source source;
	_Atomic int which; /* the path that is written to */
	_Atomic bool stop;
	uint64_t begun_ns;
	char congestion[16]; /* in use, first stream of the last path */

	pthread_mutex_t lock;
	pthread_cond_t changed; /* state, or a report came */
	uint32_t begun;		/* workers that have */
	enum { OVL_SENDER_STARTING, OVL_SENDER_RUNNING, OVL_SENDER_ENDED } state;
	struct ovl_err err; /* why it failed, or why the first connection died */
	bool dead;	    /* a connection has died, err says which */
	struct ovl_track_clock clock[OVL_LOAD_PATHS];
	bool marked;					  /* by ovl_load_mark */
	struct ovl_load_agreement agreed[OVL_LOAD_PATHS]; /* agree.h */
	bool agreed_valid[OVL_LOAD_PATHS];
	uint32_t rtt_us[OVL_LOAD_PATHS][OVL_LOAD_RTT_MAX]; /* ring */
	uint32_t rtt_n[OVL_LOAD_PATHS], rtt_at[OVL_LOAD_PATHS];
};

/** Make workers, no threads yet. 0, or -errno with *err; ovl_sender_fini in both cases. */
int ovl_sender_init(struct ovl_sender *s, uint32_t workers, struct ovl_err *err);
void ovl_sender_fini(struct ovl_sender *s);
/** What is selected has changed, or stop is set. */
void ovl_sender_wake(const struct ovl_sender *s);
/**
 * The thread: open all connections, start the other workers, report RUNNING when all of them wait
 * for the start, or ENDED with err; send until stop is set and ovl_sender_wake called, then end the
 * tests of iperf3 servers. arg is a struct ovl_sender with spec, client, far, stream, streams and
 * workers filled in.
 */
void *ovl_sender_main(void *arg);

#endif
