/* What rules work with: the model, questions about it, and findings in the making. Pure. */
#ifndef OVL_MODEL_DIAG_H
#define OVL_MODEL_DIAG_H

#include "model/findings.h"
#include "model/model.h"
#include "model/text.h"

#define OVL_ANY_NS (UINT32_MAX - 1) /* every namespace of the path */

/** Symptoms; a problem finding explains some, and rules by exclusion ask what is left. */
enum ovl_symptom {
	OVL_SYMPTOM_DEAD = 1,	/* nothing gets through, or no connection comes about */
	OVL_SYMPTOM_LOSS = 2,	/* segments are lost */
	OVL_SYMPTOM_CPU = 4,	/* a CPU is full */
	OVL_SYMPTOM_WINDOW = 8, /* the receiver's or sender's window limits */
	OVL_SYMPTOM_QUEUE = 16, /* packets wait */
	OVL_SYMPTOM_RATE = 32,	/* the rate stands at a ceiling */
};

struct ovl_diag {
	const struct ovl_model *m;
	const struct ovl_facts *facts;
	ovl_findings *out;
	bool failed; /* out of memory: rules go on and write to `spare` */
	struct ovl_finding spare;
	/* summary of the run */
	const struct ovl_link *iface, *underlay; /* NULL: none */
	int iface_at, underlay_at;		 /* indices into facts->links, -1 */
	bool tunnel;				 /* the interface is one (vxlan, tun, …) */
	double seconds, rate_bps;		 /* the larger direction; NAN: not counted */
	int receives;	   /* 1: the node mostly receives, 0: sends, -1: both alike */
	double path_ns;	   /* CPU time in stages of the packet path */
	double busy_ratio; /* of the fullest CPU; NAN: no clock */
	uint64_t tried, answered, unanswered;	       /* connections of the path's namespaces */
	uint64_t acked_bytes, sent_segs, retrans_segs; /* of all connections */
	uint32_t stuck;				       /* connections that stand still */
	bool waits;				       /* somebody waits for an answer in vain */
	uint32_t explained;			       /* enum ovl_symptom bits */
};

void ovl_diag_init(struct ovl_diag *d, const struct ovl_model *m, const struct ovl_facts *facts,
		   ovl_findings *out);
/** Growth of a counter of /proc/net/{snmp,netstat} in a namespace, or in all (OVL_ANY_NS). */
double ovl_diag_counter(const struct ovl_diag *d, uint32_t ns, const char *group, const char *name);
/** A reading, or NULL. object NULL: the first of that kind and name. */
const struct ovl_reading *ovl_diag_reading(const struct ovl_diag *d, uint32_t ns, const char *kind,
					   const char *object, const char *name);
/** Sum of the growth of a kind of reading, over all objects of a namespace (or all). */
double ovl_diag_growth(const struct ovl_diag *d, uint32_t ns, const char *kind, const char *name);
/** Value of a setting; NAN: not read. */
double ovl_diag_setting(const struct ovl_diag *d, uint32_t ns, const char *kind, const char *object,
			const char *name);
/** Does a connection stand still, as it last was and for half of the time at least? */
bool ovl_diag_stands(const struct ovl_flow_sum *s);
/**
 * Packets dropped on the path for a reason, in functions that begin with `symbol` ("" : any), on a
 * device ("" : any); *at (may be NULL) is the drop that lost most. Benign ones do not count, but
 * those of OTHERHOST: who asks for them means them.
 */
uint64_t ovl_diag_drops(const struct ovl_diag *d, const char *reason, const char *symbol,
			const char *iface, const struct ovl_drop **at);
/** A device's feature: 1 on, 0 off, -1 unknown. */
int ovl_diag_feature(const struct ovl_link *link, const char *name);
/** Counters of a link of the facts; NULL: not read. */
const struct ovl_device *ovl_diag_device(const struct ovl_diag *d, int link);
/**
 * The BPF program attached at a device ("" or a device with none: any of the namespace), by the
 * reading of its id; NULL unless there is exactly one. *n: how many there are.
 */
