/* Sharing out by samples, and uncertainty. */
#include <math.h>

#include "model/lane.h"
#include "model/ledger.h"
#include "model/stats.h"
#include "tap.h"

static uint64_t sum(const uint64_t *v, size_t n)
{
	uint64_t all = 0;

	for (size_t i = 0; i < n; i++)
		all += v[i];
	return all;
}

static void test_share(void)
{
	uint64_t out[OVL_LEDGER_ROWS], n[OVL_LEDGER_ROWS + 1] = {1};

	is_int(ovl_ledger_share(10, (uint64_t[]){1, 1, 1}, 3, out), 10, "all is shared out");
	ok(out[0] == 4 && out[1] == 3 && out[2] == 3, "ties go to the lower index");
	ovl_ledger_share(100, (uint64_t[]){5, 0, 2}, 3, out);
	ok(out[0] == 71 && out[1] == 0 && out[2] == 29, "the largest remainder gets the rest");
	ovl_ledger_share(7, (uint64_t[]){0, 0, 3}, 3, out);
	ok(out[0] == 0 && out[2] == 7, "a row without samples gets nothing");
	is_int(ovl_ledger_share(7, (uint64_t[]){0, 0, 0}, 3, out), 0,
	       "no samples: nothing is shared");
	is_int(sum(out, 3), 0, "and all parts are 0");
	ovl_ledger_share(0, (uint64_t[]){1, 2, 3}, 3, out);
	is_int(sum(out, 3), 0, "nothing to share");
	ovl_ledger_share(1000003, (uint64_t[]){UINT64_MAX, UINT64_MAX, 1}, 3, out);
	ok(sum(out, 3) == 1000003 && out[0] - out[1] <= 1, "huge counts are scaled");
	ovl_ledger_share(UINT64_MAX, (uint64_t[]){3, 1, UINT32_MAX}, 3, out);
	ok(sum(out, 3) == UINT64_MAX, "a huge total adds up");
	is_int(ovl_ledger_share(5, n, OVL_LEDGER_ROWS + 1, out), 0, "too many rows: refused");
}

static void test_share_random(void)
{
	uint64_t n[40], out[40], x = 88172645463325252u;
	int bad = 0, off = 0;

	for (int i = 0; i < 20000; i++) {
		uint64_t total, samples;
		size_t rows = 1 + (size_t)i % 40;

		for (size_t r = 0; r < rows; r++) {
			x ^= x << 13, x ^= x >> 7, x ^= x << 17;
			n[r] = x % (i % 2 ? 10 : 1000000);
		}
		total = x % 1000000000000;
		samples = sum(n, rows);
		ovl_ledger_share(total, n, rows, out);
		bad += sum(out, rows) != (samples ? total : 0);
		for (size_t r = 0; r < rows && samples; r++)
			off += fabsl((long double)out[r] - (long double)total * n[r] / samples) >
			       1.0001L;
	}
	is_int(bad, 0, "20000 random ledgers add up exactly");
	is_int(off, 0, "no part is further than 1 from its share");
}

static void test_error(void)
{
	ok(fabs(ovl_ledger_error(4850, 0, 1000, 4850000000u, 5000000000u)) < 1e-12,
	   "a perfect ledger");
	ok(fabs(ovl_ledger_error(4600, 0, 1000, 4850000000u, 5000000000u) - 0.05) < 1e-12,
	   "250 lost samples of 5 s are 5 %%");
	ok(fabs(ovl_ledger_error(5100, 0, 1000, 4850000000u, 5000000000u) - 0.05) < 1e-12,
	   "too many count as much");
	ok(ovl_ledger_error(4600, 300, 1000, 4850000000u, 5000000000u) == 0,
	   "samples that may have been idle leave room");
	ok(fabs(ovl_ledger_error(4600, 200, 1000, 4850000000u, 5000000000u) - 0.01) < 1e-12,
	   "as far as they reach");
	ok(isnan(ovl_ledger_error(1, 0, 0, 1, 1)), "unknown without a rate");
	ok(isnan(ovl_ledger_error(1, 0, 1000, 1, 0)), "and without wall time");
}

