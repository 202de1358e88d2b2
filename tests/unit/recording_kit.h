/* Random recordings and the comparison of what comes back, both driven by the codec's tables. */
#ifndef OVL_TESTS_RECORDING_KIT_H
#define OVL_TESTS_RECORDING_KIT_H

#include "collect/codec.h"
#include "collect/recording.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

static char dir[] = "/tmp/ovl-recording-XXXXXX";
static char path_buf[128];

static inline const char *in_dir(const char *name)
{
	snprintf(path_buf, sizeof(path_buf), "%s/%s", dir, name);
	return path_buf;
}

/* ---- random data by table ---- */

static uint64_t rnd_state = 0x9e3779b97f4a7c15ull;
static uint64_t vec_most = 5;

static inline uint64_t rnd(void)
{
	rnd_state ^= rnd_state << 13;
	rnd_state ^= rnd_state >> 7;
	rnd_state ^= rnd_state << 17;
	return rnd_state;
}

/* small, middle and huge values alike */
static inline uint64_t rnd_below(uint64_t most)
{
	uint64_t value = rnd() >> (rnd() % 64);

	return value <= most ? value : value % (most + 1);
}

static inline void put(char *at, uint32_t size, uint64_t value)
{
	bool big = __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__;

	memcpy(at, (char *)&value + (big ? sizeof(value) - size : 0), size);
}

static inline void rnd_string(char *at, uint32_t size)
{
	static const char *const parts[] = {"a", "Z", "7", "\"", "\\", "/",
					    " ", ".", "ä", "–",	 "𝄞"};
	uint32_t want = (uint32_t)(rnd() % size), n = 0;

	memset(at, 0, size);
	while (n < want) {
		const char *part = parts[rnd() % 11];
		size_t len = strlen(part);

		if (n + len >= size)
			break;
		memcpy(at + n, part, len);
		n += (uint32_t)len;
	}
}

static inline void rnd_struct(const struct ovl_codec_table *t, char *to);

static inline void rnd_vec(const struct ovl_codec_field *f, char *at)
{
	struct ovl_codec_vec vec = {0};

	for (uint64_t i = rnd() % (vec_most + 1); i; i--)
		rnd_struct(f->table, ovl_vec_grow(&vec.v, &vec.n, &vec.cap, f->table->size));
	memcpy(at, &vec, sizeof(vec));
}

static inline uint64_t most_of(uint32_t size, uint32_t max)
{
	return max ? max : size == 8 ? INT64_MAX : (1ull << (size * 8)) - 1;
}

static inline void rnd_list(const struct ovl_codec_field *f, char *base)
{
	uint32_t n = f->type == OVL_CODEC_LIST ? (uint32_t)(rnd() % (f->max + 1)) : f->max;

	for (uint32_t i = 0; i < n; i++)
		put(base + f->offset + i * f->size, f->size, rnd_below(most_of(f->size, 0)));
	if (f->type == OVL_CODEC_LIST)
		put(base + f->count_offset, sizeof(n), n);
}

static inline void rnd_struct(const struct ovl_codec_table *t, char *to)
{
	for (uint32_t i = 0; i < t->n; i++) {
		const struct ovl_codec_field *f = &t->fields[i];
		char *at = to + f->offset;

		switch (f->type) {
		case OVL_CODEC_UINT: put(at, f->size, rnd_below(most_of(f->size, f->max))); break;
		case OVL_CODEC_OPT:
			put(at, f->size, rnd() % 3 ? rnd_below(INT64_MAX) : UINT64_MAX);
			break;
		case OVL_CODEC_INT: put(at, f->size, rnd() >> (rnd() % 64)); break;
		case OVL_CODEC_INDEX: put(at, f->size, rnd() % 4 - 1); break;
		case OVL_CODEC_BOOL: put(at, f->size, rnd() % 2); break;
		case OVL_CODEC_STR: rnd_string(at, f->size); break;
		case OVL_CODEC_KEY: put(at, f->size, rnd() % f->keys->n); break;
		case OVL_CODEC_STRUCT: rnd_struct(f->table, at); break;
		case OVL_CODEC_VEC: rnd_vec(f, at); break;
		case OVL_CODEC_ARRAY:
		case OVL_CODEC_LIST: rnd_list(f, to); break;
		}
	}
}

