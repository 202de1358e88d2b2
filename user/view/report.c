#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/units.h"
#include "view/costs.h"
#include "view/findings.h"
#include "view/plain.h"
#include "view/report_packets.h"
#include "view/rows.h"
#include "view/touches.h"
#include "view/utf8.h"
#include "view/words.h"
#include "view/wrap.h"

#define INDENT	       2
#define ROWS_SHOWN     40
#define DROPS_SHOWN    8
#define COUNTERS_SHOWN 12

void ovl_plain_wrapped(struct ovl_buf *b, const char *text)
{
	ovl_wrap_text(b, text, INDENT);
}

static void put_wrapped_buf(struct ovl_buf *b, struct ovl_buf *text)
{
	ovl_wrap_buf(b, text, INDENT);
}

/* How long. The turns of a load are not all of it: round trips and starts are between them. */
static void put_observed(struct ovl_buf *b, const struct ovl_facts *f, const struct ovl_model *m)
{
	struct ovl_unit seconds = ovl_units_time(fmax((double)m->duration_ns, 1e9), true);
	struct ovl_unit each = ovl_units_time((double)f->interval_ns, true);
	const bool one = m->load.pairs == 1;
	char s[OVL_UNITS_MAX], t[OVL_UNITS_MAX];

	ovl_units_text(s, (double)m->duration_ns, seconds, true);
	ovl_units_text(t, (double)f->interval_ns, each, true);
	if (!m->load.valid)
		ovl_buf_printf(b, "observed %s in %llu intervals of %s; ", s,
			       (unsigned long long)m->intervals, t);
	else if (m->load.underlay.valid)
		ovl_buf_printf(b, "observed %s: %u pair%s of turns of %s; ", s, m->load.pairs,
			       one ? "" : "s", t);
	else
		ovl_buf_printf(b, "observed %s: %u turn%s of %s; ", s, m->load.pairs,
			       one ? "" : "s", t);
}

/** What was run, and where. */
static void put_header(struct ovl_buf *b, const struct ovl_facts *f, const struct ovl_model *m)
{
	const struct ovl_link *iface = ovl_facts_iface(f);
	struct ovl_buf line = {0};

	ovl_buf_printf(b, "ovltrace %s   ", f->tool_version);
	ovl_words_path(b, f, true);
	ovl_buf_puts(b, "\n");
	ovl_buf_printf(&line, "%s, kernel %s %s, %u CPUs", f->nodename, f->kernel, f->arch,
		       f->cpus);
	if (iface)
		ovl_buf_printf(&line, ", netns %s", ovl_facts_ns(f, iface->ns));
	put_wrapped_buf(b, &line);
	put_observed(&line, f, m);
	ovl_words_load(&line, f);
	if (f->load.valid && *f->load.congestion)
		ovl_buf_printf(&line, " %s", f->load.congestion);
	put_wrapped_buf(b, &line);
	if (f->load.valid && *f->load.where) {
		ovl_buf_puts(&line, f->load.where);
		put_wrapped_buf(b, &line);
	}
	ovl_buf_fini(&line);
}

static void put_verdict(struct ovl_buf *b, const struct ovl_model *m)
{
	const struct ovl_verdict *v = &m->verdict;
	char s[OVL_UNITS_MAX];
	struct ovl_buf line = {0};

	ovl_buf_puts(b, "\nVERDICT\n");
	if (ovl_words_alarming(v))
		ovl_buf_puts(&line, "! ");
	ovl_buf_puts(&line, *v->sentence ? v->sentence : "None: nothing has been measured.");
	put_wrapped_buf(b, &line);
	ovl_words_evidence(&line, m, 8, true);
	if (line.n && !isnan(v->confidence_ratio))
		ovl_buf_printf(&line, " (confidence %s)",
			       ovl_units_text(s, v->confidence_ratio, ovl_units_share(), true));
	put_wrapped_buf(b, &line);
	ovl_words_warning(&line, m, true);
	if (line.n)
		ovl_buf_puts(b, "  warning:\n");
	put_wrapped_buf(b, &line);
	ovl_buf_fini(&line);
}

