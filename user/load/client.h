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

/** One path's far end and what is asked of it. */
struct ovl_client {
	const struct ovl_load_spec *spec; /* defaults filled in */
	enum ovl_load_which which;
	struct ovl_addr addr;
	char session[OVL_WIRE_SESSION_CHARS + 1];
	uint32_t conns;		     /* of the session, all paths */
	uint32_t first;		     /* index of this path's first connection in the session */
	struct ovl_wire_hello hello; /* who answered the first one */
};

/** "underlay", "overlay". */
const char *ovl_load_which_name(enum ovl_load_which which);

/**
 * Open connection `stream` (0 first, then the others) of the path in the calling thread's
 * namespace; returns a nonblocking socket on which bulk may be written, or -errno with *err:
 * OVL_EXIT_PEER
 * (refused, silent, busy, not ours), OVL_EXIT_USAGE (congestion control, MSS).
 */
int ovl_client_open(struct ovl_client *client, uint32_t stream, struct ovl_err *err);

#endif
