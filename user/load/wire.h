/*
 * The bytes of the load's protocol, both directions: iperf3's first steps (37-byte cookie, one
 * state byte, u32be length + JSON) with a private answer of an ovltrace peer, and its receiver
 * reports.
 * Pure: no sockets, no clock; everything from a peer is checked here.
 *
 *   client                                      server
 *   connect, cookie[37] ------------------------>
 *   <----------------------------- state 9 (first connection of a session)
 *   u32be length, JSON parameters -------------->
 *   <----------------------------- state 64, u32be length, JSON {instance, version}
 *   bulk, plain bytes -------------------------->
 *   <----------------------------- a report each 100 ms: 32 bytes, 48 of version 2
 *   or, in reverse:
 *   'g' (go) or 'p' (pause) -------------------->
 *   <----------------------------- bulk, plain bytes, no reports
 *
 * Further connections of the session send a cookie that differs in the stream part only and get
 * state 64 at once. State 0xFF: busy with another session.
 *
 * Only a peer whose hello has "reverse":1 knows it: an older one takes no notice of what was asked
 * and sends reports.
 *
 * A connection for round trips has a stream number from OVL_WIRE_RR_FIRST on, and only with a peer
 * whose hello has "rr":1. After state 64 the client says once how long a message is, and from then
 * on each side sends one message in turn, whose contents mean nothing:
 *
 *   u32be "OVLQ", u32be message bytes ---------->
 *   message ------------------------------------>
 *   <------------------------------------ message
 */
#ifndef OVL_LOAD_WIRE_H
#define OVL_LOAD_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

#define OVL_WIRE_PREFIX	       "ovltrace2"
#define OVL_WIRE_COOKIE_BYTES  37 /* 36 of [a-z2-7] and NUL, as iperf3's */
#define OVL_WIRE_SESSION_CHARS 24
#define OVL_WIRE_STREAM_CHARS  3
#define OVL_WIRE_JSON_MAX      8192
#define OVL_WIRE_REPORT	       2  /* version of it */
#define OVL_WIRE_REPORT_HEAD   8  /* magic and version, which tells its length */
#define OVL_WIRE_REPORT_BYTES  48 /* the longest */
#define OVL_WIRE_REPORT_NS     100000000ull
#define OVL_WIRE_CONNS_MAX     256 /* connections of one session, all paths */
#define OVL_WIRE_BLOCK_MAX     (1024 * 1024)
#define OVL_WIRE_RR_FIRST      16384 /* stream number of the first path's round trips */
#define OVL_WIRE_RR_CONNS      2     /* of one session: one for each path */
#define OVL_WIRE_RR_HEAD_BYTES 8
#define OVL_WIRE_RR_BYTES_MAX  65536 /* of a message */

/** State bytes: iperf3's, and 64 which is ours. */
enum ovl_wire_state {
	OVL_WIRE_PARAM_EXCHANGE = 9,
	OVL_WIRE_CREATE_STREAMS = 10, /* an iperf3 server after the parameters */
	OVL_WIRE_HELLO = 64,
	OVL_WIRE_DENIED = 0xff,
};

struct ovl_wire_cookie {
	char session[OVL_WIRE_SESSION_CHARS + 1];
	uint32_t stream; /* index of the connection within the session */
};

/** What the client asks for. */
struct ovl_wire_params {
	uint32_t conns;	       /* connections of the session, all paths: 1…OVL_WIRE_CONNS_MAX */
	uint32_t streams;      /* connections that carry data at the same time */
	uint32_t block_bytes;  /* one write */
	uint32_t window_bytes; /* receive buffer wanted; 0: autotuned */
	uint32_t max_frames;   /* bound on frames in flight over `streams`; 0: none */
	uint32_t rx_trunc;     /* 1: drop what is received instead of copying it */
	uint32_t report;       /* the newest version of a report that is understood: 1… */
	bool reverse;	       /* the server sends */
	uint64_t rate_bps;     /* reverse: those of the server's sockets; 0 and "": not asked for */
	uint32_t mss_bytes;
	char congestion[16];
	/* for iperf3 servers, written only: */
	uint32_t omit_s;
	uint32_t time_s; /* 0: a day */
	bool plain;	 /* nothing of ours is in them: an `ovltrace peer` sees an iperf3 client */
};

