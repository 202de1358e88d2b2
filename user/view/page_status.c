#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/units.h"
#include "view/page.h"
#include "view/words.h"

enum series { SERIES_BPS, SERIES_DROPS, SERIES_RTT };

static double point_of(const struct ovl_point *point, enum series series)
{
	switch (series) {
	case SERIES_BPS: return point->bps;
	case SERIES_DROPS: return point->drops_ps;
	case SERIES_RTT: return point->rtt_ns;
	}
	return NAN;
}

static struct ovl_unit unit_of(const struct ovl_page *p, enum series series, double max)
{
	if (series == SERIES_BPS)
		return ovl_units_rate(max);
	return series == SERIES_RTT ? ovl_units_time(max, p->c->ascii) : ovl_units_count(max);
}

/** One line: "overlay Gbit/s, 60 s   6.10 ▁▃▅▇ 6.60", the newest value at the right. */
static void sparkline(const struct ovl_page *p, int y, enum series series, const char *name)
{
	const int label_w = 21, number_w = 7;
	struct ovl_rect r = p->l.status;
	const int room = r.w - label_w - 2 * number_w - 4;
	const int n = (int)p->m->n_history < OVL_HISTORY ? (int)p->m->n_history : OVL_HISTORY;
	const int from = n > room ? n - room : 0;
	double v[OVL_HISTORY], lo = NAN, hi = NAN, span_s;
	struct ovl_unit unit;
	char s[OVL_UNITS_MAX], label[64];

	for (int i = from; i < n; i++) {
		v[i - from] = point_of(&p->m->history[i], series);
		lo = fmin(lo, v[i - from]); /* fmin and fmax skip NAN */
		hi = fmax(hi, v[i - from]);
	}
	if (series == SERIES_DROPS && lo > 0)
		lo = 0; /* a count starts at nothing */
	if (isnan(hi)) {
		ovl_canvas_put(p->c, r, 1, y, OVL_INK_NORMAL, name);
		ovl_canvas_right(p->c, r, label_w + number_w, y, OVL_INK_NORMAL,
				 p->c->ascii ? "-" : "–");
		return;
	}
	unit = unit_of(p, series, hi);
	span_s = (double)(n - from) * (double)p->f->interval_ns / 1e9;
	snprintf(label, sizeof(label), "%s%s%s, %.0f %s", name, *unit.name ? " " : "", unit.name,
		 span_s < 10000 ? span_s : span_s / 3600, span_s < 10000 ? "s" : "h");
	ovl_canvas_put(p->c, r, 1, y, OVL_INK_NORMAL, label);
	ovl_canvas_right(p->c, r, label_w + number_w, y, OVL_INK_NORMAL,
			 ovl_units_number(s, lo, unit, p->c->ascii));
	r = (struct ovl_rect){r.x + label_w + number_w + 1, r.y + y, room, 1};
	/* all zero: a flat line at the bottom */
	ovl_canvas_spark(p->c, r, v, n - from, lo, hi == 0 ? 1 : hi);
	r.w += number_w + 2;
	ovl_canvas_put(p->c, r, n - from + 1, 0, OVL_INK_NORMAL,
		       ovl_units_number(s, hi, unit, p->c->ascii));
}

/** The path whose TCP numbers are shown: the overlay once it was measured. */
static const struct ovl_load_path *shown_path(const struct ovl_page *p)
{
	const struct ovl_load_model *load = &p->m->load;

	if (!load->valid)
		return NULL;
	return load->overlay.valid ? &load->overlay : load->underlay.valid ? &load->underlay : NULL;
}

/* Was bulk measured, whose TCP is looked at? Not with round trips. */
static bool is_bulk(const struct ovl_load_path *path)
{
	return path->valid && !isnan(path->goodput_bps);
}

static void put_time(struct ovl_buf *b, double ns, bool ascii)
{
	char s[OVL_UNITS_MAX];

	ovl_buf_puts(b, ovl_units_text(s, ns, ovl_units_time(ns, ascii), ascii));
}

/**
 * Of the last interval: retransmits, and with load the RTT (and cwnd), without it what the
 * interface carries.
 */
