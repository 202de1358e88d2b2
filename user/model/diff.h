/*
 * What changed between two runs: figures, ledger, devices of the path, counters, drops. Pure.
 *
 * Namespaces are compared by name; where the two runs share none (labs and twins made anew), a
 * device's name decides.
 */
#ifndef OVL_MODEL_DIFF_H
#define OVL_MODEL_DIFF_H

#include "model/metrics.h"

struct ovl_diff_metric {
	enum ovl_metric metric;
	double a, b; /* NAN: not measured */
	int judged;  /* ovl_metric_judge */
};

/** One stage's CPU time per KiB carried. */
struct ovl_diff_stage {
	uint8_t stage;
	double a_ns_per_kib, b_ns_per_kib; /* NAN: that run carried nothing; 0: no sample */
	/* two standard errors of the difference; NAN: unknown */
	double noise_ns_per_kib;
	double bps; /* what the stage's row of the waterfall loses more in b; NAN: no waterfalls */
};

/** A device, or one property of it, that differs. */
struct ovl_diff_device {
	char netns[OVL_NAME_MAX], iface[OVL_IF_MAX];
	char what[48]; /* "mtu", "feature tx-checksum-ip-generic", "device", "kind", "up", "vni" */
	char a[64], b[64]; /* values; "-": not there */
};

/** Events a second by name, that differ by more than chance (three standard errors of counts). */
struct ovl_diff_rate {
	char netns[OVL_NAME_MAX]; /* "": the whole machine */
	char name[OVL_NAME_MAX +
		  80]; /* "TcpExt.TCPTimeouts", "QDISC_DROP at dev_qdisc_enqueue eth0" */
	double a_ps, b_ps;
};

struct ovl_diff {
	struct ovl_diff_metric metric[OVL_METRIC_COUNT];
	OVL_VEC(struct ovl_diff_stage) stages; /* costliest change first; all, noise at the end */
	OVL_VEC(struct ovl_diff_device) devices;
	OVL_VEC(struct ovl_diff_rate) drops, counters; /* largest change first */
};

/** One run. */
struct ovl_diff_side {
	const struct ovl_facts *facts;
	const struct ovl_model *model;
};

/** Is the change of a stage larger than its noise? */
bool ovl_diff_stands_out(const struct ovl_diff_stage *stage);
/** How b differs from a. 0 or -ENOMEM. *out is zeroed or used before. */
int ovl_diff_make(const struct ovl_diff_side *a, const struct ovl_diff_side *b,
		  struct ovl_diff *out);
/** Figures of b that are worse than those of a. */
unsigned ovl_diff_worse(const struct ovl_diff *diff);
void ovl_diff_fini(struct ovl_diff *diff);

#endif
