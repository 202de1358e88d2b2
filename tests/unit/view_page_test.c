/*
 * Pages against goldens in tests/golden, and for every size: nothing breaks, nothing is wider
 * than the screen. OVL_UPDATE_GOLDEN=1 rewrites the goldens: look at them before you commit.
 */
#include "view/page.h"
#include "view/plain.h"
#include "sample_free.h"
#include "tap.h"

#include <libgen.h>

enum scenario { LOAD, NOLOAD, WARMUP, NOFALL, PAUSED, UNKNOWN, HUGE_VALUES, HELP, SCENARIOS };
static const char *const scenario_names[] = {"load",   "noload",  "warmup", "nofall",
					     "paused", "unknown", "huge",   "help"};

struct sample {
	struct ovl_facts f;
	struct ovl_model m;
	struct ovl_page_state state;
};

static void make_sample(struct sample *s, enum scenario scenario)
{
	const bool load = scenario != NOLOAD;

	*s = (struct sample){.state = {.clock = "12:04:31"}};
	if (scenario == HUGE_VALUES) {
		sample_huge(&s->f, &s->m);
		s->state.state = OVL_STATE_PAUSED;
		s->state.behind_s = UINT32_MAX;
		return;
	}
	sample_facts(&s->f, load);
	if (scenario == UNKNOWN)
		sample_unknown(&s->m);
	else
		sample_model(&s->m, load && scenario != WARMUP);
	if (scenario == WARMUP) {
		s->state.state = OVL_STATE_WARMUP;
		copy_str(s->m.waterfall.why_not, "warming up: pair 1 of 6");
		s->m.load.valid = true;
		sample_load_path(&s->m.load.overlay, 6e9, 310000);
		s->m.last.goodput_bps = 6.1e9;
		s->m.last.rtt_ns = 305000;
	}
	if (scenario == LOAD) {
		struct ovl_load_path *over = &s->m.load.overlay, *under = &s->m.load.underlay;

		over->idle = (struct ovl_latency){true,	 9120,	24100,	31200, 36300,
						  48000, 96000, 410000, 32700, 1};
		under->idle = (struct ovl_latency){true,  11800, 19800,	 23100, 26100,
						   39000, 71000, 216000, 24000, 1};
		over->loaded = (struct ovl_latency){true,    200,     290000,  910000, 1150000,
						    1830000, 2410000, 2410000, 930000, 1};
	}
	if (scenario == NOFALL) { /* both paths were measured, but no lane explains them */
		s->m.waterfall.valid = false;
		copy_str(s->m.waterfall.why_not, "no CPU and no state of the connection limits it");
	}
	if (scenario == PAUSED) {
		s->state.state = OVL_STATE_PAUSED;
		s->state.behind_s = 12;
		s->state.message = "paused: p goes on";
	}
	s->state.help = scenario == HELP;
}

static char *read_all(const char *path)
{
	FILE *file = fopen(path, "r");
	char *text = calloc(1, 65536);

	if (file) {
		size_t n = fread(text, 1, 65535, file);

		text[n] = '\0';
		fclose(file);
	}
	return text;
}

/** Print the lines that differ. */
static void print_diff(const char *want, const char *got)
{
	for (int line = 1; *want || *got; line++) {
		size_t n = strcspn(want, "\n"), k = strcspn(got, "\n");

		if (n != k || strncmp(want, got, n) != 0)
			printf("# line %d\n# - %.*s\n# + %.*s\n", line, (int)n, want, (int)k, got);
		want += n + (want[n] == '\n');
		got += k + (got[k] == '\n');
	}
}

static void check_golden(const char *name, const char *got)
{
	char source[] = __FILE__, path[512], *want;

	snprintf(path, sizeof(path), "%s/../golden/%s.txt", dirname(source), name);
	if (getenv("OVL_UPDATE_GOLDEN")) {
		FILE *file = fopen(path, "w");

		ok(file && fputs(got, file) >= 0, "golden %s written", name);
		if (file)
			fclose(file);
		return;
	}
	want = read_all(path);
	ok(strcmp(want, got) == 0, "golden %s", name);
	if (strcmp(want, got) != 0)
		print_diff(want, got);
	free(want);
}

/** Longest line in columns (code points: all are one column wide). */
static int widest(const char *text)
{
	int n = 0, most = 0;

	for (; *text; text++) {
		if (*text == '\n')
			n = 0;
		else if (((unsigned char)*text & 0xc0) != 0x80)
			most = ++n > most ? n : most;
	}
	return most;
}

