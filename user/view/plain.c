#include "view/plain.h"

#include <math.h>
#include <string.h>

#include "base/units.h"
#include "view/rows.h"
#include "view/utf8.h"
#include "view/words.h"

#define STAGES_SHOWN 8

/** Two blanks, a name and a number in its own unit. */
static void put_number(struct ovl_buf *b, const char *name, double v, struct ovl_unit unit)
{
	char s[OVL_UNITS_MAX];

	ovl_buf_printf(b, "  %s %s", name, ovl_units_text(s, v, unit, true));
}

/** Goodputs of the waterfall since the start, and of the last interval; else its traffic. */
static void put_rates(struct ovl_buf *b, const struct ovl_facts *f, const struct ovl_model *m)
{
	const struct ovl_waterfall *w = &m->waterfall;
	const struct ovl_traffic *t = &m->traffic;
	char u[OVL_UNITS_MAX], o[OVL_UNITS_MAX];

	if (w->valid) {
		struct ovl_unit unit = ovl_units_rate(fmax(w->underlay_bps, w->overlay_bps));
		double lost = w->underlay_bps - w->overlay_bps;

		ovl_buf_printf(b, "  underlay %s  overlay %s %s",
			       ovl_units_number(u, w->underlay_bps, unit, true),
			       ovl_units_number(o, w->overlay_bps, unit, true), unit.name);
		put_number(b, "loss", w->underlay_bps > 0 ? lost / w->underlay_bps : NAN,
			   ovl_units_share());
		ovl_buf_puts(b, " since start;  now");
		put_number(b, "overlay", m->last.goodput_bps, ovl_units_rate(m->last.goodput_bps));
		return;
	}
	if (ovl_facts_rr(f)) {
		ovl_buf_puts(b, "  overlay");
		return;
	}
	if (f->load.valid) {
		put_number(b, "overlay", m->last.goodput_bps, ovl_units_rate(m->last.goodput_bps));
		return;
	}
	put_number(b, "rx", t->valid ? t->last_rx_bps : NAN, ovl_units_rate(t->last_rx_bps));
	put_number(b, "tx", t->valid ? t->last_tx_bps : NAN, ovl_units_rate(t->last_tx_bps));
}

static void put_terms(struct ovl_buf *b, const struct ovl_facts *f, const struct ovl_model *m)
{
	struct ovl_rows rows;
	char s[OVL_UNITS_MAX];

	ovl_rows_build(&rows, f, &m->waterfall, STAGES_SHOWN + 4);
	ovl_buf_puts(b, "        ");
	for (int i = 1; i < rows.n - 1; i++) {
		const struct ovl_row *row = &rows.v[i];

		ovl_units_number(s, -row->bps, rows.unit, true);
		ovl_buf_printf(b, "  %s %s%s", row->key, row->bps < 0 ? "+" : "", s);
	}
	ovl_buf_puts(b, "\n");
}

static void put_shares(struct ovl_buf *b, const struct ovl_model *m)
{
	char s[OVL_UNITS_MAX];
	int shown = 0;

	ovl_buf_puts(b, "          busy time since start:");
	ovl_vec_each(t, &m->cpu.stages) {
		if (t->stage >= OVL_STAGE_COUNT || shown++ == STAGES_SHOWN)
			break;
		ovl_buf_printf(b, "  %s %s", ovl_stage_info((enum ovl_stage)t->stage)->key,
			       ovl_units_text(s, t->share_ratio, ovl_units_share(), true));
	}
	ovl_buf_puts(b, "\n");
}

void ovl_plain_interval(struct ovl_buf *out, const char *clock, const struct ovl_facts *f,
			const struct ovl_model *m)
{
	const struct ovl_link *iface = ovl_facts_iface(f);
	struct ovl_buf b = {0};

	ovl_buf_printf(&b, "%s %s", clock, iface ? iface->name : "no interface");
	put_rates(&b, f, m);
	ovl_buf_puts(&b, "  drops ");
	ovl_words_per_s(&b, m->last.drops_ps, true);
	ovl_buf_puts(&b, "  retr ");
	ovl_words_per_s(&b, m->last.retransmits_ps, true);
	if (!isnan(m->last.rtt_ns))
		put_number(&b, "rtt", m->last.rtt_ns, ovl_units_time(m->last.rtt_ns, true));
	if (m->last.per_cpu.n)
		ovl_buf_puts(&b, "  ");
	ovl_words_cpus(&b, m->last.per_cpu.v, m->last.per_cpu.n, 2, true, true);
	ovl_buf_puts(&b, "\n");
	if (m->waterfall.valid)
		put_terms(&b, f, m);
	else if (f->load.valid && !ovl_facts_rr(f) && *m->waterfall.why_not)
		ovl_buf_printf(&b, "          %s\n", m->waterfall.why_not);
	if (!m->waterfall.valid && m->cpu.valid && m->cpu.busy_ns)
		put_shares(&b, m);
	ovl_utf8_clean(out, ovl_buf_str(&b));
	out->failed |= b.failed;
	ovl_buf_fini(&b);
}