static void tcp_words(const struct ovl_page *p, struct ovl_buf *b, const char *gap, bool brief)
{
	const struct ovl_load_path *path = shown_path(p);
	const struct ovl_traffic *t = &p->m->traffic;
	const double rx = t->valid ? t->last_rx_bps : NAN, tx = t->valid ? t->last_tx_bps : NAN;
	const double cwnd = path && is_bulk(path) ? path->cwnd_segs : NAN;
	const bool ascii = p->c->ascii, rtt = path && path->rtt.valid;
	char s[OVL_UNITS_MAX];

	ovl_buf_puts(b, "retransmits ");
	ovl_words_per_s(b, p->m->last.retransmits_ps, ascii);
	if (p->f->load.valid) {
		ovl_buf_printf(b, "%sRTT ", gap);
		put_time(b, p->m->last.rtt_ns, ascii);
		if (brief)
			return;
		ovl_buf_printf(b, "%scwnd %s", gap,
			       ovl_units_text(s, cwnd, ovl_units_count(cwnd), ascii));
		if (path && is_bulk(path))
			ovl_buf_puts(b, " segs");
		ovl_buf_printf(b, "%sp99 since start ", gap);
		put_time(b, rtt ? (double)path->rtt.p99_ns : NAN, ascii);
	} else if (!brief) {
		ovl_buf_printf(b, "%srx %s", gap, ovl_units_text(s, rx, ovl_units_rate(rx), ascii));
		ovl_buf_printf(b, "%stx %s", gap, ovl_units_text(s, tx, ovl_units_rate(tx), ascii));
	}
}

/** Compact: everything of now in one line. */
static void now_line(const struct ovl_page *p)
{
	struct ovl_rect r = {p->l.status.x + 1, p->l.status.y, p->l.status.w - 2, 1};
	struct ovl_buf b = {0}, cpu = {0};

	ovl_buf_puts(&b, "drops ");
	ovl_words_per_s(&b, p->m->last.drops_ps, p->c->ascii);
	ovl_buf_puts(&b, "  ");
	tcp_words(p, &b, "  ", true);
	ovl_words_cpus(&cpu, p->m->last.per_cpu.v, p->m->last.per_cpu.n, 1, true, p->c->ascii);
	if (cpu.n && ovl_canvas_width(p->c, ovl_buf_str(&b)) + 2 +
				     ovl_canvas_width(p->c, ovl_buf_str(&cpu)) <=
			     r.w)
		ovl_buf_printf(&b, "  %s", ovl_buf_str(&cpu));
	ovl_canvas_cut(p->c, r, 0, OVL_INK_NORMAL, ovl_buf_str(&b));
	ovl_buf_fini(&b);
	ovl_buf_fini(&cpu);
}

/** Name in front, text from column 8 on, whole words only. */
static void named_line(const struct ovl_page *p, int y, const char *name, struct ovl_buf *text)
{
	struct ovl_rect r = {p->l.status.x + 8, p->l.status.y + y, p->l.status.w - 9, 1};

	ovl_canvas_put(p->c, p->l.status, 1, y, OVL_INK_DIM, name);
	ovl_canvas_cut(p->c, r, 0, OVL_INK_NORMAL, ovl_buf_str(text));
	ovl_buf_fini(text);
}

static void tcp_line(const struct ovl_page *p, int y)
{
	struct ovl_buf b = {0};

	tcp_words(p, &b, "  ", false);
	named_line(p, y, "tcp", &b);
}

static void cpu_line(const struct ovl_page *p, int y)
{
	struct ovl_buf b = {0};

	for (unsigned n = 4; n > 0; n--) { /* whole CPUs only */
		ovl_buf_clear(&b);
		ovl_words_cpus(&b, p->m->last.per_cpu.v, p->m->last.per_cpu.n, n, false,
			       p->c->ascii);
		if (ovl_canvas_width(p->c, ovl_buf_str(&b)) <= p->l.status.w - 9)
			break;
	}
	if (!b.n)
		ovl_buf_puts(&b, p->c->ascii ? "-" : "–");
	named_line(p, y, "busy", &b);
}

/**
 * The last interval's rate, then since the start by reason; drops off the path if there is room.
 */
static void drops_line(const struct ovl_page *p, int y)
{
	struct ovl_buf b = {0}, part = {0};

	if (isnan(p->m->drops_ps)) {
		ovl_buf_puts(&b, p->c->ascii ? "- not counted" : "– not counted");
		named_line(p, y, "drops", &b);
		return;
	}
	ovl_words_per_s(&b, p->m->last.drops_ps, p->c->ascii);
	ovl_words_drops(&part, p->f, p->m, 4);
	if (part.n)
		ovl_buf_printf(&b, "   since start: %s", ovl_buf_str(&part));
	ovl_buf_clear(&part);
	ovl_words_elsewhere(&part, p->f, p->m);
	if (part.n && ovl_canvas_width(p->c, ovl_buf_str(&b)) + 3 +
				      ovl_canvas_width(p->c, ovl_buf_str(&part)) <=
			      p->l.status.w - 9)
		ovl_buf_printf(&b, "   %s", ovl_buf_str(&part));
	ovl_buf_fini(&part);
	named_line(p, y, "drops", &b);
}

