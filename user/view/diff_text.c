#include <math.h>
#include <stdio.h>
#include <string.h>

#include "view/diff.h"
#include "view/utf8.h"
#include "view/words.h"

#define STAGES_SHOWN  16
#define DEVICES_SHOWN 24
#define RATES_SHOWN   12
#define NETNS_COLUMNS 16

const char *ovl_diff_value(char s[OVL_UNITS_MAX + 8], enum ovl_metric metric, double v)
{
	char number[OVL_UNITS_MAX];

	switch (ovl_metric_info(metric)->unit) {
	case OVL_METRIC_BPS: return ovl_units_text(s, v, ovl_units_rate(v), true);
	case OVL_METRIC_SHARE: return ovl_units_text(s, v, ovl_units_share(), true);
	case OVL_METRIC_NS: return ovl_units_text(s, v, ovl_units_time(v, true), true);
	case OVL_METRIC_NUMBER: return ovl_units_number(s, v, ovl_units_count(v), true);
	case OVL_METRIC_PER_S: ovl_units_text(number, v, ovl_units_count(v), true); break;
	case OVL_METRIC_NS_PER_KIB: ovl_units_number(number, v, ovl_units_plain(v), true); break;
	}
	snprintf(s, OVL_UNITS_MAX + 8, "%s%s", number,
		 isnan(v)					     ? ""
		 : ovl_metric_info(metric)->unit == OVL_METRIC_PER_S ? "/s"
								     : " ns/KiB");
	return s;
}

static void put_side(struct ovl_buf *b, const char *letter, const char *name,
		     const struct ovl_diff_side *side)
{
	const double ns = (double)side->model->duration_ns;
	struct ovl_buf path = {0};
	char s[OVL_UNITS_MAX];

	ovl_words_path(&path, side->facts, true);
	ovl_buf_printf(b, "%s  %s\n   %s\n   ", letter, name, ovl_buf_str(&path));
	ovl_buf_clear(&path);
	ovl_words_load(&path, side->facts);
	ovl_buf_printf(b, "%s, kernel %s, observed %s\n", ovl_buf_str(&path), side->facts->kernel,
		       ovl_units_text(s, ns, ovl_units_time(fmax(ns, 1e9), true), true));
	ovl_buf_fini(&path);
}

/* "+38.2%": relative; of shares the difference itself. */
static const char *change(char s[OVL_WORDS_CHANGE + 8], enum ovl_metric metric, double a, double b)
{
	const bool share = ovl_metric_info(metric)->unit == OVL_METRIC_SHARE;
	const struct ovl_unit percent = {0.01, "", 1};
	char number[OVL_WORDS_CHANGE];
	double v = share ? b - a : (b - a) / a;

	if (!isfinite(v))
		return "-";
	snprintf(s, OVL_WORDS_CHANGE + 8, "%s%s", ovl_words_change(number, v, percent, true),
		 share ? " points" : "%");
	return s;
}

static void put_metrics(struct ovl_buf *b, const struct ovl_diff *diff)
{
	static const char *const judged[] = {"WORSE", "", "better"};
	char va[OVL_UNITS_MAX + 8], vb[OVL_UNITS_MAX + 8], c[OVL_WORDS_CHANGE + 8];

	ovl_buf_printf(b, "\nFIGURES%32s%16s%16s\n", "A", "B", "change");
	for (int i = 0; i < OVL_METRIC_COUNT; i++) {
		const struct ovl_diff_metric *m = &diff->metric[i];

		if (isnan(m->a) && isnan(m->b))
			continue;
		ovl_buf_printf(b, "  %-21s%16s%16s%16s  %s\n", ovl_metric_info(m->metric)->name,
			       ovl_diff_value(va, m->metric, m->a),
			       ovl_diff_value(vb, m->metric, m->b),
			       change(c, m->metric, m->a, m->b), judged[m->judged + 1]);
	}
}

static void put_devices(struct ovl_buf *b, const struct ovl_diff *diff)
{
	size_t shown = 0;

	ovl_buf_puts(b, "\nPATH\n");
	ovl_vec_each(d, &diff->devices) {
		if (shown++ >= DEVICES_SHOWN)
			continue;
		ovl_buf_printf(b, "  %.24s %.15s: %s %s -> %s\n", d->netns, d->iface, d->what,
			       *d->a ? d->a : "-", *d->b ? d->b : "-");
	}
	if (shown > DEVICES_SHOWN)
		ovl_buf_printf(b, "  and %zu more\n", shown - DEVICES_SHOWN);
	if (!shown)
		ovl_buf_puts(b, "  The same devices with the same features.\n");
}

