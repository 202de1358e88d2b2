/*
 * Views: the model as text, JSON or cells. Pure: they write into buffers and canvases that app prints.
 */
#ifndef OVL_VIEW_VIEW_H
#define OVL_VIEW_VIEW_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "model/facts.h"
#include "model/model.h"

/** How the run ended, for the JSON document's `exit`. */
struct ovl_view_exit {
	int code;           /* enum ovl_exit */
	const char *reason; /* "done", "signal", or the error's sentence */
};

/* view/json.c: the contract's document (`--json`) and records (`--jsonl`), one line each */
void ovl_json_document(struct ovl_buf *out, const struct ovl_facts *f, const struct ovl_model *m,
		       const struct ovl_view_exit *exit);
void ovl_json_start(struct ovl_buf *out, const struct ovl_facts *f);
void ovl_json_sample(struct ovl_buf *out, const struct ovl_facts *f, const struct ovl_model *m);
void ovl_json_end(struct ovl_buf *out, const struct ovl_facts *f, const struct ovl_model *m,
		  const struct ovl_view_exit *exit);

/* view/plain.c: one block per interval, and the report at the end */
/** `clock` is the wall clock as "HH:MM:SS". */
void ovl_plain_interval(struct ovl_buf *out, const char *clock, const struct ovl_facts *f,
			const struct ovl_model *m);
void ovl_plain_report(struct ovl_buf *out, const struct ovl_facts *f, const struct ovl_model *m);

/* view/canvas.h: cells */
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
	bool ascii;             /* pages choose glyphs by this */
};
int ovl_canvas_init(struct ovl_canvas *c, int cols, int rows, bool ascii);
void ovl_canvas_fini(struct ovl_canvas *c);
void ovl_canvas_clear(struct ovl_canvas *c);
/** The cells as text, trailing blanks cut, one line per row. */
void ovl_canvas_text(const struct ovl_canvas *c, struct ovl_buf *out);

/* view/page.h: pages paint a model into a canvas */
enum ovl_state { OVL_STATE_LIVE = 0, OVL_STATE_PAUSED, OVL_STATE_REPLAY, OVL_STATE_WARMUP, OVL_STATE_STALE };
struct ovl_page_state {
	enum ovl_state state;
	bool help;             /* the help overlay is open */
	uint32_t behind_s;     /* paused: how far the display is behind; stale: age */
	char clock[16];        /* "HH:MM:SS" */
	const char *message;   /* one line for the message row, NULL: none */
};
/** Paint the Overview (or "window too small") into the canvas. Works for every size from 1×1. */
void ovl_page_paint(struct ovl_canvas *c, const struct ovl_facts *f, const struct ovl_model *m,
		    const struct ovl_page_state *state);

/* view/tui/term_curses.c: the terminal, the only file that knows curses */
enum ovl_key { OVL_KEY_NONE = 0, OVL_KEY_QUIT, OVL_KEY_PAUSE, OVL_KEY_HELP, OVL_KEY_RESIZE, OVL_KEY_REDRAW, OVL_KEY_OTHER };
struct ovl_screen;
/** Take over the terminal; NULL if there is no usable one (why in `why`, at least 128 bytes). */
struct ovl_screen *ovl_screen_open(bool mono, char *why, unsigned long n);
void ovl_screen_size(struct ovl_screen *t, int *cols, int *rows);
/** Does this terminal and locale show UTF-8? */
bool ovl_screen_utf8(const struct ovl_screen *t);
void ovl_screen_blit(struct ovl_screen *t, const struct ovl_canvas *c);
/** Next key without waiting, OVL_KEY_NONE when there is none. */
enum ovl_key ovl_screen_key(struct ovl_screen *t);
/** Give the terminal back. Safe to call from atexit; idempotent. */
void ovl_screen_close(struct ovl_screen *t);

#endif
