/*
 * What a remote receiver had got at an instant of our clock, from its reports. Pure.
 *
 * The two clocks are tied by the smallest (arrival − receiver's time) seen in the last 10 to 20 s:
 * the offset plus the shortest one-way delay. That delay is the same at both ends of an interval,
 * so it cancels in differences; queues and a busy sender thread only make single arrivals late.
 */
#ifndef OVL_LOAD_TRACK_H
#define OVL_LOAD_TRACK_H

#include <stdbool.h>
#include <stdint.h>

#include "load/wire.h"

#define OVL_TRACK_POINTS 8 /* 0.8 s of reports */

/** Offset between a receiver's clock and ours; zero-initialised is unknown. */
struct ovl_track_clock {
	bool known;
	uint64_t since_ns; /* start of the present window, our clock */
	int64_t now_ns;	   /* smallest of the present window */
	int64_t before_ns; /* smallest of the window before */
};

/** The last reports of one connection, oldest first, times of the receiver. */
struct ovl_track {
	struct ovl_wire_report point[OVL_TRACK_POINTS];
	uint32_t n;
};

/** Note that a report of the receiver's time ts_ns arrived at our arrival_ns. */
void ovl_track_clock_add(struct ovl_track_clock *clock, uint64_t ts_ns, uint64_t arrival_ns);
/** Our time in the receiver's clock; 0 before any report. */
uint64_t ovl_track_clock_map(const struct ovl_track_clock *clock, uint64_t local_ns);

/** Append a report. 0, or -EPROTO if a counter or the time ran backwards, or it says less. */
int ovl_track_add(struct ovl_track *track, const struct ovl_wire_report *report);
/**
 * The state at ts_ns (receiver's clock): linear between the two reports around it; the first or
 * last report outside of them (never extrapolated); zeros before any report.
 */
struct ovl_wire_report ovl_track_at(const struct ovl_track *track, uint64_t ts_ns);
/** Is there a report at or after ts_ns? */
bool ovl_track_covers(const struct ovl_track *track, uint64_t ts_ns);

#endif