static void put_row(struct ovl_buf *b, const struct ovl_rows *rows, const struct ovl_row *row)
{
	const bool total = row->kind == OVL_ROW_UNDERLAY || row->kind == OVL_ROW_OVERLAY;
	const bool term = row->kind == OVL_ROW_TERM,
		   counted = term || row->kind == OVL_ROW_GATHERED;
	const char *sign = total ? "" : row->bps < 0 ? "+ " : "- ";
	char label[OVL_UNITS_MAX + 64], rate[OVL_WORDS_CHANGE], s[OVL_UNITS_MAX];
	const struct ovl_unit percent = {0.01, "", 1};
	struct ovl_buf text = {0};

	ovl_buf_printf(&text, "%s%s", row->kind == OVL_ROW_OVERLAY ? "= " : sign, row->label);
	snprintf(label, sizeof(label), "%s", ovl_buf_str(&text));
	ovl_buf_printf(b, "  %-32.32s%8s", label,
		       total ? ovl_units_number(rate, row->bps, rows->unit, true)
			     : ovl_words_change(rate, -row->bps, rows->unit, true));
	ovl_buf_printf(b, "%8s",
		       counted ? ovl_units_number(s, 2 * row->stderr_bps, rows->unit, true) : "");
	ovl_buf_printf(b, "%7s",
		       row->kind != OVL_ROW_UNDERLAY
			       ? ovl_units_number(s, row->loss_ratio, percent, true)
			       : "");
	ovl_buf_printf(b, "%9s",
		       counted ? ovl_units_number(s, row->ns_per_kib, rows->ns_unit, true) : "");
	ovl_buf_printf(b, "%11s %c\n",
		       term ? ovl_units_number(s, row->if_removed_bps, rows->unit, true) : "",
		       row->sure);
	ovl_buf_fini(&text);
}

static void put_waterfall(struct ovl_buf *b, const struct ovl_facts *f, const struct ovl_model *m)
{
	struct ovl_buf line = {0};
	struct ovl_rows rows;

	if (!f->load.valid)
		return;
	ovl_buf_puts(b, "\nWHERE THE THROUGHPUT GOES\n");
	if (!m->waterfall.valid) {
		ovl_plain_wrapped(b, *m->waterfall.why_not
					     ? m->waterfall.why_not
					     : "Not known: no turn of the load was complete.");
		return;
	}
	ovl_rows_build(&rows, f, &m->waterfall, ROWS_SHOWN);
	ovl_buf_printf(b, "  %-32s%8s%8s%7s%9s%11s C\n", "", rows.unit.name, "+-2SE", "loss%",
		       "ns/KiB", "if removed");
	for (int i = 0; i < rows.n; i++)
		put_row(b, &rows, &rows.v[i]);
	ovl_words_trust(&line, &m->waterfall, true);
	put_wrapped_buf(b, &line);
	ovl_plain_wrapped(
		b, "if removed: goodput if that row cost nothing. C: M measured, R recorded, "
		   "A arithmetic, E estimated.");
	ovl_buf_fini(&line);
}

/** One stage; where both paths were measured, side by side instead of its top function. */
static void put_cost(struct ovl_buf *b, const struct ovl_stage_time *t, struct ovl_unit unit,
		     bool compared)
{
	const struct ovl_unit percent = {0.01, "", 1};
	char share[OVL_UNITS_MAX], error[OVL_UNITS_MAX], ns[OVL_UNITS_MAX];
	char change[OVL_WORDS_CHANGE];

	ovl_buf_printf(b, "  %-32.32s%7s%7s%9s", ovl_words_stage(t->stage),
		       ovl_units_number(share, t->share_ratio, percent, true),
		       ovl_units_number(error, 2 * t->stderr_ratio, percent, true),
		       ovl_units_number(ns, t->ns_per_kib, unit, true));
	if (compared)
		ovl_buf_printf(b, "%10s%9s\n",
			       ovl_units_number(ns, t->underlay_ns_per_kib, unit, true),
			       ovl_words_change(change, ovl_costs_change(t), unit, true));
	else
		ovl_buf_printf(b, "  %.21s\n", t->n_symbols ? t->symbols[0].name : "");
}

