/*
 * The model's accumulators: what ovl_model_add keeps of the samples. Memory is bounded whatever the
 * length of the run: pooled sums per CPU and phase, the last OVL_PAIRS_KEPT pairs and slices for
 * standard errors, and tables of bounded size.
 */
#ifndef OVL_MODEL_STATE_H
#define OVL_MODEL_STATE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/hist.h"
#include "base/vec.h"
#include "bpf/abi.h"
#include "model/acc.h"
#include "model/copies.h"
#include "model/effect.h"
#include "model/gather.h"
#include "model/merge.h"
#include "model/model.h"
#include "model/packets.h"
#include "model/stats.h"
#include "model/traffic.h"

#define OVL_CPU_MAX    8192 /* CPU numbers above are taken for damage */
#define OVL_PAIRS_KEPT 64
#define OVL_COUNT_MAX  (UINT64_C(1) << 56) /* largest believable difference of a counter */
#define OVL_PHASES     OVL_PHASE_SETTLE	   /* phases that have rows */

struct ovl_cpu_state {
	uint32_t cpu;
	struct ovl_cpu_acc phase[OVL_PHASES];
	struct ovl_cpu_acc last; /* last interval of the main phase */
	/* all phases, settling included: for ovltrace's own cost */
	uint64_t busy_ns, user_ns, runs[OVL_PROG_COUNT], packet_runs[OVL_PACKET_PROGS], func_runs;
	bool self_seen, user_unknown;
};

/** One ABBA pair on the pinned CPUs: [0] sender's, [1] receiver's. */
struct ovl_pair {
	uint32_t number;
	bool has[OVL_PHASES];
	struct ovl_lane_acc lane[OVL_PHASES][2];
	struct ovl_conn_acc conn[OVL_PHASES];
};

/** Samples by stage of one interval of the main phase, all CPUs. */
struct ovl_slice {
	uint64_t n[OVL_STAGE_COUNT];	/* certain ones */
	uint64_t wake[OVL_STAGE_COUNT]; /* see struct ovl_lane_acc */
};

/** Context switches of one side. */
struct ovl_switches_acc {
	uint64_t voluntary, involuntary;
	bool unknown; /* of some slice */
};

struct ovl_path_acc {
	struct ovl_conn_acc conn;
	uint64_t sender_cpu_ns, receiver_cpu_ns;
	bool receiver_unknown;
	struct ovl_switches_acc sender_switches, receiver_switches;
	uint32_t cwnd_segs, mss_bytes;
	struct ovl_stats_hist rtt_us;
	struct ovl_hist latency[2]; /* [0] idle, [1] loaded */
	uint32_t message_bytes[2];
};

/** Last interval of the main phase; NAN: unknown, or before the first. */
struct ovl_last_acc {
	double goodput_bps, drops_ps, retransmits_ps, rtt_ns;
};

struct ovl_model_state {
	uint64_t duration_ns, intervals;
	uint64_t damaged; /* records with indices or values that cannot be */

	OVL_VEC(struct ovl_cpu_state) cpus;
	uint16_t cpu_index[OVL_CPU_MAX];		/* entry of cpus + 1 */
	uint64_t work[OVL_STAGE_COUNT][OVL_WORK_COUNT]; /* certain samples of the main phase */
	uint64_t wake_work[OVL_STAGE_COUNT][OVL_WORK_COUNT];
	struct ovl_path_acc path[OVL_PHASES];

	struct ovl_pair pair[OVL_PAIRS_KEPT]; /* by number % OVL_PAIRS_KEPT */
	uint32_t pairs;			      /* complete ones so far */
	struct ovl_slice slice[OVL_PAIRS_KEPT];
	uint64_t slices;

	OVL_VEC(struct ovl_device)
	devices; /* sums by link of the facts, shorter before the first */
	struct ovl_traffic_acc traffic;
	struct ovl_copies_acc copies; /* of the main phase */
	uint64_t main_ns;	      /* of the main phase */

	struct ovl_merge merge;
	struct ovl_gather gather;
	struct ovl_effect effect;
	uint64_t drop_pkts,
		drop_pkts_overlay; /* real drops on the path: whole run, overlay slices */
	bool drops_seen;
	uint64_t backlog_drops, softnet_drops; /* during slices */
	uint64_t retransmits, retransmits_ns;  /* counted, and over how long */

	struct ovl_packets_acc packets;
	uint64_t lost[OVL_LOST_COUNT];
	uint64_t points;
	struct ovl_last_acc last;
	struct ovl_point history[OVL_HISTORY]; /* ring, next at points % OVL_HISTORY */
};

/**
 * Phase that cpu.stages and per_cpu describe: the overlay with our load, else plain observation.
 */
enum ovl_phase ovl_state_main(const struct ovl_facts *facts);
/** This CPU's accumulators, or NULL when nothing was seen of it. */
const struct ovl_cpu_state *ovl_state_cpu(const struct ovl_model_state *state, int cpu);
#endif
