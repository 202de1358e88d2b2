/*
 * The bytes of iperf3's protocol: states, parameters, results, errors. Pure: no sockets, no clock;
 * everything from a peer is checked here. Facts as of esnet/iperf 3.1 to 3.21, tried with 3.12.
 *
 *   client                                      server
 *   connect, cookie[37] ------------------------>  control connection
 *   <------------------------------------- state 9
 *   u32be length, JSON parameters --------------->
 *   <------------------------------------ state 10
 *   N × (connect, cookie[37]) ------------------->  data connections
 *   <--------------------------------- state 1, 2
 *   data, either way
 *   state 4 ------------------------------------->  the client decides the end
 *   <------------------------------------ state 13
 *   u32be length, JSON results ------------------>
 *   <------------------ u32be length, JSON results, state 14
 *   state 16 ------------------------------------>
 */
#ifndef OVL_LOAD_IPERF3_WIRE_H
#define OVL_LOAD_IPERF3_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

#define OVL_IPERF3_STREAMS_MAX 128
#define OVL_IPERF3_PARAMS_MAX  8192	    /* bytes of JSON, as iperf3 itself since 3.18 */
#define OVL_IPERF3_RESULTS_MAX (256 * 1024) /* bytes of JSON */
#define OVL_IPERF3_REFUSAL     9	    /* bytes of a refusal */
#define OVL_IPERF3_TIME_MAX_S  86400
/* of one stream, bytes or segments: no test carries more (72 PB), and the sum of all fits */
#define OVL_IPERF3_COUNT_MAX (1ull << 56)

/** One signed byte each. */
enum ovl_iperf3_state {
	OVL_IPERF3_TEST_START = 1,
	OVL_IPERF3_TEST_RUNNING = 2,
	OVL_IPERF3_TEST_END = 4,
	OVL_IPERF3_PARAM_EXCHANGE = 9,
	OVL_IPERF3_CREATE_STREAMS = 10,
	OVL_IPERF3_SERVER_TERMINATE = 11,
	OVL_IPERF3_CLIENT_TERMINATE = 12,
	OVL_IPERF3_EXCHANGE_RESULTS = 13,
	OVL_IPERF3_DISPLAY_RESULTS = 14,
	OVL_IPERF3_DONE = 16,
	OVL_IPERF3_SERVER_ERROR = 0xfe,	 /* -2: then i32be iperf3's error number, i32be errno */
	OVL_IPERF3_ACCESS_DENIED = 0xff, /* -1 */
};

/** iperf3's error numbers that are sent or explained here (iperf_api.h). */
enum ovl_iperf3_error {
	OVL_IPERF3_EDURATION = 5,
	OVL_IPERF3_ENUMSTREAMS = 6,
	OVL_IPERF3_EBLOCKSIZE = 7,
	OVL_IPERF3_EMSS = 10,
	OVL_IPERF3_EOMIT = 12,
	OVL_IPERF3_EUNIMP = 13,
	OVL_IPERF3_ENOSCTP = 18,
	OVL_IPERF3_EMESSAGE = 110,
	OVL_IPERF3_ERECVPARAMS = 114,
	OVL_IPERF3_ERECVRESULTS = 117,
	OVL_IPERF3_EAFFINITY = 132,
	OVL_IPERF3_ESETCONGESTION = 134,
	OVL_IPERF3_EAUTHTEST = 142,
	OVL_IPERF3_ENOMSG = 144,
	OVL_IPERF3_ESTREAMREAD = 206,
};

/** What a client asks for. */
struct ovl_iperf3_params {
	uint32_t omit_s, time_s;	  /* time 0: until bytes or blocks are through */
	uint64_t total_bytes, blocks;	  /* 0: by time */
	uint32_t streams, block_bytes;	  /* 1…OVL_IPERF3_STREAMS_MAX; one write */
	uint32_t mss_bytes, window_bytes; /* 0: not asked for */
	uint64_t rate_bps;		  /* of each stream; 0: as fast as it goes */
	uint8_t tos;
	bool reverse, nodelay, skip_rx_copy; /* skip: received data need not be copied */
	char congestion[16];		     /* "": the server's default */
};

/** One stream's end in the results. */
struct ovl_iperf3_stream {
	uint32_t id;
	uint64_t bytes;
	int64_t retransmits; /* -1: not known, as of a receiver */
	double end_s;	     /* of the measured time, 0 at its start */
};

/** What one side found. */
struct ovl_iperf3_results {
	double cpu_total, cpu_user, cpu_system; /* percent of one CPU */
	bool sender;
	char congestion[16]; /* in use; "": not said */
	uint32_t n;
	struct ovl_iperf3_stream stream[OVL_IPERF3_STREAMS_MAX];
};

/** Id of the stream with this index: 1, 3, 4, 5 … (2 is left out, as iperf3 does). */
uint32_t ovl_iperf3_stream_id(uint32_t index);

/**
 * JSON without its length. 0; -EPROTO: no such JSON, or a member missing or of another type;
 * -EOPNOTSUPP: understood, but not done here; -ERANGE: out of iperf3's own limits. *error gets
 * what to tell the client.
 */
int ovl_iperf3_params_parse(const char *json, size_t n, struct ovl_iperf3_params *out,
			    enum ovl_iperf3_error *error);
/** Append u32be length and JSON. 0 or -ENOMEM. */
int ovl_iperf3_results_format(const struct ovl_iperf3_results *results, struct ovl_buf *out);
/**
 * JSON without its length, of a test with so many streams; those end up in the order of their
 * index, whatever theirs was. 0, or -EPROTO: no such JSON, a member missing or out of range, other
 * streams than the test's.
 */
int ovl_iperf3_results_parse(const char *json, size_t n, uint32_t streams,
			     struct ovl_iperf3_results *out);

/** The bytes that refuse a test: state, error number, errno (0: none). */
void ovl_iperf3_refusal_format(enum ovl_iperf3_error error, int err_no,
			       uint8_t out[OVL_IPERF3_REFUSAL]);
/** In words, for an error number that a server has sent; NULL: not one of those above. */
const char *ovl_iperf3_error_text(uint32_t error);

#endif
