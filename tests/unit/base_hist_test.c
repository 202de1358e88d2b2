/* The histogram against sorted arrays: every quantile within its bound, merge = sum. */
#include "base/hist.h"

#include <math.h>
#include <stdlib.h>

#include "tap.h"

#define N 20000

static uint64_t seed = 88172645463325252ull;

/* xorshift64: the same values on every machine */
static uint64_t next(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed;
}

static int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/* Values of very different sizes below 2^bits. */
static void fill(uint64_t *v, size_t n, unsigned bits)
{
	for (size_t i = 0; i < n; i++)
		v[i] = next() >> (64 - bits) >> next() % bits;
}

/* How many quantiles of the sorted values are wrong: below the value, or too far above it. */
static int wrong_quantiles(const struct ovl_hist *h, const uint64_t *v, size_t n)
{
	int wrong = 0;

	for (int permille = 0; permille <= 1000; permille++) {
		size_t rank = (size_t)ceil(permille / 1000.0 * (double)n);
		uint64_t want = v[rank ? rank - 1 : 0], got = 0;

		if (!ovl_hist_quantile(h, permille / 1000.0, &got) || got < want ||
		    (double)(got - want) > 0.032 * (double)want || got > h->max_ns)
			wrong++;
	}
	return wrong;
}

static void test_quantiles(uint64_t *v)
{
	static const unsigned bits[] = {3, 6, 12, 20, 30, 40};

	for (size_t i = 0; i < sizeof(bits) / sizeof(bits[0]); i++) {
		struct ovl_hist h = {0};
		uint64_t sum = 0;

		fill(v, N, bits[i]);
		for (size_t k = 0; k < N; k++) {
			ovl_hist_add(&h, v[k]);
			sum += v[k];
		}
		qsort(v, N, sizeof(*v), by_value);
		is_int(wrong_quantiles(&h, v, N), 0,
		       "values below 2^%u: each quantile within 3.2 %%", bits[i]);
		ok(h.min_ns == v[0] && h.max_ns == v[N - 1] && h.sum_ns == sum && h.count == N,
		   "values below 2^%u: minimum, maximum, sum and count are exact", bits[i]);
	}
}

static void test_small(void)
{
	struct ovl_hist h = {0};
	uint64_t ns = 7;

	ok(!ovl_hist_quantile(&h, 0.5, &ns) && ns == 7, "an empty one has no quantiles");
	ovl_hist_add(&h, 1000003);
	for (int i = 0; i <= 4; i++) {
		ns = 0;
		ovl_hist_quantile(&h, i / 4.0, &ns);
		is_int(ns, 1000003, "one value is all its quantiles, exactly (%d/4)", i);
	}
	ovl_hist_add(&h, 0);
	ovl_hist_quantile(&h, 0.5, &ns);
	ok(ns == 0 && h.min_ns == 0 && h.count == 2, "zero is a duration");
}

static void test_edges(void)
{
	int wrong = 0;

	/* at and around each power of two up to the top */
	for (int bit = 0; bit < OVL_HIST_TOP_BITS; bit++) {
		for (int d = -1; d <= 1; d++) {
			struct ovl_hist h = {0};
			uint64_t v = (1ull << bit) + (uint64_t)d, upper, count;
			uint32_t at = 0;

			ovl_hist_add(&h, v);
			ovl_hist_add(&h, UINT64_MAX / 4); /* so that the maximum clamps nothing */
			if (!ovl_hist_next(&h, &at, &upper, &count) || count != 1 || upper < v ||
			    (double)(upper - v) > 0.032 * (double)v)
				wrong++;
		}
	}
	is_int(wrong, 0, "powers of two and their neighbours lie in buckets that hold them");
}

static void test_overflow(void)
{
	const uint64_t top = 1ull << OVL_HIST_TOP_BITS;
	struct ovl_hist h = {0};
	uint64_t ns = 0, upper = 0, count = 0, seen = 0;
	uint32_t at = 0;

	ovl_hist_add(&h, top - 1);
	is_int(h.over, 0, "the largest value with a bucket");
	ovl_hist_add(&h, top);
	ovl_hist_add(&h, UINT64_MAX);
	is_int(h.over, 2, "larger ones are counted as such");
	ovl_hist_quantile(&h, 0.9, &ns);
	ok(ns == UINT64_MAX, "and their quantile is the maximum");
	ok(h.sum_ns == UINT64_MAX, "the sum stays at its limit");
	while (ovl_hist_next(&h, &at, &upper, &count))
		seen += count;
	ok(seen == 3 && upper == UINT64_MAX && count == 2, "they are the last bucket");
	ok(!ovl_hist_next(&h, &at, &upper, &count), "after the last one there is none");
}

static void test_merge(uint64_t *v)
{
	static struct ovl_hist all, half[2], empty;
	uint64_t upper, count, last = 0, seen = 0;
	uint32_t at = 0;
	bool rising = true;

	fill(v, N, 44);
	for (size_t i = 0; i < N; i++) {
		ovl_hist_add(&all, v[i]);
		ovl_hist_add(&half[i % 3 == 0], v[i]);
	}
	ovl_hist_merge(&half[0], &half[1]);
	ok(!memcmp(&half[0], &all, sizeof(all)), "merged parts are the whole, bit by bit");
	ovl_hist_merge(&half[0], &empty);
	ok(!memcmp(&half[0], &all, sizeof(all)), "merging an empty one changes nothing");
	ovl_hist_merge(&empty, &all);
	ok(!memcmp(&empty, &all, sizeof(all)), "merging into an empty one copies");
	while (ovl_hist_next(&all, &at, &upper, &count)) {
		rising &= (!seen || upper > last) && count > 0;
		last = upper;
		seen += count;
	}
	ok(rising && seen == N && last == all.max_ns,
	   "buckets rise, are used, and hold every value");
}

/* What a file may say of a histogram: one that ovl_hist_add could have made, or not. */
static void test_sane(void)
{
	struct ovl_hist good = {0}, h = {0};

	ok(ovl_hist_sane(&h), "an empty one is sane");
	ovl_hist_add(&good, 5);
	ok(ovl_hist_sane(&good), "of one value");
	ovl_hist_add(&good, 70000);
	ovl_hist_add(&good, 70000);
	ok(ovl_hist_sane(&good), "of three");
#define WRONG(change) \
	do { \
		h = good; \
		change; \
		ok(!ovl_hist_sane(&h), "not with " #change); \
	} while (0)
	WRONG(h.count++);
	WRONG(h.count = 0);
	WRONG(h.count = UINT64_MAX);
	WRONG(h.over = 1);
	WRONG(h.bucket[5]--);
	WRONG(h.bucket[6] = UINT64_MAX);
	WRONG(h.bucket[OVL_HIST_BUCKETS - 1]++);
	WRONG(h.min_ns = 6);
	WRONG(h.min_ns = 80000);
	WRONG(h.max_ns = 5);
	WRONG(h.max_ns = UINT64_MAX);
	WRONG(h.sum_ns = 69999);
	/* the sum of its parts wraps round to the count */
	WRONG(h.over = UINT64_MAX - 2; h.bucket[7] = 3; h.max_ns = h.sum_ns = 1ull << 41);
#undef WRONG
	ovl_hist_add(&good, UINT64_MAX);
	ok(ovl_hist_sane(&good), "with one above the top");
	h = good;
	h.max_ns = 70000;
	ok(!ovl_hist_sane(&h), "whose maximum is not below it");
}

int main(void)
{
	static uint64_t v[N];

	test_small();
	test_sane();
	test_edges();
	test_quantiles(v);
	test_overflow();
	test_merge(v);
	return tap_done();
}
