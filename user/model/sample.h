/*
 * One sample: what happened between two instants. Everything is a difference over the interval,
 * unless said otherwise. Plain data: made by collect (live or replay), consumed by model.
 */
#ifndef OVL_MODEL_SAMPLE_H
#define OVL_MODEL_SAMPLE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/hist.h"
#include "base/vec.h"
#include "bpf/abi.h"
#include "model/effect.h"
#include "model/facts.h"

enum ovl_phase {
	OVL_PHASE_OBSERVE = 0, /* no load of ours */
	OVL_PHASE_UNDERLAY,
	OVL_PHASE_OVERLAY,
	/* between slices: counted for drops, traffic and own cost, not for rows */
	OVL_PHASE_SETTLE,
	OVL_PHASE_COUNT,
};

/** Context a stack sample was taken in. */
enum ovl_ctx {
	OVL_CTX_TASK = 0, /* kernel mode on behalf of the task */
	OVL_CTX_SOFTIRQ,  /* softirq, whatever task is current */
	OVL_CTX_USER,	  /* user mode */
	OVL_CTX_IRQ,	  /* hard interrupt, whatever task is current */
	/* entry of the interrupt that woke the CPU: idle time or its own (model/wake.h) */
	OVL_CTX_WAKE,
	OVL_CTX_COUNT,
};

/** Clock of one CPU (/proc/stat). busy = wall − idle − steal. */
struct ovl_cpu_clock {
	uint32_t cpu;
	uint64_t wall_ns, idle_ns, steal_ns; /* idle includes iowait */
	uint64_t softirq_handled; /* /proc/net/softnet_stat: packets processed by this CPU */
};

/** Busy samples of one kind on one CPU. Idle samples never get here. */
struct ovl_hit {
	uint32_t cpu;
	uint8_t stage; /* enum ovl_stage */
	uint8_t work;  /* enum ovl_work */
	uint8_t ctx;   /* enum ovl_ctx */
	/* enum ovl_task_class (bpf/abi.h); meaningful in task and user context */
	uint8_t task_class;
	uint32_t count;
};

/** Busy samples by leaf function, all CPUs. */
struct ovl_symbol_hit {
	uint8_t stage;
	char name[OVL_NAME_MAX];
	uint32_t count;
};

/** Counters of one device (rtnetlink IFLA_STATS64), in the device's own units. */
struct ovl_link_delta {
	uint32_t link; /* index into ovl_facts.links */
	uint64_t rx_bytes, rx_pkts, rx_dropped, rx_errors;
	uint64_t tx_bytes, tx_pkts, tx_dropped, tx_errors;
	bool gone; /* the device has vanished */
};

/** One kernel counter that moved. */
struct ovl_counter {
	uint32_t ns; /* index into ovl_facts.ns; OVL_NS_MACHINE: counted for the whole machine */
	/* "Tcp", "TcpExt", "Ip", "Udp", "softnet", … as in /proc/net/{snmp,netstat} */
	char group[16];
	char name[OVL_NAME_MAX];
	int64_t delta;
};
#define OVL_NS_MACHINE UINT32_MAX

/** skbs freed as drops (tracepoint skb:kfree_skb). */
struct ovl_drop {
	/* name in the kernel's BTF without SKB_DROP_REASON_, else the number */
	char reason[OVL_NAME_MAX];
	char symbol[OVL_NAME_MAX]; /* function that freed it */
	uint32_t ns;		   /* index; OVL_NS_MACHINE: unknown */
	char iface[OVL_IF_MAX];	   /* "" : unknown */
	uint8_t stage; /* enum ovl_stage of the symbol, OVL_STAGE_UNCLASSIFIED: unknown */
	bool benign;   /* a free that loses nothing a user sent (7-faults section 1) */
	uint64_t pkts, segs;
};

/** Calls of one kernel function at one device. */
struct ovl_func_delta {
	uint8_t func;		/* enum ovl_func (bpf/abi.h) */
	uint32_t ns;		/* index; OVL_NS_MACHINE: none of the path's */
	char iface[OVL_IF_MAX]; /* "": unknown, or at no device */
	uint64_t calls, bytes, segs;
	uint64_t timed;		   /* calls that incl_ns and excl_ns are of */
	uint64_t incl_ns, excl_ns; /* with and without the other functions that it called */
};

