/*
 * The load: TCP bulk from a sender to a receiver over one or two paths (underlay, overlay), of
 * which one carries traffic at a time. Sockets and threads only; knows nothing of BPF, labs or
 * views.
 *
 * The sender's and the receiver's threads live in this process (lab, twin) or the receiver is an
 * `ovltrace peer` elsewhere. Threads enter the given namespaces before they make sockets.
 */
#ifndef OVL_LOAD_LOAD_H
#define OVL_LOAD_LOAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

#define OVL_LOAD_PORT	     5201
#define OVL_LOAD_STREAMS_MAX 128
#define OVL_LOAD_RTT_MAX     32
#define OVL_LOAD_MSS_MIN     88 /* what the kernel takes, see TCP_MAXSEG */
#define OVL_LOAD_MSS_MAX     32767
#define OVL_LOAD_BEHIND_MAX  16 /* places that one address may lead to */

enum ovl_load_which { OVL_LOAD_UNDERLAY = 0, OVL_LOAD_OVERLAY, OVL_LOAD_PATHS };

/** One path: where the client's socket is made and whom it talks to. */
struct ovl_load_path_spec {
	bool used;
	int client_netns_fd; /* -1: the current one */
	int server_netns_fd; /* in-process receiver's namespace; ignored with a remote peer */
	char addr[64];	     /* numeric address (or host name with a remote peer) to connect to */
	bool was_iperf3;     /* an iperf3 server has answered there before: for the sentence */
	/*
	 * Where the in-process receiver listens, when another address than addr leads there (a
	 * Service, a published port): each connection gets to one of these places. Then the port
	 * is the asked or usual one and no other. None: at addr, in server_netns_fd.
	 */
	struct ovl_load_behind {
		int netns_fd;
		char addr[64];
	} behind[OVL_LOAD_BEHIND_MAX];
	uint32_t n_behind;
};

struct ovl_load_spec {
	struct ovl_load_path_spec path[OVL_LOAD_PATHS];
	bool remote; /* `ovltrace peer` or an iperf3 server (or two: one per path) at addr:port */
	bool raw;    /* with remote: say nothing, just send, as iperf 2 does */
	/* with remote: iperf3's protocol alone, which an `ovltrace peer` serves, too */
	bool plain;
	/*
	 * With remote: the far end sends and this one receives. An `ovltrace peer` sends on the
	 * path that is selected; iperf3, and one asked plainly, from the start on, on all.
	 */
	bool reverse;
	uint32_t omit_s; /* an iperf3 server's results leave out as much at its start */
	/* how long an iperf3 server is told that the test lasts after that; 0: a day */
	uint32_t time_s;
	uint16_t port;	      /* 0: OVL_LOAD_PORT */
	uint32_t streams;     /* 1…OVL_LOAD_STREAMS_MAX, 0: 1 */
	uint32_t block_bytes; /* one write; 0: see ovl_load_block_bytes */
	/* "": cubic, or the default if that is not allowed; reverse: the far end's default */
	char congestion[16];
	uint32_t mss_bytes;    /* 0: the path's */
	bool tx_zerocopy;      /* the sender's kernel need not copy (sendfile) */
	bool rx_trunc;	       /* the receiver's kernel drops payload instead of copying it */
	uint64_t rate_bps;     /* bound on what each stream sends, payload; 0: none */
	uint32_t window_bytes; /* SO_SNDBUF/SO_RCVBUF; 0: autotuned within max_frames */
	/*
	 * Bound on wire frames in flight over all streams; 0: none. The receiver locks each
	 * stream's buffer, and so the window it offers, to max_frames × MSS ÷ streams (a remote
	 * peer without
	 * CAP_NET_ADMIN: at most 2 × net.core.rmem_max). Shows as rwnd_us where it is what limits.
	 */
	uint32_t max_frames;
	int cpu_sender, cpu_receiver; /* pin the threads; -1: do not */
	/*
	 * Threads of a side, at most one for each stream; 0: one for each CPU that they may use
	 * (half of the CPUs when both sides are in this process; one when pinned)
	 */
	uint32_t threads;
	uint32_t connect_timeout_ms; /* 0: 5000 */
};

/** Context switches of the threads of a side. */
struct ovl_load_switches {
	bool known;	    /* an older peer does not say */
	uint64_t voluntary; /* waits */
	uint64_t involuntary;
};

/**
 * Cumulative since start; differences of two reads are what happened between them. In reverse what
 * only the far end's TCP knows is 0, acked_bytes are the received ones.
 */
