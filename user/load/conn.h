/*
 * One accepted connection of the receiver: who it is, then what it came for. Internal to the
 * receiving engine.
 */
#ifndef OVL_LOAD_CONN_H
#define OVL_LOAD_CONN_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "load/allow.h"
#include "load/crew.h"
#include "load/iperf3_run.h"
#include "load/load.h"
#include "load/sock.h"
#include "load/wire.h"

#define OVL_CONN_READ_BYTES (128 * 1024)
#define OVL_CONN_STEP_NS    3000000000ull   /* for each step of a handshake */
#define OVL_CONN_SILENCE_NS 120000000000ull /* of a test in which nothing moves, as iperf3 itself */

enum ovl_conn_state {
	OVL_CONN_SNIFF,	      /* reading the first bytes: a cookie, or something else */
	OVL_CONN_LENGTH,      /* answered 9, reading the parameters' length */
	OVL_CONN_PARAMS,      /* reading the parameters */
	OVL_CONN_HTTP,	      /* reading a request */
	OVL_CONN_CONTROL_NEW, /* an iperf3 client that is not served yet */
	OVL_CONN_ADMITTED,    /* those below take part in a test */
	OVL_CONN_STREAM = OVL_CONN_ADMITTED, /* a member of the session: counting */
	OVL_CONN_SOURCE,		     /* the same in reverse: sending */
	OVL_CONN_CONTROL,		     /* of the iperf3 test that runs */
	OVL_CONN_DATA,			     /* a stream of it */
	OVL_CONN_RAW,			     /* a sender without a protocol: counting */
	OVL_CONN_RR,			     /* round trips for the session, on a thread */
};

/** The one session that is served at a time; it lives as long as it has connections. */
struct ovl_session {
	char id[OVL_WIRE_SESSION_CHARS + 1];
	struct ovl_wire_params params;
	uint32_t open;	  /* connections; 0: no session */
	uint32_t members; /* of the crew that share them */
	bool joined[OVL_WIRE_CONNS_MAX];
	bool rr_joined[OVL_WIRE_RR_CONNS];
	uint64_t since_ns, bytes;	 /* began; of connections that have left */
	uint64_t moved_bytes, active_ns; /* by connections that are there; when they last did */
	uint64_t looked_ns;
	bool silent;			 /* ended because nothing moved */
	struct ovl_iperf3_params stream; /* in reverse: of its sockets */
	struct ovl_mover_source source;	 /* and what they send */
};

struct ovl_conn {
	int fd; /* -1: closed */
	enum ovl_conn_state state;
	uint32_t listener;
	uint64_t deadline_ns; /* of the present step; UINT64_MAX: none */
	uint64_t since_ns;    /* accepted */
	struct ovl_addr from;
	struct ovl_wire_cookie cookie;
	char head[OVL_WIRE_COOKIE_BYTES];
	char *text;		 /* while reading parameters or a request */
	uint32_t want, got;	 /* of head or text */
	uint64_t bytes;		 /* received or sent since admitted, but what job has */
	uint64_t paid_bytes;	 /* of a raw sender: when its deadline was last put off */
	bool going;		 /* a source that is to send now; a raw sender in earnest */
	struct ovl_crew_job job; /* of a member of a session with several streams */
	uint8_t tx[OVL_WIRE_REPORT_BYTES];
	uint32_t tx_n, tx_left;		  /* length of tx, unsent rest of it */
	struct ovl_iperf3_server *server; /* of a control connection */
	uint32_t index;			  /* of a stream in its iperf3 test */
	struct ovl_rr_server *rr;	  /* what serves round trips */
};

/** What all connections share; owned by the receiver. */
struct ovl_conn_ctx {
	struct ovl_session session;
	struct ovl_iperf3_run run;
	uint32_t raw;	  /* senders without a protocol */
	uint32_t earnest; /* of those: have sent so much that they are a test */
	uint64_t untold;  /* of those: have left, and nobody was told */
	struct ovl_allow_log raw_tests, strangers; /* of those: when which was told of */
	bool guests;				   /* serve others than ourselves */
	bool closed;				   /* some connections of this batch are */
	int epoll_fd;
	struct ovl_crew *crew;
	struct ovl_buf hello;	 /* the answer that admits a connection */
	void *block;		 /* OVL_CONN_READ_BYTES to receive into */
	_Atomic uint64_t *bytes; /* per listener, may be NULL */
	void (*served)(void *arg, const struct ovl_peer_served *what); /* may be NULL */
	void *arg;
};

/** Begin on an accepted socket. NULL without memory (fd is closed). */
struct ovl_conn *ovl_conn_new(int fd, uint32_t listener, uint64_t now_ns);
/** Close, leave the test; memory stays until ovl_conn_free, so that late events find it. */
void ovl_conn_close(struct ovl_conn_ctx *ctx, struct ovl_conn *conn, uint64_t now_ns);
void ovl_conn_free(struct ovl_conn *conn);
/** Do what the socket is ready for. 0, or -errno: of no more use, close it. */
int ovl_conn_serve(struct ovl_conn_ctx *ctx, struct ovl_conn *conn, uint64_t now_ns);
/**
 * Send a report without waiting; one that finds the way blocked is left out. 0, or -errno: close.
 */
int ovl_conn_report(const struct ovl_conn_ctx *ctx, struct ovl_conn *conn,
		    const struct ovl_thread_sum *use, uint64_t now_ns);
/** Wait for these epoll events from now on. 0 or -errno. */
int ovl_conn_watch(const struct ovl_conn_ctx *ctx, struct ovl_conn *conn, uint32_t events);
/**
 * What it has carried: received, or sent and acknowledged (then *retransmits gets segments). What
 * is said before a test is no part of it.
 */
uint64_t ovl_conn_carried(const struct ovl_conn *conn, bool sent, uint64_t *retransmits);
/** Is a test or session running? Then no other may begin. */
bool ovl_conn_busy(const struct ovl_conn_ctx *ctx);
/**
 * At each tick, with what all connections of the session have moved, either way: has nothing for
 * limit_ns? A time in which nobody looked, since this process stood still, does not count. Pure.
 */
bool ovl_session_silent(struct ovl_session *session, uint64_t moved_bytes, uint64_t limit_ns,
			uint64_t now_ns);
/** Is it a connection of the session? Then *moved_bytes grows by what it has moved. */
bool ovl_session_has(const struct ovl_conn *conn, uint64_t *moved_bytes);
/** Tell whoever wants to know what a test has carried. */
void ovl_conn_tell(const struct ovl_conn_ctx *ctx, const struct ovl_conn *conn,
		   struct ovl_peer_served *what);

#endif
