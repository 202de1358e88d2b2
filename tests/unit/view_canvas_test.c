#include "view/canvas.h"
#include "view/layout.h"
#include "view/utf8.h"
#include "tap.h"

#include <math.h>

static struct ovl_buf text;

/** The canvas's rows, with newlines as '/'. */
static const char *dump(const struct ovl_canvas *c)
{
	ovl_buf_clear(&text);
	ovl_canvas_text(c, &text);
	for (size_t i = 0; i < text.n; i++)
		if (text.s[i] == '\n')
			text.s[i] = '/';
	return ovl_buf_str(&text);
}

static void test_utf8(void)
{
	static const struct {
		const char *in, *clean;
	} cases[] = {
		{"plain", "plain"},
		{"\xc2\xb5s \xe2\x86\x92", "\xc2\xb5s \xe2\x86\x92"},
		{"\x1b[2J\x07", "?[2J?"},
		{"a\xff\xfe", "a??"},
		{"\xe2\x86", "??"},
		{"\xc0\xaf", "??"},
		{"\xed\xa0\x80", "???"},
		{"\xf4\x90\x80\x80", "????"},
		{"\xe6\xbc\xa2", "?"},
		{"x\xcc\x81", "x?"},
		{"\xc2\x9b"
		 "31m",
		 "?31m"},
		{"two\nlines\t", "two\nlines?"},
	};
	struct ovl_buf b = {0};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		ovl_buf_clear(&b);
		ovl_utf8_clean(&b, cases[i].in);
		is_str(ovl_buf_str(&b), cases[i].clean, "cleaned text %zu", i);
	}
	ovl_buf_clear(&b);
	ovl_utf8_put(&b, 0x1f600);
	is_str(ovl_buf_str(&b), "\xf0\x9f\x98\x80", "four bytes are written");
	is_str(ovl_utf8_ascii(0x2192), "->", "an arrow in ASCII");
	is_str(ovl_utf8_ascii(0x6f22), "?", "what has no ASCII");
	ovl_buf_fini(&b);
}

static void test_text(void)
{
	struct ovl_canvas c;
	struct ovl_rect r = {2, 0, 5, 2};

	ovl_canvas_init(&c, 10, 2, true);
	is_int(ovl_canvas_put(&c, r, 1, 0, OVL_INK_NORMAL, "abcdefgh"), 9, "the column after it");
	is_str(dump(&c), "   abcd//", "clipped at the rectangle's right");
	ovl_canvas_put(&c, r, -2, 1, OVL_INK_NORMAL, "abcdefghi");
	is_str(dump(&c), "   abcd/  cdefg/", "and at its left");
	ovl_canvas_clear(&c);
	ovl_canvas_put(&c, r, 0, 2, OVL_INK_NORMAL, "x");
	ovl_canvas_put(&c, (struct ovl_rect){-3, -1, 100, 100}, 0, 0, OVL_INK_NORMAL, "x");
	is_str(dump(&c), "//", "nothing outside");
	ovl_canvas_right(&c, r, 5, 0, OVL_INK_NORMAL, "\xe2\x86\x92");
	is_str(dump(&c), "     ->//", "ASCII spelling, right-aligned");
	ovl_canvas_fini(&c);
	ovl_canvas_init(&c, 10, 2, false);
	ovl_canvas_put(&c, r, 0, 0, OVL_INK_NORMAL, "\xe6\xbc\xa2\x1b\xff");
	is_str(dump(&c),
	       "  ?"
	       "?"
	       "?//",
	       "wide, control and broken characters");
	ovl_canvas_fini(&c);
	is_int(ovl_canvas_init(&c, -5, 0, true), 0, "absurd sizes");
	is_int(c.cols * c.rows, 1, "are 1x1");
	ovl_canvas_fini(&c);
}

static void test_words(void)
{
	struct ovl_canvas c;
	struct ovl_rect r = {0, 0, 12, 3};

	ovl_canvas_init(&c, 12, 3, true);
	ovl_canvas_cut(&c, r, 0, OVL_INK_NORMAL, "exactly here");
	is_str(dump(&c), "exactly here///", "what fits is not cut");
	ovl_canvas_clear(&c);
	ovl_canvas_cut(&c, r, 0, OVL_INK_NORMAL, "several words here");
	is_str(dump(&c), "several~///", "cut after a word");
	ovl_canvas_clear(&c);
	ovl_canvas_cut(&c, r, 0, OVL_INK_NORMAL, "onelongwordalone");
	is_str(dump(&c), "onelongword~///", "a long word is cut and marked");
	ovl_canvas_clear(&c);
	is_int(ovl_canvas_wrap(&c, r, 0, OVL_INK_NORMAL, "a sentence over lines"), 2, "two lines");
	is_str(dump(&c), "a sentence/over lines//", "broken at blanks");
	ovl_canvas_clear(&c);
	is_int(ovl_canvas_wrap(&c, r, 0, OVL_INK_NORMAL,
			       "a sentence that takes more than three lines of this"),
	       3, "too long a sentence");
	is_str(dump(&c), "a sentence/that takes/more than~/", "says that there is more");
	is_int(ovl_canvas_wrap(&c, (struct ovl_rect){0, 0, 0, 3}, 0, OVL_INK_NORMAL, "x"), 0,
	       "no width, no line");
	ovl_canvas_fini(&c);
}