/** One path of the load over the interval. */
struct ovl_load_delta {
	bool valid;				 /* this path carried the load in this interval */
	uint64_t wall_ns;			 /* length of the measured part */
	uint64_t bytes;				 /* payload the receiving application got */
	uint64_t retransmits;			 /* segments, TCP_INFO tcpi_total_retrans */
	uint64_t busy_us, rwnd_us, sndbuf_us;	 /* sender's TCP_INFO, mean over streams */
	uint64_t sender_cpu_ns, receiver_cpu_ns; /* of the load's threads; receiver 0: unknown */
	/* context switches of the same threads, if known (getrusage: ru_nvcsw, ru_nivcsw) */
	bool sender_switches, receiver_switches;
	uint64_t sender_voluntary, sender_involuntary, receiver_voluntary, receiver_involuntary;
	uint32_t rtt_n;	     /* valid entries below */
	uint32_t rtt_us[32]; /* TCP_INFO tcpi_rtt readings, one each 100 ms and stream */
	uint32_t cwnd_segs;  /* last reading, mean over streams */
	uint32_t mss_bytes;  /* last reading of tcpi_snd_mss */
};

/** Round trips of the load's own messages over one path (load/rr.h). */
struct ovl_latency_delta {
	bool valid;
	uint8_t path; /* enum ovl_phase: UNDERLAY or OVERLAY */
	bool loaded;  /* while bulk of the load filled the path */
	uint32_t message_bytes;
	/* 0: one at a time, else one each so often, counted from when it was due */
	uint64_t pace_ns;
	struct ovl_hist rtt;
};

/**
 * One piece of evidence that is no plain counter: a setting, a gauge, or the counter of one object
 * (a rule, a queue, a program). Settings are listed when they are new or have changed.
 */
struct ovl_reading {
	uint32_t ns;		     /* index into ovl_facts.ns; OVL_NS_MACHINE */
	char kind[16];		     /* what the object is: "qdisc", "rule", "sysctl", … */
	char object[OVL_NAME_MAX];   /* "eth0 tbf 8001:", "filter FORWARD handle 7" */
	char name[32];		     /* "rate_bps", "dropped_pkts" */
	char text[2 * OVL_NAME_MAX]; /* its words, "" for a number */
	int64_t value;		     /* at the end of the interval */
	int64_t delta;		     /* by which a counter has grown */
};

/** Ends of TCP connections: "10.244.1.2:5201", "[fd00::2]:5201". */
#define OVL_ADDR_MAX 56

/** A TCP connection of a namespace of the path, as its socket sees it (sock_diag, TCP_INFO). */
struct ovl_flow {
	uint32_t ns;
	char src[OVL_ADDR_MAX], dst[OVL_ADDR_MAX]; /* local and remote end */
	uint8_t state;				   /* TCP_ESTABLISHED = 1, … of the kernel */
	bool app_limited;
	/* within the interval */
	uint64_t acked_bytes, received_bytes;
	uint64_t sent_segs, retrans_segs, dsack_segs;
	uint64_t busy_us, rwnd_us, sndbuf_us;
	/* at its end */
	uint64_t total_acked_bytes;
	uint32_t rtt_us, min_rtt_us, cwnd_segs, mss_bytes, pmtu_bytes, snd_wnd_bytes;
	uint32_t unacked_segs, unsent_bytes, timeouts, probes; /* the last two: in a row */
};

/** Attempts to connect to one address and port (tracepoint sock:inet_sock_set_state). */
struct ovl_attempt {
	uint32_t ns;
	char dst[OVL_ADDR_MAX]; /* without the port */
	uint32_t port;
	uint64_t tried, answered, refused, unanswered; /* refused: by a reset */
	uint64_t repeated_segs;			       /* SYN segments sent again */
};

/** What ovltrace itself did. */
struct ovl_self_delta {
	uint32_t cpu;
	/* own threads' CPU time on this CPU (load threads excluded); UINT64_MAX: unknown */
	uint64_t user_ns;
	uint64_t runs[OVL_PROG_COUNT];		/* runs by enum ovl_prog (bpf/abi.h) */
	uint64_t packet_runs[OVL_PACKET_PROGS]; /* by enum ovl_packet_prog */
	uint64_t func_runs;			/* of the programs at functions */
};

