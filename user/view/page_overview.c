#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/units.h"
#include "view/page.h"
#include "view/rows.h"
#include "view/words.h"

/** Where the columns of a table end (numbers) or begin (bar, C, symbol); 0: not there. */
struct columns {
	int label_w, bar_x, bar_w;
	int rate_end, error_end, loss_end, ns_end, removed_end, sure_x, symbol_x;
};

static struct ovl_rect cell_of(struct ovl_rect r, int x, int y, int w)
{
	return (struct ovl_rect){r.x + x, r.y + y, w < 0 ? 0 : w, y < r.h ? 1 : 0};
}

/** Columns of the waterfall from the right edge inwards; what is left is the bar. */
static struct columns waterfall_columns(const struct ovl_page *p)
{
	const int w = p->l.table.w;
	const bool wide = p->l.kind == OVL_LAYOUT_PANELS;
	struct columns col = {.label_w = 33, .sure_x = w - 2};
	int end = w - 3;

	if (p->l.kind == OVL_LAYOUT_COMPACT) { /* bars after the numbers */
		col.label_w = 32;
		col.rate_end = 41;
		col.ns_end = 49;
		col.bar_x = 51;
		col.bar_w = w - 52;
		col.sure_x = 0;
		return col;
	}
	if (wide) {
		col.removed_end = end;
		end -= 12;
	}
	col.ns_end = end;
	end -= 8;
	col.loss_end = end;
	end -= 7;
	if (wide) {
		col.error_end = end;
		end -= 9;
	}
	col.rate_end = end;
	col.bar_x = 35;
	col.bar_w = end - 8 - col.bar_x;
	return col;
}

static void waterfall_header(const struct ovl_page *p, const struct columns *col,
			     const struct ovl_rows *rows)
{
	const struct ovl_rect r = p->l.table;
	char s[OVL_UNITS_MAX];
	const enum ovl_ink ink = OVL_INK_STRONG;

	ovl_canvas_put(p->c, r, 1, 0, ink, "STAGE");
	if (col->loss_end) { /* full sizes have the axis over the bars */
		ovl_units_number(s, rows->axis_bps, rows->unit, p->c->ascii);
		ovl_canvas_put(p->c, r, col->bar_x, 0, ink, "0");
		ovl_canvas_right(p->c, r, col->bar_x + col->bar_w, 0, ink, s);
		ovl_canvas_right(p->c, r, col->loss_end, 0, ink, "loss%");
	}
	ovl_canvas_right(p->c, r, col->rate_end, 0, ink, rows->unit.name);
	ovl_canvas_right(p->c, r, col->ns_end, 0, ink, "ns/KiB");
	if (col->error_end)
		ovl_canvas_right(p->c, r, col->error_end, 0, ink, p->c->ascii ? "+-2SE" : "±2SE");
	if (col->removed_end)
		ovl_canvas_right(p->c, r, col->removed_end, 0, ink, "if removed");
	if (col->sure_x)
		ovl_canvas_put(p->c, r, col->sure_x, 0, ink, "C");
}

/** Number right-aligned in its column, if the column is there. */
static void number(const struct ovl_page *p, int end, int y, double v, struct ovl_unit unit)
{
	char s[OVL_UNITS_MAX];

	if (end)
		ovl_canvas_right(p->c, p->l.table, end, y, OVL_INK_NORMAL,
				 ovl_units_number(s, v, unit, p->c->ascii));
}

/** "+" in front of what is gained: losses carry their "-" already. */
static void change(const struct ovl_page *p, int end, int y, double loss_bps, struct ovl_unit unit)
{
	char s[OVL_UNITS_MAX], signed_s[OVL_UNITS_MAX + 1];

	ovl_units_number(s, -loss_bps, unit, p->c->ascii);
	snprintf(signed_s, sizeof(signed_s), "%s%s", loss_bps < 0 ? "+" : "", s);
	ovl_canvas_right(p->c, p->l.table, end, y, OVL_INK_NORMAL, signed_s);
}

static const char *row_prefix(const struct ovl_page *p, const struct ovl_row *row)
{
	if (row->kind == OVL_ROW_UNDERLAY)
		return "";
	if (row->kind == OVL_ROW_OVERLAY)
		return p->c->ascii ? "= " : "└ ";
	if (!p->c->ascii)
		return "├ ";
	return row->bps < 0 ? "+ " : "- ";
}

