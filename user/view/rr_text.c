#include "view/rr_text.h"

#include <math.h>
#include <stdio.h>

#include "base/units.h"

static void put_time(struct ovl_buf *out, double ns)
{
	char s[OVL_UNITS_MAX];

	ovl_buf_printf(out, "%10s", ovl_units_text(s, ns, ovl_units_time(ns, true), true));
}

static double quantile_ns(const struct ovl_hist *rtt, double q)
{
	uint64_t ns;

	return ovl_hist_quantile(rtt, q, &ns) ? (double)ns : NAN;
}

static double mean_ns(const struct ovl_hist *rtt)
{
	return rtt->count ? (double)rtt->sum_ns / (double)rtt->count : NAN;
}

static double or_unknown(const struct ovl_hist *rtt, uint64_t ns)
{
	return rtt->count ? (double)ns : NAN;
}

/* Each began when the one before had ended, so their sum is the time they took. */
static double rate_ps(const struct ovl_hist *rtt)
{
	return rtt->sum_ns ? (double)rtt->count * 1e9 / (double)rtt->sum_ns : NAN;
}

void ovl_rr_text_start(struct ovl_buf *out, const char *host, uint32_t message_bytes)
{
	ovl_buf_printf(out,
		       "Round trips with %s, one at a time: %u byte%s there and as many back\n"
		       "Interval           Round trips          Rate      mean       p50       p99"
		       "       max\n",
		       host, message_bytes, message_bytes == 1 ? "" : "s");
}

void ovl_rr_text_interval(struct ovl_buf *out, double start_s, double end_s,
			  const struct ovl_hist *rtt)
{
	char start[OVL_UNITS_MAX], end[OVL_UNITS_MAX], rate[OVL_UNITS_MAX];

	ovl_units_fixed(start, start_s, 2);
	ovl_units_fixed(end, end_s, 2);
	ovl_units_text(rate, rate_ps(rtt), ovl_units_count(rate_ps(rtt)), true);
	ovl_buf_printf(out, "%6s-%-6s sec  %11llu  %10s/s", start, end,
		       (unsigned long long)rtt->count, rate);
	put_time(out, mean_ns(rtt));
	put_time(out, quantile_ns(rtt, 0.5));
	put_time(out, quantile_ns(rtt, 0.99));
	put_time(out, or_unknown(rtt, rtt->max_ns));
	ovl_buf_puts(out, "\n");
}

static void put_all(struct ovl_buf *out, const char *name, const struct ovl_hist *rtt, double part)
{
	static const double shares[] = {0.5, 0.9, 0.99, 0.999};

	ovl_buf_printf(out, "%-10s", name);
	put_time(out, part * or_unknown(rtt, rtt->min_ns));
	put_time(out, part * mean_ns(rtt));
	for (size_t i = 0; i < sizeof(shares) / sizeof(shares[0]); i++)
		put_time(out, part * quantile_ns(rtt, shares[i]));
	put_time(out, part * or_unknown(rtt, rtt->max_ns));
	ovl_buf_puts(out, "\n");
}

void ovl_rr_text_end(struct ovl_buf *out, const struct ovl_hist *rtt)
{
	char rate[OVL_UNITS_MAX], time[OVL_UNITS_MAX];
	const double rtt_ns = (double)rtt->sum_ns;

	if (!rtt->count) {
		ovl_buf_puts(out, "nothing was measured: it ended before that began\n");
		return;
	}
	ovl_units_text(rate, rate_ps(rtt), ovl_units_count(rate_ps(rtt)), true);
	ovl_units_text(time, rtt_ns, ovl_units_time(rtt_ns, true), true);
	ovl_buf_printf(out, "\n%llu round trips in %s, %s/s\n", (unsigned long long)rtt->count,
		       time, rate);
	ovl_buf_puts(out, "                 min      mean       p50       p90       p99     p99.9"
			  "       max\n");
	put_all(out, "round trip", rtt, 1);
	put_all(out, "half of it", rtt, 0.5);
	ovl_buf_puts(out, "half the round trip is what qperf's tcp_lat and sockperf print\n");
}
