#include "view/words.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

const struct ovl_link *ovl_words_underlay(const struct ovl_facts *f)
{
	const struct ovl_link *iface = ovl_facts_iface(f);

	if (!iface || iface->lower < 0 || (size_t)iface->lower >= f->links.n ||
	    !strcmp(iface->kind, "veth"))
		return NULL;
	return &f->links.v[iface->lower];
}

void ovl_words_path(struct ovl_buf *out, const struct ovl_facts *f, bool ascii)
{
	const struct ovl_link *iface = ovl_facts_iface(f), *under = ovl_words_underlay(f);

	if (!iface) {
		ovl_buf_puts(out, "no interface");
		return;
	}
	ovl_buf_puts(out, iface->name);
	if (*iface->kind)
		ovl_buf_printf(out, " %s", iface->kind);
	if (f->vxlan.valid)
		ovl_buf_printf(out, " vni %u", f->vxlan.vni);
	ovl_buf_printf(out, " mtu %u", iface->mtu);
	if (under)
		ovl_buf_printf(out, " %s %s mtu %u", ascii ? "->" : "→", under->name, under->mtu);
}

void ovl_words_load(struct ovl_buf *out, const struct ovl_facts *f)
{
	if (!f->load.valid) {
		ovl_buf_puts(out, "no load");
		return;
	}
	ovl_buf_printf(out, "load %s x%u", f->load.kind, f->load.streams);
	if (*f->load.peer_kind)
		ovl_buf_printf(out, " (%s)", f->load.peer_kind);
}

static void evidence_value(struct ovl_buf *out, const struct ovl_evidence *e, bool ascii)
{
	char s[OVL_UNITS_MAX];

	if (!strcmp(e->unit, "ratio"))
		ovl_units_text(s, e->value, ovl_units_share(), ascii);
	else if (!strcmp(e->unit, "bps"))
		ovl_units_text(s, e->value, ovl_units_rate(e->value), ascii);
	else if (!strcmp(e->unit, "ns"))
		ovl_units_text(s, e->value, ovl_units_time(e->value, ascii), ascii);
	else
		ovl_units_text(s, e->value, ovl_units_count(e->value), ascii);
	ovl_buf_puts(out, s);
	if (!strcmp(e->unit, "pkts"))
		ovl_buf_puts(out, " pkts");
}

void ovl_words_evidence(struct ovl_buf *out, const struct ovl_model *m, unsigned max, bool ascii)
{
	const struct ovl_verdict *v = &m->verdict;

	for (unsigned i = 0; i < v->n_evidence && i < max && i < 8; i++) {
		const struct ovl_evidence *e = &v->evidence[i];

		if (i)
			ovl_buf_puts(out, ", ");
		for (const char *s = e->key; *s; s++) /* keys are for machines */
			ovl_buf_put(out, *s == '_' ? " " : s, 1);
		ovl_buf_puts(out, " ");
		evidence_value(out, e, ascii);
	}
}

void ovl_words_trust(struct ovl_buf *out, const struct ovl_waterfall *w, bool ascii)
{
	char s[OVL_UNITS_MAX];
	const struct ovl_unit share = ovl_units_share();

	ovl_buf_printf(out, "drawn for %s", *w->lane ? w->lane : "no lane");
	ovl_buf_printf(out, ", ledger error %s",
		       ovl_units_text(s, w->ledger_error_ratio, share, ascii));
	if (w->wake_ratio >= 0.01)
		ovl_buf_printf(out, ", entry samples %s",
			       ovl_units_text(s, w->wake_ratio, share, ascii));
	ovl_buf_printf(out, ", purity %s", ovl_units_text(s, w->lane_purity_ratio, share, ascii));
	for (unsigned i = 0; i < w->n_runners_up && i < 4; i++)
		ovl_buf_printf(out, "%s%s", i ? ", " : ", nearly as full: ", w->runners_up[i]);
}

/** Without an underlay run the underlay is an estimate with two ends. */
static void estimate_words(struct ovl_buf *out, const struct ovl_waterfall *w, bool ascii)
{
	struct ovl_unit unit = ovl_units_rate(w->underlay_bps);
	char low[OVL_UNITS_MAX], high[OVL_UNITS_MAX];

	ovl_buf_printf(out, "the underlay was not measured but estimated: %s to %s",
		       ovl_units_number(low, w->low_underlay_bps, unit, ascii),
		       ovl_units_text(high, w->underlay_bps, unit, ascii));
}