static void put_costs(struct ovl_buf *b, const struct ovl_model *m)
{
	const bool compared = ovl_costs_compared(&m->cpu);
	char s[OVL_UNITS_MAX];
	struct ovl_buf cpus = {0};

	ovl_buf_printf(b, "\nCPU COST BY STAGE, all CPUs%s\n",
		       m->load.valid && !compared ? ", while the overlay carried the load" : "");
	if (!m->cpu.valid) {
		ovl_plain_wrapped(b, "Not known: no sampler ran.");
	} else {
		ovl_buf_printf(b, "  %-32s%7s%7s%9s%s\n", "", "CPU%", "+-2SE", "ns/KiB",
			       compared ? "  underlay   change" : "  top function");
		ovl_vec_each(t, &m->cpu.stages)
			put_cost(b, t, ovl_costs_unit(&m->cpu), compared);
	}
	if (compared)
		ovl_plain_wrapped(b,
				  "CPU% and ns/KiB: while the overlay carried the load. underlay: "
				  "ns/KiB of the same stage there. change: overlay - underlay.");
	if (m->cpu.valid && !isnan(m->cpu.catch_all_ratio))
		ovl_buf_printf(&cpus, "named only by context: %s",
			       ovl_units_text(s, m->cpu.catch_all_ratio, ovl_units_share(), true));
	put_wrapped_buf(b, &cpus);
	if (m->cpu.per_cpu.n)
		ovl_buf_puts(&cpus, "busy: ");
	ovl_words_cpus(&cpus, m->cpu.per_cpu.v, m->cpu.per_cpu.n, 8, false, true);
	put_wrapped_buf(b, &cpus);
	ovl_buf_fini(&cpus);
}

static void put_drop(struct ovl_buf *b, const struct ovl_drop *d, bool first)
{
	const double pkts = (double)d->pkts, segs = (double)d->segs;
	char s[OVL_UNITS_MAX], t[OVL_UNITS_MAX];

	if (first)
		ovl_buf_printf(b, "  %-24s %-22s %-13s%8s%8s\n", "reason", "function", "device",
			       "packets", "segs");
	ovl_buf_printf(b, "  %-24.24s %-22.22s %-13.13s%8s%8s\n", d->reason,
		       *d->symbol ? d->symbol : "-", *d->iface ? d->iface : "-",
		       ovl_units_text(s, pkts, ovl_units_count(pkts), true),
		       ovl_units_text(t, segs, ovl_units_count(segs), true));
}

/* Beside the events: what the kernel itself counts. */
static void put_losses(struct ovl_buf *b, const struct ovl_facts *f, const struct ovl_model *m)
{
	char name[3 * OVL_NAME_MAX], s[OVL_UNITS_MAX];
	size_t shown = 0;

	if (m->losses.n)
		ovl_plain_wrapped(b, "Lost by the kernel's own counters; with an event it is "
				     "above, too:");
	ovl_vec_each(loss, &m->losses) {
		const double pkts = (double)loss->pkts;

		if (shown++ >= DROPS_SHOWN)
			continue;
		snprintf(name, sizeof(name), "%s: %s %s", loss->source, loss->object, loss->name);
		ovl_buf_printf(b, "  %-44.44s%8s  %.24s\n", name,
			       ovl_units_text(s, pkts, ovl_units_count(pkts), true),
			       loss->ns == OVL_NS_MACHINE ? "whole machine"
							  : ovl_facts_ns(f, loss->ns));
	}
	if (shown > DROPS_SHOWN)
		ovl_buf_printf(b, "  and %zu more\n", shown - DROPS_SHOWN);
}

static void put_drops(struct ovl_buf *b, const struct ovl_facts *f, const struct ovl_model *m)
{
	unsigned long long benign = 0, more = 0;
	struct ovl_buf elsewhere = {0};
	int shown = 0;

	ovl_buf_puts(b, "\nDROPS  ");
	ovl_words_per_s(b, m->drops_ps, true);
	ovl_buf_puts(b, "\n");
	ovl_vec_each(d, &m->drops) {
		if (d->benign) {
			benign += d->segs;
		} else if (!ovl_facts_on_path(f, d->ns)) {
			continue;
		} else if (shown++ < DROPS_SHOWN) {
			put_drop(b, d, shown == 1);
		} else {
			more += d->segs;
		}
	}
	if (more)
		ovl_buf_printf(b, "  others: %llu segments\n", more);
	if (!shown)
		ovl_plain_wrapped(b, isnan(m->drops_ps) ? "Not counted." : "None.");
	ovl_words_elsewhere(&elsewhere, f, m);
	put_wrapped_buf(b, &elsewhere);
	ovl_buf_fini(&elsewhere);
	if (benign)
		ovl_buf_printf(b, "  benign frees, not counted as drops: %llu segments\n", benign);
	put_losses(b, f, m);
}

