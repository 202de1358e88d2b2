#include "base/hist.h"

#include <math.h>

#define STEPS (1u << OVL_HIST_STEP_BITS)

/* Below STEPS each value has its bucket; then STEPS of them for each power of two. */
static uint32_t index_of(uint64_t ns)
{
	uint32_t shift;

	if (ns < STEPS)
		return (uint32_t)ns;
	shift = 63u - (uint32_t)__builtin_clzll(ns) - OVL_HIST_STEP_BITS;
	return shift * STEPS + (uint32_t)(ns >> shift);
}

static uint64_t upper_of(uint32_t index)
{
	uint32_t shift;

	if (index < 2 * STEPS)
		return index;
	shift = index / STEPS - 1;
	return ((uint64_t)(index % STEPS + STEPS + 1) << shift) - 1;
}

static uint64_t sum(uint64_t a, uint64_t b)
{
	return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

void ovl_hist_add(struct ovl_hist *h, uint64_t ns)
{
	if (!h->count || ns < h->min_ns)
		h->min_ns = ns;
	if (!h->count || ns > h->max_ns)
		h->max_ns = ns;
	h->count++;
	h->sum_ns = sum(h->sum_ns, ns);
	if (ns >> OVL_HIST_TOP_BITS)
		h->over++;
	else
		h->bucket[index_of(ns)]++;
}

bool ovl_hist_sane(const struct ovl_hist *h)
{
	uint64_t n = h->over, lowest = UINT64_MAX, highest = 0;

	if (h->count >> 53 || h->over > h->count)
		return false;
	for (uint32_t i = 0; i < OVL_HIST_BUCKETS; i++) {
		if (!h->bucket[i])
			continue;
		if (h->bucket[i] > h->count)
			return false;
		n += h->bucket[i]; /* cannot overflow: so many buckets of 2^53 */
		if (lowest == UINT64_MAX)
			lowest = i;
		highest = i;
	}
	if (n != h->count)
		return false;
	if (!n)
		return true;
	if (h->min_ns > h->max_ns || h->sum_ns < h->max_ns)
		return false;
	if (!h->over && (h->max_ns >> OVL_HIST_TOP_BITS || index_of(h->max_ns) != highest))
		return false;
	if (h->over && !(h->max_ns >> OVL_HIST_TOP_BITS))
		return false;
	if (lowest == UINT64_MAX)
		return h->min_ns >> OVL_HIST_TOP_BITS;
	return !(h->min_ns >> OVL_HIST_TOP_BITS) && index_of(h->min_ns) == lowest;
}

void ovl_hist_merge(struct ovl_hist *h, const struct ovl_hist *from)
{
	if (!from->count)
		return;
	if (!h->count || from->min_ns < h->min_ns)
		h->min_ns = from->min_ns;
	if (!h->count || from->max_ns > h->max_ns)
		h->max_ns = from->max_ns;
	h->count += from->count;
	h->over += from->over;
	h->sum_ns = sum(h->sum_ns, from->sum_ns);
	for (uint32_t i = 0; i < OVL_HIST_BUCKETS; i++)
		h->bucket[i] += from->bucket[i];
}

bool ovl_hist_next(const struct ovl_hist *h, uint32_t *at, uint64_t *upper_ns, uint64_t *count)
{
	while (*at < OVL_HIST_BUCKETS && !h->bucket[*at])
		++*at;
	if (*at > OVL_HIST_BUCKETS || (*at == OVL_HIST_BUCKETS && !h->over))
		return false;
	*count = *at < OVL_HIST_BUCKETS ? h->bucket[*at] : h->over;
	*upper_ns = *at < OVL_HIST_BUCKETS ? upper_of(*at) : h->max_ns;
	if (*upper_ns > h->max_ns)
		*upper_ns = h->max_ns;
	++*at;
	return true;
}

bool ovl_hist_quantile(const struct ovl_hist *h, double q, uint64_t *ns)
{
	double rank = ceil(q * (double)h->count);
	uint64_t below = 0, count;
	uint32_t at = 0;

	if (!h->count)
		return false;
	while (ovl_hist_next(h, &at, ns, &count)) {
		below += count;
		if ((double)below >= rank)
			break;
	}
	return true;
}