struct ovl_load_counts {
	uint64_t ts_ns;	      /* CLOCK_MONOTONIC of the reading */
	uint64_t bytes;	      /* payload the receiving application got on this path */
	uint64_t acked_bytes; /* payload that the sender's TCP saw acknowledged, sum over streams */
	uint64_t retransmits; /* segments, sum over streams */
	uint64_t busy_us, rwnd_us, sndbuf_us; /* mean over streams */
	uint64_t sender_cpu_ns;		      /* of the sending threads, all paths */
	uint64_t receiver_cpu_ns; /* of the receiving threads, all paths; remote: as reported */
	/* of the same threads, up to 100 ms old */
	struct ovl_load_switches sender_switches, receiver_switches;
	uint32_t cwnd_segs, mss_bytes; /* mean over streams, now */
	uint32_t rtt_n; /* readings since the previous read of this path (oldest dropped) */
	uint32_t rtt_us[OVL_LOAD_RTT_MAX];
};

struct ovl_load;

/**
 * Bytes of one write of a stream; asked 0: 128 KiB, or what a slow stream's rate (0: none) sends in
 * a tenth of a second, so that it does not send seconds' worth at once. Pure.
 */
uint32_t ovl_load_block_bytes(uint32_t asked, uint64_t rate_bps);
/**
 * Make sockets, threads and connections on all paths; nothing is sent yet. NULL on failure.
 * Errors: OVL_EXIT_PEER (refused, busy, not ours, timeout), OVL_EXIT_RIGHTS, OVL_EXIT_USAGE
 * (congestion control unknown).
 */
struct ovl_load *ovl_load_start(const struct ovl_load_spec *spec, struct ovl_err *err);
/** Let this path carry the load from now on; OVL_LOAD_PATHS: pause both. */
void ovl_load_select(struct ovl_load *load, enum ovl_load_which which);
/**
 * Read a path's counters; 0, or -EPIPE with *err if a connection of the load has died (*out is
 * filled in all the same). In process, bytes are exact at ts_ns. With a remote peer they are
 * interpolated linearly between its two 100-ms reports around ts_ns: the call waits for the later
 * one, usually about 100 ms and never over 300 (then the last report counts); its receiver_cpu_ns
 * likewise. Of both clocks only differences count, see track.h.
 */
int ovl_load_read(struct ovl_load *load, enum ovl_load_which which, struct ovl_load_counts *out,
		  struct ovl_err *err);
/** Kernel thread ids of the load's threads by role, for the profiler's task classes. */
uint32_t ovl_load_tids(const struct ovl_load *load, bool sender, pid_t *tids, uint32_t max);
/**
 * Who the far end of a path is, as the contract's peer_kind: "ovltrace" (also in this process),
 * "iperf3" (a stock server: bytes are those that the sender's TCP saw acknowledged, the receiver's
 * CPU time is unknown), "sink" (the same, of one that was not even asked).
 */
const char *ovl_load_peer_kind(const struct ovl_load *load, enum ovl_load_which which);
struct ovl_client; /* client.h */
/** How a path's far end is reached and what it can do, for further connections of the load. */
const struct ovl_client *ovl_load_client(const struct ovl_load *load, enum ovl_load_which which);
/** One connection now; counters are cumulative since start. */
struct ovl_load_stream {
	int fd;			    /* names it; of no other use */
	char local[64], remote[64]; /* addresses */
	uint16_t local_port, remote_port;
	uint64_t bytes; /* acknowledged to its sender's TCP; reverse: received */
	/*
	 * what the receiver had got at ts_ns, by its reports; UINT64_MAX: it makes none, or none
	 * by stream (in this process)
	 */
	uint64_t received_bytes;
	/* TCP_INFO of this end, and SO_SNDBUF, SO_RCVBUF; with reverse, where this end sends
	 * nothing, all but mss_bytes and the buffers mean nothing */
	uint64_t retransmits; /* segments */
	uint32_t rtt_us, rttvar_us, cwnd_bytes, snd_wnd_bytes, pmtu_bytes, mss_bytes;
	uint32_t sndbuf_bytes, rcvbuf_bytes;
};
/**
 * Connection `i` (below the spec's streams) of a path that is used. Does not wait: received_bytes
 * is of ts_ns if that was the instant of an ovl_load_read not long ago, else the last one known.
 * 0 or -errno.
 */
int ovl_load_stream(struct ovl_load *load, enum ovl_load_which which, uint32_t i, uint64_t ts_ns,
		    struct ovl_load_stream *out);