/** Who answered. */
struct ovl_wire_hello {
	char instance[33]; /* differs between processes: tells backends apart */
	char version[33];
	bool rr;      /* serves round trips */
	bool reverse; /* sends when it is asked to */
};

/** The receiver's word on one connection, cumulative. */
struct ovl_wire_report {
	uint64_t bytes;	 /* payload received on this connection after the handshake */
	uint64_t cpu_ns; /* of the receiving threads, all connections */
	uint64_t ts_ns;	 /* CLOCK_MONOTONIC of the receiver */
	bool switches;	 /* version 2: the context switches of those threads follow */
	uint64_t voluntary, involuntary;
};

/** 24 random bytes to the session part of a cookie. */
void ovl_wire_session_format(const uint8_t random[OVL_WIRE_SESSION_CHARS],
			     char out[OVL_WIRE_SESSION_CHARS + 1]);
/** One of the same session and stream without our prefix: of an iperf3 client, to anybody. */
void ovl_wire_cookie_plain(const struct ovl_wire_cookie *cookie, char out[OVL_WIRE_COOKIE_BYTES]);
/** stream < 32768. */
void ovl_wire_cookie_format(const struct ovl_wire_cookie *cookie, char out[OVL_WIRE_COOKIE_BYTES]);
/**
 * 0: a whole cookie; -EAGAIN: a good beginning, more is needed; -EPROTO: not a cookie of ours, now
 * and whatever follows.
 */
int ovl_wire_cookie_parse(const char *s, size_t n, struct ovl_wire_cookie *out);

/** Append u32be length and JSON. 0 or -ENOMEM. */
int ovl_wire_params_format(const struct ovl_wire_params *params, struct ovl_buf *out);
/**
 * JSON without its length. 0, or -EPROTO: not JSON, too large or deep, a member missing or out of
 * range.
 */
int ovl_wire_params_parse(const char *json, size_t n, struct ovl_wire_params *out);
/** Append the state byte 64, u32be length and JSON. 0 or -ENOMEM. */
int ovl_wire_hello_format(const struct ovl_wire_hello *hello, struct ovl_buf *out);
/** As params_parse; instance [a-z0-9]{1,32}, version printable. */
int ovl_wire_hello_parse(const char *json, size_t n, struct ovl_wire_hello *out);

/** The length in front of a JSON text: 2…OVL_WIRE_JSON_MAX, or 0 if it is out of range. */
uint32_t ovl_wire_length_parse(const uint8_t head[4]);

/** What a client says first on a connection for round trips. */
void ovl_wire_rr_format(uint32_t message_bytes, uint8_t out[OVL_WIRE_RR_HEAD_BYTES]);
/** Bytes of a message, 1…OVL_WIRE_RR_BYTES_MAX; 0: that is no such head. */
uint32_t ovl_wire_rr_parse(const uint8_t in[OVL_WIRE_RR_HEAD_BYTES]);

/** A report of version 2 with switches, else of version 1; its length. */
uint32_t ovl_wire_report_format(const struct ovl_wire_report *report,
				uint8_t out[OVL_WIRE_REPORT_BYTES]);
/** Length of the report that begins so; -EPROTO: of no known version. */
int ovl_wire_report_length(const uint8_t head[OVL_WIRE_REPORT_HEAD]);
/** A whole one. 0, or -EPROTO: not a report of a known version. */
int ovl_wire_report_parse(const uint8_t *in, struct ovl_wire_report *out);

#endif