void ovl_words_warning(struct ovl_buf *out, const struct ovl_model *m, bool ascii)
{
	const struct ovl_waterfall *w = &m->waterfall;
	const struct ovl_unit share = ovl_units_share();
	char s[OVL_UNITS_MAX];

	if (w->valid && w->uncertain)
		ovl_buf_printf(out, "uncertain: samples and CPU clock differ by %s (more than 3%%)",
			       ovl_units_text(s, w->ledger_error_ratio, share, ascii));
	else if (w->valid && w->basis == OVL_BASIS_ESTIMATED)
		estimate_words(out, w, ascii);
	else if (*m->load.disturbed)
		ovl_buf_printf(out, "disturbed: %s", m->load.disturbed);
	else if (w->valid && w->lane_purity_ratio < 0.95)
		ovl_buf_printf(out, "%s also does %s of the other host's work", w->lane,
			       ovl_units_text(s, 1 - w->lane_purity_ratio, share, ascii));
}

/** " (softirq 54.1%, steal 1.2%)"; nothing of what is not known or not there. */
static void cpu_details(struct ovl_buf *out, const struct ovl_cpu_load *cpu, bool ascii)
{
	const struct ovl_unit share = ovl_units_share();
	const bool soft = !isnan(cpu->softirq_ratio), steal = cpu->steal_ratio >= 0.005;
	char s[OVL_UNITS_MAX];

	if (soft)
		ovl_buf_printf(out, " (softirq %s",
			       ovl_units_text(s, cpu->softirq_ratio, share, ascii));
	if (steal)
		ovl_buf_printf(out, "%ssteal %s", soft ? ", " : " (",
			       ovl_units_text(s, cpu->steal_ratio, share, ascii));
	if (soft || steal)
		ovl_buf_puts(out, ")");
}

void ovl_words_cpus(struct ovl_buf *out, const struct ovl_cpu_load *cpus, size_t n, unsigned max,
		    bool brief, bool ascii)
{
	char s[OVL_UNITS_MAX];
	double above = INFINITY;
	size_t after = 0;

	/* the next busiest: below the one before, or equal and later in the table */
	for (unsigned shown = 0; shown < max && shown < n; shown++) {
		const struct ovl_cpu_load *best = NULL;
		size_t at = 0;

		for (size_t i = 0; i < n; i++) {
			const struct ovl_cpu_load *cpu = &cpus[i];
			double busy = isnan(cpu->busy_ratio) ? -1 : cpu->busy_ratio;

			if (busy > above || (busy == above && i < after))
				continue;
			if (!best || busy > (isnan(best->busy_ratio) ? -1 : best->busy_ratio)) {
				best = cpu;
				at = i;
			}
		}
		if (!best)
			return;
		above = isnan(best->busy_ratio) ? -1 : best->busy_ratio;
		after = at + 1;
		ovl_buf_printf(out, "%scpu%u %s", shown ? "  " : "", best->cpu,
			       ovl_units_text(s, best->busy_ratio, ovl_units_share(), ascii));
		if (!brief)
			cpu_details(out, best, ascii);
	}
}

unsigned ovl_words_reasons(const struct ovl_facts *f, const struct ovl_model *m,
			   struct ovl_words_reason *out, unsigned max)
{
	unsigned n = 0;

	ovl_vec_each(d, &m->drops) {
		unsigned i = 0, place;
		struct ovl_words_reason sum = {.reason = d->reason};

		for (const struct ovl_drop *e = m->drops.v; e < m->drops.v + m->drops.n; e++) {
			if (e->benign || !ovl_facts_on_path(f, e->ns) ||
			    strcmp(e->reason, d->reason) != 0)
				continue;
			if (e < d)
				break; /* counted already */
			if (!sum.segs)
				sum.where = *e->iface ? e->iface : e->symbol;
			sum.segs += e->segs;
			i++;
		}
		if (!i)
			continue;
		for (place = n < max ? n++ : max; place > 0 && out[place - 1].segs < sum.segs;
		     place--)
			if (place < max)
				out[place] = out[place - 1];
		if (place < max)
			out[place] = sum;
	}
	return n;
}

