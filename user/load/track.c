#include "load/track.h"

#include <errno.h>
#include <string.h>

#define WINDOW_NS 10000000000ull

void ovl_track_clock_add(struct ovl_track_clock *clock, uint64_t ts_ns, uint64_t arrival_ns)
{
	/* unsigned difference: the two clocks are unrelated, either may be ahead */
	int64_t d = (int64_t)(arrival_ns - ts_ns);

	if (!clock->known) {
		*clock = (struct ovl_track_clock){
			.known = true, .since_ns = arrival_ns, .now_ns = d, .before_ns = d};
		return;
	}
	/* two windows: clocks drift apart, so an old smallest value must be forgotten */
	if (arrival_ns - clock->since_ns > WINDOW_NS) {
		clock->before_ns = clock->now_ns;
		clock->now_ns = d;
		clock->since_ns = arrival_ns;
	}
	if (d < clock->now_ns)
		clock->now_ns = d;
}

uint64_t ovl_track_clock_map(const struct ovl_track_clock *clock, uint64_t local_ns)
{
	int64_t d = clock->now_ns < clock->before_ns ? clock->now_ns : clock->before_ns;

	return clock->known ? local_ns - (uint64_t)d : 0;
}

int ovl_track_add(struct ovl_track *track, const struct ovl_wire_report *report)
{
	const struct ovl_wire_report *last = track->n ? &track->point[track->n - 1] : NULL;

	if (last &&
	    (report->bytes < last->bytes || report->cpu_ns < last->cpu_ns ||
	     report->ts_ns < last->ts_ns || report->switches != last->switches ||
	     report->voluntary < last->voluntary || report->involuntary < last->involuntary))
		return -EPROTO;
	if (track->n == OVL_TRACK_POINTS) {
		memmove(track->point, track->point + 1, sizeof(track->point) - sizeof(*report));
		track->n--;
	}
	track->point[track->n++] = *report;
	return 0;
}

static uint64_t between(uint64_t a, uint64_t b, double part)
{
	uint64_t d = (uint64_t)((double)(b - a) * part);

	return a + (d < b - a ? d : b - a); /* a double may round up past the end */
}

struct ovl_wire_report ovl_track_at(const struct ovl_track *track, uint64_t ts_ns)
{
	const struct ovl_wire_report *p = track->point;
	uint32_t i = 0;
	double part;

	if (!track->n)
		return (struct ovl_wire_report){0};
	while (i < track->n && p[i].ts_ns <= ts_ns)
		i++;
	if (i == 0)
		return p[0];
	if (i == track->n)
		return p[i - 1];
	part = (double)(ts_ns - p[i - 1].ts_ns) / (double)(p[i].ts_ns - p[i - 1].ts_ns);
	return (struct ovl_wire_report){
		.bytes = between(p[i - 1].bytes, p[i].bytes, part),
		.cpu_ns = between(p[i - 1].cpu_ns, p[i].cpu_ns, part),
		.ts_ns = ts_ns,
		.switches = p[i].switches,
		.voluntary = between(p[i - 1].voluntary, p[i].voluntary, part),
		.involuntary = between(p[i - 1].involuntary, p[i].involuntary, part),
	};
}

bool ovl_track_covers(const struct ovl_track *track, uint64_t ts_ns)
{
	return track->n && track->point[track->n - 1].ts_ns >= ts_ns;
}
