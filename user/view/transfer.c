#include "view/transfer.h"

#include <errno.h>
#include <math.h>

struct ovl_transfer_row ovl_transfer_unknown(void)
{
	return (struct ovl_transfer_row){NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN};
}

void ovl_transfer_init(struct ovl_transfer *t)
{
	*t = (struct ovl_transfer){
		.mss_bytes = NAN,
		.rate_bps = NAN,
		.window_bytes = NAN,
		.sndbuf_bytes = NAN,
		.rcvbuf_bytes = NAN,
		.sum = ovl_transfer_unknown(),
		.far_bytes = NAN,
		.far_retransmits = NAN,
		.host_cpu = NAN,
		.host_user_cpu = NAN,
		.host_system_cpu = NAN,
		.remote_cpu = NAN,
		.remote_user_cpu = NAN,
		.remote_system_cpu = NAN,
		.sender = {NAN, NAN, NAN},
		.receiver = {NAN, NAN, NAN},
		.last_mss_bytes = NAN,
		.rwnd_ratio = NAN,
		.sndbuf_ratio = NAN,
	};
}

void ovl_transfer_fini(struct ovl_transfer *t)
{
	ovl_vec_each(interval, &t->intervals)
		ovl_vec_fini(&interval->rows);
	ovl_vec_fini(&t->intervals);
	ovl_vec_fini(&t->streams);
}

/* Lengthen a total by what came after it; the first one is the total. */
static void lengthen(struct ovl_transfer_row *total, const struct ovl_transfer_row *row)
{
	if (isnan(total->start_s)) {
		*total = *row;
		return;
	}
	total->end_s = row->end_s;
	total->bytes += row->bytes;
	total->retransmits += row->retransmits;
}

static void add_to_stream(struct ovl_transfer_stream *s, const struct ovl_transfer_row *row)
{
	if (isnan(s->counted.start_s)) {
		s->max_cwnd_bytes = s->max_snd_wnd_bytes = s->max_rtt_us = s->min_rtt_us = NAN;
		s->rtt_sum_us = 0;
		s->rtt_n = 0;
	}
	lengthen(&s->counted, row);
	/* fmax and fmin take the other one when one is not known */
	s->max_cwnd_bytes = fmax(s->max_cwnd_bytes, row->cwnd_bytes);
	s->max_snd_wnd_bytes = fmax(s->max_snd_wnd_bytes, row->snd_wnd_bytes);
	s->max_rtt_us = fmax(s->max_rtt_us, row->rtt_us);
	s->min_rtt_us = fmin(s->min_rtt_us, row->rtt_us);
	if (!isnan(row->rtt_us)) {
		s->rtt_sum_us += row->rtt_us;
		s->rtt_n++;
	}
}

int ovl_transfer_add(struct ovl_transfer *t, struct ovl_transfer_interval *interval)
{
	struct ovl_transfer_row sum = ovl_transfer_unknown();
	struct ovl_transfer_interval *kept;

	for (size_t i = 0; i < interval->rows.n && i < t->streams.n; i++) {
		const struct ovl_transfer_row *row = &interval->rows.v[i];

		if (isnan(sum.start_s))
			sum = (struct ovl_transfer_row){row->start_s, row->end_s, 0,   0,  NAN,
							NAN,	      NAN,	  NAN, NAN};
		sum.bytes += row->bytes;
		sum.retransmits += row->retransmits;
		if (!interval->omitted)
			add_to_stream(&t->streams.v[i], row);
	}
	interval->sum = sum;
	if (!interval->omitted)
		lengthen(&t->sum, &sum);
	if (!t->keep && t->intervals.n) {
		ovl_vec_fini(&t->intervals.v[0].rows);
		ovl_vec_clear(&t->intervals);
	}
	kept = ovl_vec_push(&t->intervals);
	if (!kept) {
		ovl_vec_fini(&interval->rows);
		return -ENOMEM;
	}
	*kept = *interval;
	return 0;
}
