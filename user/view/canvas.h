/*
 * A grid of cells: what pages paint, terminals show and goldens keep. Everything is clipped to
 * the given rectangle and to the canvas, so that no page can write outside at any size. Pure.
 */
#ifndef OVL_VIEW_CANVAS_H
#define OVL_VIEW_CANVAS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

enum ovl_ink { /* meaning, never a colour alone */
	       OVL_INK_NORMAL = 0,
	       OVL_INK_DIM,
	       OVL_INK_TITLE, /* reverse */
	       OVL_INK_KEPT,  /* cyan */
	       OVL_INK_LOST,  /* yellow */
	       OVL_INK_ALARM, /* red, bold, always with '!' */
	       OVL_INK_STRONG,
	       OVL_INK_COUNT,
};

struct ovl_cell {
	uint32_t ch; /* Unicode code point of width 1 */
	uint8_t ink; /* enum ovl_ink */
};

struct ovl_canvas {
	int cols, rows;
	struct ovl_cell *cells; /* rows × cols */
	bool ascii;		/* pages choose glyphs by this */
};

/** Columns x…x+w−1, rows y…y+h−1. Coordinates given along with a rectangle are relative to it. */
struct ovl_rect {
	int x, y, w, h;
};

/** Blank canvas; sizes below 1 count as 1, above 1000 as 1000. 0 or -ENOMEM. */
int ovl_canvas_init(struct ovl_canvas *c, int cols, int rows, bool ascii);
void ovl_canvas_fini(struct ovl_canvas *c);
void ovl_canvas_clear(struct ovl_canvas *c);
/** The cells as text, trailing blanks cut, one line per row. */
void ovl_canvas_text(const struct ovl_canvas *c, struct ovl_buf *out);

/** Set one cell, if it is inside. */
void ovl_canvas_set(struct ovl_canvas *c, struct ovl_rect r, int x, int y, struct ovl_cell cell);
/** Columns that text takes on this canvas (an ASCII canvas spells some characters with several). */
int ovl_canvas_width(const struct ovl_canvas *c, const char *text);
/** Write text from x on, clipped; returns the column after it. */
int ovl_canvas_put(struct ovl_canvas *c, struct ovl_rect r, int x, int y, enum ovl_ink ink,
		   const char *text);
/** The same, formatted (at most 511 bytes). */
int ovl_canvas_printf(struct ovl_canvas *c, struct ovl_rect r, int x, int y, enum ovl_ink ink,
		      const char *fmt, ...) __attribute__((format(printf, 6, 7)));
/** Write text so that it ends before column `end`. */
void ovl_canvas_right(struct ovl_canvas *c, struct ovl_rect r, int end, int y, enum ovl_ink ink,
		      const char *text);
/** Write text; what does not fit in r is cut after a whole word where there is one, and marked. */
void ovl_canvas_cut(struct ovl_canvas *c, struct ovl_rect r, int y, enum ovl_ink ink,
		    const char *text);
/** Write text over several lines from row y of r on, broken at blanks; returns the row after it. */
int ovl_canvas_wrap(struct ovl_canvas *c, struct ovl_rect r, int y, enum ovl_ink ink,
		    const char *text);

/* view/glyph.c */

/** Meaning of a bar: its glyph says it without colour. */
enum ovl_bar {
	OVL_BAR_KEPT = 0, /* # or █ */
	OVL_BAR_LOST,	  /* - or █ at its place; . or ▏ when too small to draw */
	OVL_BAR_GAINED,	  /* + or ░ */
};
/** Bar over the first row of r, from `from` to `to` of its width (0…1, clamped; NAN: nothing). */
void ovl_canvas_bar(struct ovl_canvas *c, struct ovl_rect r, double from, double to,
		    enum ovl_bar bar);
/** Frame around r. */
void ovl_canvas_box(struct ovl_canvas *c, struct ovl_rect r);
/** One cell per value in the first row of r, scaled from lo to hi; NAN leaves a gap. */
void ovl_canvas_spark(struct ovl_canvas *c, struct ovl_rect r, const double *v, int n, double lo,
		      double hi);

#endif
