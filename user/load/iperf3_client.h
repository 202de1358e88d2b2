/*
 * The client's role in iperf3's protocol, from the moment the server wants the streams: what the
 * control connection says and is told. Pure: bytes in, bytes out.
 */
#ifndef OVL_LOAD_IPERF3_CLIENT_H
#define OVL_LOAD_IPERF3_CLIENT_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "load/iperf3_wire.h"

enum ovl_iperf3_client_phase {
	OVL_IPERF3_CLIENT_STREAMS, /* data connections are due */
	OVL_IPERF3_CLIENT_RUNNING,
	OVL_IPERF3_CLIENT_ENDING,  /* told the server that the test is over */
	OVL_IPERF3_CLIENT_RESULTS, /* has sent ours, waits for the server's */
	OVL_IPERF3_CLIENT_SHOWN,   /* has them */
	OVL_IPERF3_CLIENT_OVER,	   /* all is said */
	OVL_IPERF3_CLIENT_FAILED,  /* the server ended it, or talks nonsense */
};

struct ovl_iperf3_client {
	enum ovl_iperf3_client_phase phase;
	uint8_t state;	/* the server's last one */
	uint32_t error; /* of its SERVER_ERROR */
	struct ovl_iperf3_results ours, theirs;
	struct ovl_buf in, out;
};

void ovl_iperf3_client_init(struct ovl_iperf3_client *client);
void ovl_iperf3_client_fini(struct ovl_iperf3_client *client);
/** Bytes from the control connection. 0; -EPROTO (phase FAILED); -ENOMEM. */
int ovl_iperf3_client_input(struct ovl_iperf3_client *client, const uint8_t *p, size_t n);
/** In phase RUNNING: end the test; `ours` goes to the server when it asks for it. */
void ovl_iperf3_client_end(struct ovl_iperf3_client *client, const struct ovl_iperf3_results *ours);

#endif
