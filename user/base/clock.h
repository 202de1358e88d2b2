/* The one clock: CLOCK_MONOTONIC. Not for the pure floors (model, view). */
#ifndef OVL_BASE_CLOCK_H
#define OVL_BASE_CLOCK_H

#include <stdint.h>
#include <time.h>

static inline uint64_t ovl_clock_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000ull + (uint64_t)ts.tv_nsec;
}

#endif
