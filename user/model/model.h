/*
 * The model: what the samples mean. Pure: no system calls, no clock, no stdio.
 *
 * samples ─► ovl_model_add ─► accumulators ─► ovl_model_build ─► struct ovl_model ─► views
 *
 * Unknown is NAN for doubles and `valid = false` for groups; never 0.
 */
#ifndef OVL_MODEL_MODEL_H
#define OVL_MODEL_MODEL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"
#include "model/copies.h"
#include "model/effect.h"
#include "model/facts.h"
#include "model/findings.h"
#include "model/gather.h"
#include "model/losses.h"
#include "model/packets.h"
#include "model/sample.h"
#include "model/stage.h"

#define OVL_HISTORY	120 /* intervals kept for sparklines */
#define OVL_TOP_SYMBOLS 5

struct ovl_symbol_time {
	char name[OVL_NAME_MAX];
	uint64_t ns;
};

/**
 * CPU time of one stage over the whole run, all CPUs (with load: overlay phase only, all 0 for a
 * stage that only the underlay had).
 */
struct ovl_stage_time {
	uint8_t stage;
	uint64_t ns;
	uint64_t samples;
	double share_ratio;  /* of busy time */
	double stderr_ratio; /* one standard error of share_ratio */
	double ns_per_kib;   /* per KiB of payload; NAN without a byte count */
	/*
	 * the same over the underlay; 0: measured, but no sample; NAN (in all stages): not measured
	 */
	double underlay_ns_per_kib;
	uint64_t work_ns[OVL_WORK_COUNT];
	uint32_t n_symbols;
	struct ovl_symbol_time symbols[OVL_TOP_SYMBOLS];
};

struct ovl_cpu_load {
	uint32_t cpu;
	double busy_ratio, softirq_ratio, steal_ratio; /* of wall time; softirq from samples */
	int top_stage;				       /* enum ovl_stage, -1: none */
};

struct ovl_cpu_model {
	bool valid;				      /* a sampler ran */
	uint64_t wall_ns, busy_ns, idle_ns, steal_ns; /* summed over CPUs */
	double unclassified_ratio;		      /* of busy time */
	/* of busy time: in stages that only name a context (syscall, softirq_other, …) */
	double catch_all_ratio;
	uint64_t samples;		       /* busy ones */
	OVL_VEC(struct ovl_stage_time) stages; /* largest first, those of the underlay alone last */
	OVL_VEC(struct ovl_cpu_load) per_cpu;
};

/** What the interface looked at carries; what that is for which kind: model/traffic.h. */
struct ovl_traffic {
	bool valid; /* the counters of the interface, or of the bridge's ports, were read */
	uint64_t rx_bytes, rx_pkts, tx_bytes, tx_pkts; /* as the devices count them */
	double rx_bps, tx_bps;		 /* mean over the run; with load over the overlay slices */
	double last_rx_bps, last_tx_bps; /* last interval; NAN before the first */
};

struct ovl_device_counts {
	uint64_t bytes, pkts, drops, errors;
};

/** Counters of one device over the whole run, in its own units. */
struct ovl_device {
	bool valid; /* they were read */
	struct ovl_device_counts rx, tx;
};

struct ovl_quantiles {
	bool valid;
	uint64_t p50_ns, p90_ns, p99_ns, max_ns;
};

/** Context switches of the load's threads on one side, per MiB of payload; NAN: unknown. */
struct ovl_switches {
	double voluntary_per_mib;   /* waits */
	double involuntary_per_mib; /* another took the CPU */
};

/** Round trips of one kind over one path. */
struct ovl_latency {
	bool valid;
	uint64_t count;
	uint64_t min_ns, p50_ns, p90_ns, p99_ns, p999_ns, max_ns;
	double mean_ns;
	uint32_t message_bytes;
};

struct ovl_load_path {
	bool valid;
	double goodput_bps; /* NAN: a load of round trips */
	/* of such a load, one at a time; NAN: another load, or none was made */
	double transactions_ps;
	struct ovl_latency idle, loaded; /* known without `valid`, too */
	uint64_t bytes, wall_ns;
	/*
	 * NAN and invalid where the sender is on another host, whose TCP cannot be asked; NAN for
	 * round trips
	 */
	double retransmits;
	struct ovl_quantiles rtt;
	double sender_ns_per_kib, receiver_ns_per_kib; /* CPU of the load's threads; NAN: unknown */
	struct ovl_switches sender_switches, receiver_switches;
	double busy_ratio, rwnd_ratio, sndbuf_ratio; /* of wall time, from TCP_INFO */
	double cwnd_segs;
	uint32_t mss_bytes;
};

struct ovl_load_model {
	bool valid;
	struct ovl_load_path underlay, overlay;
	char disturbed[OVL_TEXT_MAX]; /* "" : not disturbed */
	uint32_t pairs;		      /* complete ABBA pairs */
};

enum ovl_basis {
	OVL_BASIS_MEASURED = 0,
	OVL_BASIS_RECORDED,
	OVL_BASIS_ESTIMATED,
	OVL_BASIS_ARITHMETIC
};
const char *ovl_basis_name(enum ovl_basis basis);

