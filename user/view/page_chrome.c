#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/units.h"
#include "base/version.h"
#include "view/page.h"
#include "view/words.h"

/** "LIVE", "PAUSED 12s": a word, never only a colour. */
static void state_word(const struct ovl_page *p, char *s, size_t n)
{
	unsigned behind = p->state->behind_s;

	switch (p->state->state) {
	case OVL_STATE_LIVE: snprintf(s, n, "LIVE"); return;
	case OVL_STATE_PAUSED: snprintf(s, n, "PAUSED %us", behind); return;
	case OVL_STATE_REPLAY: snprintf(s, n, "REPLAY"); return;
	case OVL_STATE_WARMUP: snprintf(s, n, "WARMUP"); return;
	case OVL_STATE_END: snprintf(s, n, "END"); return;
	}
	snprintf(s, n, "?");
}

/** Append `more` (two blanks before it) if the whole stays within `room` columns. */
static void append_if(const struct ovl_page *p, struct ovl_buf *b, const char *more, int room)
{
	if (*more &&
	    ovl_canvas_width(p->c, ovl_buf_str(b)) + 2 + ovl_canvas_width(p->c, more) <= room)
		ovl_buf_printf(b, "  %s", more);
}

void ovl_page_title(const struct ovl_page *p)
{
	const bool compact = p->l.kind == OVL_LAYOUT_COMPACT, wide = p->l.kind == OVL_LAYOUT_PANELS;
	struct ovl_rect r = p->l.title;
	struct ovl_buf left = {0}, path = {0};
	char word[24], right[64], s[OVL_UNITS_MAX];
	double interval_s = (double)p->f->interval_ns / 1e9;
	int room;

	for (int x = 0; x < r.w; x++)
		ovl_canvas_set(p->c, r, x, 0, (struct ovl_cell){' ', OVL_INK_TITLE});
	state_word(p, word, sizeof(word));
	snprintf(right, sizeof(right), "%ss %s", ovl_units_fixed(s, interval_s, 1), word);
	room = r.w - (int)strlen(right) - 3;
	ovl_buf_printf(&left, wide ? "ovltrace " OVL_VERSION : "ovltrace");
	ovl_words_path(&path, p->f, p->c->ascii);
	if (compact) { /* the devices' names alone */
		const struct ovl_link *iface = ovl_facts_iface(p->f);
		const struct ovl_link *under = ovl_words_underlay(p->f);

		ovl_buf_clear(&path);
		ovl_buf_puts(&path, iface ? iface->name : "no interface");
		if (under)
			ovl_buf_printf(&path, " %s %s", p->c->ascii ? "->" : "→", under->name);
	}
	ovl_buf_printf(&left, "  %s", ovl_buf_str(&path));
	append_if(p, &left, p->f->nodename, room);
	if (wide)
		append_if(p, &left, p->f->kernel, room);
	r.w -= (int)strlen(right) + 2;
	r.x++;
	r.w--;
	ovl_canvas_cut(p->c, r, 0, OVL_INK_TITLE, ovl_buf_str(&left));
	ovl_canvas_right(p->c, p->l.title, p->l.title.w - 1, 0, OVL_INK_TITLE, right);
	ovl_buf_fini(&left);
	ovl_buf_fini(&path);
}

/** "t+01:42", or with hours. */
static void run_time(const struct ovl_page *p, char *s, size_t n)
{
	unsigned long long sec = p->m->duration_ns / 1000000000ull;

	if (sec < 3600)
		snprintf(s, n, "t+%02llu:%02llu", sec / 60, sec % 60);
	else
		snprintf(s, n, "t+%llu:%02llu:%02llu", sec / 3600, sec / 60 % 60, sec % 60);
}

/** Compact size: the two goodputs, or the traffic, instead of the tabs. */
static void summary(const struct ovl_page *p)
{
	const struct ovl_waterfall *w = &p->m->waterfall;
	const struct ovl_traffic *t = &p->m->traffic;
	struct ovl_buf b = {0};
	char u[OVL_UNITS_MAX], o[OVL_UNITS_MAX], loss[OVL_UNITS_MAX];
	const bool ascii = p->c->ascii;

	if (w->valid) {
		struct ovl_unit unit = ovl_units_rate(fmax(w->underlay_bps, w->overlay_bps));
		double lost = w->underlay_bps - w->overlay_bps;

		ovl_buf_printf(&b, "underlay %s  overlay %s %s  loss %s",
			       ovl_units_number(u, w->underlay_bps, unit, ascii),
			       ovl_units_number(o, w->overlay_bps, unit, ascii), unit.name,
			       ovl_units_text(loss,
					      w->underlay_bps > 0 ? lost / w->underlay_bps : NAN,
					      ovl_units_share(), ascii));
	} else {
		double rx = t->valid ? t->last_rx_bps : NAN, tx = t->valid ? t->last_tx_bps : NAN;

		ovl_buf_printf(&b, "rx %s  tx %s", ovl_units_text(u, rx, ovl_units_rate(rx), ascii),
			       ovl_units_text(o, tx, ovl_units_rate(tx), ascii));
	}
	ovl_canvas_put(p->c, p->l.tabs, 1, 0, OVL_INK_STRONG, ovl_buf_str(&b));
	ovl_buf_fini(&b);
}

