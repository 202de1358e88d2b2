/*
 * Who has connected, by the first bytes: one port serves them all. And the tiny HTTP for health
 * probes. Pure.
 */
#ifndef OVL_LOAD_SNIFF_H
#define OVL_LOAD_SNIFF_H

#include <stddef.h>

#include "base/buf.h"

#define OVL_SNIFF_HTTP_MAX 4096 /* of a request's head */

enum ovl_guest {
	OVL_GUEST_UNKNOWN, /* so far: more bytes are needed */
	OVL_GUEST_OWN,	   /* a cookie that begins as ours do */
	OVL_GUEST_IPERF3,  /* any other cookie: 36 of [a-z2-7] and NUL */
	OVL_GUEST_HTTP,	   /* "GET " or "HEAD " */
	OVL_GUEST_RAW,	   /* anything else: iperf2, netcat, … */
};

/** The first n (at most OVL_WIRE_COOKIE_BYTES) bytes of a connection. */
enum ovl_guest ovl_sniff(const char *s, size_t n);

/**
 * The answer to a GET or HEAD request of which n bytes have come: 200 for /healthz, else 404.
 * -EAGAIN: its head has not ended yet; -EPROTO: it is longer than OVL_SNIFF_HTTP_MAX; or -ENOMEM.
 */
int ovl_http_answer(const char *request, size_t n, struct ovl_buf *out);

#endif