struct ovl_term {
	char key[32]; /* stage key, or slack, other_tasks, ovltrace, steal, rwnd, … */
	char label[48];
	int64_t bps;		    /* loss; negative: gained, or slack used up first */
	double stderr_bps;	    /* NAN: fewer than 3 pairs */
	double if_removed_bps;	    /* goodput if this row cost nothing; NAN: not defined */
	double if_removed_high_bps; /* the same if the lane's idle time were then used as well */
	double low_bps;	   /* estimated waterfall: this term at the estimate's low end; else NAN */
	double ns_per_kib; /* overlay cost of this row; NAN for rows that are not CPU time */
	enum ovl_basis basis;
};

struct ovl_waterfall {
	bool valid;
	char why_not[OVL_TEXT_MAX]; /* when not valid: one sentence */
	double underlay_bps, overlay_bps;
	enum ovl_basis basis;
	char lane[32];		   /* "cpu0", "connection" */
	double lane_purity_ratio;  /* NAN: not measured */
	double ledger_error_ratio; /* ovl_ledger_error of the lane, the larger of both phases */
	/*
	 * samples that may have been idle time (OVL_CTX_WAKE) ÷ all, the larger of both phases;
	 * NAN: none
	 */
	double wake_ratio;
	bool uncertain; /* ledger error > 0.03 over ≥ 5 s */
	int64_t unexplained_bps;
	/* estimated: the estimate's low end (underlay_bps is the high one); else NAN */
	double low_underlay_bps;
	uint32_t stderr_pairs; /* pairs that the standard errors rest on: at most the last 64 */
	OVL_VEC(struct ovl_term) terms; /* largest loss first; every row, none hidden */
	uint32_t n_runners_up;
	char runners_up[4][32];
};

enum ovl_limit {
#define LIMIT(KEY, key) OVL_LIMIT_##KEY,
#include "model/limits.def"
	OVL_LIMIT_COUNT,
};
/** Contract key ("sender_task_cpu"). */
const char *ovl_limit_key(enum ovl_limit limit);

struct ovl_evidence {
	char key[48];
	double value;
	char unit[16]; /* "ratio", "bps", "ns", "pkts", "" */
};

struct ovl_verdict {
	enum ovl_limit limit;
	char side[12]; /* "sender", "receiver", "both", "node" */
	double confidence_ratio;
	char sentence[OVL_TEXT_MAX];
	uint32_t n_evidence;
	struct ovl_evidence evidence[8];
};

struct ovl_self_model {
	double cpu_ratio;	  /* own cost ÷ busy time of the limiting CPU; NAN: unknown */
	int cpu;		  /* that CPU, -1: unknown */
	struct ovl_effect effect; /* measured on the load (--self-cost) */
	uint64_t lost_events[OVL_LOST_COUNT]; /* by enum ovl_lost */
};

/** One point of history, for sparklines. */
struct ovl_point {
	/*
	 * overlay goodput; without load what passed the interface: rx + tx, but what is counted in
	 * both (loopback, a bridge's ports) once; NAN: unknown
	 */
	double bps;
	double drops_ps; /* real drops a second */
	double rtt_ns;	 /* NAN: unknown */
};

/**
 * Last interval of the main phase (with load: overlay slice). NAN: unknown, or before the first.
 */
struct ovl_last {
	double goodput_bps; /* of the load */
	double drops_ps, retransmits_ps;
	double rtt_ns; /* median of the load's readings */
	OVL_VEC(struct ovl_cpu_load) per_cpu;
};

struct ovl_model {
	uint64_t duration_ns; /* observed time so far */
	uint64_t intervals;
	struct ovl_traffic traffic;
	OVL_VEC(struct ovl_device) devices; /* one for each of ovl_facts.links */
	struct ovl_cpu_model cpu;
	struct ovl_load_model load;
	struct ovl_waterfall waterfall;
	struct ovl_copies copies;
	struct ovl_verdict verdict;
	/* whole run and machine (ovl_facts_on_path), most segments first, benign last */
	OVL_VEC(struct ovl_drop) drops;
	OVL_VEC(struct ovl_counter) counters; /* whole run, those that moved */
	ovl_losses losses;		      /* whole run, by the kernel's own counters */
	/* evidence gathered over the run, and what it comes to */
	OVL_VEC(struct ovl_reading) readings;
	OVL_VEC(struct ovl_flow_sum) flows; /* busiest first */
	OVL_VEC(struct ovl_attempt) attempts;
	bool flows_valid, attempts_valid; /* they were looked at */
	ovl_findings findings;
	double drops_ps,
		retransmits_ps; /* real drops on the path, mean over the run; NAN: not counted */
	struct ovl_last last;
	struct ovl_packets_model packets;
	struct ovl_self_model self;
	uint64_t damaged_records; /* of samples: indices or values that cannot be */
	uint64_t table_overflow;  /* records without room in drops, counters or symbols */
	uint32_t n_history;	  /* oldest first */
	struct ovl_point history[OVL_HISTORY];
};

struct ovl_model_state;

/** Empty accumulators; NULL without memory. */
struct ovl_model_state *ovl_model_new(void);
void ovl_model_free(struct ovl_model_state *state);
/** Take one sample in. 0 or -ENOMEM. */
int ovl_model_add(struct ovl_model_state *state, const struct ovl_facts *facts,
		  const struct ovl_sample *sample);
/** Compute everything from the accumulators into *out (reused between calls). 0 or -ENOMEM. */
int ovl_model_build(const struct ovl_model_state *state, const struct ovl_facts *facts,
		    struct ovl_model *out);
void ovl_model_fini(struct ovl_model *m);

#endif
