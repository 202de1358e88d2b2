#include "view/json_iperf3.h"

#include <math.h>

#include "view/json_put.h"

static double bps(double bytes, double seconds)
{
	return seconds > 0 ? 8 * bytes / seconds : NAN;
}

static void put_connected(ovl_json start, const struct ovl_transfer *t)
{
	ovl_json list = ovl_json_array(start, "connected");

	ovl_vec_each(s, &t->streams) {
		ovl_json o = ovl_json_element(list);

		ovl_json_i64(o, "socket", s->socket);
		ovl_json_text(o, "local_host", s->local_host);
		ovl_json_u64(o, "local_port", s->local_port);
		ovl_json_text(o, "remote_host", s->remote_host);
		ovl_json_u64(o, "remote_port", s->remote_port);
	}
}

static void put_test(ovl_json start, const struct ovl_transfer *t)
{
	ovl_json o = ovl_json_object(start, "test_start");

	ovl_json_text(o, "protocol", "TCP");
	ovl_json_u64(o, "num_streams", t->streams.n);
	ovl_json_u64(o, "blksize", t->block_bytes);
	ovl_json_number(o, "omit", t->omit_s);
	ovl_json_number(o, "duration", t->duration_s);
	/* the time ends it, no number of bytes or blocks */
	ovl_json_u64(o, "bytes", 0);
	ovl_json_u64(o, "blocks", 0);
	ovl_json_u64(o, "reverse", t->reverse);
	ovl_json_u64(o, "tos", 0);
	ovl_json_number(o, "target_bitrate", t->rate_bps);
}

static void put_start(ovl_json root, const struct ovl_transfer *t)
{
	ovl_json start = ovl_json_object(root, "start"), o;

	put_connected(start, t);
	ovl_json_text(start, "version", t->version);
	ovl_json_text(start, "system_info", t->system_info);
	o = ovl_json_object(start, "timestamp");
	ovl_json_text(o, "time", t->time);
	ovl_json_u64(o, "timesecs", t->start_unix_s);
	o = ovl_json_object(start, "connecting_to");
	ovl_json_text(o, "host", t->host);
	ovl_json_u64(o, "port", t->port);
	ovl_json_text_or_null(start, "cookie", t->cookie);
	ovl_json_number(start, "tcp_mss_default", t->mss_bytes);
	ovl_json_number(start, "target_bitrate", t->rate_bps);
	ovl_json_number(start, "sock_bufsize", t->window_bytes);
	ovl_json_number(start, "sndbuf_actual", t->sndbuf_bytes);
	ovl_json_number(start, "rcvbuf_actual", t->rcvbuf_bytes);
	put_test(start, t);
	o = ovl_json_object(start, "ovltrace");
	ovl_json_text(o, "bytes", t->reverse ? "received" : "acknowledged");
}

/* The members that rows and sums begin with. */
static void put_span(ovl_json o, const struct ovl_transfer_row *row, double bytes)
{
	double seconds = row->end_s - row->start_s;

	ovl_json_number(o, "start", row->start_s);
	ovl_json_number(o, "end", row->end_s);
	ovl_json_number(o, "seconds", seconds);
	ovl_json_number(o, "bytes", bytes);
	ovl_json_number(o, "bits_per_second", bps(bytes, seconds));
}

static void put_interval(ovl_json list, const struct ovl_transfer *t,
			 const struct ovl_transfer_interval *interval)
{
	ovl_json o = ovl_json_element(list), rows = ovl_json_array(o, "streams"), row;

	for (size_t i = 0; i < interval->rows.n && i < t->streams.n; i++) {
		const struct ovl_transfer_row *r = &interval->rows.v[i];

		row = ovl_json_element(rows);
		ovl_json_i64(row, "socket", t->streams.v[i].socket);
		put_span(row, r, r->bytes);
		if (!t->reverse) {
			ovl_json_number(row, "retransmits", r->retransmits);
			ovl_json_number(row, "snd_cwnd", r->cwnd_bytes);
			ovl_json_number(row, "snd_wnd", r->snd_wnd_bytes);
			ovl_json_number(row, "rtt", r->rtt_us);
			ovl_json_number(row, "rttvar", r->rttvar_us);
			ovl_json_number(row, "pmtu", r->pmtu_bytes);
		}
		ovl_json_bool(row, "omitted", interval->omitted);
		ovl_json_bool(row, "sender", !t->reverse);
	}
	row = ovl_json_object(o, "sum");
	put_span(row, &interval->sum, interval->sum.bytes);
	if (!t->reverse)
		ovl_json_number(row, "retransmits", interval->sum.retransmits);
	ovl_json_bool(row, "omitted", interval->omitted);
	ovl_json_bool(row, "sender", !t->reverse);
}