void ovl_page_tabs(const struct ovl_page *p)
{
	const bool help = p->state->help, wide = p->l.kind == OVL_LAYOUT_PANELS;
	struct ovl_rect r = p->l.tabs;
	struct ovl_buf right = {0};
	char t[32];
	int x = 0;

	if (p->l.kind == OVL_LAYOUT_COMPACT) {
		summary(p);
		return;
	}
	x = ovl_canvas_put(p->c, p->l.tabs, x, 0, help ? OVL_INK_NORMAL : OVL_INK_STRONG,
			   help ? " Overview " : "[Overview]");
	x = ovl_canvas_put(p->c, p->l.tabs, x, 0, help ? OVL_INK_STRONG : OVL_INK_NORMAL,
			   help ? "[? Help]" : " ? Help ");
	ovl_words_load(&right, p->f);
	if (p->f->load.valid && *p->f->load.congestion)
		ovl_buf_printf(&right, " %s", p->f->load.congestion);
	if (wide && p->m->load.valid)
		ovl_buf_printf(&right, ", %u pair%s", p->m->load.pairs,
			       p->m->load.pairs == 1 ? "" : "s");
	run_time(p, t, sizeof(t));
	ovl_buf_printf(&right, "   %s  %s", t, p->state->clock);
	r.x += x + 2;
	r.w -= x + 3;
	if (ovl_canvas_width(p->c, ovl_buf_str(&right)) <= r.w)
		ovl_canvas_right(p->c, r, r.w, 0, OVL_INK_NORMAL, ovl_buf_str(&right));
	else
		ovl_canvas_cut(p->c, r, 0, OVL_INK_NORMAL, ovl_buf_str(&right));
	ovl_buf_fini(&right);
}

void ovl_page_health(const struct ovl_page *p)
{
	static const char letters[] = "M measured  A arithmetic  E estimated";
	struct ovl_rect r = p->l.health;
	struct ovl_buf b = {0};
	bool bad = ovl_words_lost(p->m) > 0;

	r.x++;
	r.w -= 2;
	if (p->state->message) {
		ovl_canvas_cut(p->c, r, 0, OVL_INK_STRONG, p->state->message);
		return;
	}
	if (bad)
		ovl_buf_puts(&b, "! ");
	if (p->l.kind == OVL_LAYOUT_COMPACT)
		ovl_words_self_brief(&b, p->f, p->m, p->c->ascii);
	else
		ovl_words_self(&b, p->f, p->m, p->c->ascii);
	if (p->m->waterfall.valid)
		append_if(p, &b, letters, r.w);
	ovl_canvas_cut(p->c, r, 0, bad ? OVL_INK_ALARM : OVL_INK_DIM, ovl_buf_str(&b));
	ovl_buf_fini(&b);
}

void ovl_page_keys(const struct ovl_page *p)
{
	/* ten cells of eight columns: the key in normal video, its label in reverse */
	static const struct {
		const char *key, *label;
	} cells[10] = {
		{"F1", "Help"}, {"p ", "Pause"}, {0}, {0}, {0}, {0}, {0}, {0}, {0}, {"F10", "Quit"},
	};
	const struct ovl_rect r = p->l.keys;
	bool paused = p->state->state == OVL_STATE_PAUSED;

	if (r.w < 80) {
		ovl_canvas_put(p->c, r, 1, 0, OVL_INK_NORMAL,
			       paused ? "? help  p go on  q quit" : "? help  p pause  q quit");
		return;
	}
	for (int i = 0; i < 10; i++) {
		int x = i * 8;
		const char *label = cells[i].label;

		if (cells[i].key)
			x = ovl_canvas_put(p->c, r, x, 0, OVL_INK_NORMAL, cells[i].key);
		for (int fill = x; fill < i * 8 + 8; fill++)
			ovl_canvas_set(p->c, r, fill, 0, (struct ovl_cell){' ', OVL_INK_TITLE});
		if (paused && i == 1)
			label = "Go on";
		if (label)
			ovl_canvas_put(p->c, r, x, 0, OVL_INK_TITLE, label);
	}
}

void ovl_page_help(const struct ovl_page *p)
{
	/*
	 * most needed first, 58 columns: the smallest size shows the first eleven lines, without
	 * blanks
	 */
	static const char *const lines[] = {
		"KEYS  (any other key closes this)",
		"  ? h F1      this help",
		"  p Z Space   pause the display; collecting goes on",
		"  q F10 ^C    quit: instruments detach, the load stops",
		"",
		"TABLE",
		"  # kept   - lost, at its place   + gained   . too small",
		"  +- two standard errors   loss% share of the underlay",
		"  below noise   within two standard errors of nothing",
		"  unexplained   what no row accounts for, always shown",
		"  C  M measured  A arithmetic  E estimated  R recorded",
		"",
		"STATE  LIVE  PAUSED behind by  WARMUP  REPLAY  END",
		"  a dash is a number that is not known, never a zero",
		"  no colour carries meaning alone",
		"",
		"MORE",
		"  ^L                repaint the screen",
		"  ovltrace doctor   what kernel, process, interface allow",
		"  ovltrace --plain  the same as text, for pipes and logs",
	};
	static const char *const fine[] = {
		"  █ kept   █ lost, at its place   ░ gained   ▏ too small",
		"  ± two standard errors    loss% share of the underlay",
	};
	const int n = (int)(sizeof(lines) / sizeof(lines[0]));
	struct ovl_rect r = {1, p->l.tabs.y + 1, p->c->cols - 2, p->l.health.y - p->l.tabs.y - 1};

	for (int i = 0, y = 0; i < n; i++) {
		const char *line = !p->c->ascii && i >= 6 && i <= 7 ? fine[i - 6] : lines[i];
		bool head = *line && *line != ' ';

		if (!*line && r.h < n)
			continue; /* no room for blank lines */
		ovl_canvas_cut(p->c, r, y++, head ? OVL_INK_STRONG : OVL_INK_NORMAL, line);
	}
}
