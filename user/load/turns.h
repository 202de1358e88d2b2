/*
 * A session in reverse: the peer sends, on each connection as long as its client says so. The
 * client's side is one byte, the peer's a source that is written to those connections.
 */
#ifndef OVL_LOAD_TURNS_H
#define OVL_LOAD_TURNS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ovl_conn;
struct ovl_conn_ctx;
struct ovl_session;

/** Client: let the peer send on this connection, or pause. 0 or -errno. */
int ovl_turn_say(int fd, bool go);

/** Peer: a session's parameters ask for it: what iperf3 members they have, and the source. */
int ovl_turn_open(struct ovl_session *session, const char *json, size_t n);
/** Peer: the session has ended; also when it was none in reverse. */
void ovl_turn_close(struct ovl_session *session);
/** Peer: the connection can be read or written. 0 or -errno: close. */
int ovl_turn_serve(struct ovl_conn_ctx *ctx, struct ovl_conn *conn);

#endif