static void put_stream_end(ovl_json list, const struct ovl_transfer *t,
			   const struct ovl_transfer_stream *s)
{
	ovl_json both = ovl_json_element(list), o = ovl_json_object(both, "sender");

	ovl_json_i64(o, "socket", s->socket);
	put_span(o, &s->counted, t->reverse ? s->far_bytes : s->counted.bytes);
	ovl_json_number(o, "retransmits", t->reverse ? s->far_retransmits : s->counted.retransmits);
	ovl_json_number(o, "max_snd_cwnd", s->max_cwnd_bytes);
	ovl_json_number(o, "max_snd_wnd", s->max_snd_wnd_bytes);
	ovl_json_number(o, "max_rtt", s->max_rtt_us);
	ovl_json_number(o, "min_rtt", s->min_rtt_us);
	ovl_json_number(o, "mean_rtt", s->rtt_n ? round(s->rtt_sum_us / s->rtt_n) : NAN);
	ovl_json_bool(o, "sender", !t->reverse);
	o = ovl_json_object(both, "receiver");
	ovl_json_i64(o, "socket", s->socket);
	put_span(o, &s->counted, t->reverse ? s->counted.bytes : s->far_bytes);
	ovl_json_bool(o, "sender", !t->reverse);
}

static void put_sums(ovl_json end, const struct ovl_transfer *t)
{
	ovl_json o = ovl_json_object(end, "sum_sent");

	put_span(o, &t->sum, t->reverse ? t->far_bytes : t->sum.bytes);
	ovl_json_number(o, "retransmits", t->reverse ? t->far_retransmits : t->sum.retransmits);
	ovl_json_bool(o, "sender", !t->reverse);
	o = ovl_json_object(end, "sum_received");
	put_span(o, &t->sum, t->reverse ? t->sum.bytes : t->far_bytes);
	ovl_json_bool(o, "sender", !t->reverse);
}

static void put_cpu(ovl_json end, const struct ovl_transfer *t)
{
	ovl_json o = ovl_json_object(end, "cpu_utilization_percent");

	ovl_json_number(o, "host_total", t->host_cpu);
	ovl_json_number(o, "host_user", t->host_user_cpu);
	ovl_json_number(o, "host_system", t->host_system_cpu);
	ovl_json_number(o, "remote_total", t->remote_cpu);
	ovl_json_number(o, "remote_user", t->remote_user_cpu);
	ovl_json_number(o, "remote_system", t->remote_system_cpu);
}

static void put_end(ovl_json root, const struct ovl_transfer *t)
{
	ovl_json end = ovl_json_object(root, "end"), list;

	if (isnan(t->sum.start_s)) /* ended before anything was measured: empty, as iperf3's */
		return;
	list = ovl_json_array(end, "streams");
	ovl_vec_each(s, &t->streams)
		put_stream_end(list, t, s);
	put_sums(end, t);
	put_cpu(end, t);
	ovl_json_text_or_null(end, "sender_tcp_congestion", t->sender_congestion);
	ovl_json_text_or_null(end, "receiver_tcp_congestion", t->receiver_congestion);
}

void ovl_json_iperf3(struct ovl_buf *out, const struct ovl_transfer *t)
{
	ovl_json root = json_object_new_object(), list;
	const char *text;

	put_start(root, t);
	list = ovl_json_array(root, "intervals");
	ovl_vec_each(interval, &t->intervals)
		put_interval(list, t, interval);
	put_end(root, t);
	if (t->error)
		ovl_json_text(root, "error", t->error);
	text = root ? json_object_to_json_string_ext(root, JSON_C_TO_STRING_PRETTY |
								   JSON_C_TO_STRING_PRETTY_TAB |
								   JSON_C_TO_STRING_NOSLASHESCAPE)
		    : NULL;
	if (text) {
		ovl_buf_puts(out, text);
		ovl_buf_puts(out, "\n");
	} else {
		out->failed = true;
	}
	json_object_put(root);
}
