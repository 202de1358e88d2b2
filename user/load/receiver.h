/*
 * The receiving engine: accepts one test at a time (a session of our own connections, an iperf3
 * client, senders without a protocol), counts what arrives and reports it back.
 * Runs on one thread with epoll, in this process beside the sender or alone as `ovltrace peer`; of
 * our own sessions with several streams its crew's helpers receive their share.
 * Whatever strangers send costs them their connection and nothing else; memory is bounded.
 */
#ifndef OVL_LOAD_RECEIVER_H
#define OVL_LOAD_RECEIVER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "load/crew.h"
#include "load/load.h"

#define OVL_RECEIVER_LISTENERS (OVL_LOAD_PATHS * OVL_LOAD_BEHIND_MAX)

struct ovl_receiver_spec {
	/* listener i serves path i % OVL_LOAD_PATHS; -1: not used; closed by the caller */
	int listen_fd[OVL_RECEIVER_LISTENERS];
	int stop_fd;	       /* readable: end; -1: never */
	struct ovl_crew *crew; /* freed by the caller, afterwards */
	bool reports;	       /* send reports back; otherwise only count */
	bool guests;	       /* serve others than our own sessions, too */
	uint64_t silence_ns;   /* with reports: as in struct ovl_peer_spec */
	/** Payload received on the connections of each path; may be NULL. */
	_Atomic uint64_t *bytes;
	/** As in struct ovl_peer_spec. */
	void (*served)(void *arg, const struct ovl_peer_served *what);
	const struct ovl_allow *allow;
	void (*turned_away)(void *arg, const char *from, uint64_t n);
	void *arg;
};

/** Serve on the calling thread until stop_fd is readable. 0, or -errno with *err. */
int ovl_receiver_run(const struct ovl_receiver_spec *spec, struct ovl_err *err);

#endif
