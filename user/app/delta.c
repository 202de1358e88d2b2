#include "app/delta.h"

#include <string.h>

static uint64_t less(uint64_t after, uint64_t before)
{
	return after > before ? after - before : 0;
}

void ovl_delta_take(const struct ovl_load_counts *before, const struct ovl_load_counts *after,
		    struct ovl_load_delta *d)
{
	const struct ovl_load_switches *tx0 = &before->sender_switches,
				       *tx = &after->sender_switches;
	const struct ovl_load_switches *rx0 = &before->receiver_switches;
	const struct ovl_load_switches *rx = &after->receiver_switches;

	*d = (struct ovl_load_delta){
		.valid = true,
		.wall_ns = less(after->ts_ns, before->ts_ns),
		.bytes = less(after->bytes, before->bytes),
		.retransmits = less(after->retransmits, before->retransmits),
		.busy_us = less(after->busy_us, before->busy_us),
		.rwnd_us = less(after->rwnd_us, before->rwnd_us),
		.sndbuf_us = less(after->sndbuf_us, before->sndbuf_us),
		.sender_cpu_ns = less(after->sender_cpu_ns, before->sender_cpu_ns),
		.receiver_cpu_ns = less(after->receiver_cpu_ns, before->receiver_cpu_ns),
		.sender_switches = tx0->known && tx->known,
		.sender_voluntary = less(tx->voluntary, tx0->voluntary),
		.sender_involuntary = less(tx->involuntary, tx0->involuntary),
		.receiver_switches = rx0->known && rx->known,
		.receiver_voluntary = less(rx->voluntary, rx0->voluntary),
		.receiver_involuntary = less(rx->involuntary, rx0->involuntary),
		.cwnd_segs = after->cwnd_segs,
		.mss_bytes = after->mss_bytes,
		.rtt_n = after->rtt_n < OVL_LOAD_RTT_MAX ? after->rtt_n : OVL_LOAD_RTT_MAX,
	};
	memcpy(d->rtt_us, after->rtt_us, sizeof(d->rtt_us));
}

void ovl_delta_add(struct ovl_load_delta *sum, const struct ovl_load_delta *delta)
{
	const struct ovl_load_delta before = *sum;

	*sum = *delta;
	sum->wall_ns += before.wall_ns;
	sum->bytes += before.bytes;
	sum->retransmits += before.retransmits;
	sum->busy_us += before.busy_us;
	sum->rwnd_us += before.rwnd_us;
	sum->sndbuf_us += before.sndbuf_us;
	sum->sender_cpu_ns += before.sender_cpu_ns;
	sum->receiver_cpu_ns += before.receiver_cpu_ns;
	sum->sender_voluntary += before.sender_voluntary;
	sum->sender_involuntary += before.sender_involuntary;
	sum->receiver_voluntary += before.receiver_voluntary;
	sum->receiver_involuntary += before.receiver_involuntary;
	if (!before.valid)
		return;
	sum->sender_switches &= before.sender_switches;
	sum->receiver_switches &= before.receiver_switches;
}