static void put_stages(struct ovl_buf *b, const struct ovl_diff *diff)
{
	char va[OVL_UNITS_MAX], vb[OVL_UNITS_MAX], c[OVL_WORDS_CHANGE], n[OVL_UNITS_MAX];
	const struct ovl_unit rate = {1e9, "Gbit/s", 2};
	struct ovl_unit unit;
	double most = 0, calm_a = 0, calm_b = 0, priced = 0;
	unsigned shown = 0, calm = 0;

	ovl_vec_each(s, &diff->stages) {
		most = fmax(most, fmax(s->a_ns_per_kib, s->b_ns_per_kib));
		priced += !isnan(s->b_ns_per_kib - s->a_ns_per_kib);
	}
	unit = ovl_units_plain(most);
	ovl_buf_puts(
		b,
		"\nLEDGER, ns of CPU per KiB carried, and what the row gives back (+) or takes\n");
	if (priced == 0) {
		ovl_buf_puts(b, "  Not known: one of the runs has no cost per KiB.\n");
		return;
	}
	ovl_buf_printf(b, "  %-32s%10s%10s%10s%8s%9s\n", "", "A", "B", "change", "+-2SE", "Gbit/s");
	ovl_vec_each(s, &diff->stages) {
		if (!ovl_diff_stands_out(s) || shown >= STAGES_SHOWN) {
			calm++;
			calm_a += isnan(s->a_ns_per_kib) ? 0 : s->a_ns_per_kib;
			calm_b += isnan(s->b_ns_per_kib) ? 0 : s->b_ns_per_kib;
			continue;
		}
		shown++;
		ovl_buf_printf(b, "  %-32.32s%10s%10s%10s%8s", ovl_words_stage(s->stage),
			       ovl_units_number(va, s->a_ns_per_kib, unit, true),
			       ovl_units_number(vb, s->b_ns_per_kib, unit, true),
			       ovl_words_change(c, s->b_ns_per_kib - s->a_ns_per_kib, unit, true),
			       ovl_units_number(n, s->noise_ns_per_kib, unit, true));
		ovl_buf_printf(b, "%9s\n", ovl_words_change(c, -s->bps, rate, true));
	}
	if (calm)
		ovl_buf_printf(b, "  %-32.32s%10s%10s\n", "the others, mostly within noise",
			       ovl_units_number(va, calm_a, unit, true),
			       ovl_units_number(vb, calm_b, unit, true));
}

/* Names of namespaces differ at their end: "..vxlan-node1". */
static void put_tail(struct ovl_buf *b, const char *name, size_t max)
{
	const size_t n = strlen(name);

	if (n <= max)
		ovl_buf_puts(b, name);
	else
		ovl_buf_printf(b, "..%s", name + n - (max - 2));
}

static void put_rates(struct ovl_buf *b, const char *title, const struct ovl_diff_rate *v, size_t n)
{
	char a[OVL_UNITS_MAX], c[OVL_UNITS_MAX];

	ovl_buf_printf(b, "\n%s\n", title);
	for (size_t i = 0; i < n && i < RATES_SHOWN; i++) {
		ovl_buf_printf(b, "  %-42.42s%9s%9s  ", v[i].name,
			       ovl_units_text(a, v[i].a_ps, ovl_units_count(v[i].a_ps), true),
			       ovl_units_text(c, v[i].b_ps, ovl_units_count(v[i].b_ps), true));
		put_tail(b, v[i].netns, NETNS_COLUMNS);
		ovl_buf_puts(b, "\n");
	}
	if (n > RATES_SHOWN)
		ovl_buf_printf(b, "  and %zu more\n", n - RATES_SHOWN);
	if (!n)
		ovl_buf_puts(b, "  None beyond chance.\n");
}

void ovl_diff_text(struct ovl_buf *out, const struct ovl_diff_names *names,
		   const struct ovl_diff_side *a, const struct ovl_diff_side *b,
		   const struct ovl_diff *diff)
{
	struct ovl_buf text = {0};

	put_side(&text, "A", names->a, a);
	put_side(&text, "B", names->b, b);
	put_metrics(&text, diff);
	put_devices(&text, diff);
	put_stages(&text, diff);
	put_rates(&text, "DROPS THAT CHANGED, segments a second in A and B", diff->drops.v,
		  diff->drops.n);
	put_rates(&text, "COUNTERS THAT CHANGED, a second in A and B", diff->counters.v,
		  diff->counters.n);
	ovl_utf8_clean(out, ovl_buf_str(&text));
	out->failed |= text.failed;
	ovl_buf_fini(&text);
}
