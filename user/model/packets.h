/*
 * Packets at the devices of the path: what the windows of the main phase counted, as numbers for
 * the whole of it. With --deep they are exact; else what was seen while windows were open, times
 * the time they stand for: an estimate, and marked as one. Pure.
 */
#ifndef OVL_MODEL_PACKETS_H
#define OVL_MODEL_PACKETS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"
#include "model/facts.h"
#include "model/sample.h"

/** Sums of the samples. */
struct ovl_packets_acc {
	uint64_t open_ns, span_ns;	   /* main phase: windows, and the time they stand for */
	uint64_t run_open_ns, run_span_ns; /* the same of the whole run */
	uint64_t run_rx_segs, run_tx_segs; /* of the interface, whole run */
	uint32_t windows, windows_lost;	   /* whole run */
	OVL_VEC(struct ovl_hop_delta) hops;
	OVL_VEC(struct ovl_step) steps;
	OVL_VEC(struct ovl_wait) waits;
	OVL_VEC(struct ovl_daemon_delta) daemons;
	OVL_VEC(struct ovl_syscall) syscalls;
};

/** A device and the packets that passed it, as seen (not scaled). */
struct ovl_hop_model {
	uint32_t link;
	struct ovl_hop_counts seen;
};

/** Aggregates taken apart and put together at a device, as seen. */
struct ovl_segmentation {
	uint32_t link;
	enum ovl_dir dir;
	/* cut up by the kernel for this device, and into how many skbs; 0: the device does it */
	uint64_t gso_in_pkts, gso_out_segs;
	bool gro; /* the device has it: what follows was counted */
	uint64_t gro_in_pkts, gro_out_pkts;
};

#define OVL_PATH_HOPS 32
#define OVL_PATHS_MAX 8

struct ovl_path_hop {
	uint32_t link;
	bool received;	     /* packets come out of the device; else they are given to it */
	uint64_t pkts, segs; /* as seen: sent ones as the driver got them, received as the stack */
	uint64_t bytes;	     /* skb->len, as seen */
	uint32_t n_lost;
	char lost[4][40]; /* offloads that the hop before had and this one has not */
};

/** Devices that packets of one direction passed, in this order. */
struct ovl_hop_path {
	enum ovl_dir dir;
	const char
		*side; /* "tx", "rx": the interface sent or received them; "both"; NULL: neither */
	uint32_t n;
	struct ovl_path_hop hops[OVL_PATH_HOPS];
};

struct ovl_wait_spread {
	uint8_t kind;  /* enum ovl_wait_kind */
	uint32_t link; /* OVL_LINK_NONE: of no device */
	int dir;       /* enum ovl_dir; -1: packets were not told apart */
	uint64_t count, sum_ns, p50_ns, p90_ns, p99_ns, max_ns;
	uint64_t n[OVL_WAIT_BUCKETS]; /* bpf/hist.h */
};

/** A tun daemon at work. Scheduler and system calls as seen; CPU time of the main phase. */
struct ovl_tun_model {
	uint32_t daemon; /* index into ovl_facts.daemons */
	struct ovl_daemon_counts seen;
	double user_ns, kernel_ns; /* NAN: unknown */
	double per_s;		   /* of the main phase, to make shares of it: 1e9 ÷ its length */
	uint64_t tx_pkts, tx_segs, tx_bytes, rx_pkts, rx_segs, rx_bytes; /* of the device */
	OVL_VEC(struct ovl_syscall) syscalls;
};

struct ovl_packets_model {
	bool valid;   /* windows were open in the main phase */
	bool exact;   /* nothing was left out: `seen` is all */
	double scale; /* times `seen` is an estimate of all */
	uint64_t open_ns, span_ns;
	uint32_t windows, windows_lost;
	double run_rx_segs, run_tx_segs; /* of the interface, whole run, scaled; NAN: unknown */
	OVL_VEC(struct ovl_hop_model) hops;
	OVL_VEC(struct ovl_segmentation) segmentation;
	OVL_VEC(struct ovl_hop_path) paths;
	OVL_VEC(struct ovl_wait_spread) latency; /* by kind, then as devices come in the facts */
	OVL_VEC(struct ovl_tun_model) tuns;
};

/**
 * Add a sample's packets: main: it belongs to the main phase; length_ns: of the sample. 0 or
 * -ENOMEM; records that cannot be are added to *damaged.
 */
int ovl_packets_add(struct ovl_packets_acc *acc, const struct ovl_facts *facts,
		    const struct ovl_sample *sample, bool main, uint64_t length_ns,
		    uint64_t *damaged);
/** Fill *out (reused between calls). 0 or -ENOMEM. */
int ovl_packets_build(const struct ovl_packets_acc *acc, const struct ovl_facts *facts,
		      struct ovl_packets_model *out);
void ovl_packets_acc_fini(struct ovl_packets_acc *acc);
void ovl_packets_model_fini(struct ovl_packets_model *m);
/** Contract key of a wait ("encap"), "?" when out of range. */
const char *ovl_packets_wait_key(uint8_t kind);

/* model/paths.c */
/** The paths that the steps show, the busiest first. 0 or -ENOMEM. */
int ovl_paths_build(const struct ovl_packets_acc *acc, const struct ovl_facts *facts,
		    struct ovl_packets_model *out);

/* model/latency.c */
/** Quantiles of all waits. 0 or -ENOMEM. */
int ovl_latency_build(const struct ovl_packets_acc *acc, struct ovl_packets_model *out);

#endif
