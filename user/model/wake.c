#include "model/wake.h"

#include <stddef.h>

static struct ovl_wake *find(struct ovl_wake *wake, uint32_t n, uint32_t cpu)
{
	for (uint32_t i = 0; i < n; i++)
		if (wake[i].cpu == cpu)
			return &wake[i];
	return NULL;
}

/* Samples that this CPU's busy time is worth, UINT64_MAX when there is no clock. */
static uint64_t worth(const struct ovl_sample *sample, uint32_t cpu, uint32_t hz)
{
	ovl_vec_each(clock, &sample->cpus) {
		uint64_t away;

		if (clock->cpu != cpu || !clock->wall_ns || !hz)
			continue;
		away = clock->idle_ns + clock->steal_ns;
		if (away >= clock->wall_ns)
			return 0;
		return (uint64_t)((double)(clock->wall_ns - away) * hz / 1e9 + 0.5);
	}
	return UINT64_MAX;
}

uint32_t ovl_wake_budget(const struct ovl_sample *sample, uint32_t hz, struct ovl_wake *out,
			 uint32_t max)
{
	uint32_t n = 0;

	ovl_vec_each(hit, &sample->hits) {
		struct ovl_wake *w = find(out, n, hit->cpu);

		if (hit->ctx != OVL_CTX_WAKE)
			continue;
		if (!w && n < max) {
			w = &out[n++];
			*w = (struct ovl_wake){.cpu = hit->cpu};
		}
		if (w)
			w->left += hit->count;
	}
	for (uint32_t i = 0; i < n; i++) {
		uint64_t room = worth(sample, out[i].cpu, hz), certain = 0;

		ovl_vec_each(hit, &sample->hits)
			if (hit->cpu == out[i].cpu && hit->ctx != OVL_CTX_WAKE)
				certain += hit->count;
		room = room > certain ? room - certain : 0;
		if (out[i].left > room)
			out[i].left = room;
	}
	return n;
}

uint32_t ovl_wake_take(struct ovl_wake *wake, uint32_t n, const struct ovl_hit *hit)
{
	struct ovl_wake *w = find(wake, n, hit->cpu);
	uint32_t taken;

	if (hit->ctx != OVL_CTX_WAKE || !w)
		return hit->count;
	taken = w->left < hit->count ? (uint32_t)w->left : hit->count;
	w->left -= taken;
	return taken;
}
