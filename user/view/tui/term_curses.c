#include "view/tui/screen.h"

#include <errno.h>
#include <langinfo.h>
#include <locale.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NCURSES_WIDECHAR 1
#include <curses.h>
#include <term.h>

struct ovl_screen {
	SCREEN *screen; /* NULL: closed */
	bool utf8, colour;
	int cols, rows;		/* of `shown` */
	struct ovl_cell *shown; /* what the terminal shows; NULL: unknown, send everything */
};

/* One terminal, one screen; atexit handlers get no argument. */
static struct ovl_screen the_screen;

/** A terminal that cannot move its cursor is of no use for screens ("dumb"). */
static SCREEN *try_term(const char *term)
{
	SCREEN *screen;
	const char *move;

	if (!term || !*term)
		return NULL;
	screen = newterm(term, stdout, stdin);
	if (!screen)
		return NULL;
	move = tigetstr("cup");
	if (move && move != (const char *)-1)
		return screen;
	endwin();
	delscreen(screen);
	return NULL;
}

static SCREEN *open_any(char *why, size_t n)
{
	const char *term = getenv("TERM");
	const char *const names[] = {term, "xterm", "vt100"};

	if (!isatty(STDOUT_FILENO) || !isatty(STDIN_FILENO)) {
		snprintf(why, n, "%s is not a terminal",
			 isatty(STDOUT_FILENO) ? "standard input" : "standard output");
		return NULL;
	}
	if (term && !strcmp(term, "dumb")) {
		snprintf(why, n, "TERM=dumb cannot show screens");
		return NULL;
	}
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		SCREEN *screen = try_term(names[i]);

		if (screen)
			return screen;
	}
	snprintf(why, n, "no terminfo entry for TERM=%.40s, xterm or vt100 (set TERMINFO_DIRS?)",
		 term && *term ? term : "(unset)");
	return NULL;
}

/**
 * UTF-8 by the locale, on terminals that can draw it: not the Linux console, VTs of old, dumb
 * ones.
 */
static bool detect_utf8(void)
{
	const char *term = getenv("TERM");

	if (!term || !strncmp(term, "vt", 2) || !strcmp(term, "linux"))
		return false;
	return !strcmp(nl_langinfo(CODESET), "UTF-8");
}

static bool start_colours(bool mono)
{
	const char *no_color = getenv("NO_COLOR");

	if (mono || (no_color && *no_color) || !has_colors() || start_color() == ERR)
		return false;
	/* keep the terminal's own background where it can */
	short back = use_default_colors() == OK ? -1 : COLOR_BLACK;

	init_pair(1, COLOR_CYAN, back);
	init_pair(2, COLOR_YELLOW, back);
	init_pair(3, COLOR_RED, back);
	return true;
}

/** Key codes that terminfo entries often lack or spell differently. */
static void define_keys(void)
{
	static const struct {
		const char *seq;
		int key;
	} extra[] = {
		{"\033OP", KEY_F(1)},	 {"\033[11~", KEY_F(1)},   {"\033[[A", KEY_F(1)},
		{"\033[21~", KEY_F(10)}, {"\033O[21~", KEY_F(10)},
	};

	for (size_t i = 0; i < sizeof(extra) / sizeof(extra[0]); i++)
		if (!key_defined(extra[i].seq))
			define_key(extra[i].seq, extra[i].key);
}

struct ovl_screen *ovl_screen_open(bool mono, char *why, unsigned long n)
{
	struct ovl_screen *t = &the_screen;

	if (t->screen) {
		snprintf(why, n, "the terminal is in use already");
		return NULL;
	}
	setlocale(LC_CTYPE, "");
	t->screen = open_any(why, n);
	if (!t->screen)
		return NULL;
	set_term(t->screen);
	set_escdelay(25);
	cbreak();
	noecho();
	nonl();
	keypad(stdscr, TRUE);
	nodelay(stdscr, TRUE);
	leaveok(stdscr, TRUE);
	curs_set(0);
	define_keys();
	t->utf8 = detect_utf8();
	t->colour = start_colours(mono);
	return t;
}

void ovl_screen_size(struct ovl_screen *t, int *cols, int *rows)
{
	(void)t;
	*cols = getmaxx(stdscr) > 0 ? getmaxx(stdscr) : 1;
	*rows = getmaxy(stdscr) > 0 ? getmaxy(stdscr) : 1;
}

