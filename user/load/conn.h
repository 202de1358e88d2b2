/*
 * One accepted connection of the receiver: handshake, then bulk. Internal to the receiving engine.
 */
#ifndef OVL_LOAD_CONN_H
#define OVL_LOAD_CONN_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "load/wire.h"

#define OVL_CONN_READ_BYTES (128 * 1024)

enum ovl_conn_state {
	OVL_CONN_COOKIE, /* reading the cookie */
	OVL_CONN_LENGTH, /* answered 9, reading the parameters' length */
	OVL_CONN_PARAMS, /* reading the parameters */
	OVL_CONN_STREAM, /* a member of the session: counting */
};

/** The one session that is served at a time; it lives as long as it has connections. */
struct ovl_session {
	char id[OVL_WIRE_SESSION_CHARS + 1];
	struct ovl_wire_params params;
	uint32_t open; /* connections; 0: no session */
	bool joined[OVL_WIRE_CONNS_MAX];
};

struct ovl_conn {
	int fd; /* -1: closed */
	enum ovl_conn_state state;
	uint32_t listener;
	uint64_t deadline_ns; /* of the handshake's present step */
	struct ovl_wire_cookie cookie;
	char head[OVL_WIRE_COOKIE_BYTES];
	char *json;	    /* while reading the parameters */
	uint32_t want, got; /* of head or json */
	uint64_t bytes;
	uint8_t tx[OVL_WIRE_REPORT_BYTES];
	uint32_t tx_left; /* unsent rest of tx */
};

/** What all connections share; owned by the receiver. */
struct ovl_conn_ctx {
	struct ovl_session session;
	struct ovl_buf hello;	 /* the answer that admits a connection */
	void *block;		 /* OVL_CONN_READ_BYTES to receive into */
	_Atomic uint64_t *bytes; /* per listener, may be NULL */
};

/** Begin the handshake on an accepted socket. NULL without memory (fd is closed). */
struct ovl_conn *ovl_conn_new(int fd, uint32_t listener, uint64_t now_ns);
/** Close, leave the session; memory stays until ovl_conn_free, so that late events find it. */
void ovl_conn_close(struct ovl_conn_ctx *ctx, struct ovl_conn *conn);
void ovl_conn_free(struct ovl_conn *conn);
/** Take what is there. 0, or -errno: the connection is of no more use, close it. */
int ovl_conn_read(struct ovl_conn_ctx *ctx, struct ovl_conn *conn, uint64_t now_ns);
/**
 * Send a report without waiting; one that finds the way blocked is left out. 0, or -errno: close.
 */
int ovl_conn_report(struct ovl_conn *conn, uint64_t cpu_ns, uint64_t now_ns);

#endif