static void waterfall_row(const struct ovl_page *p, const struct columns *col,
			  const struct ovl_rows *rows, const struct ovl_row *row, int y)
{
	const bool total = row->kind == OVL_ROW_UNDERLAY || row->kind == OVL_ROW_OVERLAY;
	const double axis = rows->axis_bps > 0 ? rows->axis_bps : NAN;
	const enum ovl_bar bar = total		? OVL_BAR_KEPT
				 : row->bps < 0 ? OVL_BAR_GAINED
						: OVL_BAR_LOST;
	struct ovl_rect bars = cell_of(p->l.table, col->bar_x, y, col->bar_w);
	char label[80], sure[2] = {row->sure, '\0'};

	snprintf(label, sizeof(label), "%s%s", row_prefix(p, row), row->label);
	ovl_canvas_cut(p->c, cell_of(p->l.table, 1, y, col->label_w), 0,
		       total ? OVL_INK_STRONG : OVL_INK_NORMAL, label);
	if (row->bps || total)
		ovl_canvas_bar(p->c, bars, row->from_bps / axis, row->to_bps / axis, bar);
	if (total)
		number(p, col->rate_end, y, row->bps, rows->unit);
	else
		change(p, col->rate_end, y, row->bps, rows->unit);
	if (col->loss_end && row->kind != OVL_ROW_UNDERLAY)
		number(p, col->loss_end, y, row->loss_ratio, (struct ovl_unit){0.01, "", 1});
	if (!total && row->kind != OVL_ROW_UNEXPLAINED) {
		number(p, col->error_end, y, 2 * row->stderr_bps, rows->unit);
		number(p, col->ns_end, y, row->ns_per_kib, rows->ns_unit);
		if (row->kind == OVL_ROW_TERM)
			number(p, col->removed_end, y, row->if_removed_bps, rows->unit);
	}
	if (col->sure_x)
		ovl_canvas_put(p->c, p->l.table, col->sure_x, y, OVL_INK_DIM, sure);
}

/**
 * Compact: no place for an axis; bars show sizes, underlay and overlay stand in the summary line.
 */
static void compact_row(const struct ovl_page *p, const struct columns *col,
			const struct ovl_rows *rows, const struct ovl_row *row, int y)
{
	struct ovl_row flat = *row;
	struct ovl_rows scaled = *rows;

	scaled.axis_bps = 0;
	for (int i = 0; i < rows->n; i++)
		if (rows->v[i].kind != OVL_ROW_UNDERLAY && rows->v[i].kind != OVL_ROW_OVERLAY)
			scaled.axis_bps = fmax(scaled.axis_bps, fabs(rows->v[i].bps));
	flat.from_bps = 0;
	flat.to_bps = fabs(row->bps);
	waterfall_row(p, col, &scaled, &flat, y);
}

static void paint_waterfall(const struct ovl_page *p)
{
	const bool compact = p->l.kind == OVL_LAYOUT_COMPACT;
	struct columns col = waterfall_columns(p);
	struct ovl_buf trust = {0};
	struct ovl_rows rows;
	int y = 1;

	ovl_rows_build(&rows, p->f, &p->m->waterfall, p->l.table.h - 1 + (compact ? 2 : 0));
	waterfall_header(p, &col, &rows);
	for (int i = 0; i < rows.n; i++) {
		const struct ovl_row *row = &rows.v[i];

		if (!compact)
			waterfall_row(p, &col, &rows, row, y++);
		else if (row->kind != OVL_ROW_UNDERLAY && row->kind != OVL_ROW_OVERLAY)
			compact_row(p, &col, &rows, row, y++);
	}
	if (y < p->l.table.h && !compact) {
		y += y + 1 < p->l.table.h; /* a blank line before it, if there is one */
		ovl_words_trust(&trust, &p->m->waterfall, p->c->ascii);
		ovl_canvas_cut(p->c, cell_of(p->l.table, 1, y, p->l.table.w - 2), 0, OVL_INK_DIM,
			       ovl_buf_str(&trust));
	}
	ovl_buf_fini(&trust);
}

/** Columns of the cost table. */
static struct columns cost_columns(const struct ovl_page *p)
{
	struct columns col = {.label_w = 33, .loss_end = 41, .error_end = 48, .ns_end = 57};

	if (p->l.kind == OVL_LAYOUT_COMPACT) {
		col.label_w = 32;
		col.loss_end = 40;
		col.error_end = 0;
		col.ns_end = 49;
		col.bar_x = 51;
		col.bar_w = p->l.table.w - 52;
	} else if (p->l.kind == OVL_LAYOUT_PANELS) {
		col.bar_x = 59;
		col.bar_w = (p->l.table.w - 59) / 2 - 2;
		col.symbol_x = col.bar_x + col.bar_w + 2;
	} else {
		col.symbol_x = 59;
	}
	return col;
}

static void cost_header(const struct ovl_page *p, const struct columns *col)
{
	const struct ovl_rect r = p->l.table;
	const enum ovl_ink ink = OVL_INK_STRONG;

	ovl_canvas_put(p->c, r, 1, 0, ink, "STAGE");
	ovl_canvas_right(p->c, r, col->loss_end, 0, ink, "CPU%");
	if (col->error_end)
		ovl_canvas_right(p->c, r, col->error_end, 0, ink, p->c->ascii ? "+-2SE" : "±2SE");
	ovl_canvas_right(p->c, r, col->ns_end, 0, ink, "ns/KiB");
	if (col->bar_w)
		ovl_canvas_put(p->c, r, col->bar_x, 0, ink,
			       col->bar_w >= 18 ? "share of busy time" : "share");
	if (col->symbol_x)
		ovl_canvas_put(p->c, r, col->symbol_x, 0, ink, "top function");
}

