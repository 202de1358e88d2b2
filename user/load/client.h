/*
 * Opening the load's connections: connect, handshake, and one clear sentence for each way it can
 * fail.
 */
#ifndef OVL_LOAD_CLIENT_H
#define OVL_LOAD_CLIENT_H

#include <stdint.h>

#include "base/err.h"
#include "load/load.h"
#include "load/sock.h"
#include "load/wire.h"

/** Who has answered on a path. */
enum ovl_client_far {
	OVL_CLIENT_OWN,	   /* `ovltrace peer`, or the receiver in this process */
	OVL_CLIENT_IPERF3, /* an iperf3 server */
	OVL_CLIENT_RAW,	   /* not asked: it takes bytes without a word */
};

/** One path's far end and what is asked of it. */
struct ovl_client {
	const struct ovl_load_spec *spec; /* defaults filled in */
	enum ovl_load_which which;
	struct ovl_addr addr;
	char session[OVL_WIRE_SESSION_CHARS + 1];
	uint32_t conns;		     /* of the session, all paths */
	uint32_t first;		     /* index of this path's first connection in the session */
	enum ovl_client_far far;     /* who answered the first one */
	struct ovl_wire_hello hello; /* OWN: what it said */
};

/** "underlay", "overlay". */
const char *ovl_load_which_name(enum ovl_load_which which);
/** Which path it is, to stand behind its name: " (overlay)"; "" when the load has only one. */
const char *ovl_client_path(const struct ovl_client *client);

/**
 * Open connection `stream` (0 first, then the others) of the path in the calling thread's
 * namespace; returns a nonblocking socket on which bulk may be written, or -errno with *err:
 * OVL_EXIT_PEER (refused, silent, busy, not ours), OVL_EXIT_USAGE (congestion control, MSS).
 * When client->far is IPERF3 after the first, that one is the control connection and carries no
 * bulk: all streams are then opened by ovl_client_open_stream.
 */
int ovl_client_open(struct ovl_client *client, uint32_t stream, struct ovl_err *err);
/** Open a data connection to an iperf3 server that has asked for it. As ovl_client_open. */
int ovl_client_open_stream(struct ovl_client *client, struct ovl_err *err);
/** The cookie of connection `stream` of the path. */
void ovl_client_cookie(const struct ovl_client *client, uint32_t stream,
		       char text[OVL_WIRE_COOKIE_BYTES]);
/** The sentence for an `ovltrace peer` that is too old; it "answers no round trips". */
int ovl_client_older(const struct ovl_client *client, const char *lacks, struct ovl_err *err);
/** The sentence for an error that an iperf3 server has sent. */
int ovl_iperf3_said(const struct ovl_client *client, uint32_t error, struct ovl_err *err);

#endif
