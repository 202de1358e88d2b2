#include "view/iperf3_text.h"

#include <math.h>
#include <stdio.h>

#include "base/units.h"

#define RULE "- - - - - - - - - - - - - - - - - - - - - - - - -\n"
#define CELL 40

/* Three significant digits in four places, as iperf3 writes all its numbers. */
static void four_places(char *out, double v, const char *unit)
{
	char number[OVL_UNITS_MAX];

	ovl_units_fixed(number, v, v < 9.995 ? 2 : v < 99.95 ? 1 : 0);
	snprintf(out, CELL, "%4s %s", number, unit);
}

static void scaled(char *out, double v, double per, const char *const *units)
{
	if (isnan(v)) {
		snprintf(out, CELL, "   - ");
		return;
	}
	while (v >= per && units[1]) {
		v /= per;
		units++;
	}
	four_places(out, v, *units);
}

static void bytes_cell(char *out, double bytes)
{
	static const char *const units[] = {"Bytes", "KBytes", "MBytes", "GBytes", "TBytes", NULL};

	scaled(out, bytes, 1024, units);
}

static void rate_cell(char *out, const struct ovl_transfer_row *row, double bytes)
{
	static const char *const units[] = {"bits/sec",	 "Kbits/sec", "Mbits/sec",
					    "Gbits/sec", "Tbits/sec", NULL};
	double seconds = row->end_s - row->start_s;

	scaled(out, seconds > 0 ? 8 * bytes / seconds : NAN, 1000, units);
}

static void rtt_cell(char *out, double us)
{
	static const char *const units[] = {"ms", "s", NULL};
	char number[OVL_UNITS_MAX];

	/* the kernel counts whole microseconds */
	if (us < 999.5)
		snprintf(out, CELL, "%4s us", ovl_units_fixed(number, us, 0));
	else
		scaled(out, us / 1000, 1000, units);
}

static void count_cell(char *out, double v)
{
	char number[OVL_UNITS_MAX];

	snprintf(out, CELL, "%3s", isnan(v) ? "-" : ovl_units_fixed(number, v, 0));
}

/* End a line, without the blanks that an empty last column would leave. */
static void end_line(struct ovl_buf *out)
{
	while (out->n && out->s[out->n - 1] == ' ')
		out->s[--out->n] = '\0';
	ovl_buf_puts(out, "\n");
}

/*
 * "[  5]   0.00-1.00   sec  3.41 GBytes  29.3 Gbits/sec": the columns that all lines have. s NULL:
 * of the sum.
 */
static void put_common(struct ovl_buf *out, const struct ovl_transfer_stream *s,
		       const struct ovl_transfer_row *row, double bytes)
{
	char start[OVL_UNITS_MAX], end[OVL_UNITS_MAX], transfer[CELL], rate[CELL];

	if (s)
		ovl_buf_printf(out, "[%3d]", s->socket);
	else
		ovl_buf_puts(out, "[SUM]");
	ovl_units_fixed(start, row->start_s, 2);
	ovl_units_fixed(end, row->end_s, 2);
	bytes_cell(transfer, bytes);
	rate_cell(rate, row, bytes);
	ovl_buf_printf(out, " %6s-%-6s sec  %-11s  %-14s", start, end, transfer, rate);
}

static void put_row(struct ovl_buf *out, const struct ovl_transfer *t,
		    const struct ovl_transfer_stream *s, const struct ovl_transfer_row *row,
		    bool omitted)
{
	char retransmits[CELL], cwnd[CELL] = "", rtt[CELL] = "";

	put_common(out, s, row, row->bytes);
	if (t->reverse) {
		ovl_buf_printf(out, "%18s", "");
	} else {
		count_cell(retransmits, row->retransmits);
		if (s) {
			bytes_cell(cwnd, row->cwnd_bytes);
			rtt_cell(rtt, row->rtt_us);
		}
		if (t->plain && s)
			ovl_buf_printf(out, "  %s   %-11s       ", retransmits, cwnd);
		else if (t->plain)
			ovl_buf_printf(out, "  %s             ", retransmits);
		else
			ovl_buf_printf(out, "  %s   %-11s  %-7s  ", retransmits, cwnd, rtt);
	}
	ovl_buf_puts(out, omitted ? "(omitted)" : "");
	end_line(out);
}