/** What passed one device while windows were open. */
struct ovl_hop_delta {
	uint32_t link; /* index into ovl_facts.links */
	struct ovl_hop_counts n;
};

/** Packets that went from one device to the next; a node is link × 2 + (received ? 1 : 0). */
struct ovl_step {
	uint32_t from, to;
	uint64_t skbs[OVL_DIRS];
};

/** Waits of one kind at one device. */
struct ovl_wait {
	uint32_t link; /* OVL_LINK_NONE: of no device */
	uint8_t kind;  /* enum ovl_wait_kind */
	uint8_t dir;   /* enum ovl_dir; always 0 where packets are not looked at */
	uint64_t sum_ns, max_ns;
	uint64_t n[OVL_WAIT_BUCKETS];
};
#define OVL_LINK_NONE UINT32_MAX

/** One kind of system call of a daemon. */
struct ovl_syscall {
	uint32_t daemon; /* index into ovl_facts.daemons */
	char name[24];
	uint64_t calls, failed;
	uint64_t bytes; /* that they moved; UINT64_MAX: their answer is no number of bytes */
};

/** What the scheduler did with a daemon while windows were open, and its CPU time at all times. */
struct ovl_daemon_delta {
	uint32_t daemon; /* index into ovl_facts.daemons */
	struct ovl_daemon_counts n;
	uint64_t user_ns, kernel_ns; /* /proc/PID/stat, in clock ticks; UINT64_MAX: unknown */
};

/** Packets, as counted while windows were open. */
struct ovl_packets_delta {
	uint64_t open_ns;      /* windows were open for so long of the interval */
	uint32_t windows;      /* that opened */
	uint32_t windows_lost; /* that should have, but the kernel refused */
	OVL_VEC(struct ovl_hop_delta) hops;
	OVL_VEC(struct ovl_step) steps;
	OVL_VEC(struct ovl_wait) waits;
	OVL_VEC(struct ovl_daemon_delta) daemons;
	OVL_VEC(struct ovl_syscall) syscalls;
};

struct ovl_sample {
	uint64_t start_ts_ns, end_ts_ns; /* CLOCK_MONOTONIC */
	uint8_t phase;			 /* enum ovl_phase */
	uint32_t pair;			 /* number of the ABBA pair a slice belongs to, from 0 */

	OVL_VEC(struct ovl_cpu_clock) cpus;
	OVL_VEC(struct ovl_hit) hits;
	OVL_VEC(struct ovl_symbol_hit) symbols;
	OVL_VEC(struct ovl_link_delta) links;
	OVL_VEC(struct ovl_counter) counters;
	OVL_VEC(struct ovl_drop) drops;
	OVL_VEC(struct ovl_self_delta) self;
	OVL_VEC(struct ovl_reading) readings;
	OVL_VEC(struct ovl_flow) flows; /* the busiest, and those that stand still */
	OVL_VEC(struct ovl_attempt) attempts;
	bool flows_valid, attempts_valid; /* they were looked at */
	struct ovl_packets_delta packets;
	OVL_VEC(struct ovl_func_delta) funcs;
	bool funcs_valid; /* the functions of the facts were counted all the time */
	/* segments, tracepoint tcp:tcp_retransmit_skb, all namespaces of the path */
	uint64_t retransmits;
	bool retransmits_valid;
	struct ovl_load_delta load; /* of the path named by phase */
	struct ovl_latency_delta latency;
	struct ovl_effect_delta effect; /* in a record of its own, after the run */
	uint64_t lost[OVL_LOST_COUNT];	/* by enum ovl_lost (bpf/abi.h) */
	uint64_t self_cpu_ns; /* CPU time of ovltrace without its load threads, all CPUs */
};

/** Forget the contents, keep the memory. */
void ovl_sample_clear(struct ovl_sample *s);
void ovl_sample_fini(struct ovl_sample *s);
/** Short name of a phase, as in recordings: "observe", "underlay", "overlay", "settle". */
const char *ovl_phase_name(enum ovl_phase phase);
/** Phase with this name, or -1. */
int ovl_phase_find(const char *name);

#endif
