#include "collect/leaves.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"

#define FIRST_SLOTS 1024

static size_t slot_of(int symbol, uint32_t stage, size_t cap)
{
	uint64_t h = ((uint64_t)(uint32_t)symbol << 8 | stage) * 0x9e3779b97f4a7c15ull;

	return (size_t)(h >> 32) & (cap - 1);
}

static int set_cap(struct ovl_leaves *l, size_t cap)
{
	struct ovl_leaf *old = l->v;
	size_t old_cap = l->cap;

	l->v = malloc(cap * sizeof(*l->v));
	if (!l->v) {
		l->v = old;
		return -ENOMEM;
	}
	l->cap = cap;
	ovl_leaves_clear(l);
	for (size_t i = 0; i < old_cap; i++)
		if (old[i].symbol >= 0)
			ovl_leaves_add(l, old[i].symbol, (uint8_t)old[i].stage, old[i].count);
	free(old);
	return 0;
}

int ovl_leaves_init(struct ovl_leaves *l)
{
	*l = (struct ovl_leaves){0};
	return set_cap(l, FIRST_SLOTS);
}

void ovl_leaves_fini(struct ovl_leaves *l)
{
	free(l->v);
	*l = (struct ovl_leaves){0};
}

void ovl_leaves_clear(struct ovl_leaves *l)
{
	for (size_t i = 0; i < l->cap; i++)
		l->v[i] = (struct ovl_leaf){.symbol = -1};
	l->n = 0;
}

int ovl_leaves_add(struct ovl_leaves *l, int symbol, uint8_t stage, uint32_t count)
{
	size_t i;

	if (l->n * 2 >= l->cap && set_cap(l, l->cap * 2))
		return -ENOMEM;
	i = slot_of(symbol, stage, l->cap);
	while (l->v[i].symbol >= 0 && (l->v[i].symbol != symbol || l->v[i].stage != stage))
		i = (i + 1) & (l->cap - 1);
	if (l->v[i].symbol < 0) {
		l->v[i] = (struct ovl_leaf){.symbol = symbol, .stage = stage};
		l->n++;
	}
	l->v[i].count += count;
	return 0;
}

/* free slots last; then by stage, most frequent first */
static int by_stage(const void *a, const void *b)
{
	const struct ovl_leaf *x = a, *y = b;

	if ((x->symbol < 0) != (y->symbol < 0))
		return x->symbol < 0 ? 1 : -1;
	if (x->stage != y->stage)
		return x->stage < y->stage ? -1 : 1;
	if (x->count != y->count)
		return x->count > y->count ? -1 : 1;
	return x->symbol < y->symbol ? -1 : x->symbol > y->symbol;
}

int ovl_leaves_emit(struct ovl_leaves *l, const struct ovl_ksyms *k, struct ovl_sample *sample)
{
	size_t first = sample->symbols.n;

	qsort(l->v, l->cap, sizeof(*l->v), by_stage);
	for (size_t i = 0; i < l->n; i++) {
		const char *name = ovl_ksyms_name(k, l->v[i].symbol);
		struct ovl_symbol_hit *h = NULL;

		if (i && l->v[i].stage != l->v[i - 1].stage)
			first = sample->symbols.n;
		for (size_t j = first; j < sample->symbols.n && !h; j++)
			if (!strncmp(sample->symbols.v[j].name, name, OVL_NAME_MAX - 1))
				h = &sample->symbols.v[j];
		if (!h) {
			if (sample->symbols.n - first >= OVL_LEAVES_PER_STAGE)
				continue;
			h = ovl_vec_push(&sample->symbols);
			if (!h)
				return -ENOMEM;
			h->stage = (uint8_t)l->v[i].stage;
			ovl_str_copy(h->name, sizeof(h->name), name);
		}
		h->count += l->v[i].count;
	}
	return 0;
}
