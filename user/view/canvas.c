#include "view/canvas.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "view/utf8.h"

#define SIDE_MAX 1000

static int clamp_side(int n)
{
	return n < 1 ? 1 : n > SIDE_MAX ? SIDE_MAX : n;
}

int ovl_canvas_init(struct ovl_canvas *c, int cols, int rows, bool ascii)
{
	*c = (struct ovl_canvas){
		.cols = clamp_side(cols), .rows = clamp_side(rows), .ascii = ascii};
	c->cells = calloc((size_t)c->cols * (size_t)c->rows, sizeof(*c->cells));
	if (!c->cells)
		return -ENOMEM;
	ovl_canvas_clear(c);
	return 0;
}

void ovl_canvas_fini(struct ovl_canvas *c)
{
	free(c->cells);
	*c = (struct ovl_canvas){0};
}

void ovl_canvas_clear(struct ovl_canvas *c)
{
	for (int i = 0; i < c->cols * c->rows; i++)
		c->cells[i] = (struct ovl_cell){' ', OVL_INK_NORMAL};
}

void ovl_canvas_text(const struct ovl_canvas *c, struct ovl_buf *out)
{
	for (int y = 0; y < c->rows; y++) {
		const struct ovl_cell *row = c->cells + (size_t)y * (size_t)c->cols;
		int end = c->cols;

		while (end > 0 && row[end - 1].ch == ' ')
			end--;
		for (int x = 0; x < end; x++)
			ovl_utf8_put(out, row[x].ch);
		ovl_buf_puts(out, "\n");
	}
}

void ovl_canvas_set(struct ovl_canvas *c, struct ovl_rect r, int x, int y, struct ovl_cell cell)
{
	int at_x = r.x + x, at_y = r.y + y;

	if (x < 0 || y < 0 || x >= r.w || y >= r.h)
		return;
	if (at_x < 0 || at_y < 0 || at_x >= c->cols || at_y >= c->rows)
		return;
	c->cells[(size_t)at_y * (size_t)c->cols + (size_t)at_x] = cell;
}

int ovl_canvas_width(const struct ovl_canvas *c, const char *text)
{
	int n = 0;
	uint32_t ch;

	while ((ch = ovl_utf8_next(&text)))
		n += c->ascii ? (int)strlen(ovl_utf8_ascii(ch)) : 1;
	return n;
}

/** Write one code point in this canvas's glyphs; returns the column after it. */
static int put_char(struct ovl_canvas *c, struct ovl_rect r, int x, int y, struct ovl_cell cell)
{
	if (!c->ascii) {
		if (!ovl_utf8_narrow(cell.ch))
			cell.ch = '?';
		ovl_canvas_set(c, r, x, y, cell);
		return x + 1;
	}
	for (const char *s = ovl_utf8_ascii(cell.ch); *s; s++, x++)
		ovl_canvas_set(c, r, x, y, (struct ovl_cell){(uint32_t)*s, cell.ink});
	return x;
}

int ovl_canvas_put(struct ovl_canvas *c, struct ovl_rect r, int x, int y, enum ovl_ink ink,
		   const char *text)
{
	uint32_t ch;

	while ((ch = ovl_utf8_next(&text)))
		x = put_char(c, r, x, y, (struct ovl_cell){ch, (uint8_t)ink});
	return x;
}

int ovl_canvas_printf(struct ovl_canvas *c, struct ovl_rect r, int x, int y, enum ovl_ink ink,
		      const char *fmt, ...)
{
	char text[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	return ovl_canvas_put(c, r, x, y, ink, text);
}

void ovl_canvas_right(struct ovl_canvas *c, struct ovl_rect r, int end, int y, enum ovl_ink ink,
		      const char *text)
{
	ovl_canvas_put(c, r, end - ovl_canvas_width(c, text), y, ink, text);
}

/** How many bytes of text fit in w columns, words or not. */
static size_t fill(const struct ovl_canvas *c, const char *text, int w)
{
	const char *s = text, *at = text;
	int n = 0;
	uint32_t ch;

	for (; (ch = ovl_utf8_next(&s)); at = s) {
		n += c->ascii ? (int)strlen(ovl_utf8_ascii(ch)) : 1;
		if (n > w)
			break;
	}
	return (size_t)(at - text);
}

/**
 * How many bytes of text fit in w columns: all, else up to the last blank within, else (one long
 * word) as many as fit.
 */
static size_t fitting(const struct ovl_canvas *c, const char *text, int w)
{
	const char *s = text, *blank = NULL, *at;
	int n = 0;
	uint32_t ch;

	for (at = s; (ch = ovl_utf8_next(&s)); at = s) {
		if (ch == ' ')
			blank = at;
		n += c->ascii ? (int)strlen(ovl_utf8_ascii(ch)) : 1;
		if (n > w)
			return (size_t)((blank && blank > text ? blank : at) - text);
	}
	return (size_t)(at - text);
}

/** Write the first `bytes` of text; returns the column after them. */
static int put_n(struct ovl_canvas *c, struct ovl_rect r, int y, struct ovl_cell cell,
		 const char *text, size_t bytes)
{
	const char *end = text + bytes;
	int x = 0;

	while (text < end && (cell.ch = ovl_utf8_next(&text)))
		x = put_char(c, r, x, y, cell);
	return x;
}

void ovl_canvas_cut(struct ovl_canvas *c, struct ovl_rect r, int y, enum ovl_ink ink,
		    const char *text)
{
	struct ovl_cell cell = {' ', (uint8_t)ink};
	size_t n;
	int x;

	if (ovl_canvas_width(c, text) <= r.w) {
		ovl_canvas_put(c, r, 0, y, ink, text);
		return;
	}
	if (r.w < 1)
		return;
	n = fitting(c, text, r.w - 1);
	/* a word boundary far to the left would throw away too much */
	if (put_n(c, (struct ovl_rect){0}, 0, cell, text, n) < r.w / 2)
		n = fill(c, text, r.w - 1);
	x = put_n(c, r, y, cell, text, n);
	ovl_canvas_put(c, r, x, y, ink, c->ascii ? "~" : "…");
}

int ovl_canvas_wrap(struct ovl_canvas *c, struct ovl_rect r, int y, enum ovl_ink ink,
		    const char *text)
{
	struct ovl_cell cell = {' ', (uint8_t)ink};

	if (r.w < 1)
		return y;
	while (*text && y < r.h) {
		size_t n;

		if (y == r.h - 1) { /* the last line says that there is more */
			ovl_canvas_cut(c, r, y, ink, text);
			return y + 1;
		}
		n = fitting(c, text, r.w);
		if (!n)
			return y;
		put_n(c, r, y++, cell, text, n);
		text += n;
		while (*text == ' ')
			text++;
	}
	return y;
}