const struct ovl_reading *ovl_diag_program(const struct ovl_diag *d, uint32_t ns, const char *iface,
					   uint32_t *n);
/** Packets that a link of the facts has got or sent; 0: none, or not read. */
uint64_t ovl_diag_got(const struct ovl_diag *d, int link);
uint64_t ovl_diag_sent(const struct ovl_diag *d, int link);
/** IPv4 packets that a namespace got, merged ones once; 0: not read. */
double ovl_diag_received(const struct ovl_diag *d, uint32_t ns);
/** Mean bytes of a packet; 0 without packets. */
double ovl_diag_mean_bytes(const struct ovl_device_counts *c);
/**
 * Share of the packet path's CPU time in a stage, 0 if none was seen; NAN without a sampler. Other
 * work of the machine does not count: it says nothing about the path.
 */
double ovl_diag_stage(const struct ovl_diag *d, enum ovl_stage stage);
/** Is `addr` the host part of "addr:port" or "[addr]:port"? */
bool ovl_diag_is_host(const char *end, const char *addr);
/** First link of a namespace with this name, -1: none. */
int ovl_diag_link(const struct ovl_diag *d, uint32_t ns, const char *name);

/** Begin a finding at a device ("" : none) with the rule's own level. Never NULL. */
struct ovl_finding *ovl_diag_find(struct ovl_diag *d, enum ovl_rule rule, double confidence,
				  uint32_t ns, const char *iface);
void ovl_diag_evidence(struct ovl_finding *f, const char *key, double value, const char *unit,
		       const char *source);
/** Cost as shares of what would be possible; below a few percent a warning becomes an info. */
void ovl_diag_cost(struct ovl_finding *f, double low_ratio, double high_ratio);
/**
 * How grave it is that `lost` of `all` packets are dropped: the level sinks where they are few, or
 * a handful on a path at rest where nobody waits: those may be anybody's. all 0: unknown.
 */
void ovl_diag_weigh(const struct ovl_diag *d, struct ovl_finding *f, double lost, double all);
/** The finding explains symptoms (enum ovl_symptom), unless it sank below its rule's own level to
 * an info. Call it last. */
void ovl_diag_explains(struct ovl_diag *d, const struct ovl_finding *f, uint32_t symptoms);
/** How a command is run in a namespace: "" or "ip netns exec NAME ". */
const char *ovl_diag_in(const struct ovl_diag *d, uint32_t ns, char *text, size_t n);

#define ovl_diag_title(f, ...) ovl_text_set((f)->title, __VA_ARGS__)
#define ovl_diag_fix(f, ...) \
	do { \
		if ((f)->n_fix < OVL_FINDING_FIXES) \
			ovl_text_set((f)->fix[(f)->n_fix], __VA_ARGS__); \
		(f)->n_fix += (f)->n_fix < OVL_FINDING_FIXES; \
	} while (0)
#define ovl_diag_risk(f, ...)	ovl_text_set((f)->risk, __VA_ARGS__)
#define ovl_diag_verify(f, ...) ovl_text_set((f)->verify, __VA_ARGS__)

/* The rules by kind, each in rule_<noun>.c: add what they find to d. */
void ovl_rule_service(struct ovl_diag *d);
void ovl_rule_tunnel(struct ovl_diag *d);
void ovl_rule_filter(struct ovl_diag *d);
void ovl_rule_drop(struct ovl_diag *d);
void ovl_rule_queue(struct ovl_diag *d);
void ovl_rule_mtu(struct ovl_diag *d);
void ovl_rule_offload(struct ovl_diag *d);
void ovl_rule_limit(struct ovl_diag *d);
void ovl_rule_cpu(struct ovl_diag *d);
/* By exclusion: they ask what is not explained yet. */
void ovl_rule_window(struct ovl_diag *d);
void ovl_rule_silence(struct ovl_diag *d);
void ovl_rule_stuck(struct ovl_diag *d);
void ovl_rule_loss(struct ovl_diag *d);
/* General ones. */
void ovl_rule_rest(struct ovl_diag *d);
void ovl_rule_stage(struct ovl_diag *d);

#endif