static void paint(struct ovl_buf *out, const struct sample *s, int cols, int rows, bool ascii)
{
	struct ovl_canvas c;

	ovl_buf_clear(out);
	if (ovl_canvas_init(&c, cols, rows, ascii))
		return;
	ovl_page_paint(&c, &s->f, &s->m, &s->state);
	ovl_canvas_text(&c, out);
	ovl_canvas_fini(&c);
}

static void test_goldens(enum scenario scenario, const struct sample *s)
{
	static const int sizes[][2] = {{60, 15}, {80, 24}, {120, 36}};
	struct ovl_buf b = {0};
	char name[64];

	for (int i = 0; i < 3; i++)
		for (int ascii = 0; ascii < 2; ascii++) {
			paint(&b, s, sizes[i][0], sizes[i][1], ascii);
			snprintf(name, sizeof(name), "overview_%s_%dx%d_%s",
				 scenario_names[scenario], sizes[i][0], sizes[i][1],
				 ascii ? "ascii" : "utf8");
			check_golden(name, ovl_buf_str(&b));
		}
	ovl_buf_fini(&b);
}

static void test_plain(enum scenario scenario, const struct sample *s)
{
	struct ovl_buf b = {0};
	char name[64];

	ovl_plain_interval(&b, s->state.clock, &s->f, &s->m);
	ovl_buf_puts(&b, "--\n");
	ovl_plain_report(&b, &s->f, &s->m);
	snprintf(name, sizeof(name), "plain_%s", scenario_names[scenario]);
	check_golden(name, ovl_buf_str(&b));
	ok(!strchr(ovl_buf_str(&b), '\x1b'), "plain %s: no control characters",
	   scenario_names[scenario]);
	if (scenario != HUGE_VALUES)
		ok(widest(strstr(ovl_buf_str(&b), "--\n")) <= 80,
		   "report %s: no line over 80 columns", scenario_names[scenario]);
	ovl_buf_fini(&b);
}

static bool only_ascii(const char *text)
{
	for (; *text; text++)
		if ((unsigned char)*text >= 0x7f || ((unsigned char)*text < ' ' && *text != '\n'))
			return false;
	return true;
}

/* The side panel has latencies where there is room for them. */
static void test_latency(const struct sample *s)
{
	struct ovl_buf b = {0};

	paint(&b, s, 120, 50, true);
	ok(strstr(ovl_buf_str(&b), "31.20 us 48.00 us 910.0 us  1.83 ms"),
	   "tall: latency of the overlay, idle and loaded");
	ok(strstr(ovl_buf_str(&b), "23.10 us 39.00 us        -        -"),
	   "and what was not measured of the underlay is a dash");
	ovl_buf_fini(&b);
}

/** Every size; a line that is too long, or a byte out of place, is a failure. */
static void test_sizes(enum scenario scenario, const struct sample *s)
{
	struct ovl_buf b = {0};
	int wide = 0, foreign = 0, empty = 0;

	for (int cols = 1; cols <= 200; cols += cols < 130 ? 1 : 7)
		for (int rows = 1; rows <= 60; rows += rows < 40 ? 1 : 5) {
			bool ascii = (cols + rows) % 2;

			paint(&b, s, cols, rows, ascii);
			wide += widest(ovl_buf_str(&b)) > cols;
			foreign += ascii && !only_ascii(ovl_buf_str(&b));
			empty += cols >= 8 && !strpbrk(ovl_buf_str(&b), "wo");
		}
	ok(!wide && !foreign && !empty, "%s: every size from 1x1 to 200x60",
	   scenario_names[scenario]);
	ovl_buf_fini(&b);
}

