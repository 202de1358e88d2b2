/* Reports to a count at an instant: interpolation, the two clocks, hostile values. */
#include "tap.h"

#include <errno.h>

#include "load/track.h"

static struct ovl_wire_report point(uint64_t ts_ns, uint64_t bytes)
{
	return (struct ovl_wire_report){.ts_ns = ts_ns, .bytes = bytes, .cpu_ns = bytes / 10};
}

static int add(struct ovl_track *track, uint64_t ts_ns, uint64_t bytes)
{
	const struct ovl_wire_report report = point(ts_ns, bytes);

	return ovl_track_add(track, &report);
}

static void test_interpolation(void)
{
	struct ovl_track track = {0};
	struct ovl_wire_report at = ovl_track_at(&track, 5);

	is_int(at.bytes, 0, "nothing before any report");
	ok(!ovl_track_covers(&track, 0), "and nothing is covered");
	is_int(add(&track, 1000, 100), 0, "first report");
	is_int(add(&track, 2000, 1100), 0, "second report");
	is_int(ovl_track_at(&track, 500).bytes, 100, "before the first: the first");
	is_int(ovl_track_at(&track, 1000).bytes, 100, "at the first");
	is_int(ovl_track_at(&track, 1250).bytes, 350, "a quarter on");
	is_int(ovl_track_at(&track, 1250).cpu_ns, 35, "CPU time as well");
	is_int(ovl_track_at(&track, 2000).bytes, 1100, "at the last");
	is_int(ovl_track_at(&track, 9000).bytes, 1100, "never extrapolated");
	ok(ovl_track_covers(&track, 2000) && !ovl_track_covers(&track, 2001), "covers");
	is_int(add(&track, 2000, 1200), 0, "two reports of one instant");
	is_int(ovl_track_at(&track, 2000).bytes, 1200, "the later one counts");
}

static void test_history(void)
{
	struct ovl_track track = {0};

	for (uint64_t i = 1; i <= 100; i++)
		add(&track, i * 100, i * 7);
	is_int(track.n, OVL_TRACK_POINTS, "the history is bounded");
	is_int(ovl_track_at(&track, 9950).bytes, 696, "and holds the newest");
	is_int(ovl_track_at(&track, 100).bytes, (100 - OVL_TRACK_POINTS + 1) * 7,
	       "older instants get the oldest kept");
	is_int(add(&track, 10001, 1), -EPROTO, "bytes running backwards are refused");
	is_int(add(&track, 1, 701), -EPROTO, "so is time");
}

static void test_switches(void)
{
	struct ovl_track track = {0};
	struct ovl_wire_report report = {.ts_ns = 1000, .switches = true, .voluntary = 10};

	is_int(ovl_track_add(&track, &report), 0, "a report with context switches");
	report = (struct ovl_wire_report){
		.ts_ns = 2000, .switches = true, .voluntary = 30, .involuntary = 8};
	ovl_track_add(&track, &report);
	ok(ovl_track_at(&track, 1500).switches, "between two of them they are known");
	is_int(ovl_track_at(&track, 1500).voluntary, 20, "and interpolated");
	is_int(ovl_track_at(&track, 1250).involuntary, 2, "both kinds");
	report.ts_ns = 3000;
	report.voluntary = 29;
	is_int(ovl_track_add(&track, &report), -EPROTO, "backwards they are refused");
	report = (struct ovl_wire_report){.ts_ns = 3000};
	is_int(ovl_track_add(&track, &report), -EPROTO, "so is a report that suddenly has none");
}

static void test_extreme(void)
{
	struct ovl_track track = {0};

	add(&track, 0, 0);
	add(&track, INT64_MAX, INT64_MAX);
	ok(ovl_track_at(&track, INT64_MAX - 1).bytes <= (uint64_t)INT64_MAX, "no overflow");
}

static void test_clock(void)
{
	struct ovl_track_clock clock = {0};
	const uint64_t s = 1000000000ull, theirs = 5000 * s, ours = 7 * s;

	is_int(ovl_track_clock_map(&clock, ours), 0, "unknown at first");
	ovl_track_clock_add(&clock, theirs, ours + 300);
	ovl_track_clock_add(&clock, theirs + s, ours + s + 100);
	ovl_track_clock_add(&clock, theirs + 2 * s, ours + 2 * s + 900);
	is_int(ovl_track_clock_map(&clock, ours + 2 * s + 100), theirs + 2 * s,
	       "the least delayed report ties the clocks");
	for (uint64_t i = 3; i < 40; i++)
		ovl_track_clock_add(&clock, theirs + i * s, ours + i * s + 5000);
	is_int(ovl_track_clock_map(&clock, ours + 40 * s + 5000), theirs + 40 * s,
	       "an old least value is forgotten, clocks drift");
}

int main(void)
{
	test_interpolation();
	test_history();
	test_switches();
	test_extreme();
	test_clock();
	return tap_done();
}