bool ovl_screen_utf8(const struct ovl_screen *t)
{
	return t->utf8;
}

/**
 * Every meaning differs without colour too, except kept and lost, whose glyphs and signs differ.
 */
static void cell_look(const struct ovl_screen *t, uint8_t ink, attr_t *attrs, short *pair)
{
	*attrs = A_NORMAL;
	*pair = 0;
	switch ((enum ovl_ink)ink) {
	case OVL_INK_DIM: *attrs = A_DIM; break;
	case OVL_INK_TITLE: *attrs = A_REVERSE; break;
	case OVL_INK_KEPT: *pair = 1; break;
	case OVL_INK_LOST: *pair = 2; break;
	case OVL_INK_ALARM:
		*attrs = A_BOLD;
		*pair = 3;
		break;
	case OVL_INK_STRONG: *attrs = A_BOLD; break;
	case OVL_INK_NORMAL:
	case OVL_INK_COUNT: break;
	}
	if (!t->colour)
		*pair = 0;
}

static void put_cell(const struct ovl_screen *t, int x, int y, struct ovl_cell cell)
{
	wchar_t text[2] = {(wchar_t)cell.ch, L'\0'};
	attr_t attrs;
	short pair;
	cchar_t out;

	if (!t->utf8 && cell.ch > 0x7e)
		text[0] = L'?';
	cell_look(t, cell.ink, &attrs, &pair);
	if (setcchar(&out, text, attrs, pair, NULL) == OK)
		mvadd_wch(y, x, &out);
}

/** Make `shown` fit the canvas; anew (or without memory): everything is sent. */
static void fit_shown(struct ovl_screen *t, const struct ovl_canvas *c)
{
	if (t->shown && t->cols == c->cols && t->rows == c->rows)
		return;
	free(t->shown);
	t->shown = calloc((size_t)c->cols * (size_t)c->rows, sizeof(*t->shown));
	t->cols = c->cols;
	t->rows = c->rows;
	clear();
}

void ovl_screen_blit(struct ovl_screen *t, const struct ovl_canvas *c)
{
	if (!t->screen)
		return;
	fit_shown(t, c);
	for (int i = 0; i < c->cols * c->rows; i++) {
		struct ovl_cell cell = c->cells[i];

		if (t->shown && t->shown[i].ch == cell.ch && t->shown[i].ink == cell.ink)
			continue;
		if (t->shown)
			t->shown[i] = cell;
		put_cell(t, i % c->cols, i / c->cols, cell);
	}
	refresh();
}

static void forget_shown(struct ovl_screen *t)
{
	free(t->shown);
	t->shown = NULL;
}

/** No key: either none was pressed, or nobody can press one any more. */
static enum ovl_key none_or_gone(void)
{
	struct pollfd in = {.fd = STDIN_FILENO, .events = POLLIN};

	if (poll(&in, 1, 0) > 0 && (in.revents & (POLLHUP | POLLERR | POLLNVAL)))
		return OVL_KEY_QUIT;
	return OVL_KEY_NONE;
}

enum ovl_key ovl_screen_key(struct ovl_screen *t)
{
	wint_t ch;
	int rc;

	if (!t->screen)
		return OVL_KEY_NONE;
	rc = get_wch(&ch);
	if (rc == ERR)
		return none_or_gone();
	if (rc == KEY_CODE_YES) {
		if (ch == KEY_F(1))
			return OVL_KEY_HELP;
		if (ch == KEY_F(10))
			return OVL_KEY_QUIT;
		if (ch == KEY_RESIZE) {
			forget_shown(t);
			return OVL_KEY_RESIZE;
		}
		return OVL_KEY_OTHER;
	}
	switch (ch) {
	case 'q':
	case 3: return OVL_KEY_QUIT;
	case 'p':
	case 'Z':
	case ' ': return OVL_KEY_PAUSE;
	case 'h':
	case '?': return OVL_KEY_HELP;
	case 12: forget_shown(t); return OVL_KEY_REDRAW;
	default: return OVL_KEY_OTHER;
	}
}

void ovl_screen_close(struct ovl_screen *t)
{
	if (!t || !t->screen)
		return;
	endwin();
	delscreen(t->screen);
	free(t->shown);
	*t = (struct ovl_screen){0};
}