/* Make indices point somewhere. */
static inline void rnd_facts(struct ovl_facts *f)
{
	memset(f, 0, sizeof(*f));
	rnd_struct(&ovl_codec_facts, (char *)f);
	if (!f->ns.n)
		strcpy(ovl_vec_push(&f->ns)->name, "n");
	ovl_vec_each(link, &f->links) {
		link->ns %= (uint32_t)f->ns.n;
		if (link->lower >= (int)f->links.n)
			link->lower = -1;
		if (link->master >= (int)f->links.n)
			link->master = -1;
	}
	if (f->iface >= (int)f->links.n)
		f->iface = -1;
	if (!f->links.n)
		f->daemons.n = 0;
	ovl_vec_each(daemon, &f->daemons)
		daemon->link %= (uint32_t)f->links.n;
}

static inline void rnd_packets(struct ovl_packets_delta *p, const struct ovl_facts *f)
{
	if (!f->links.n)
		p->hops.n = p->steps.n = p->waits.n = 0;
	if (!f->daemons.n)
		p->daemons.n = p->syscalls.n = 0;
	ovl_vec_each(hop, &p->hops)
		hop->link %= (uint32_t)f->links.n;
	ovl_vec_each(step, &p->steps) {
		step->from %= 2 * (uint32_t)f->links.n;
		step->to %= 2 * (uint32_t)f->links.n;
	}
	ovl_vec_each(wait, &p->waits)
		wait->link = rnd() % 2 ? OVL_LINK_NONE : wait->link % (uint32_t)f->links.n;
	ovl_vec_each(daemon, &p->daemons)
		daemon->daemon %= (uint32_t)f->daemons.n;
	ovl_vec_each(call, &p->syscalls)
		call->daemon %= (uint32_t)f->daemons.n;
}

static inline void rnd_sample(struct ovl_sample *s, const struct ovl_facts *f)
{
	memset(s, 0, sizeof(*s));
	rnd_struct(&ovl_codec_sample, (char *)s);
	s->start_ts_ns >>= 1;
	s->end_ts_ns = s->start_ts_ns + rnd_below(3600ull * 1000000000);
	if (!f->links.n)
		s->links.n = 0;
	ovl_vec_each(link, &s->links)
		link->link %= (uint32_t)f->links.n;
	rnd_packets(&s->packets, f);
	ovl_vec_each(counter, &s->counters)
		counter->ns = rnd() % 2 ? OVL_NS_MACHINE : counter->ns % (uint32_t)f->ns.n;
	ovl_vec_each(func, &s->funcs)
		func->ns = rnd() % 2 ? OVL_NS_MACHINE : func->ns % (uint32_t)f->ns.n;
	ovl_vec_each(drop, &s->drops)
		drop->ns = rnd() % 2 ? OVL_NS_MACHINE : drop->ns % (uint32_t)f->ns.n;
	ovl_vec_each(reading, &s->readings)
		reading->ns = rnd() % 2 ? OVL_NS_MACHINE : reading->ns % (uint32_t)f->ns.n;
	ovl_vec_each(flow, &s->flows)
		flow->ns = flow->ns % (uint32_t)f->ns.n;
	ovl_vec_each(attempt, &s->attempts)
		attempt->ns = attempt->ns % (uint32_t)f->ns.n;
}

/* ---- comparison by table: the name of the first member that differs, NULL: equal ---- */

