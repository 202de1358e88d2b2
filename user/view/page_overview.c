#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/units.h"
#include "view/costs.h"
#include "view/page.h"
#include "view/rows.h"
#include "view/words.h"

#define NEW_SHOWN 8 /* new stages looked at: more than two lines hold */

/** Where the columns of a table end (numbers) or begin (bar, C, symbol); 0: not there. */
struct columns {
	int label_w, bar_x, bar_w;
	int rate_end, error_end, loss_end, ns_end, removed_end, sure_x, symbol_x;
	int underlay_end, change_end;
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

	ovl_canvas_put(p->c, r, 1, 0, ink, "STAGE, since start");
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

/** The same for a change, with its sign. */
static void change(const struct ovl_page *p, int end, int y, double v, struct ovl_unit unit)
{
	char s[OVL_WORDS_CHANGE];

	if (end)
		ovl_canvas_right(p->c, p->l.table, end, y, OVL_INK_NORMAL,
				 ovl_words_change(s, v, unit, p->c->ascii));
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
		change(p, col->rate_end, y, -row->bps, rows->unit);
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

/**
 * Which stages are new, as the waterfall shows one CPU only: as many as fit in `room` (at most two)
 * lines. Returns the lines used.
 */
static int new_stages(const struct ovl_page *p, struct ovl_buf lines[2], int room)
{
	const struct ovl_stage_time *found[NEW_SHOWN];
	const unsigned n = ovl_costs_new(&p->m->cpu, found, NEW_SHOWN);
	const struct ovl_unit unit = ovl_costs_unit(&p->m->cpu);
	char s[OVL_WORDS_CHANGE];
	struct ovl_buf item = {0};
	unsigned shown = 0;
	int at = 0;

	ovl_buf_puts(&lines[0], "new over the overlay, all CPUs:");
	for (; room > 0 && shown < n; shown++) {
		ovl_buf_clear(&item);
		ovl_buf_printf(
			&item, " %s %s ns/KiB", ovl_words_stage(found[shown]->stage),
			ovl_words_change(s, ovl_costs_change(found[shown]), unit, p->c->ascii));
		/* one column for a comma */
		if (ovl_canvas_width(p->c, ovl_buf_str(&lines[at])) +
			    ovl_canvas_width(p->c, ovl_buf_str(&item)) >=
		    p->l.table.w - 2) {
			if (at + 1 == room)
				break;
			ovl_buf_puts(&lines[at++], shown ? "," : "");
			ovl_buf_puts(&lines[at], " ");
		} else if (shown) {
			ovl_buf_puts(&lines[at], ",");
		}
		ovl_buf_puts(&lines[at], ovl_buf_str(&item));
	}
	ovl_buf_fini(&item);
	return shown ? at + 1 : 0;
}

/** Below the rows, as far as there is room: what the lane is worth, then what is new on any CPU. */
static void waterfall_notes(const struct ovl_page *p, int y)
{
	const int room = p->l.table.h - y;
	const int w = p->l.table.w - 2;
	struct ovl_buf lines[3] = {0};
	int n;

	if (room < 1)
		return;
	ovl_words_trust(&lines[0], &p->m->waterfall, p->c->ascii);
	n = 1 + new_stages(p, &lines[1], room < 3 ? room - 1 : 2);
	y += n < room; /* a blank line before them, if there is one */
	for (int i = 0; i < n; i++)
		ovl_canvas_cut(p->c, cell_of(p->l.table, 1, y + i, w), 0,
			       i ? OVL_INK_NORMAL : OVL_INK_DIM, ovl_buf_str(&lines[i]));
	for (int i = 0; i < 3; i++)
		ovl_buf_fini(&lines[i]);
}

/** How many rows the waterfall may have. Large screens keep two lines for its notes. */
static int waterfall_room(const struct ovl_page *p)
{
	const struct ovl_stage_time *found;

	if (p->l.kind == OVL_LAYOUT_COMPACT)
		return p->l.table.h + 1; /* underlay and overlay stand elsewhere */
	if (p->l.kind == OVL_LAYOUT_PANELS && ovl_costs_new(&p->m->cpu, &found, 1))
		return p->l.table.h - 3;
	return p->l.table.h - 1;
}

static void paint_waterfall(const struct ovl_page *p)
{
	const bool compact = p->l.kind == OVL_LAYOUT_COMPACT;
	struct columns col = waterfall_columns(p);
	struct ovl_rows rows;
	int y = 1;

	ovl_rows_build(&rows, p->f, &p->m->waterfall, waterfall_room(p));
	waterfall_header(p, &col, &rows);
	for (int i = 0; i < rows.n; i++) {
		const struct ovl_row *row = &rows.v[i];

		if (!compact)
			waterfall_row(p, &col, &rows, row, y++);
		else if (row->kind != OVL_ROW_UNDERLAY && row->kind != OVL_ROW_OVERLAY)
			compact_row(p, &col, &rows, row, y++);
	}
	if (!compact)
		waterfall_notes(p, y);
}

/** Columns of the cost table with the underlay beside the overlay. */
static struct columns compared_columns(const struct ovl_page *p)
{
	struct columns col = {.label_w = 33, .loss_end = 41, .error_end = 48, .ns_end = 57};

	if (p->l.kind == OVL_LAYOUT_COMPACT) { /* the change says it all */
		col.label_w = 32;
		col.loss_end = 40;
		col.error_end = 0;
		col.ns_end = 49;
		col.change_end = 58;
		return col;
	}
	col.underlay_end = 67;
	col.change_end = 76;
	if (p->l.kind == OVL_LAYOUT_PANELS) {
		col.bar_x = 78;
		col.bar_w = (p->l.table.w - 78) / 2 - 4;
		col.symbol_x = col.bar_x + col.bar_w + 2;
	} else if (p->l.table.w >= 100) {
		col.symbol_x = 78;
	}
	return col;
}

/** Columns of the cost table. */
static struct columns cost_columns(const struct ovl_page *p)
{
	struct columns col = {.label_w = 33, .loss_end = 41, .error_end = 48, .ns_end = 57};

	if (ovl_costs_compared(&p->m->cpu))
		return compared_columns(p);

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

	ovl_canvas_put(p->c, r, 1, 0, ink, "STAGE, since start");
	ovl_canvas_right(p->c, r, col->loss_end, 0, ink, "CPU%");
	if (col->error_end)
		ovl_canvas_right(p->c, r, col->error_end, 0, ink, p->c->ascii ? "+-2SE" : "±2SE");
	ovl_canvas_right(p->c, r, col->ns_end, 0, ink, "ns/KiB");
	if (col->underlay_end)
		ovl_canvas_right(p->c, r, col->underlay_end, 0, ink, "underlay");
	if (col->change_end)
		ovl_canvas_right(p->c, r, col->change_end, 0, ink, "change");
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
	number(p, col->underlay_end, y, t->underlay_ns_per_kib, ns_unit);
	change(p, col->change_end, y, ovl_costs_change(t), ns_unit);
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
		       *why ? why : "warming up: no turn of the load is complete yet");
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
	double share = 0, ns = 0, underlay = 0;
	char label[32];

	for (size_t i = from; i < p->m->cpu.stages.n; i++) {
		share += p->m->cpu.stages.v[i].share_ratio;
		ns += p->m->cpu.stages.v[i].ns_per_kib;
		underlay += p->m->cpu.stages.v[i].underlay_ns_per_kib;
	}
	snprintf(label, sizeof(label), "%zu smaller stages", p->m->cpu.stages.n - from);
	ovl_canvas_put(p->c, p->l.table, 1, y, OVL_INK_NORMAL, label);
	number(p, col->loss_end, y, share, (struct ovl_unit){0.01, "", 1});
	number(p, col->ns_end, y, ns, ns_unit);
	number(p, col->underlay_end, y, underlay, ns_unit);
	change(p, col->change_end, y, ns - underlay, ns_unit);
}

static void paint_costs(const struct ovl_page *p)
{
	const struct ovl_cpu_model *cpu = &p->m->cpu;
	const struct columns col = cost_columns(p);
	const int top = why_not(p);
	struct ovl_page below = *p;
	const struct ovl_unit unit = ovl_costs_unit(cpu);
	size_t fit;

	below.l.table.y += top;
	below.l.table.h -= top;
	if (!cpu->valid || !cpu->stages.n) {
		no_stages(&below);
		return;
	}
	cost_header(&below, &col);
	fit = (size_t)(below.l.table.h > 2 ? below.l.table.h - 2 : 0);
	if (cpu->stages.n <= fit + 1)
		fit = cpu->stages.n;
	for (size_t i = 0; i < fit; i++)
		cost_row(&below, &col, &cpu->stages.v[i], unit, (int)i + 1);
	if (fit < cpu->stages.n)
		cost_rest(&below, &col, fit, unit, (int)fit + 1);
}

void ovl_page_table(const struct ovl_page *p)
{
	if (p->m->waterfall.valid)
		paint_waterfall(p);
	else
		paint_costs(p);
}
