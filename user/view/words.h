/* Phrases that the screen and the plain report share. Pure; `ascii` avoids other characters. */
#ifndef OVL_VIEW_WORDS_H
#define OVL_VIEW_WORDS_H

#include <stdbool.h>

#include "base/buf.h"
#include "base/units.h"
#include "model/facts.h"
#include "model/model.h"

#define OVL_WORDS_CHANGE (OVL_UNITS_MAX + 1) /* bytes of a number with its sign */

/**
 * The device below a tunnel, NULL: none or not known (a veth's `lower` is its peer, not an
 * underlay).
 */
const struct ovl_link *ovl_words_underlay(const struct ovl_facts *f);
/** "flannel.1 vxlan vni 1 mtu 1450 -> eth0 mtu 1500"; "no interface" without one. */
void ovl_words_path(struct ovl_buf *out, const struct ovl_facts *f, bool ascii);
/** "load iperf-like x1 (twin)"; "no load". */
void ovl_words_load(struct ovl_buf *out, const struct ovl_facts *f);
/** "cpu0_idle 3.0%, rwnd 12.0%": at most `max` items; nothing without evidence. */
void ovl_words_evidence(struct ovl_buf *out, const struct ovl_model *m, unsigned max, bool ascii);
/**
 * What one must know to trust the waterfall: lane, ledger error, entry samples, purity, runners-up.
 */
void ovl_words_trust(struct ovl_buf *out, const struct ovl_waterfall *w, bool ascii);
/** A warning about the waterfall or the load, "" when there is none. */
void ovl_words_warning(struct ovl_buf *out, const struct ovl_model *m, bool ascii);
/**
 * "cpu0 97% (softirq 54%, steal 1%)  cpu1 61%": busiest of n first, at most `max`; brief: only
 * busy.
 */
void ovl_words_cpus(struct ovl_buf *out, const struct ovl_cpu_load *cpus, size_t n, unsigned max,
		    bool brief, bool ascii);
/** Real drops on the path of one reason, whole run. */
struct ovl_words_reason {
	const char *reason;
	const char *where; /* device, else function, of the most frequent kind */
	uint64_t segs;
};
/** The reasons with most segments, at most max; returns how many. */
unsigned ovl_words_reasons(const struct ovl_facts *f, const struct ovl_model *m,
			   struct ovl_words_reason *out, unsigned max);
/** "QDISC_DROP 402, SOCKET_RCVBUFF 180": real drops on the path by reason, at most `max`. */
void ovl_words_drops(struct ovl_buf *out, const struct ovl_facts *f, const struct ovl_model *m,
		     unsigned max);
/** "elsewhere on this machine: 12 segments": real drops off the path; nothing without any. */
void ovl_words_elsewhere(struct ovl_buf *out, const struct ovl_facts *f, const struct ovl_model *m);
/** "self 0.8% of CPU0's busy time, lost 0 events, probes 3 of 4". */
void ovl_words_self(struct ovl_buf *out, const struct ovl_facts *f, const struct ovl_model *m,
		    bool ascii);
/** The same in 50 columns: "self 0.8%  lost 0  probes 3/4". */
void ovl_words_self_brief(struct ovl_buf *out, const struct ovl_facts *f, const struct ovl_model *m,
			  bool ascii);
/** Sum of lost events of all kinds. */
unsigned long long ovl_words_lost(const struct ovl_model *m);
/** Is there a verdict that deserves a '!'? */
bool ovl_words_alarming(const struct ovl_verdict *v);
/** A rate per second with its unit: "14/s", "0.25/s", "1.20k/s"; a dash when unknown. */
void ovl_words_per_s(struct ovl_buf *out, double per_s, bool ascii);
/** "+340.8", "-12.0", "0.0": a change with its sign; a dash when unknown. Returns s. */
const char *ovl_words_change(char s[OVL_WORDS_CHANGE], double v, struct ovl_unit unit, bool ascii);
/** Label of a stage; "unclassified" for numbers out of range. */
const char *ovl_words_stage(unsigned stage);

#endif