static void put_tcp_path(struct ovl_buf *b, const char *name, const struct ovl_load_path *path)
{
	const struct ovl_unit share = ovl_units_share();
	const double p50 = path->rtt.valid ? (double)path->rtt.p50_ns : NAN;
	const double p99 = path->rtt.valid ? (double)path->rtt.p99_ns : NAN;
	char a[OVL_UNITS_MAX], c[OVL_UNITS_MAX];

	if (!path->valid)
		return;
	ovl_buf_printf(
		b, "  %-9s%12s", name,
		ovl_units_text(a, path->goodput_bps, ovl_units_rate(path->goodput_bps), true));
	if (isnan(path->retransmits))
		ovl_buf_printf(b, "%9s", "-");
	else
		ovl_buf_printf(b, "%9.0f", path->retransmits);
	ovl_buf_printf(b, "%10s%10s", ovl_units_text(a, p50, ovl_units_time(p50, true), true),
		       ovl_units_text(c, p99, ovl_units_time(p99, true), true));
	ovl_buf_printf(b, "%7s",
		       ovl_units_text(a, path->cwnd_segs, ovl_units_count(path->cwnd_segs), true));
	ovl_buf_printf(b, "%8s%8s\n", ovl_units_text(a, path->rwnd_ratio, share, true),
		       ovl_units_text(c, path->sndbuf_ratio, share, true));
}

/* A number in its column, "-" if it is not known. */
static void put_plain(struct ovl_buf *b, int width, double v, int decimals)
{
	char s[OVL_UNITS_MAX];

	ovl_buf_printf(b, "%*s", width, isnan(v) ? "-" : ovl_units_fixed(s, v, decimals));
}

static double switches(const struct ovl_switches *s)
{
	return s->voluntary_per_mib + s->involuntary_per_mib;
}

/* What a byte of the load has cost its two ends. */
static void put_cost_path(struct ovl_buf *b, const char *name, const struct ovl_load_path *path)
{
	if (!path->valid)
		return;
	ovl_buf_printf(b, "  %-9s", name);
	put_plain(b, 20, path->sender_ns_per_kib, 1);
	put_plain(b, 10, path->receiver_ns_per_kib, 1);
	put_plain(b, 23, switches(&path->sender_switches), 2);
	put_plain(b, 10, switches(&path->receiver_switches), 2);
	ovl_buf_puts(b, "\n");
}

static void put_tcp(struct ovl_buf *b, const struct ovl_facts *f, const struct ovl_model *m)
{
	ovl_buf_puts(b, "\nTCP  retransmits of all flows on the path ");
	ovl_words_per_s(b, m->retransmits_ps, true);
	ovl_buf_puts(b, "\n");
	if (!m->load.valid || ovl_facts_rr(f))
		return;
	ovl_buf_printf(b, "  %-9s%12s%9s%10s%10s%7s%8s%8s\n", "load", "goodput", "retrans",
		       "RTT p50", "RTT p99", "cwnd", "rwnd", "sndbuf");
	put_tcp_path(b, "overlay", &m->load.overlay);
	put_tcp_path(b, "underlay", &m->load.underlay);
	ovl_buf_printf(b, "  %-9s%20s%10s%23s%10s\n", "load", "CPU ns/KiB: sender", "receiver",
		       "switches/MiB: sender", "receiver");
	put_cost_path(b, "overlay", &m->load.overlay);
	put_cost_path(b, "underlay", &m->load.underlay);
}

static void put_latency_path(struct ovl_buf *b, const char *name, const struct ovl_load_path *path)
{
	const struct ovl_latency *const kinds[] = {&path->idle, &path->loaded};
	char s[OVL_UNITS_MAX];

	if (!path->idle.valid && !path->loaded.valid)
		return;
	ovl_buf_printf(b, "  %-9s", name);
	for (int i = 0; i < 2; i++) {
		const struct ovl_latency *l = kinds[i];
		const uint64_t ns[] = {l->p50_ns, l->p99_ns, l->max_ns};

		for (int k = 0; k < 3; k++) {
			double v = l->valid ? (double)ns[k] : NAN;

			ovl_buf_printf(b, k ? "%10s" : "%12s",
				       ovl_units_text(s, v, ovl_units_time(v, true), true));
		}
	}
	ovl_buf_puts(b, "\n");
}