void ovl_page_status(const struct ovl_page *p)
{
	const char *what = p->f->load.valid ? "overlay" : "traffic";

	switch (p->l.kind) {
	case OVL_LAYOUT_LINE: return;
	case OVL_LAYOUT_COMPACT: now_line(p); return;
	case OVL_LAYOUT_FULL:
		sparkline(p, 0, SERIES_BPS, what);
		tcp_line(p, 1);
		cpu_line(p, 2);
		drops_line(p, 3);
		return;
	case OVL_LAYOUT_PANELS:
		sparkline(p, 0, SERIES_BPS, what);
		sparkline(p, 1, SERIES_DROPS, "drops/s");
		sparkline(p, 2, SERIES_RTT, "RTT");
		return;
	}
}

void ovl_page_verdict(const struct ovl_page *p)
{
	const struct ovl_verdict *v = &p->m->verdict;
	const bool alarm = ovl_words_alarming(v);
	const enum ovl_ink ink = alarm ? OVL_INK_ALARM : OVL_INK_STRONG;
	struct ovl_rect r = {p->l.verdict.x + 3, p->l.verdict.y, p->l.verdict.w - 4,
			     p->l.verdict.h};
	struct ovl_rect sentence = r;
	struct ovl_buf warning = {0}, evidence = {0};
	char s[OVL_UNITS_MAX];
	int y = 0;

	ovl_words_warning(&warning, p->m, p->c->ascii);
	ovl_words_evidence(&evidence, p->m, 8, p->c->ascii);
	if (evidence.n && !isnan(v->confidence_ratio))
		ovl_buf_printf(&evidence, " (confidence %s)",
			       ovl_units_text(s, v->confidence_ratio, ovl_units_share(), true));
	if (sentence.h > 2 && (warning.n || evidence.n))
		sentence.h -= 1; /* the last line is kept for what supports it */
	ovl_canvas_put(p->c, p->l.verdict, 1, 0, ink, alarm ? "!" : p->c->ascii ? "-" : "·");
	y = ovl_canvas_wrap(p->c, sentence, y, ink,
			    *v->sentence ? v->sentence
					 : "No verdict yet: nothing has been measured.");
	if (warning.n && y < r.h) {
		ovl_canvas_put(p->c, p->l.verdict, 1, y, OVL_INK_ALARM, "!");
		y = ovl_canvas_wrap(p->c, r, y, OVL_INK_ALARM, ovl_buf_str(&warning));
	}
	if (evidence.n && y < r.h)
		ovl_canvas_wrap(p->c, r, y, OVL_INK_DIM, ovl_buf_str(&evidence));
	ovl_buf_fini(&warning);
	ovl_buf_fini(&evidence);
}

/** Right panel: where the interface is, and what it carries now. */
static int side_interface(const struct ovl_page *p, int y)
{
	const struct ovl_link *iface = ovl_facts_iface(p->f);
	const struct ovl_traffic *t = &p->m->traffic;
	const double rx = t->valid ? t->last_rx_bps : NAN, tx = t->valid ? t->last_tx_bps : NAN;
	const bool ascii = p->c->ascii, down = iface && !iface->up;
	struct ovl_rect r = {p->l.side.x + 12, p->l.side.y + y, p->l.side.w - 13, 1};
	char a[OVL_UNITS_MAX], b[OVL_UNITS_MAX];

	ovl_canvas_put(p->c, p->l.side, 1, y, OVL_INK_NORMAL, "netns");
	ovl_canvas_cut(p->c, r, 0, OVL_INK_NORMAL, iface ? ovl_facts_ns(p->f, iface->ns) : "-");
	ovl_canvas_put(p->c, p->l.side, 1, ++y, down ? OVL_INK_ALARM : OVL_INK_NORMAL,
		       down ? "! down" : "interface");
	ovl_canvas_printf(p->c, p->l.side, 12, y, OVL_INK_NORMAL, "rx %s  tx %s",
			  ovl_units_text(a, rx, ovl_units_rate(rx), ascii),
			  ovl_units_text(b, tx, ovl_units_rate(tx), ascii));
	return y + 1;
}

