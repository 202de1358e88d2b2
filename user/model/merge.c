#include "model/merge.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#define FNV_BASIS 2166136261u
#define FNV_PRIME 16777619u

static uint32_t hash_text(uint32_t hash, const char *s, size_t max)
{
	for (size_t i = 0; i < max && s[i]; i++)
		hash = (hash ^ (uint8_t)s[i]) * FNV_PRIME;
	return hash * FNV_PRIME;
}

static uint32_t hash_u32(uint32_t hash, uint32_t v)
{
	for (int i = 0; i < 4; i++, v >>= 8)
		hash = (hash ^ (v & 0xff)) * FNV_PRIME;
	return hash;
}

/* Same text? Fields of damaged records need not be terminated. */
#define same_text(a, b) (strncmp(a, b, sizeof(a)) == 0)
#define end_text(s)	((s)[sizeof(s) - 1] = '\0')

/*
 * Find the entry `it` of vec for which `same` holds, or make one (then *fresh is true). `it` is
 * NULL without memory or room.
 */
#define find_or_push(it, vec, index, hash, same, fresh) \
	do { \
		uint32_t at_ = (hash) % OVL_MERGE_SLOTS; \
		(fresh) = false; \
		for (; (index)->slot[at_]; at_ = (at_ + 1) % OVL_MERGE_SLOTS) { \
			(it) = &(vec)->v[(index)->slot[at_] - 1]; \
			if (same) \
				break; \
		} \
		if (!(index)->slot[at_]) { \
			(it) = (vec)->n < OVL_MERGE_MAX ? ovl_vec_push(vec) : NULL; \
			if (it) \
				(index)->slot[at_] = (uint16_t)(vec)->n; \
			(fresh) = true; \
		} \
	} while (0)

static int no_entry(struct ovl_merge *m, size_t n)
{
	if (n < OVL_MERGE_MAX)
		return -ENOMEM;
	m->overflow++;
	return 0;
}

int ovl_merge_symbol(struct ovl_merge *m, const struct ovl_symbol_hit *hit)
{
	uint32_t hash = hash_u32(hash_text(FNV_BASIS, hit->name, sizeof(hit->name)), hit->stage);
	struct ovl_merged_symbol *it = NULL;
	bool fresh;

	find_or_push(it, &m->symbols, &m->symbol_index, hash,
		     it->stage == hit->stage && same_text(it->name, hit->name), fresh);
	if (!it)
		return no_entry(m, m->symbols.n);
	if (fresh) {
		it->stage = hit->stage;
		memcpy(it->name, hit->name, sizeof(it->name));
		end_text(it->name);
	}
	it->count += hit->count;
	return 0;
}

static bool same_drop(const struct ovl_drop *a, const struct ovl_drop *b)
{
	return a->ns == b->ns && a->stage == b->stage && a->benign == b->benign &&
	       same_text(a->reason, b->reason) && same_text(a->symbol, b->symbol) &&
	       same_text(a->iface, b->iface);
}

int ovl_merge_drop(struct ovl_merge *m, const struct ovl_drop *drop)
{
	uint32_t hash = hash_text(FNV_BASIS, drop->reason, sizeof(drop->reason));
	struct ovl_drop *it = NULL;
	bool fresh;

	hash = hash_text(hash, drop->symbol, sizeof(drop->symbol));
	hash = hash_text(hash, drop->iface, sizeof(drop->iface));
	hash = hash_u32(hash, drop->ns ^ (uint32_t)drop->stage << 24);
	find_or_push(it, &m->drops, &m->drop_index, hash, same_drop(it, drop), fresh);
	if (!it)
		return no_entry(m, m->drops.n);
	if (fresh) {
		*it = *drop;
		end_text(it->reason);
		end_text(it->symbol);
		end_text(it->iface);
		return 0;
	}
	it->pkts += drop->pkts;
	it->segs += drop->segs;
	return 0;
}

int ovl_merge_counter(struct ovl_merge *m, const struct ovl_counter *counter)
{
	uint32_t hash = hash_text(FNV_BASIS, counter->name, sizeof(counter->name));
	struct ovl_counter *it = NULL;
	bool fresh;

	hash = hash_u32(hash_text(hash, counter->group, sizeof(counter->group)), counter->ns);
	find_or_push(it, &m->counters, &m->counter_index, hash,
		     it->ns == counter->ns && same_text(it->name, counter->name) &&
			     same_text(it->group, counter->group),
		     fresh);
	if (!it)
		return no_entry(m, m->counters.n);
	if (fresh) {
		*it = *counter;
		end_text(it->group);
		end_text(it->name);
		return 0;
	}
	if (__builtin_add_overflow(it->delta, counter->delta, &it->delta))
		it->delta = counter->delta > 0 ? INT64_MAX : INT64_MIN;
	return 0;
}

void ovl_merge_fini(struct ovl_merge *m)
{
	ovl_vec_fini(&m->symbols);
	ovl_vec_fini(&m->drops);
	ovl_vec_fini(&m->counters);
}
