#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/units.h"
#include "view/matrix.h"
#include "view/utf8.h"

#define LABEL_COLUMNS 34
#define TEXT_COLUMNS  94
#define FACTOR_LEAST  1.2 /* parts of less extra time are mostly chance */

static const struct ovl_unit gbit = {1e9, "Gbit/s", 2};
static const struct ovl_unit micro = {1e3, "us", 1};
static const struct ovl_unit kilo = {1e3, "k", 1};

static const char *number(char s[OVL_UNITS_MAX], double v, struct ovl_unit unit)
{
	return ovl_units_number(s, v, unit, true);
}

/* "39.6%", a dash when unknown. */
static const char *share(char s[OVL_UNITS_MAX], double v)
{
	return ovl_units_text(s, v, ovl_units_share(), true);
}

/* A sentence over as many lines as it takes, each indented. */
static void put_wrapped(struct ovl_buf *b, const char *text)
{
	while (*text) {
		size_t n = strlen(text);

		if (n > TEXT_COLUMNS) {
			for (n = TEXT_COLUMNS; n && text[n] != ' '; n--)
				;
			if (!n)
				n = TEXT_COLUMNS;
		}
		ovl_buf_puts(b, "    ");
		ovl_buf_put(b, text, n);
		ovl_buf_puts(b, "\n");
		text += n;
		text += *text == ' ';
	}
}

static void put_losses(struct ovl_buf *b, const struct ovl_matrix_turn *t)
{
	struct ovl_buf line = {0};
	char s[OVL_UNITS_MAX];

	if (!t->n_top)
		return;
	ovl_buf_puts(&line, "lost to ");
	for (uint32_t i = 0; i < t->n_top; i++)
		ovl_buf_printf(&line, "%s%s %s", i ? ", " : "", t->top[i].label,
			       ovl_units_text(s, t->top[i].bps, gbit, true));
	put_wrapped(b, ovl_buf_str(&line));
	ovl_buf_fini(&line);
}

/* How large the packets are that each of two rows handed to its device. */
static void put_sizes(struct ovl_buf *line, const struct ovl_matrix *m,
		      const struct ovl_matrix_row *row)
{
	struct ovl_matrix_summary own, other;
	char s[2][OVL_UNITS_MAX];

	ovl_matrix_summarise(m, row, &own);
	ovl_matrix_summarise(m, &m->rows[row->against], &other);
	if (isnan(own.bytes_per_pkt) || isnan(other.bytes_per_pkt))
		return;
	ovl_buf_printf(line, ". Its device takes packets of %s bytes on average, the other's of %s",
		       ovl_units_text(s[0], round(own.bytes_per_pkt),
				      ovl_units_count(own.bytes_per_pkt), true),
		       ovl_units_text(s[1], round(other.bytes_per_pkt),
				      ovl_units_count(other.bytes_per_pkt), true));
}

static void put_why(struct ovl_buf *b, const struct ovl_matrix *m, const struct ovl_matrix_row *row)
{
	const struct ovl_unit plain = {1, "", 1}, cpus = {1, "", 2};
	char s[4][OVL_UNITS_MAX];
	struct ovl_matrix_why why;
	struct ovl_buf line = {0};

	ovl_matrix_explain(m, row, &why);
	if (!why.valid)
		return;
	ovl_buf_printf(&line,
		       "1/%s of row %s: a byte costs %s times its CPU time, and %s CPUs work on it "
		       "instead of %s",
		       number(s[0], why.ratio, plain), m->rows[row->against].key,
		       number(s[1], why.cost_factor, plain), number(s[2], why.own_cpus, cpus),
		       number(s[3], why.other_cpus, cpus));
	if (why.cost_factor >= FACTOR_LEAST)
		ovl_buf_puts(&line, ". The extra time, all CPUs:");
	for (int i = 0; why.cost_factor >= FACTOR_LEAST && i < OVL_MATRIX_PARTS; i++)
		ovl_buf_printf(&line, "%s %s %s", i ? "," : "",
			       ovl_matrix_part_label((enum ovl_matrix_part)i),
			       share(s[0], why.part_ratio[i]));
	put_sizes(&line, m, row);
	put_wrapped(b, ovl_buf_str(&line));
	ovl_buf_fini(&line);
}

static void put_row(struct ovl_buf *b, const struct ovl_matrix *m, const struct ovl_matrix_row *row)
{
	char v[9][OVL_UNITS_MAX];
	struct ovl_matrix_summary s;
	struct ovl_buf note = {0};

	ovl_matrix_summarise(m, row, &s);
	ovl_buf_printf(b, "%-*.*s%7s%6s%8s%8s%7s%7s%7s |%6s%8s\n", LABEL_COLUMNS, LABEL_COLUMNS,
		       row->label, number(v[0], s.goodput_bps, gbit),
		       number(v[1], s.goodput_spread_bps, gbit), share(v[2], s.of_host_ratio),
		       number(v[3], s.latency_ns, micro), number(v[4], s.latency_spread_ns, micro),
		       number(v[5], s.segs_ps, kilo),
		       number(v[6], s.copies_per_pkt, ovl_units_plain(s.copies_per_pkt)),
		       number(v[7], row->seed_bps, gbit),
		       number(v[8], row->seed_latency_ns, micro));
	if (row->seed_note) {
		ovl_buf_printf(&note, "(the table: %s)", row->seed_note);
		put_wrapped(b, ovl_buf_str(&note));
		ovl_buf_clear(&note);
	}
	if (*row->skipped) {
		ovl_buf_printf(&note, "skipped: %s", row->skipped);
		put_wrapped(b, ovl_buf_str(&note));
	} else if (s.middle && s.middle->traced) {
		ovl_buf_printf(&note, "%s: %s", ovl_limit_key(s.middle->limit), s.middle->sentence);
		put_wrapped(b, ovl_buf_str(&note));
		put_losses(b, s.middle);
		put_why(b, m, row);
	}
	ovl_buf_fini(&note);
}

void ovl_matrix_text(struct ovl_buf *out, const struct ovl_matrix *m)
{
	struct ovl_buf b = {0};

	ovl_buf_printf(
		&b,
		"%s  %s\n%s, kernel %s, %u CPUs; %u turn%s of %.3g s a row, medians, +- half "
		"the range\n\n",
		m->suite, m->about, m->host.nodename, m->host.kernel, m->host.cpus, m->turns,
		m->turns == 1 ? "" : "s", m->seconds);
	ovl_buf_printf(&b, "%-*s%7s%6s%8s%8s%7s%7s%7s |%6s%8s\n", LABEL_COLUMNS, "PATH", "Gbit/s",
		       "+-", "of host", "RTT us", "+-", "kseg/s", "copies", "table", "RTT us");
	for (uint32_t i = 0; i < m->n_rows; i++)
		put_row(&b, m, &m->rows[i]);
	ovl_buf_puts(&b, m->stopped ? "\nStopped before all turns were done.\n" : "\n");
	ovl_buf_puts(&b, "RTT: median round trip of 1 byte on an idle path. table: the published "
			 "figures, of other machines\n(qperf prints half a round trip: doubled "
			 "here).\n");
	ovl_utf8_clean(out, ovl_buf_str(&b));
	out->failed |= b.failed;
	ovl_buf_fini(&b);
}