/** Right panel: the CPUs of the last interval. */
static int side_cpus(const struct ovl_page *p, int y, int max)
{
	const struct ovl_unit share = ovl_units_share();
	const bool ascii = p->c->ascii;
	char busy[OVL_UNITS_MAX], soft[OVL_UNITS_MAX];
	int shown = 0;

	if (!p->m->last.per_cpu.n || max < 2)
		return y;
	ovl_canvas_put(p->c, p->l.side, 1, y, OVL_INK_STRONG, "CPU");
	ovl_canvas_right(p->c, p->l.side, 14, y, OVL_INK_STRONG, "busy");
	ovl_canvas_right(p->c, p->l.side, 23, y, OVL_INK_STRONG, "softirq");
	ovl_canvas_put(p->c, p->l.side, 25, y++, OVL_INK_STRONG, "top stage");
	ovl_vec_each(cpu, &p->m->last.per_cpu) {
		struct ovl_rect r = {p->l.side.x + 25, p->l.side.y + y, p->l.side.w - 26, 1};

		if (++shown >= max)
			break;
		ovl_canvas_printf(p->c, p->l.side, 1, y, OVL_INK_NORMAL, "cpu%u", cpu->cpu);
		ovl_canvas_right(p->c, p->l.side, 14, y, OVL_INK_NORMAL,
				 ovl_units_text(busy, cpu->busy_ratio, share, ascii));
		ovl_canvas_right(p->c, p->l.side, 23, y, OVL_INK_NORMAL,
				 ovl_units_text(soft, cpu->softirq_ratio, share, ascii));
		if (cpu->top_stage >= 0)
			ovl_canvas_cut(p->c, r, 0, OVL_INK_NORMAL,
				       ovl_words_stage((unsigned)cpu->top_stage));
		y++;
	}
	return y;
}

/** "overlay  310 us   620 us   22   241  2.1%": one path of the load, since start. */
static void side_tcp_row(const struct ovl_page *p, int y, const char *name,
			 const struct ovl_load_path *path)
{
	const struct ovl_unit share = ovl_units_share();
	const bool rtt = path->valid && path->rtt.valid, ascii = p->c->ascii;
	const double p50 = rtt ? (double)path->rtt.p50_ns : NAN;
	const double p99 = rtt ? (double)path->rtt.p99_ns : NAN;
	const double retr = path->valid ? path->retransmits : NAN;
	const double cwnd = path->valid ? path->cwnd_segs : NAN;
	char s[OVL_UNITS_MAX];

	ovl_canvas_put(p->c, p->l.side, 1, y, OVL_INK_NORMAL, name);
	ovl_canvas_right(p->c, p->l.side, 19, y, OVL_INK_NORMAL,
			 ovl_units_text(s, p50, ovl_units_time(p50, ascii), ascii));
	ovl_canvas_right(p->c, p->l.side, 28, y, OVL_INK_NORMAL,
			 ovl_units_text(s, p99, ovl_units_time(p99, ascii), ascii));
	ovl_canvas_right(p->c, p->l.side, 34, y, OVL_INK_NORMAL,
			 ovl_units_text(s, retr, ovl_units_count(retr), ascii));
	ovl_canvas_right(p->c, p->l.side, 40, y, OVL_INK_NORMAL,
			 ovl_units_text(s, cwnd, ovl_units_count(cwnd), ascii));
	ovl_canvas_right(p->c, p->l.side, 46, y, OVL_INK_NORMAL,
			 ovl_units_text(s, path->valid ? path->rwnd_ratio : NAN, share, ascii));
}

static int side_tcp(const struct ovl_page *p, int y)
{
	const struct ovl_load_model *load = &p->m->load;
	static const struct {
		int end;
		const char *name;
	} heads[] = {{19, "RTT p50"}, {28, "p99"}, {34, "retr"}, {40, "cwnd"}, {46, "rwnd"}};

	if (!load->valid)
		return y;
	ovl_canvas_put(p->c, p->l.side, 1, y, OVL_INK_STRONG, "all run");
	for (size_t i = 0; i < sizeof(heads) / sizeof(heads[0]); i++)
		ovl_canvas_right(p->c, p->l.side, heads[i].end, y, OVL_INK_STRONG, heads[i].name);
	side_tcp_row(p, ++y, "overlay", &load->overlay);
	if (p->f->load.has_underlay)
		side_tcp_row(p, ++y, "underlay", &load->underlay);
	return y + 1;
}