/**
 * What connection `i` of a path had carried at this look is left out of what an iperf3 server is
 * told in the end: call it for each when omit_s are over. Only then do both ends leave out the same
 * start.
 */
void ovl_load_mark(struct ovl_load *load, enum ovl_load_which which, uint32_t i,
		   const struct ovl_load_stream *at);
/** The cookie of a path's first connection: 36 characters; "" with a sink. */
void ovl_load_cookie(const struct ovl_load *load, enum ovl_load_which which, char out[40]);
struct ovl_iperf3_results; /* iperf3_wire.h */
/** After ovl_load_finish: all that an iperf3 server has said; NULL if it said nothing. */
const struct ovl_iperf3_results *ovl_load_far_results(const struct ovl_load *load,
						      enum ovl_load_which which);
/** What both ends of a path say in the end. */
struct ovl_load_agreement {
	/* the sender's TCP, since start or ovl_load_mark; an iperf3 server that sends: as below */
	uint64_t acked_bytes;
	uint64_t received_bytes;   /* the receiver's count */
	double receiver_cpu_ratio; /* of one CPU, over the whole test; NAN: not said */
	enum ovl_load_compare {
		OVL_LOAD_COMPARE_SAME,	/* both count the same bytes */
		OVL_LOAD_COMPARE_MOST,	/* the sender counts what it wrote, arrived or not */
		OVL_LOAD_COMPARE_NEVER, /* they leave out different starts */
	} compare;
};
/**
 * Do the two differ by more than 1 %, in a way that they cannot by themselves? Then one sentence
 * says so. Pure.
 */
bool ovl_load_disagree(const struct ovl_load_agreement *both, char *out, size_t size);
/**
 * End the load: nothing is sent any more, what is on its way is waited for (up to half a second),
 * iperf3 servers are asked for their results (up to two seconds each). No reading after it. 0, or
 * -errno with *err: an iperf3 server did not answer.
 */
int ovl_load_finish(struct ovl_load *load, struct ovl_err *err);
/**
 * After ovl_load_finish: the results of a path; false if its far end gave none, or if not all that
 * was sent had arrived within half a second.
 */
bool ovl_load_agreement(const struct ovl_load *load, enum ovl_load_which which,
			struct ovl_load_agreement *out);
/** Congestion control in use on the first overlay stream, as the kernel names it. */
const char *ovl_load_congestion(const struct ovl_load *load);
/**
 * Finish if that has not been done, close with resets, so that nothing stays queued. load may be
 * NULL.
 */
void ovl_load_stop(struct ovl_load *load);

/** One test, or raw sender, that a peer has served. */
struct ovl_peer_served {
	const char *kind; /* "ovltrace" "iperf3" "raw" */
	const char *from; /* "10.0.0.2:41234"; NULL: at the end, untold is all that is told */
	uint32_t streams;
	bool reverse;	   /* sent by the peer */
	bool complete;	   /* false: ended by an error, or by leaving */
	uint64_t bytes;	   /* received, or sent and acknowledged, in the measured time */
	double duration_s; /* of it */
	uint64_t untold;   /* raw senders that left before, too many to be told of each */
};

struct ovl_allow; /* allow.h */
/** `ovltrace peer`: the far end, also of `iperf3 -c` and of senders without a protocol. */
struct ovl_peer_spec {
	const char *bind; /* NULL: any address */
	uint16_t port;	  /* 0: OVL_LOAD_PORT */
	int stop_fd;	  /* readable: end (a signalfd, an eventfd); -1: never */
	/* one of our own tests in which nothing moves for so long is ended; 0: 120 s */
	uint64_t silence_ns;
	/** Called once when the port is open, with the port; may be NULL. */
	void (*ready)(void *arg, uint16_t port);
	/** Called after each test that carried something; may be NULL. */
	void (*served)(void *arg, const struct ovl_peer_served *what);
	const struct ovl_allow *allow; /* who may connect; NULL: everybody */
	/**
	 * Called for those of the others that are to be told of (ovl_allow_note), with the address
	 * and how many have been turned away; once more at the end if any were, from NULL. May be
	 * NULL.
	 */
	void (*turned_away)(void *arg, const char *from, uint64_t n);
	void *arg;
};

/**
 * Serve until stop_fd is readable. 0, or -errno with *err (port taken: OVL_EXIT_FAILED names who to
 * ask).
 */
int ovl_peer_serve(const struct ovl_peer_spec *spec, struct ovl_err *err);

#endif
