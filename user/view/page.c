#include "view/page.h"

static void frame_title(const struct ovl_page *p, struct ovl_rect r, const char *title)
{
	ovl_canvas_printf(p->c, r, 2, 0, OVL_INK_STRONG, " %s ", title);
}

/** The three frames share lines: corners that meet become junctions. */
static void frames(const struct ovl_page *p)
{
	static const uint32_t fine[] = {0x251c, 0x2524, 0x252c, 0x2534};
	const struct ovl_rect all = {0, 0, p->c->cols, p->c->rows};
	const struct ovl_rect right = p->l.right;
	const int at[4][2] = {
		{0, right.y},
		{p->c->cols - 1, right.y},
		{right.x, right.y},
		{right.x, right.y + right.h - 1},
	};

	ovl_canvas_box(p->c, p->l.top);
	ovl_canvas_box(p->c, p->l.left);
	ovl_canvas_box(p->c, right);
	for (int i = 0; i < 4; i++)
		ovl_canvas_set(p->c, all, at[i][0], at[i][1],
			       (struct ovl_cell){p->c->ascii ? '+' : fine[i], OVL_INK_DIM});
	frame_title(p, p->l.top,
		    p->m->waterfall.valid ? "Where the throughput goes"
					  : "CPU cost by stage, all CPUs");
	frame_title(p, p->l.left, "Verdict");
	frame_title(p, right, "Path and host");
}

void ovl_page_paint(struct ovl_canvas *c, const struct ovl_facts *f, const struct ovl_model *m,
		    const struct ovl_page_state *state)
{
	struct ovl_page p = {c, f, m, state, ovl_layout_of(c->cols, c->rows)};

	ovl_canvas_clear(c);
	if (p.l.kind == OVL_LAYOUT_LINE) {
		ovl_canvas_printf(c, p.l.title, 0, 0, OVL_INK_NORMAL, "window %dx%d, need %dx%d",
				  c->cols, c->rows, OVL_LAYOUT_MIN_COLS, OVL_LAYOUT_MIN_ROWS);
		return;
	}
	ovl_page_title(&p);
	ovl_page_tabs(&p);
	if (state->help) {
		ovl_page_help(&p);
	} else {
		if (p.l.kind == OVL_LAYOUT_PANELS)
			frames(&p);
		ovl_page_table(&p);
		ovl_page_status(&p);
		ovl_page_verdict(&p);
		ovl_page_side(&p);
	}
	ovl_page_health(&p);
	ovl_page_keys(&p);
}
