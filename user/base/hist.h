/*
 * A histogram of durations with a bounded error: 32 linear steps in each power of two, so that the
 * upper edge of a value's bucket is less than 1/32 (3.125 %) above it; values below 64 ns are
 * exact. Fixed memory (9 KiB), nothing is allocated. Pure.
 *
 * Minimum, maximum, count and sum are exact. Values from 2^40 ns (18 minutes) on share one bucket.
 */
#ifndef OVL_BASE_HIST_H
#define OVL_BASE_HIST_H

#include <stdbool.h>
#include <stdint.h>

#define OVL_HIST_STEP_BITS 5  /* 2^5 steps in a power of two */
#define OVL_HIST_TOP_BITS  40 /* values below 2^40 have buckets of their own */
#define OVL_HIST_BUCKETS   ((OVL_HIST_TOP_BITS - OVL_HIST_STEP_BITS + 1) << OVL_HIST_STEP_BITS)

/** Zero-initialised is empty. */
struct ovl_hist {
	uint64_t count;
	uint64_t over;		 /* of them, values ≥ 2^OVL_HIST_TOP_BITS ns */
	uint64_t sum_ns;	 /* stays at UINT64_MAX once it would pass it (584 years) */
	uint64_t min_ns, max_ns; /* meaningful when count > 0 */
	uint64_t bucket[OVL_HIST_BUCKETS];
};

/** Count one duration. */
void ovl_hist_add(struct ovl_hist *h, uint64_t ns);
/** Do the members of a histogram from elsewhere agree with each other? */
bool ovl_hist_sane(const struct ovl_hist *h);
/** Count all of `from` into `h`. */
void ovl_hist_merge(struct ovl_hist *h, const struct ovl_hist *from);
/**
 * The duration that a share q (0…1) of the values does not exceed: the upper edge of the bucket of
 * the value with rank ⌈q × count⌉ (at least 1), never above the exact maximum. false: no values.
 */
bool ovl_hist_quantile(const struct ovl_hist *h, double q, uint64_t *ns);
/**
 * The used buckets in ascending order: *at begins at 0 and is kept by the caller. true: *upper_ns
 * (the largest value that the bucket can hold; of the last one the exact maximum) and *count are
 * set; false: there are no more.
 */
bool ovl_hist_next(const struct ovl_hist *h, uint32_t *at, uint64_t *upper_ns, uint64_t *count);

#endif
