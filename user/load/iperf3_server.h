/*
 * The server's role in iperf3's protocol: what the control connection says and is told. Pure: bytes
 * in, bytes out, no sockets and no clock; data connections and numbers are its user's business.
 */
#ifndef OVL_LOAD_IPERF3_SERVER_H
#define OVL_LOAD_IPERF3_SERVER_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "load/iperf3_wire.h"

enum ovl_iperf3_phase {
	OVL_IPERF3_PARAMS,  /* told to send its parameters */
	OVL_IPERF3_ASKED,   /* has sent them: accept or refuse is due */
	OVL_IPERF3_STREAMS, /* told to connect its streams */
	OVL_IPERF3_RUNNING,
	OVL_IPERF3_ENDED,   /* the client has ended the test and is to send its results */
	OVL_IPERF3_RESULTS, /* has sent them: ours are due */
	OVL_IPERF3_SHOWN,   /* has got ours */
	OVL_IPERF3_OVER,    /* done, gone or refused: to be closed when `out` is sent */
};

struct ovl_iperf3_server {
	enum ovl_iperf3_phase phase;
	struct ovl_iperf3_params params;
	uint32_t joined; /* data connections */
	struct ovl_iperf3_results theirs;
	struct ovl_buf in;  /* of the message that is being received */
	struct ovl_buf out; /* to be sent; the user takes it away */
};

/** A client's cookie has come on an otherwise quiet server: asks for the parameters. */
void ovl_iperf3_server_init(struct ovl_iperf3_server *server);
void ovl_iperf3_server_fini(struct ovl_iperf3_server *server);
/**
 * Bytes from the control connection; takes them up to the end of a message that changes the phase,
 * *used gets how many. 0; -EPROTO after a message that cannot be (a refusal is in `out`); -ENOMEM.
 */
int ovl_iperf3_server_input(struct ovl_iperf3_server *server, const uint8_t *p, size_t n,
			    size_t *used);
/** In phase ASKED: run the test that was asked for. */
void ovl_iperf3_server_accept(struct ovl_iperf3_server *server);
/** In any phase: end the test with an error; err_no may be 0. */
void ovl_iperf3_server_refuse(struct ovl_iperf3_server *server, enum ovl_iperf3_error error,
			      int err_no);
/** In any phase: another test runs. */
void ovl_iperf3_server_deny(struct ovl_iperf3_server *server);
/** In phase STREAMS: one more data connection stands; the last one starts the test. */
void ovl_iperf3_server_join(struct ovl_iperf3_server *server);
/** In phase RESULTS: ours. 0 or -ENOMEM. */
int ovl_iperf3_server_answer(struct ovl_iperf3_server *server,
			     const struct ovl_iperf3_results *ours);

#endif
