/* Uncertainty and quantiles. Pure. */
#ifndef OVL_MODEL_STATS_H
#define OVL_MODEL_STATS_H

#include <stddef.h>
#include <stdint.h>

/**
 * Standard error from m leave-one-out values x_j: sqrt((m−1)/m · Σ(x_j − mean)²). NAN for fewer
 * than three or when a value is not finite.
 */
double ovl_stats_jackknife(const double *x, size_t m);
/** Standard error of a share p of n independent samples: sqrt(p(1−p)/n); NAN without samples. */
double ovl_stats_binomial(double p, uint64_t n);

/*
 * A log-linear histogram of microseconds: exact below 32, then 32 buckets per power of two
 * (relative error below 3.2 %), 4 KiB whatever the number of readings.
 */
#define OVL_STATS_BUCKETS (28 * 32)

struct ovl_stats_hist {
	uint32_t max;
	uint64_t n;
	uint32_t bucket[OVL_STATS_BUCKETS];
};

void ovl_stats_hist_add(struct ovl_stats_hist *h, uint32_t value);
/**
 * Value that a share q (0…1) of the readings does not exceed: its bucket's upper edge; 0 without
 * readings.
 */
uint32_t ovl_stats_hist_quantile(const struct ovl_stats_hist *h, double q);

#endif
