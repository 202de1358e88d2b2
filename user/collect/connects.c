#include "collect/connects.h"

#include <arpa/inet.h>
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "ovltrace.skel.h"

#define BATCH 256

struct entry {
	struct ovl_connect_key key;
	struct ovl_connect_value value;
};

struct ovl_connects {
	struct ovl_instruments *in;
	/* at the last reading; the map keeps its entries too. First those in order of keys. */
	OVL_VEC(struct entry) known;
	size_t sorted;
};

struct ovl_connects *ovl_connects_open(struct ovl_instruments *in)
{
	struct ovl_connects *c = calloc(1, sizeof(*c));

	if (c)
		c->in = in;
	return c;
}

void ovl_connects_close(struct ovl_connects *c)
{
	if (!c)
		return;
	ovl_vec_fini(&c->known);
	free(c);
}

/* The key is the first member of an entry. */
static int by_key(const void *a, const void *b)
{
	return memcmp(a, b, sizeof(struct ovl_connect_key));
}

/* The last value of this key; a key not seen before began at 0. */
static struct entry *known(struct ovl_connects *c, const struct ovl_connect_key *key)
{
	struct entry *e =
		c->sorted ? bsearch(key, c->known.v, c->sorted, sizeof(*e), by_key) : NULL;

	for (size_t i = c->sorted; !e && i < c->known.n; i++)
		if (!by_key(key, &c->known.v[i]))
			e = &c->known.v[i];
	if (e)
		return e;
	e = ovl_vec_push(&c->known);
	if (e)
		e->key = *key;
	return e;
}

/* An IPv4 address is written as one, whatever socket asked for it. */
static void write_address(const struct ovl_connect_key *key, char *to, size_t n)
{
	const uint8_t *addr = (const uint8_t *)key->addr;
	static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};
	const bool v4 = key->family == AF_INET6 && !memcmp(addr, mapped, sizeof(mapped));

	if (!inet_ntop(v4 ? AF_INET : key->family, v4 ? addr + sizeof(mapped) : addr, to,
		       (socklen_t)n))
		to[0] = '\0';
}

static int add(const struct ovl_facts *facts, const struct ovl_connect_key *key,
	       const struct ovl_connect_value *a, const struct ovl_connect_value *b,
	       struct ovl_sample *sample)
{
	struct ovl_attempt *to = ovl_vec_push(&sample->attempts);

	if (!to)
		return -ENOMEM;
	to->ns = OVL_NS_MACHINE;
	for (size_t i = 0; i < facts->ns.n; i++)
		if (facts->ns.v[i].inode == key->netns)
			to->ns = (uint32_t)i;
	write_address(key, to->dst, sizeof(to->dst));
	to->port = key->port;
	to->tried = b->tried - a->tried;
	to->answered = b->answered - a->answered;
	to->refused = b->refused - a->refused;
	to->unanswered = b->unanswered - a->unanswered;
	to->repeated_segs = b->repeated - a->repeated;
	return 0;
}

static int take(struct ovl_connects *c, const struct ovl_facts *facts,
		const struct ovl_connect_key *key, const struct ovl_connect_value *value,
		struct ovl_sample *sample)
{
	struct entry *e = known(c, key);
	int rc = 0;

	if (!e)
		return -ENOMEM;
	if (!memcmp(&e->value, value, sizeof(*value)))
		return 0;
	if (sample)
		rc = add(facts, key, &e->value, value, sample);
	e->value = *value;
	return rc;
}

int ovl_connects_read(struct ovl_connects *c, const struct ovl_facts *facts,
		      struct ovl_sample *sample)
{
	struct ovl_connect_key keys[BATCH];
	struct ovl_connect_value values[BATCH];
	uint32_t n, at, *from = NULL;
	int rc = 0, end = 0, fd;

	if (!c->in->loaded[OVL_PROG_CONNECT])
		return 0;
	fd = bpf_map__fd(c->in->skel->maps.connects);
	while (!end && !rc) {
		n = BATCH;
		end = bpf_map_lookup_batch(fd, from, &at, keys, values, &n, NULL);
		if (end && end != -ENOENT)
			return end;
		from = &at;
		for (uint32_t i = 0; i < n && !rc; i++)
			rc = take(c, facts, &keys[i], &values[i], sample);
	}
	if (c->known.n)
		qsort(c->known.v, c->known.n, sizeof(*c->known.v), by_key);
	c->sorted = c->known.n;
	if (sample && !rc)
		sample->attempts_valid = true;
	return rc;
}