static void put_latency(struct ovl_buf *b, const struct ovl_facts *f, const struct ovl_model *m)
{
	const struct ovl_load_path *over = &m->load.overlay, *under = &m->load.underlay;

	if (!m->load.valid || !(over->idle.valid || over->loaded.valid || under->idle.valid))
		return;
	ovl_buf_printf(
		b,
		"\nLATENCY of round trips of a %u-byte message\n  %-9s%12s%10s%10s%12s%10s%10s\n",
		over->idle.valid ? over->idle.message_bytes : 1, "", "idle p50", "p99", "max",
		"loaded p50", "p99", "max");
	put_latency_path(b, "overlay", over);
	put_latency_path(b, "underlay", under);
	ovl_plain_wrapped(
		b, ovl_facts_rr(f)
			   ? "idle: one at a time, there and back; half of it is what qperf "
			     "prints."
			   : "idle: one at a time, before the load. loaded: while bulk fills "
			     "the path, each from when it was due.");
}

/** Counters that point to trouble when they move; the JSON document has all. */
static bool matters(const struct ovl_counter *counter)
{
	static const char *const names[] = {
		"RetransSegs",	      "InErrs",		 "InCsumErrors", "TCPTimeouts",
		"TCPLostRetransmit",  "ListenOverflows", "PruneCalled",	 "OutNoRoutes",
		"InAddrErrors",	      "FragCreates",	 "InErrors",	 "NoPorts",
		"TCPMemoryPressures",
	};

	if (ovl_losses_counter(counter))
		return false; /* it stands with the drops */
	if (!strcmp(counter->group, "softnet"))
		return true;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (!strcmp(counter->name, names[i]))
			return true;
	return false;
}

static void put_counters(struct ovl_buf *b, const struct ovl_facts *f, const struct ovl_model *m)
{
	char name[96], s[OVL_UNITS_MAX];
	int shown = 0;

	ovl_buf_puts(b, "\nCOUNTERS THAT POINT TO TROUBLE\n");
	ovl_vec_each(counter, &m->counters) {
		double delta = (double)counter->delta;

		if (!matters(counter) || shown++ >= COUNTERS_SHOWN)
			continue;
		snprintf(name, sizeof(name), "%s.%s", counter->group, counter->name);
		ovl_buf_printf(b, "  %-36.36s%9s  %.31s\n", name,
			       ovl_units_text(s, delta, ovl_units_count(delta), true),
			       counter->ns == OVL_NS_MACHINE ? "whole machine"
							     : ovl_facts_ns(f, counter->ns));
	}
	if (shown > COUNTERS_SHOWN)
		ovl_buf_printf(b, "  and %d more\n", shown - COUNTERS_SHOWN);
	if (!shown)
		ovl_plain_wrapped(b, m->intervals ? "None of them moved." : "Not read.");
}

static void put_self(struct ovl_buf *b, const struct ovl_facts *f, const struct ovl_model *m)
{
	struct ovl_buf line = {0};

	ovl_buf_puts(b, "\nOVLTRACE ITSELF\n");
	ovl_words_self(&line, f, m, true);
	put_wrapped_buf(b, &line);
	ovl_vec_each(miss, &f->missing) {
		ovl_buf_printf(&line, "missing: %s (%s); without it: %s", miss->hook, miss->reason,
			       *miss->lost ? miss->lost : "nothing");
		put_wrapped_buf(b, &line);
	}
	ovl_buf_fini(&line);
}

void ovl_plain_report(struct ovl_buf *out, const struct ovl_facts *f, const struct ovl_model *m)
{
	struct ovl_buf b = {0};

	put_header(&b, f, m);
	put_verdict(&b, m);
	ovl_findings_text(&b, f, m);
	put_waterfall(&b, f, m);
	put_costs(&b, m);
	ovl_report_packets(&b, f, m);
	ovl_touches_plain(&b, f, m);
	put_drops(&b, f, m);
	put_tcp(&b, f, m);
	put_latency(&b, f, m);
	put_counters(&b, f, m);
	put_self(&b, f, m);
	ovl_utf8_clean(out, ovl_buf_str(&b));
	out->failed |= b.failed;
	ovl_buf_fini(&b);
}