void ovl_iperf3_text_start(struct ovl_buf *out, const struct ovl_transfer *t)
{
	ovl_buf_printf(out, "Connecting to host %s, port %u\n", t->host, t->port);
	if (t->reverse)
		ovl_buf_printf(out, "Reverse mode, remote host %s is sending\n", t->host);
	ovl_vec_each(s, &t->streams)
		ovl_buf_printf(out, "[%3d] local %s port %u connected to %s port %u\n", s->socket,
			       s->local_host, s->local_port, s->remote_host, s->remote_port);
	ovl_buf_puts(out, "[ ID] Interval           Transfer     Bitrate");
	/* so does iperf3 3.12 also of reverse tests, whose lines have neither, but for -O */
	if (t->plain && !(t->reverse && t->omit_s > 0))
		ovl_buf_puts(out, "         Retr  Cwnd");
	else if (!t->reverse)
		ovl_buf_puts(out, "         Retr  Cwnd         RTT");
	ovl_buf_puts(out, "\n");
}

void ovl_iperf3_text_interval(struct ovl_buf *out, const struct ovl_transfer *t,
			      const struct ovl_transfer_interval *interval, bool first)
{
	if (t->streams.n > 1 && !first)
		ovl_buf_puts(out, RULE);
	for (size_t i = 0; i < interval->rows.n && i < t->streams.n; i++)
		put_row(out, t, &t->streams.v[i], &interval->rows.v[i], interval->omitted);
	if (t->streams.n > 1)
		put_row(out, t, NULL, &interval->sum, interval->omitted);
}

/* What the sender and what the receiver says; s NULL: of all connections. */
static void put_total(struct ovl_buf *out, const struct ovl_transfer *t,
		      const struct ovl_transfer_stream *s)
{
	const struct ovl_transfer_row *counted = s ? &s->counted : &t->sum;
	double far_bytes = s ? s->far_bytes : t->far_bytes;
	double far_retransmits = s ? s->far_retransmits : t->far_retransmits;
	char retransmits[CELL];

	put_common(out, s, counted, t->reverse ? far_bytes : counted->bytes);
	count_cell(retransmits, t->reverse ? far_retransmits : counted->retransmits);
	ovl_buf_printf(out, "  %s             sender\n", retransmits);
	put_common(out, s, counted, t->reverse ? counted->bytes : far_bytes);
	ovl_buf_printf(out, "%18s%s\n", "", "receiver");
}

/* A number, "-" if it is not known. */
static const char *known(char *out, double v, int decimals)
{
	return isnan(v) ? "-" : ovl_units_fixed(out, v, decimals);
}

static void put_side(struct ovl_buf *out, const char *name, const struct ovl_transfer_side *side)
{
	char cpu[OVL_UNITS_MAX], waits[OVL_UNITS_MAX], preempted[OVL_UNITS_MAX];

	ovl_buf_printf(out,
		       "%-8s  CPU %s ns/KiB, context switches per MiB: %s voluntary, %s "
		       "involuntary\n",
		       name, known(cpu, side->cpu_ns_per_kib, 1),
		       known(waits, side->voluntary_per_mib, 2),
		       known(preempted, side->involuntary_per_mib, 2));
}

/* What iperf3 does not tell: what a byte has cost at both ends, and what TCP waited for. */
static void put_costs(struct ovl_buf *out, const struct ovl_transfer *t)
{
	char mss[OVL_UNITS_MAX], rwnd[OVL_UNITS_MAX], sndbuf[OVL_UNITS_MAX];

	put_side(out, "sender", &t->sender);
	put_side(out, "receiver", &t->receiver);
	ovl_buf_printf(out, "TCP       %s, MSS %s",
		       *t->sender_congestion ? t->sender_congestion : "-",
		       known(mss, t->last_mss_bytes, 0));
	if (!isnan(t->rwnd_ratio) || !isnan(t->sndbuf_ratio))
		ovl_buf_printf(out,
			       "; limited by the receiver's window %s %%, by the send buffer %s %% "
			       "of the time",
			       known(rwnd, 100 * t->rwnd_ratio, 1),
			       known(sndbuf, 100 * t->sndbuf_ratio, 1));
	ovl_buf_puts(out, "\n");
	if (*t->disagreement)
		ovl_buf_printf(out, "%s\n", t->disagreement);
}

void ovl_iperf3_text_end(struct ovl_buf *out, const struct ovl_transfer *t)
{
	if (isnan(t->sum.start_s)) {
		ovl_buf_puts(out, "nothing was measured: it ended before that began\n");
		return;
	}
	ovl_buf_puts(out, RULE "[ ID] Interval           Transfer     Bitrate         Retr\n");
	ovl_vec_each(s, &t->streams)
		put_total(out, t, s);
	if (t->streams.n > 1)
		put_total(out, t, NULL);
	if (!t->plain)
		put_costs(out, t);
	else if (!t->error)
		ovl_buf_puts(out, "\niperf Done.\n");
}
