#include "collect/sheet.h"

#include <errno.h>
#include <string.h>

#include "base/str.h"

void ovl_sheet_fini(struct ovl_sheet *s)
{
	ovl_vec_fini(&s->items);
}

void ovl_sheet_open(struct ovl_sheet *s)
{
	s->cursor = 0;
	ovl_vec_each(item, &s->items)
		item->seen = false;
}

static uint32_t hash_of(const struct ovl_reading *key)
{
	const char *const parts[] = {key->object, key->name, key->kind};
	uint32_t hash = 2166136261u ^ key->ns; /* FNV-1a */

	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		for (const char *c = parts[i]; *c; c++)
			hash = (hash ^ (uint8_t)*c) * 16777619u;
	return hash;
}

static bool is_item(const struct ovl_sheet_item *item, const struct ovl_reading *key, uint32_t hash)
{
	return item->hash == hash && item->r.ns == key->ns && !strcmp(item->r.name, key->name) &&
	       !strcmp(item->r.object, key->object) && !strcmp(item->r.kind, key->kind);
}

static struct ovl_sheet_item *find(struct ovl_sheet *s, const char *kind, const char *object,
				   const char *name)
{
	struct ovl_sheet_item *item = NULL;
	struct ovl_reading key = {.ns = s->ns};
	uint32_t hash;

	ovl_str_copy(key.kind, sizeof(key.kind), kind);
	ovl_str_copy(key.object, sizeof(key.object), object);
	ovl_str_copy(key.name, sizeof(key.name), name);
	hash = hash_of(&key);
	if (s->cursor < s->items.n && is_item(&s->items.v[s->cursor], &key, hash))
		item = &s->items.v[s->cursor];
	for (size_t i = 0; !item && i < s->items.n; i++)
		if (is_item(&s->items.v[i], &key, hash))
			item = &s->items.v[i];
	if (!item && s->items.n >= OVL_SHEET_MAX) {
		s->left_out++;
		return NULL;
	}
	if (!item) {
		item = ovl_vec_push(&s->items);
		s->failed |= !item;
		if (item) {
			item->r = key;
			item->hash = hash;
		}
	}
	if (item) {
		s->cursor = (size_t)(item - s->items.v) + 1;
		item->seen = true;
	}
	return item;
}

void ovl_sheet_count(struct ovl_sheet *s, const char *kind, const char *object, const char *name,
		     uint64_t value)
{
	struct ovl_sheet_item *item = find(s, kind, object, name);

	if (!item)
		return;
	item->counter = true;
	item->r.value = (int64_t)value;
}

void ovl_sheet_rise(struct ovl_sheet *s, const char *kind, const char *object, const char *name,
		    uint64_t value)
{
	size_t n = s->items.n;

	ovl_sheet_count(s, kind, object, name, value);
	if (s->items.n > n && s->readings)
		s->items.v[n].known = true; /* from 0 on */
}

void ovl_sheet_set(struct ovl_sheet *s, const char *kind, const char *object, const char *name,
		   int64_t value)
{
	struct ovl_sheet_item *item = find(s, kind, object, name);

	if (!item)
		return;
	item->changed |= item->r.value != value;
	item->r.value = value;
}

void ovl_sheet_say(struct ovl_sheet *s, const char *kind, const char *object, const char *name,
		   const char *text)
{
	struct ovl_sheet_item *item = find(s, kind, object, name);

	if (!item)
		return;
	item->changed |= strncmp(item->r.text, text, sizeof(item->r.text) - 1) != 0;
	ovl_str_copy(item->r.text, sizeof(item->r.text), text);
}

int ovl_sheet_close(struct ovl_sheet *s, struct ovl_sample *sample)
{
	ovl_vec_each(item, &s->items) {
		bool tell = !item->known || item->changed;
		struct ovl_reading *out;

		if (!item->seen)
			continue;
		/* what came up within the interval began at 0 only if it says so itself */
		item->r.delta = item->counter && item->known && item->r.value > item->before
					? item->r.value - item->before
					: 0;
		item->before = item->r.value;
		tell |= item->r.delta > 0;
		if (!sample || !tell)
			continue;
		out = ovl_vec_push(&sample->readings);
		if (!out)
			return -ENOMEM;
		*out = item->r;
		item->known = true;
		item->changed = false;
	}
	/* those of the first reading are still to be told, but their counters run from it on */
	if (!sample)
		ovl_vec_each(item, &s->items)
			item->known |= item->counter && item->seen;
	s->readings++;
	return s->failed ? -ENOMEM : 0;
}