/** The laws of the screen that a golden alone would not keep when it is rewritten. */
static void test_laws(void)
{
	struct sample s;
	struct ovl_buf b = {0};
	const char *last;

	make_sample(&s, LOAD);
	paint(&b, &s, 52, 12, true);
	is_str(ovl_buf_str(&b), "window 52x12, need 60x15\n\n\n\n\n\n\n\n\n\n\n\n", "too small");
	for (int rows = 24; rows < 60; rows += 7) {
		paint(&b, &s, 80, rows, true);
		ok(strstr(ovl_buf_str(&b), "unexplained"), "80x%d shows what is unexplained", rows);
	}
	paint(&b, &s, 200, 24, true);
	last = strstr(ovl_buf_str(&b), "\nF1Help  p Pause") + 1;
	is_int(strcspn(last, "\n"), 79, "the key bar is 80 wide (its last blank cut)");
	ok(strstr(last, "  F10Quit\n"), "and ends with F10Quit");
	ok(!strstr(ovl_buf_str(&b), "F2"), "no key is shown that does not exist");
	s.m.self.lost_events[2] = 3;
	paint(&b, &s, 80, 24, true);
	ok(strstr(ovl_buf_str(&b), "! self 0.8%"), "lost events are an alarm with its sign");
	ok(strstr(ovl_buf_str(&b), "lost 3 events"), "and counted");
	s.m.waterfall.lane_purity_ratio = 0.7;
	paint(&b, &s, 80, 24, true);
	ok(strstr(ovl_buf_str(&b), "cpu0 also does 30.0% of the other host's work"),
	   "an impure lane is said");
	s.m.waterfall.basis = OVL_BASIS_ESTIMATED;
	s.m.waterfall.low_underlay_bps = 7.5e9;
	paint(&b, &s, 80, 24, true);
	ok(strstr(ovl_buf_str(&b), "estimated: 7.50 to 9.41 Gbit/s"), "an estimate has two ends");
	ovl_vec_clear(&s.m.waterfall.terms);
	paint(&b, &s, 80, 24, true);
	ok(strstr(ovl_buf_str(&b), "overlay flannel.1"), "a waterfall without terms");
	sample_free(&s.f, &s.m);
	ovl_buf_fini(&b);
}

/** What is new on any CPU stands under the waterfall, which shows one. */
static void test_new(void)
{
	static const char words[] = "new over the overlay, all CPUs: segmentation";
	struct sample s;
	struct ovl_buf b = {0};

	make_sample(&s, LOAD);
	for (int i = 0; i < 20; i++) {
		struct ovl_term *t = ovl_vec_push(&s.m.waterfall.terms);

		t->bps = 100000000 - i;
		t->stderr_bps = 1;
	}
	paint(&b, &s, 120, 36, true);
	ok(strstr(ovl_buf_str(&b), words), "a full waterfall leaves it a line");
	ok(strstr(ovl_buf_str(&b), "drawn for cpu0"), "and one for its lane");
	paint(&b, &s, 80, 24, true);
	ok(!strstr(ovl_buf_str(&b), words), "80x24 has none for it");
	s.m.waterfall.terms.n = 3;
	paint(&b, &s, 80, 24, true);
	ok(strstr(ovl_buf_str(&b), words), "but with few rows it has");
	s.m.waterfall.terms.n = 7;
	paint(&b, &s, 80, 24, true);
	ok(strstr(ovl_buf_str(&b), words) && strstr(ovl_buf_str(&b), "drawn for cpu0"),
	   "with two free rows still");
	ok(strstr(ovl_buf_str(&b), "(GSO) +340.8 ns/KiB\n"), "and ends where its line ends");
	s.m.waterfall.terms.n = 8;
	paint(&b, &s, 80, 24, true);
	ok(!strstr(ovl_buf_str(&b), words) && strstr(ovl_buf_str(&b), "drawn for cpu0"),
	   "the last free row is the lane's");
	ovl_vec_each(t, &s.m.cpu.stages)
		t->underlay_ns_per_kib = NAN;
	paint(&b, &s, 120, 36, true);
	ok(!strstr(ovl_buf_str(&b), "new over"), "without an underlay nothing is called new");
	sample_free(&s.f, &s.m);
	ovl_buf_fini(&b);
}

/**
 * The underlay alone was measured so far: its costs are shown, and nothing is said of the overlay.
 */
static void test_underlay_first(void)
{
	struct sample s;
	struct ovl_buf b = {0};

	make_sample(&s, NOFALL);
	s.m.cpu.busy_ns = 0;
	ovl_vec_each(t, &s.m.cpu.stages)
		t->share_ratio = t->stderr_ratio = t->ns_per_kib = NAN;
	ovl_plain_interval(&b, "12:04:31", &s.f, &s.m);
	ok(!strstr(ovl_buf_str(&b), "busy time"), "no shares of busy time in a line of text");
	paint(&b, &s, 80, 24, true);
	ok(strstr(ovl_buf_str(&b), "copy to user                           -      -        -     "
				   "201.4        -\n"),
	   "on the screen dashes beside the underlay");
	sample_free(&s.f, &s.m);
	ovl_buf_fini(&b);
}

int main(void)
{
	for (enum scenario i = 0; i < SCENARIOS; i++) {
		struct sample s;

		make_sample(&s, i);
		test_goldens(i, &s);
		if (i != HELP && i != PAUSED)
			test_plain(i, &s);
		test_sizes(i, &s);
		if (i == LOAD)
			test_latency(&s);
		sample_free(&s.f, &s.m);
	}
	test_laws();
	test_new();
	test_underlay_first();
	return tap_done();
}
