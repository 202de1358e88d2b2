#include "view/layout.h"

#define SIDE_COLS 47 /* inside of the right frame at 120 columns */

static struct ovl_rect rect(int x, int y, int w, int h)
{
	return (struct ovl_rect){x, y, w, h};
}

/** Compact: a summary line instead of tabs, one line of numbers. */
static void compact(struct ovl_layout *l, int cols, int rows)
{
	l->kind = OVL_LAYOUT_COMPACT;
	l->tabs = rect(0, 1, cols, 1);
	l->table = rect(0, 2, cols, rows - 7);
	l->status = rect(0, rows - 5, cols, 1);
	l->verdict = rect(0, rows - 4, cols, 2);
}

static void full(struct ovl_layout *l, int cols, int rows)
{
	l->kind = OVL_LAYOUT_FULL;
	l->tabs = rect(0, 1, cols, 1);
	l->table = rect(0, 2, cols, rows - 11);
	l->status = rect(0, rows - 9, cols, 4);
	l->verdict = rect(0, rows - 5, cols, 3);
}

/**
 * The table over the whole width, below it two panels side by side; frames share their lines. Of
 * the rows beyond 36 two thirds go to the table.
 */
static void panels(struct ovl_layout *l, int cols, int rows)
{
	int bottom = 13 + (rows - 36) / 3; /* height of the lower frames */
	int y = rows - 2 - bottom;	   /* their first line: the last one of the upper frame */
	int side = SIDE_COLS + (cols - 120) / 3;

	l->kind = OVL_LAYOUT_PANELS;
	l->tabs = rect(0, 1, cols, 1);
	l->top = rect(0, 2, cols, y - 1);
	l->left = rect(0, y, cols - side - 1, bottom);
	l->right = rect(cols - side - 2, y, side + 2, bottom);
	l->table = rect(1, 3, cols - 2, y - 3);
	l->status = rect(1, y + 1, cols - side - 3, 3);
	l->verdict = rect(1, y + 5, cols - side - 3, bottom - 6);
	l->side = rect(cols - side - 1, y + 1, side, bottom - 2);
}

struct ovl_layout ovl_layout_of(int cols, int rows)
{
	struct ovl_layout l = {.kind = OVL_LAYOUT_LINE, .title = {0, 0, cols, 1}};

	if (cols < OVL_LAYOUT_MIN_COLS || rows < OVL_LAYOUT_MIN_ROWS)
		return l;
	l.health = rect(0, rows - 2, cols, 1);
	l.keys = rect(0, rows - 1, cols, 1);
	if (cols >= 120 && rows >= 36)
		panels(&l, cols, rows);
	else if (cols >= 80 && rows >= 24)
		full(&l, cols, rows);
	else
		compact(&l, cols, rows);
	return l;
}
