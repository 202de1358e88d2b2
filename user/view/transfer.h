/*
 * A load in iperf3's terms: connections, intervals and totals as plain data, from which its text
 * and its JSON are written. Filled in by app, summed up here. Pure. Numbers that are not known are
 * NAN.
 */
#ifndef OVL_VIEW_TRANSFER_H
#define OVL_VIEW_TRANSFER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"

/** One connection over one interval, or the sum of all. */
struct ovl_transfer_row {
	double start_s, end_s; /* since the start of the omitted or of the measured time */
	double bytes;	       /* payload: received, or acknowledged by the far end's TCP */
	double retransmits;    /* segments */
	double cwnd_bytes, snd_wnd_bytes, rtt_us, rttvar_us, pmtu_bytes; /* at the end of it */
};

struct ovl_transfer_interval {
	bool omitted;
	OVL_VEC(struct ovl_transfer_row) rows; /* one per connection */
	struct ovl_transfer_row sum;
};

/** One connection, and what it carried in the measured time. */
struct ovl_transfer_stream {
	int socket; /* its number in iperf3's first column */
	char local_host[64], remote_host[64];
	uint16_t local_port, remote_port;
	struct ovl_transfer_row counted;   /* by this end */
	double far_bytes, far_retransmits; /* as the far end says */
	double max_cwnd_bytes, max_snd_wnd_bytes, max_rtt_us, min_rtt_us;
	double rtt_sum_us; /* of rtt_n intervals */
	uint32_t rtt_n;
};

/** What one side's threads have used. */
struct ovl_transfer_side {
	double cpu_ns_per_kib;
	double voluntary_per_mib, involuntary_per_mib; /* context switches */
};

struct ovl_transfer {
	/* known at the start */
	char version[32], system_info[256], host[64], cookie[40];
	char time[40]; /* "Mon, 30 Nov 2026 21:24:49 GMT" */
	uint64_t start_unix_s;
	uint16_t port;
	uint32_t block_bytes;
	double mss_bytes, rate_bps, window_bytes, sndbuf_bytes, rcvbuf_bytes;
	double omit_s, duration_s;
	bool reverse; /* the far end sends */
	bool plain;   /* the text has iperf3's columns and lines and no more */
	bool keep;    /* keep the intervals, for JSON */
	OVL_VEC(struct ovl_transfer_stream) streams;
	/* the last one that was measured or omitted; with keep all of them */
	OVL_VEC(struct ovl_transfer_interval) intervals;
	/* known at the end */
	struct ovl_transfer_row sum;			 /* of the measured time, all connections */
	double far_bytes, far_retransmits;		 /* all connections, as the far end says */
	double host_cpu, host_user_cpu, host_system_cpu; /* percent of one CPU */
	double remote_cpu, remote_user_cpu, remote_system_cpu;
	char sender_congestion[16], receiver_congestion[16]; /* "" : not known */
	struct ovl_transfer_side sender, receiver;
	double last_mss_bytes; /* mean over connections; grows while TCP learns the path */
	double rwnd_ratio, sndbuf_ratio; /* of the time, mean over connections, TCP_INFO */
	char disagreement[320];		 /* sentence; "": both ends counted the same, or unknown */
	const char *error;		 /* the sentence of what ended it early, NULL: nothing */
};

/** Everything unknown. Release with ovl_transfer_fini. */
void ovl_transfer_init(struct ovl_transfer *t);
void ovl_transfer_fini(struct ovl_transfer *t);
/** A row of which nothing is known. */
struct ovl_transfer_row ovl_transfer_unknown(void);
/**
 * An interval is over: interval->rows has one row per connection of t->streams, which are taken
 * over. Sums them up and, unless it is omitted, adds them to the totals; it is then the last of
 * t->intervals. 0 or -ENOMEM.
 */
int ovl_transfer_add(struct ovl_transfer *t, struct ovl_transfer_interval *interval);

#endif
