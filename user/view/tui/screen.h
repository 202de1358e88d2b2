/* The terminal: canvases out, keys in. term_curses.c is the only file that knows curses. */
#ifndef OVL_VIEW_TUI_SCREEN_H
#define OVL_VIEW_TUI_SCREEN_H

#include <stdbool.h>

#include "view/canvas.h"

enum ovl_key {
	OVL_KEY_NONE = 0,
	OVL_KEY_QUIT,	/* q, F10, ^C as a character, or the terminal has gone away */
	OVL_KEY_PAUSE,	/* p, Z, space */
	OVL_KEY_HELP,	/* F1, h, ? */
	OVL_KEY_RESIZE, /* the size has changed: ask ovl_screen_size and paint anew */
	OVL_KEY_REDRAW, /* ^L: the next blit repaints everything */
	OVL_KEY_OTHER,	/* any other, Esc too: closes help */
};

struct ovl_screen;

/**
 * Take over the terminal (one at a time); NULL if there is no usable one (why in `why`, at least
 * 128 bytes). mono: no colours (NO_COLOR in the environment and terminals without colour do the
 * same).
 */
struct ovl_screen *ovl_screen_open(bool mono, char *why, unsigned long n);
/** Size now; 1×1 at least. */
void ovl_screen_size(struct ovl_screen *t, int *cols, int *rows);
/** Does this terminal and locale show UTF-8? */
bool ovl_screen_utf8(const struct ovl_screen *t);
/** Show the canvas: only what differs from the last one is sent. */
void ovl_screen_blit(struct ovl_screen *t, const struct ovl_canvas *c);
/** Next key without waiting, OVL_KEY_NONE when there is none. */
enum ovl_key ovl_screen_key(struct ovl_screen *t);
/** Give the terminal back. Safe to call from atexit; idempotent; NULL is fine. */
void ovl_screen_close(struct ovl_screen *t);

#endif
