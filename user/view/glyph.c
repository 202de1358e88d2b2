#include <math.h>
#include <string.h>

#include "view/canvas.h"

/** Left blocks of n eighths; [0] is never drawn. */
static const uint32_t eighths[9] = {' ',    0x258f, 0x258e, 0x258d, 0x258c,
				    0x258b, 0x258a, 0x2589, 0x2588};

static double clamp01(double v)
{
	return v < 0 ? 0 : v > 1 ? 1 : v;
}

static enum ovl_ink bar_ink(enum ovl_bar bar)
{
	return bar == OVL_BAR_LOST ? OVL_INK_LOST : OVL_INK_KEPT;
}

/**
 * A segment in whole cells; less than half a cell is a dot, so that a smaller one never looks
 * larger.
 */
static void bar_whole(struct ovl_canvas *c, struct ovl_rect r, double lo, double hi,
		      enum ovl_bar bar)
{
	static const char ascii[] = {'#', '-', '+'};
	struct ovl_cell cell = {c->ascii ? (uint32_t)ascii[bar] : 0x2591, (uint8_t)bar_ink(bar)};
	int from = (int)lround(lo), to = (int)lround(hi);

	if (hi - lo < 0.5)
		cell.ch = c->ascii ? '.' : 0x258f;
	if (to <= from || hi - lo < 0.5) {
		from = (int)((lo + hi) / 2) < r.w ? (int)((lo + hi) / 2) : r.w - 1;
		to = from + 1;
	}
	for (int x = from; x < to; x++)
		ovl_canvas_set(c, r, x, 0, cell);
}

/** A segment in eighths of a cell at its right end and halves at its left. */
static void bar_fine(struct ovl_canvas *c, struct ovl_rect r, double lo, double hi,
		     enum ovl_bar bar)
{
	struct ovl_cell cell = {0, (uint8_t)bar_ink(bar)};
	int first = (int)floor(lo), last = (int)floor(hi);

	if (hi - lo < 0.75) { /* one cell, the one that has most of it */
		int n = (int)lround((hi - lo) * 8);

		first = (int)((lo + hi) / 2);
		if (first >= r.w)
			first = r.w - 1;
		cell.ch = eighths[n < 1 ? 1 : n];
		ovl_canvas_set(c, r, first, 0, cell);
		return;
	}
	cell.ch = lo - first < 0.25 ? 0x2588 : 0x2590; /* full or right half */
	if (lo - first < 0.75)
		ovl_canvas_set(c, r, first, 0, cell);
	for (int x = first + 1; x < last; x++) {
		cell.ch = 0x2588;
		ovl_canvas_set(c, r, x, 0, cell);
	}
	cell.ch = eighths[lround((hi - last) * 8)];
	if (cell.ch != ' ' && last < r.w)
		ovl_canvas_set(c, r, last, 0, cell);
}

void ovl_canvas_bar(struct ovl_canvas *c, struct ovl_rect r, double from, double to,
		    enum ovl_bar bar)
{
	double lo, hi;

	if (isnan(from) || isnan(to) || r.w < 1)
		return;
	lo = clamp01(fmin(from, to)) * r.w;
	hi = clamp01(fmax(from, to)) * r.w;
	if (bar == OVL_BAR_KEPT && hi <= lo)
		return;
	if (c->ascii || bar == OVL_BAR_GAINED)
		bar_whole(c, r, lo, hi, bar);
	else
		bar_fine(c, r, lo, hi, bar);
}

void ovl_canvas_box(struct ovl_canvas *c, struct ovl_rect r)
{
	static const uint32_t fine[] = {0x250c, 0x2510, 0x2514, 0x2518, 0x2500, 0x2502};
	static const uint32_t ascii[] = {'+', '+', '+', '+', '-', '|'};
	const uint32_t *g = c->ascii ? ascii : fine;

	for (int x = 0; x < r.w; x++) {
		uint32_t top = x == 0 ? g[0] : x == r.w - 1 ? g[1] : g[4];
		uint32_t bottom = x == 0 ? g[2] : x == r.w - 1 ? g[3] : g[4];

		ovl_canvas_set(c, r, x, 0, (struct ovl_cell){top, OVL_INK_DIM});
		if (r.h > 1)
			ovl_canvas_set(c, r, x, r.h - 1, (struct ovl_cell){bottom, OVL_INK_DIM});
	}
	for (int y = 1; y < r.h - 1; y++) {
		ovl_canvas_set(c, r, 0, y, (struct ovl_cell){g[5], OVL_INK_DIM});
		ovl_canvas_set(c, r, r.w - 1, y, (struct ovl_cell){g[5], OVL_INK_DIM});
	}
}

void ovl_canvas_spark(struct ovl_canvas *c, struct ovl_rect r, const double *v, int n, double lo,
		      double hi)
{
	static const char ascii[] = "_.:|";
	int levels = c->ascii ? 4 : 8;

	for (int i = 0; i < n; i++) {
		double at = hi > lo ? (v[i] - lo) / (hi - lo) : 0.5;
		int level;

		if (isnan(v[i]))
			continue;
		level = (int)(clamp01(at) * levels);
		if (level >= levels)
			level = levels - 1;
		ovl_canvas_set(c, r, i, 0,
			       (struct ovl_cell){c->ascii ? (uint32_t)ascii[level]
							  : 0x2581u + (uint32_t)level,
						 OVL_INK_KEPT});
	}
}
