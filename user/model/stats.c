#include "model/stats.h"

#include <math.h>

#define SUB	 32 /* buckets per power of two */
#define SUB_BITS 5

double ovl_stats_jackknife(const double *x, size_t m)
{
	double mean = 0, sum = 0;

	if (m < 3)
		return NAN;
	for (size_t i = 0; i < m; i++)
		mean += x[i] / (double)m;
	for (size_t i = 0; i < m; i++)
		sum += (x[i] - mean) * (x[i] - mean);
	sum = sqrt(sum * (double)(m - 1) / (double)m);
	return isfinite(sum) ? sum : NAN;
}

double ovl_stats_binomial(double p, uint64_t n)
{
	if (!n || !(p >= 0) || p > 1)
		return NAN;
	return sqrt(p * (1 - p) / (double)n);
}

static unsigned bucket_of(uint32_t v)
{
	unsigned exp;

	if (v < SUB)
		return v;
	exp = 31 - (unsigned)__builtin_clz(v); /* ≥ SUB_BITS */
	return (exp - SUB_BITS + 1) * SUB + (v >> (exp - SUB_BITS)) - SUB;
}

static uint32_t bucket_upper(unsigned b)
{
	unsigned exp = b / SUB, sub = b % SUB;

	if (!exp)
		return sub;
	return (uint32_t)((((uint64_t)SUB + sub + 1) << (exp - 1)) - 1);
}

void ovl_stats_hist_add(struct ovl_stats_hist *h, uint32_t value)
{
	uint32_t *count = &h->bucket[bucket_of(value)];

	if (*count == UINT32_MAX)
		return;
	++*count;
	h->n++;
	if (value > h->max)
		h->max = value;
}

uint32_t ovl_stats_hist_quantile(const struct ovl_stats_hist *h, double q)
{
	uint64_t seen = 0, want = (uint64_t)ceil(fmin(fmax(q, 0), 1) * (double)h->n);

	for (unsigned b = 0; b < OVL_STATS_BUCKETS; b++) {
		seen += h->bucket[b];
		if (seen && seen >= want)
			return bucket_upper(b) < h->max ? bucket_upper(b) : h->max;
	}
	return h->max;
}