void ovl_words_drops(struct ovl_buf *out, const struct ovl_facts *f, const struct ovl_model *m,
		     unsigned max)
{
	struct ovl_words_reason top[8];
	char s[OVL_UNITS_MAX];
	unsigned n = ovl_words_reasons(f, m, top, max < 8 ? max : 8);

	for (unsigned i = 0; i < n; i++)
		ovl_buf_printf(out, "%s%s %s", i ? ", " : "", top[i].reason,
			       ovl_units_text(s, (double)top[i].segs,
					      ovl_units_count((double)top[i].segs), true));
}

void ovl_words_elsewhere(struct ovl_buf *out, const struct ovl_facts *f, const struct ovl_model *m)
{
	uint64_t segs = 0;
	char s[OVL_UNITS_MAX];

	ovl_vec_each(d, &m->drops)
		segs += d->benign || ovl_facts_on_path(f, d->ns) ? 0 : d->segs;
	if (segs)
		ovl_buf_printf(
			out, "elsewhere on this machine: %s segments",
			ovl_units_text(s, (double)segs, ovl_units_count((double)segs), true));
}

unsigned long long ovl_words_lost(const struct ovl_model *m)
{
	unsigned long long sum = m->packets.windows_lost;

	for (size_t i = 0; i < sizeof(m->self.lost_events) / sizeof(m->self.lost_events[0]); i++)
		sum += m->self.lost_events[i];
	return sum;
}

void ovl_words_self(struct ovl_buf *out, const struct ovl_facts *f, const struct ovl_model *m,
		    bool ascii)
{
	char s[OVL_UNITS_MAX];
	unsigned have = ovl_facts_probes(f).all;
	double lost = m->intervals ? (double)ovl_words_lost(m) : NAN;

	ovl_buf_printf(out, "self %s",
		       ovl_units_text(s, m->self.cpu_ratio, ovl_units_share(), ascii));
	if (m->self.cpu >= 0)
		ovl_buf_printf(out, " of CPU%d's busy time", m->self.cpu);
	ovl_buf_printf(out, ", lost %s events",
		       ovl_units_text(s, lost, ovl_units_count(lost), ascii));
	ovl_buf_printf(out, ", probes %u of %u", have, have + (unsigned)f->missing.n);
	if (m->self.effect.valid)
		ovl_buf_printf(out, ", effect on the load %+.1f %s %.1f %% (%u turns)",
			       m->self.effect.change_ratio * 100, ascii ? "+-" : "±",
			       m->self.effect.stderr_ratio * 200, m->self.effect.n_quads);
}

void ovl_words_self_brief(struct ovl_buf *out, const struct ovl_facts *f, const struct ovl_model *m,
			  bool ascii)
{
	char s[OVL_UNITS_MAX];
	unsigned have = ovl_facts_probes(f).all;
	double lost = m->intervals ? (double)ovl_words_lost(m) : NAN;

	ovl_buf_printf(out, "self %s",
		       ovl_units_text(s, m->self.cpu_ratio, ovl_units_share(), ascii));
	ovl_buf_printf(out, "  lost %s", ovl_units_text(s, lost, ovl_units_count(lost), ascii));
	ovl_buf_printf(out, "  probes %u/%u", have, have + (unsigned)f->missing.n);
}

bool ovl_words_alarming(const struct ovl_verdict *v)
{
	return v->limit != OVL_LIMIT_UNKNOWN && v->limit != OVL_LIMIT_NO_TRAFFIC &&
	       v->limit != OVL_LIMIT_APPLICATION;
}

void ovl_words_per_s(struct ovl_buf *out, double per_s, bool ascii)
{
	char s[OVL_UNITS_MAX];

	ovl_buf_puts(out, ovl_units_text(s, per_s, ovl_units_count(per_s), ascii));
	if (!isnan(per_s))
		ovl_buf_puts(out, "/s");
}

const char *ovl_words_change(char s[OVL_WORDS_CHANGE], double v, struct ovl_unit unit, bool ascii)
{
	char number[OVL_UNITS_MAX];

	snprintf(s, OVL_WORDS_CHANGE, "%s%s", v > 0 ? "+" : "",
		 ovl_units_number(number, v, unit, ascii));
	return s;
}

const char *ovl_words_stage(unsigned stage)
{
	return ovl_stage_info(stage < OVL_STAGE_COUNT ? (enum ovl_stage)stage
						      : OVL_STAGE_UNCLASSIFIED)
		->label;
}
