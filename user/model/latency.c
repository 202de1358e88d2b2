/* Waits at the devices of the path, as quantiles. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "bpf/hist.h"
#include "model/packets.h"

/* The packet at this share of all, placed evenly within its bucket. */
static uint64_t quantile(const struct ovl_wait_spread *l, double share)
{
	double rank = share * (double)l->count, below = 0;

	for (uint32_t i = 0; i < OVL_WAIT_BUCKETS; i++) {
		double n = (double)l->n[i];

		if (n > 0 && below + n >= rank) {
			uint64_t low = i ? ovl_wait_upper_ns(i - 1) : 0;
			uint64_t high = i + 1 < OVL_WAIT_BUCKETS ? ovl_wait_upper_ns(i) : l->max_ns;
			double ns = (double)low;

			if (high > low)
				ns += (double)(high - low) * (rank - below) / n;
			return ns < (double)l->max_ns ? (uint64_t)ns : l->max_ns;
		}
		below += n;
	}
	return l->max_ns;
}

static int by_kind(const void *a, const void *b)
{
	const struct ovl_wait_spread *x = a, *y = b;

	if (x->kind != y->kind)
		return x->kind < y->kind ? -1 : 1;
	if (x->link != y->link)
		return x->link < y->link ? -1 : 1;
	return x->dir - y->dir;
}

/* Is the direction of a packet looked at where this wait ends? */
static bool has_dir(uint8_t kind)
{
	return kind == OVL_WAIT_ENCAP || kind == OVL_WAIT_DECAP_GRO || kind == OVL_WAIT_SOFTIRQ ||
	       kind == OVL_WAIT_SEGMENT;
}

int ovl_latency_build(const struct ovl_packets_acc *acc, struct ovl_packets_model *out)
{
	ovl_vec_each(w, &acc->waits) {
		struct ovl_wait_spread *l = ovl_vec_push(&out->latency);

		if (!l)
			return -ENOMEM;
		l->kind = w->kind;
		l->link = w->link;
		l->dir = has_dir(w->kind) ? w->dir : -1;
		l->sum_ns = w->sum_ns;
		l->max_ns = w->max_ns;
		memcpy(l->n, w->n, sizeof(l->n));
		for (uint32_t i = 0; i < OVL_WAIT_BUCKETS; i++)
			l->count += w->n[i];
		l->p50_ns = quantile(l, 0.50);
		l->p90_ns = quantile(l, 0.90);
		l->p99_ns = quantile(l, 0.99);
	}
	if (out->latency.n)
		qsort(out->latency.v, out->latency.n, sizeof(*out->latency.v), by_kind);
	return 0;
}
