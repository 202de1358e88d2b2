/* Where the parts of a page go, from the terminal's size alone. Pure; tested at every size. */
#ifndef OVL_VIEW_LAYOUT_H
#define OVL_VIEW_LAYOUT_H

#include "view/canvas.h"

#define OVL_LAYOUT_MIN_COLS 60
#define OVL_LAYOUT_MIN_ROWS 15

enum ovl_layout_kind {
	OVL_LAYOUT_LINE = 0, /* too small: one line says so, in `title` */
	OVL_LAYOUT_COMPACT,  /* from 60x15 */
	OVL_LAYOUT_FULL,     /* from 80x24 */
	OVL_LAYOUT_PANELS,   /* from 120x36: the parts lie inside the frames top, left and right */
};

/** Parts that do not exist at a size have w = h = 0. No part overlaps another. */
struct ovl_layout {
	enum ovl_layout_kind kind;
	struct ovl_rect title, tabs;
	struct ovl_rect top, left, right; /* frames */
	struct ovl_rect table;		  /* waterfall or cost table */
	struct ovl_rect status;		  /* sparkline and the numbers of now */
	struct ovl_rect verdict;
	struct ovl_rect side;	/* inside of the right frame */
	struct ovl_rect health; /* messages and the tool's own health */
	struct ovl_rect keys;
};

struct ovl_layout ovl_layout_of(int cols, int rows);

#endif