static inline const char *differs(const struct ovl_codec_table *t, const char *a, const char *b)
{
	for (uint32_t i = 0; i < t->n; i++) {
		const struct ovl_codec_field *f = &t->fields[i];
		const char *pa = a + f->offset, *pb = b + f->offset, *inner = NULL;
		struct ovl_codec_vec va, vb;
		uint32_t n = f->max;
		bool same = true;

		switch (f->type) {
		case OVL_CODEC_STR: same = !strcmp(pa, pb); break;
		case OVL_CODEC_STRUCT: inner = differs(f->table, pa, pb); break;
		case OVL_CODEC_VEC:
			memcpy(&va, pa, sizeof(va));
			memcpy(&vb, pb, sizeof(vb));
			same = va.n == vb.n;
			for (size_t k = 0; same && !inner && k < va.n; k++)
				inner = differs(f->table, (char *)va.v + k * f->table->size,
						(char *)vb.v + k * f->table->size);
			break;
		case OVL_CODEC_LIST:
			memcpy(&n, a + f->count_offset, sizeof(n));
			same = !memcmp(a + f->count_offset, b + f->count_offset, sizeof(n));
			/* fallthrough */
		case OVL_CODEC_ARRAY: same = same && !memcmp(pa, pb, (size_t)n * f->size); break;
		default: same = !memcmp(pa, pb, f->size);
		}
		if (!same || inner)
			return inner ? inner : f->name;
	}
	return NULL;
}

/* Bytes of the struct that no member of the table covers, beyond what alignment can explain. */
static inline int uncovered(const struct ovl_codec_table *t)
{
	char *seen = calloc(1, t->size);
	int gap = 0, worst = 0;

	for (uint32_t i = 0; i < t->n; i++) {
		const struct ovl_codec_field *f = &t->fields[i];
		bool many = f->type == OVL_CODEC_ARRAY || f->type == OVL_CODEC_LIST;

		memset(seen + f->offset, 1, many ? (size_t)f->size * f->max : f->size);
		if (f->type == OVL_CODEC_LIST)
			memset(seen + f->count_offset, 1, sizeof(uint32_t));
		if (f->table) {
			int below = uncovered(f->table);

			worst = below > worst ? below : worst;
		}
	}
	for (uint32_t i = 0; i < t->size; i++) {
		gap = seen[i] ? 0 : gap + 1;
		worst = gap > worst ? gap : worst;
	}
	free(seen);
	return worst;
}

static inline bool write_recording(const char *path, const struct ovl_facts *f,
				   struct ovl_sample *s, int n, struct ovl_err *err)
{
	struct ovl_recorder *r = ovl_recorder_open(path, f, err);
	int rc = 0;

	for (int i = 0; r && i < n && !rc; i++)
		rc = ovl_recorder_add(r, &s[i], err);
	return r && !ovl_recorder_close(r, err) && !rc;
}

/* ---- files ---- */

static inline void save(const char *path, const void *data, size_t n)
{
	FILE *f = fopen(path, "wb");

	if (!f || fwrite(data, 1, n, f) != n || fclose(f))
		abort();
}

static inline char *load(const char *path, size_t *n, bool inflate)
{
	gzFile gz = inflate ? gzopen(path, "rb") : NULL;
	FILE *f = inflate ? NULL : fopen(path, "rb");
	char *data = malloc(1 << 20);

	*n = inflate ? (size_t)gzread(gz, data, 1 << 20) : fread(data, 1, 1 << 20, f);
	if (gz)
		gzclose(gz);
	if (f)
		fclose(f);
	return data;
}

/* Outcome of replaying a whole file. */
struct outcome {
	int samples;
	int rc; /* 0, or the error of open (samples -1) or next */
	bool cut;
	struct ovl_err err;
};

static inline struct outcome play(const char *path)
{
	struct outcome o = {.samples = -1, .rc = -1, .err = OVL_ERR_INIT};
	struct ovl_sample s = {0};
	struct ovl_facts facts;
	struct ovl_replay *r = ovl_replay_open(path, &facts, &o.err);

	if (!r)
		return o;
	for (o.samples = 0; (o.rc = ovl_replay_next(r, &s, &o.cut, &o.err)) == 1; o.samples++)
		;
	ovl_replay_close(r);
	ovl_sample_fini(&s);
	ovl_facts_fini(&facts);
	return o;
}

static inline bool is_sentence(const struct outcome *o)
{
	size_t n = strlen(o->err.text);

	return o->rc < 0 && n > 10 && !memchr(o->err.text, '\n', n) &&
	       o->err.exit == OVL_EXIT_INPUT;
}

#endif