static void test_jackknife(void)
{
	/* leave-one-out means of 1…5: the jackknife is their mean's standard error, sqrt(2.5/5) */
	const double loo[] = {14 / 4.0, 13 / 4.0, 12 / 4.0, 11 / 4.0, 10 / 4.0};

	ok(fabs(ovl_stats_jackknife(loo, 5) - sqrt(0.5)) < 1e-12, "the mean's standard error");
	ok(isnan(ovl_stats_jackknife(loo, 2)), "two are too few");
	ok(ovl_stats_jackknife((double[]){3, 3, 3}, 3) == 0, "no spread, no error");
	ok(isnan(ovl_stats_jackknife((double[]){1, NAN, 3}, 3)), "an unknown makes it unknown");
	ok(fabs(ovl_stats_binomial(0.5, 100) - 0.05) < 1e-12, "half of 100 samples: ± 5 points");
	ok(isnan(ovl_stats_binomial(0.5, 0)) && isnan(ovl_stats_binomial(NAN, 9)) &&
		   isnan(ovl_stats_binomial(1.5, 9)),
	   "no samples or no share: unknown");
}

static void test_hist(void)
{
	struct ovl_stats_hist h = {0};
	int bad = 0;

	is_int(ovl_stats_hist_quantile(&h, 0.5), 0, "an empty histogram");
	for (uint32_t i = 1; i <= 1000; i++)
		ovl_stats_hist_add(&h, i);
	for (int q = 1; q <= 100; q++) {
		double want = q * 10.0, got = ovl_stats_hist_quantile(&h, q / 100.0);

		bad += got < want || got > want * 1.032 + 1;
	}
	is_int(bad, 0, "every percentile is within 3.2 %% above");
	is_int(ovl_stats_hist_quantile(&h, 1), 1000, "the last is the maximum");
	ovl_stats_hist_add(&h, UINT32_MAX);
	ovl_stats_hist_add(&h, 0);
	is_int(ovl_stats_hist_quantile(&h, 1), UINT32_MAX, "the largest value fits");
	is_int(ovl_stats_hist_quantile(&h, 0), 0, "so does the smallest");
	is_int(ovl_stats_hist_quantile(&h, NAN), 0, "a quantile that is none does no harm");
}

static void test_lane_rows(void)
{
	struct ovl_lane_acc a = {.wall_ns = 1000, .idle_ns = 100, .steal_ns = 50};
	struct ovl_conn_acc c = {
		.wall_ns = 1000500, .busy_us = 900, .rwnd_us = 300, .sndbuf_us = 100};
	uint64_t rows[OVL_ROW_COUNT];

	a.n[OVL_STAGE_TCP_TX] = 2;
	a.n[OVL_ROW_OTHER_TASKS] = 1;
	ovl_lane_cpu_rows(&a, 1000, 0, rows);
	is_int(sum(rows, OVL_ROWS_CPU), 1000, "a CPU's rows add up to its wall time");
	ok(rows[OVL_ROW_IDLE] == 100 && rows[OVL_ROW_STEAL] == 50,
	   "idle and steal come from the clock");
	ok(rows[OVL_STAGE_TCP_TX] == 567 && rows[OVL_ROW_OTHER_TASKS] == 283, "busy from samples");
	ovl_lane_cpu_rows(&a, 1000, 2001, rows);
	is_int(sum(rows, OVL_ROWS_CPU), 2001, "or to the load's time");
	is_int(rows[OVL_ROW_IDLE], 200, "with idle in proportion");
	a.idle_ns = 2000;
	ovl_lane_cpu_rows(&a, 1000, 0, rows);
	ok(rows[OVL_ROW_IDLE] == 1000 && sum(rows, OVL_ROWS_CPU) == 1000, "too much idle is cut");
	a = (struct ovl_lane_acc){.wall_ns = 1000, .idle_ns = 400};
	ovl_lane_cpu_rows(&a, 1000, 0, rows);
	is_int(rows[OVL_STAGE_UNCLASSIFIED], 600, "busy time without samples is unclassified");
	ovl_lane_conn_rows(&c, rows);
	is_int(sum(rows, OVL_ROWS_CONN), 1000500, "the connection's rows add up");
	ok(rows[0] == 100500 && rows[1] == 300000 && rows[2] == 100000 && rows[3] == 500000,
	   "rwnd and sndbuf are parts of busy, app is the rest");
	c.busy_us = 9000;
	c.rwnd_us = 8000;
	ovl_lane_conn_rows(&c, rows);
	ok(sum(rows, OVL_ROWS_CONN) == 1000500 && rows[1] == 1000000,
	   "states beyond the time are cut");
}

int main(void)
{
	test_share();
	test_share_random();
	test_error();
	test_jackknife();
	test_hist();
	test_lane_rows();
	return tap_done();
}
