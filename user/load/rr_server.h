/*
 * The answering side of round trips: one connection, one thread that blocks in recv, as a server
 * does whose latency is measured. It knows no deadline: the connection holds nothing but itself,
 * and whoever closes it stops the thread.
 */
#ifndef OVL_LOAD_RR_SERVER_H
#define OVL_LOAD_RR_SERVER_H

#include <stdint.h>

#define OVL_RR_SERVER_THREAD "ovl-rr-peer" /* name of its threads */

struct ovl_rr_server;

/**
 * Answer each message on a connected socket from its head (wire.h) on. When the client leaves or
 * says what it should not, the socket is shut down, and that is all. The socket stays the caller's
 * and must not be closed before the stop. NULL: no memory or thread.
 */
struct ovl_rr_server *ovl_rr_server_start(int fd);
/** Bytes of whole messages got so far. */
uint64_t ovl_rr_server_bytes(const struct ovl_rr_server *server);
/** Shut the socket down, end the thread, release it. Returns the bytes of whole messages got. */
uint64_t ovl_rr_server_stop(struct ovl_rr_server *server);

#endif
