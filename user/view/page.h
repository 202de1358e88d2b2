/* Pages: paint a model into a canvas. Pure, so that goldens can be kept. */
#ifndef OVL_VIEW_PAGE_H
#define OVL_VIEW_PAGE_H

#include <stdbool.h>
#include <stdint.h>

#include "model/facts.h"
#include "model/model.h"
#include "view/canvas.h"
#include "view/layout.h"

enum ovl_state {
	OVL_STATE_LIVE = 0,
	OVL_STATE_PAUSED,
	OVL_STATE_REPLAY,
	OVL_STATE_WARMUP,
	OVL_STATE_END, /* of a live run */
};

struct ovl_page_state {
	enum ovl_state state;
	bool help;	     /* the help overlay is open */
	uint32_t behind_s;   /* paused: how far the display is behind */
	char clock[16];	     /* "HH:MM:SS" */
	const char *message; /* one line for the message row, NULL: none */
};

/** Paint the Overview (or "window too small") into the canvas. Works for every size from 1×1. */
void ovl_page_paint(struct ovl_canvas *c, const struct ovl_facts *f, const struct ovl_model *m,
		    const struct ovl_page_state *state);

/** What every part of a page is painted from. */
struct ovl_page {
	struct ovl_canvas *c;
	const struct ovl_facts *f;
	const struct ovl_model *m;
	const struct ovl_page_state *state;
	struct ovl_layout l;
};

/* view/page_chrome.c: what surrounds every view */
void ovl_page_title(const struct ovl_page *p);
void ovl_page_tabs(const struct ovl_page *p);
void ovl_page_health(const struct ovl_page *p);
void ovl_page_keys(const struct ovl_page *p);
void ovl_page_help(const struct ovl_page *p);

/* view/page_overview.c: the waterfall, or the cost table when there is none */
void ovl_page_table(const struct ovl_page *p);

/* view/page_status.c: sparklines, the numbers of now, the verdict */
void ovl_page_status(const struct ovl_page *p);
void ovl_page_verdict(const struct ovl_page *p);
void ovl_page_side(const struct ovl_page *p);

#endif