/** "overlay  31.2 us  48.0 us  310 us  1.2 ms": round trips over one path. */
static void side_latency_row(const struct ovl_page *p, int y, const char *name,
			     const struct ovl_load_path *path)
{
	const struct ovl_latency *const kinds[] = {&path->idle, &path->loaded};
	const bool ascii = p->c->ascii;
	char s[OVL_UNITS_MAX];

	ovl_canvas_put(p->c, p->l.side, 1, y, OVL_INK_NORMAL, name);
	for (int i = 0; i < 2; i++) {
		const double p50 = kinds[i]->valid ? (double)kinds[i]->p50_ns : NAN;
		const double p99 = kinds[i]->valid ? (double)kinds[i]->p99_ns : NAN;

		ovl_canvas_right(p->c, p->l.side, 19 + 18 * i, y, OVL_INK_NORMAL,
				 ovl_units_text(s, p50, ovl_units_time(p50, ascii), ascii));
		ovl_canvas_right(p->c, p->l.side, 28 + 18 * i, y, OVL_INK_NORMAL,
				 ovl_units_text(s, p99, ovl_units_time(p99, ascii), ascii));
	}
}

/** Once there are any, and where they push nothing out: CPUs and drops take three rows each. */
static int side_latency(const struct ovl_page *p, int y)
{
	const struct ovl_load_model *load = &p->m->load;
	static const char *const heads[] = {"idle p50", "p99", "load p50", "p99"};

	if (!load->valid || !(load->overlay.idle.valid || load->underlay.idle.valid) ||
	    p->l.side.h - y < 9)
		return y;
	ovl_canvas_put(p->c, p->l.side, 1, y, OVL_INK_STRONG, "latency");
	for (int i = 0; i < 4; i++)
		ovl_canvas_right(p->c, p->l.side, 19 + 9 * i, y, OVL_INK_STRONG, heads[i]);
	side_latency_row(p, ++y, "overlay", &load->overlay);
	if (p->f->load.has_underlay)
		side_latency_row(p, ++y, "underlay", &load->underlay);
	return y + 1;
}

/** Right panel: drops a second in the last interval, and since the start by reason. */
static void side_drops(const struct ovl_page *p, int y)
{
	struct ovl_words_reason top[8];
	struct ovl_buf rate = {0}, elsewhere = {0};
	int room = p->l.side.h - y - 1;
	char s[OVL_UNITS_MAX];
	unsigned n;

	ovl_words_elsewhere(&elsewhere, p->f, p->m);
	n = ovl_words_reasons(p->f, p->m, top, room > 8 ? 8 : room > 0 ? (unsigned)room : 0);
	ovl_canvas_put(p->c, p->l.side, 1, y, OVL_INK_STRONG,
		       n ? "DROPS, segments since start" : "DROPS");
	ovl_words_per_s(&rate, p->m->last.drops_ps, p->c->ascii);
	ovl_canvas_right(p->c, p->l.side, 46, y++, OVL_INK_STRONG, ovl_buf_str(&rate));
	for (unsigned i = 0; i < n; i++, y++) {
		struct ovl_rect reason = {p->l.side.x + 1, p->l.side.y + y, 22, 1};
		struct ovl_rect where = {p->l.side.x + 24, p->l.side.y + y, 15, 1};

		ovl_canvas_cut(p->c, reason, 0, OVL_INK_LOST, top[i].reason);
		ovl_canvas_cut(p->c, where, 0, OVL_INK_NORMAL, top[i].where);
		ovl_canvas_right(p->c, p->l.side, 46, y, OVL_INK_NORMAL,
				 ovl_units_text(s, (double)top[i].segs,
						ovl_units_count((double)top[i].segs), true));
	}
	if (elsewhere.n && y < p->l.side.h)
		ovl_canvas_put(p->c, p->l.side, 1, y, OVL_INK_NORMAL, ovl_buf_str(&elsewhere));
	ovl_buf_fini(&rate);
	ovl_buf_fini(&elsewhere);
}

void ovl_page_side(const struct ovl_page *p)
{
	int y = 0;

	if (p->l.kind != OVL_LAYOUT_PANELS)
		return;
	y = side_interface(p, y);
	y = side_tcp(p, y);
	y = side_latency(p, y);
	y = side_cpus(p, y, p->l.side.h - y - 2);
	side_drops(p, y);
}