static void cost_row(const struct ovl_page *p, const struct columns *col,
		     const struct ovl_stage_time *t, struct ovl_unit ns_unit, int y)
{
	const struct ovl_unit percent = {0.01, "", 1};
	const double most = p->m->cpu.stages.v[0].share_ratio;

	ovl_canvas_cut(p->c, cell_of(p->l.table, 1, y, col->label_w), 0, OVL_INK_NORMAL,
		       ovl_words_stage(t->stage));
	number(p, col->loss_end, y, t->share_ratio, percent);
	number(p, col->error_end, y, 2 * t->stderr_ratio, percent);
	number(p, col->ns_end, y, t->ns_per_kib, ns_unit);
	if (col->bar_w && most > 0)
		ovl_canvas_bar(p->c, cell_of(p->l.table, col->bar_x, y, col->bar_w), 0,
			       t->share_ratio / most, OVL_BAR_KEPT);
	if (col->symbol_x && t->n_symbols)
		ovl_canvas_cut(
			p->c,
			cell_of(p->l.table, col->symbol_x, y, p->l.table.w - col->symbol_x - 1), 0,
			OVL_INK_DIM, t->symbols[0].name);
}

/** Why there is no waterfall, while a load is configured. Returns the rows it took. */
static int why_not(const struct ovl_page *p)
{
	struct ovl_rect r = cell_of(p->l.table, 1, 0, p->l.table.w - 2);
	const char *why = p->m->waterfall.why_not;

	if (!p->f->load.valid)
		return 0;
	ovl_canvas_cut(p->c, r, 0, OVL_INK_STRONG,
		       *why ? why : "warming up: no slice of the load is complete yet");
	return 1;
}

/** Without stages: say what is missing, and why. */
static void no_stages(const struct ovl_page *p)
{
	struct ovl_rect r = p->l.table;
	struct ovl_buf b = {0};
	int y = 1;

	r.x++;
	r.w -= 2;
	if (p->m->cpu.valid) {
		ovl_canvas_wrap(p->c, r, y, OVL_INK_NORMAL, "No busy CPU time was sampled yet.");
		return;
	}
	y = ovl_canvas_wrap(p->c, r, y, OVL_INK_NORMAL,
			    p->m->intervals ? "The CPU cost of stages is not known: no sampler."
					    : "Waiting for the first interval.");
	ovl_vec_each(miss, &p->f->missing) {
		ovl_buf_clear(&b);
		ovl_buf_printf(&b, "%s: %s%s%s", miss->hook, miss->reason,
			       *miss->lost ? "; not known: " : "", miss->lost);
		y = ovl_canvas_wrap(p->c, r, y, OVL_INK_DIM, ovl_buf_str(&b));
	}
	ovl_buf_fini(&b);
}

/** What did not fit, in one line, so that the shares add up. */
static void cost_rest(const struct ovl_page *p, const struct columns *col, size_t from,
		      struct ovl_unit ns_unit, int y)
{
	double share = 0, ns = 0;
	char label[32];

	for (size_t i = from; i < p->m->cpu.stages.n; i++) {
		share += p->m->cpu.stages.v[i].share_ratio;
		ns += p->m->cpu.stages.v[i].ns_per_kib;
	}
	snprintf(label, sizeof(label), "%zu smaller stages", p->m->cpu.stages.n - from);
	ovl_canvas_put(p->c, p->l.table, 1, y, OVL_INK_NORMAL, label);
	number(p, col->loss_end, y, share, (struct ovl_unit){0.01, "", 1});
	number(p, col->ns_end, y, ns, ns_unit);
}

static void paint_costs(const struct ovl_page *p)
{
	const struct ovl_cpu_model *cpu = &p->m->cpu;
	const struct columns col = cost_columns(p);
	const int top = why_not(p);
	struct ovl_page below = *p;
	double most_ns = 0;
	size_t fit;

	below.l.table.y += top;
	below.l.table.h -= top;
	if (!cpu->valid || !cpu->stages.n) {
		no_stages(&below);
		return;
	}
	ovl_vec_each(t, &cpu->stages)
		if (t->ns_per_kib > most_ns)
			most_ns = t->ns_per_kib;
	cost_header(&below, &col);
	fit = (size_t)(below.l.table.h > 2 ? below.l.table.h - 2 : 0);
	if (cpu->stages.n <= fit + 1)
		fit = cpu->stages.n;
	for (size_t i = 0; i < fit; i++)
		cost_row(&below, &col, &cpu->stages.v[i], ovl_units_plain(most_ns), (int)i + 1);
	if (fit < cpu->stages.n)
		cost_rest(&below, &col, fit, ovl_units_plain(most_ns), (int)fit + 1);
}

void ovl_page_table(const struct ovl_page *p)
{
	if (p->m->waterfall.valid)
		paint_waterfall(p);
	else
		paint_costs(p);
}