static void test_bars(void)
{
	struct ovl_canvas c;
	struct ovl_rect r = {0, 0, 10, 1};

	ovl_canvas_init(&c, 10, 1, true);
	ovl_canvas_bar(&c, r, 0, 0.5, OVL_BAR_KEPT);
	ovl_canvas_bar(&c, r, 0.8, 0.5, OVL_BAR_LOST);
	ovl_canvas_bar(&c, r, 0.8, 1.7, OVL_BAR_GAINED);
	is_str(dump(&c), "#####---++/", "kept, lost at its place, gained");
	ovl_canvas_clear(&c);
	ovl_canvas_bar(&c, r, 0.5, 0.501, OVL_BAR_LOST);
	is_str(dump(&c), "     ./", "too small to draw");
	ovl_canvas_clear(&c);
	ovl_canvas_bar(&c, r, NAN, 1, OVL_BAR_LOST);
	ovl_canvas_bar(&c, r, 0, 0, OVL_BAR_KEPT);
	is_str(dump(&c), "/", "unknown and nothing: no bar");
	ovl_canvas_bar(&c, r, 1, 1, OVL_BAR_LOST);
	is_str(dump(&c), "         ./", "at the end of the axis");
	ovl_canvas_clear(&c);
	ovl_canvas_spark(&c, r, (double[]){0, 1, 2, NAN, 3}, 5, 0, 3);
	is_str(dump(&c), "_.: |/", "a sparkline with a gap");
	ovl_canvas_fini(&c);
	ovl_canvas_init(&c, 10, 1, false);
	ovl_canvas_bar(&c, r, 0, 0.55, OVL_BAR_KEPT);
	is_str(dump(&c), "█████▌/", "eighths");
	ovl_canvas_clear(&c);
	ovl_canvas_bar(&c, r, 0.501, 0.502, OVL_BAR_LOST);
	is_str(dump(&c), "     ▏/", "too small to draw, finely");
	ovl_canvas_clear(&c);
	for (int i = 0; i <= 80; i++)
		for (int k = i; k <= 80; k++)
			ovl_canvas_bar(&c, r, i / 80.0, k / 80.0, OVL_BAR_LOST);
	ok(c.cells[0].ch != ' ' && c.cells[9].ch != ' ', "all pairs of places");
	ovl_canvas_fini(&c);
}

static bool inside(struct ovl_rect r, int cols, int rows)
{
	return r.w >= 0 && r.h >= 0 &&
	       (!r.w || !r.h || (r.x >= 0 && r.y >= 0 && r.x + r.w <= cols && r.y + r.h <= rows));
}

static bool apart(struct ovl_rect a, struct ovl_rect b)
{
	return !a.w || !a.h || !b.w || !b.h || a.x + a.w <= b.x || b.x + b.w <= a.x ||
	       a.y + a.h <= b.y || b.y + b.h <= a.y;
}

static void test_layout(void)
{
	int outside = 0, overlaps = 0, kinds[4] = {0};

	for (int cols = 1; cols <= 200; cols++) {
		for (int rows = 1; rows <= 60; rows++) {
			const struct ovl_layout l = ovl_layout_of(cols, rows);
			const struct ovl_rect parts[] = {l.title,   l.tabs, l.table,  l.status,
							 l.verdict, l.side, l.health, l.keys};
			const int n = (int)(sizeof(parts) / sizeof(parts[0]));

			kinds[l.kind]++;
			outside += !inside(l.top, cols, rows) || !inside(l.left, cols, rows) ||
				   !inside(l.right, cols, rows);
			for (int i = 0; i < n; i++) {
				outside += !inside(parts[i], cols, rows);
				for (int k = 0; k < i; k++)
					overlaps += !apart(parts[i], parts[k]);
			}
		}
	}
	is_int(outside, 0, "every part is inside at every size from 1x1 to 200x60");
	is_int(overlaps, 0, "no two parts overlap");
	ok(kinds[0] && kinds[1] && kinds[2] && kinds[3], "every kind of layout was seen");
	is_int(ovl_layout_of(59, 15).kind, OVL_LAYOUT_LINE, "59 columns are too few");
	is_int(ovl_layout_of(60, 15).kind, OVL_LAYOUT_COMPACT, "60x15 is compact");
	is_int(ovl_layout_of(80, 24).kind, OVL_LAYOUT_FULL, "80x24 is full");
	is_int(ovl_layout_of(200, 35).kind, OVL_LAYOUT_FULL, "panels need 36 rows");
	is_int(ovl_layout_of(120, 36).kind, OVL_LAYOUT_PANELS, "120x36 has panels");
}

int main(void)
{
	test_utf8();
	test_text();
	test_words();
	test_bars();
	test_layout();
	ovl_buf_fini(&text);
	return tap_done();
}
