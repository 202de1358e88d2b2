/* Reading the packet programs' maps: sums over CPUs, as differences to the last reading. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "base/str.h"
#include "bpf/hist.h"
#include "collect/packets.h"
#include "collect/tundaemon.h"
#include "packets.skel.h"

/* One map: how large key and value are, and what to do with a value that grew. */
struct reading {
	struct ovl_packets *p;
	struct ovl_sample *sample; /* NULL: only forget */
	int fd;
	size_t key_bytes, value_words;
	int largest; /* word that is a maximum, not a count; -1: none */
	ovl_packets_entries *before;
	/* delta: value_words; 0 or -ENOMEM */
	int (*take)(const struct reading *r, const void *key, const uint64_t *delta,
		    const uint64_t *sum);
};

static uint64_t larger(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

static struct ovl_packets_entry *entry(const struct reading *r, uint64_t key)
{
	struct ovl_packets_entry *e;

	ovl_vec_each(have, r->before) {
		if (have->key == key)
			return have;
	}
	e = ovl_vec_push(r->before);
	if (!e)
		return NULL;
	e->key = key;
	e->words = calloc(r->value_words, sizeof(*e->words));
	if (!e->words) {
		r->before->n--;
		return NULL;
	}
	return e;
}

static int read_value(const struct reading *r, const void *key)
{
	uint64_t sum[sizeof(struct ovl_wait_value) / 8] = {0},
						     delta[sizeof(struct ovl_wait_value) / 8];
	struct ovl_packets_entry *e;
	uint64_t packed = 0, any = 0;

	if (bpf_map_lookup_elem(r->fd, key, r->p->per_cpu))
		return 0; /* gone, or not there yet */
	for (int cpu = 0; cpu < r->p->cpus; cpu++) {
		const uint64_t *one = r->p->per_cpu + (size_t)cpu * r->value_words;

		for (size_t i = 0; i < r->value_words; i++)
			sum[i] = (int)i == r->largest ? larger(sum[i], one[i]) : sum[i] + one[i];
	}
	memcpy(&packed, key, r->key_bytes);
	e = entry(r, packed);
	if (!e)
		return -ENOMEM;
	for (size_t i = 0; i < r->value_words; i++) {
		delta[i] = sum[i] - e->words[i];
		any |= delta[i];
	}
	memcpy(e->words, sum, r->value_words * sizeof(*sum));
	return r->sample && any ? r->take(r, key, delta, sum) : 0;
}

static int read_array(const struct reading *r, uint32_t n)
{
	int rc = 0;

	for (uint32_t i = 0; i < n && !rc; i++)
		rc = read_value(r, &i);
	return rc;
}

static int read_hash(const struct reading *r)
{
	uint64_t key = 0, next = 0;
	void *from = NULL;
	int rc = 0;

	while (!rc && !bpf_map_get_next_key(r->fd, from, &next)) {
		key = next;
		from = &key;
		rc = read_value(r, &key);
	}
	return rc;
}

static int take_counts(const struct reading *r, const void *key, const uint64_t *delta,
		       const uint64_t *sum)
{
	struct ovl_hop_delta *d = ovl_vec_push(&r->sample->packets.hops);

	(void)sum;
	if (!d)
		return -ENOMEM;
	memcpy(&d->link, key, sizeof(d->link));
	memcpy(&d->n, delta, sizeof(d->n));
	return 0;
}

static int take_scheduled(const struct reading *r, const void *key, const uint64_t *delta,
			  const uint64_t *sum)
{
	uint32_t daemon;

	(void)sum;
	memcpy(&daemon, key, sizeof(daemon));
	ovl_vec_each(d, &r->sample->packets.daemons) {
		if (d->daemon == daemon)
			memcpy(&d->n, delta, sizeof(d->n));
	}
	return 0;
}

static int take_step(const struct reading *r, const void *key, const uint64_t *delta,
		     const uint64_t *sum)
{
	struct ovl_step *s = ovl_vec_push(&r->sample->packets.steps);
	struct ovl_edge_key edge;

	(void)sum;
	if (!s)
		return -ENOMEM;
	memcpy(&edge, key, sizeof(edge));
	s->from = edge.from;
	s->to = edge.to;
	memcpy(s->skbs, delta, sizeof(s->skbs));
	return 0;
}

static int take_wait(const struct reading *r, const void *key, const uint64_t *delta,
		     const uint64_t *sum)
{
	struct ovl_wait *w = ovl_vec_push(&r->sample->packets.waits);
	struct ovl_wait_value v;
	struct ovl_wait_key k;

	if (!w)
		return -ENOMEM;
	memcpy(&k, key, sizeof(k));
	memcpy(&v, delta, sizeof(v));
	w->link = k.hop == OVL_HOP_NONE ? OVL_LINK_NONE : k.hop;
	if (k.kind == OVL_WAIT_WAKE && k.hop < r->p->n_daemons)
		w->link = r->p->daemons[k.hop].link;
	w->kind = k.kind;
	w->dir = k.dir;
	w->sum_ns = v.sum_ns;
	memcpy(w->n, v.n, sizeof(w->n));
	/* the program keeps the largest since the start: of this interval it can be no more than */
	w->max_ns = ((const struct ovl_wait_value *)sum)->max_ns;
	for (uint32_t i = OVL_WAIT_BUCKETS; i-- > 0;) {
		if (!v.n[i])
			continue;
		if (i + 1 < OVL_WAIT_BUCKETS && ovl_wait_upper_ns(i) < w->max_ns)
			w->max_ns = ovl_wait_upper_ns(i);
		break;
	}
	return 0;
}

static int take_syscall(const struct reading *r, const void *key, const uint64_t *delta,
			const uint64_t *sum)
{
	struct ovl_syscall *s = ovl_vec_push(&r->sample->packets.syscalls);
	struct ovl_syscall_value v;
	struct ovl_syscall_key k;
	char room[24];
	bool bytes;

	(void)sum;
	if (!s)
		return -ENOMEM;
	memcpy(&k, key, sizeof(k));
	memcpy(&v, delta, sizeof(v));
	s->daemon = k.daemon;
	ovl_str_copy(s->name, sizeof(s->name),
		     ovl_tundaemon_syscall(k.nr, room, sizeof(room), &bytes));
	s->calls = v.calls;
	s->failed = v.failed;
	s->bytes = bytes ? v.result : UINT64_MAX;
	return 0;
}

static int read_maps(struct ovl_packets *p, struct ovl_sample *s)
{
	const struct packets_bpf *skel = p->skel;
#define WORDS(T)  (sizeof(struct T) / 8)
#define MAP(name) p, s, bpf_map__fd(skel->maps.name)
	const struct reading
		counts = {MAP(hop_counts), 4, WORDS(ovl_hop_counts), -1, &p->counts, take_counts},
		steps = {MAP(edges), 4, WORDS(ovl_edge_value), -1, &p->steps, take_step},
		times = {MAP(waits), 4, WORDS(ovl_wait_value), 1, &p->waits, take_wait},
		scheduled = {MAP(daemon_counts), 4, WORDS(ovl_daemon_counts), -1, &p->scheduled,
			     take_scheduled},
		calls = {MAP(syscalls), 8,	     WORDS(ovl_syscall_value), -1,
			 &p->syscalls,	take_syscall};
#undef WORDS
#undef MAP
	int rc = read_array(&counts, p->n_hops);

	rc = rc ? rc : read_hash(&steps);
	rc = rc ? rc : read_hash(&times);
	rc = rc ? rc : read_array(&scheduled, p->n_daemons);
	return rc ? rc : read_hash(&calls);
}

static void read_lost(struct ovl_packets *p, struct ovl_sample *sample)
{
	const uint64_t missed = ovl_packets_missed(p);

	ovl_lost_drain(&p->lost, bpf_map__fd(p->skel->maps.packet_lost), (size_t)p->cpus,
		       p->per_cpu, sample);
	if (sample && missed > p->missed)
		sample->lost[OVL_LOST_RUN] += missed - p->missed;
	p->missed = missed;
}

static void read_runs(struct ovl_packets *p, struct ovl_sample *sample)
{
	int fd = bpf_map__fd(p->skel->maps.packet_runs);

	for (uint32_t i = 0; i < OVL_PACKET_PROGS; i++) {
		if (bpf_map_lookup_elem(fd, &i, p->per_cpu))
			continue;
		if (sample)
			ovl_vec_each(d, &sample->self) {
				if (d->cpu < (uint32_t)p->cpus)
					d->packet_runs[i] = p->per_cpu[d->cpu] - p->runs[i][d->cpu];
			}
		memcpy(p->runs[i], p->per_cpu, (size_t)p->cpus * sizeof(uint64_t));
	}
}

/* CPU time of the daemons, which passes whether or not a window is open. */
static int read_cpu(struct ovl_packets *p, struct ovl_sample *s)
{
	for (uint32_t i = 0; i < p->n_daemons; i++) {
		uint64_t user_ns, kernel_ns;
		bool known = !ovl_tundaemon_cpu(p->daemons[i].pid, &user_ns, &kernel_ns);
		struct ovl_daemon_delta *d = s ? ovl_vec_push(&s->packets.daemons) : NULL;

		if (s && !d)
			return -ENOMEM;
		if (d) {
			d->daemon = i;
			d->user_ns = known ? user_ns - p->daemons[i].user_ns : UINT64_MAX;
			d->kernel_ns = known ? kernel_ns - p->daemons[i].kernel_ns : UINT64_MAX;
		}
		if (known) {
			p->daemons[i].user_ns = user_ns;
			p->daemons[i].kernel_ns = kernel_ns;
		}
	}
	return 0;
}

int ovl_packets_read(struct ovl_packets *p, struct ovl_sample *sample)
{
	const struct ovl_window_count before = p->seen;
	int rc = read_cpu(p, sample);

	if (rc)
		return rc;
	ovl_window_read(&p->window, &p->seen);
	if (sample) {
		sample->packets.open_ns = p->seen.open_ns - before.open_ns;
		sample->packets.windows = p->seen.opened - before.opened;
		sample->packets.windows_lost = p->seen.failed - before.failed;
	}
	/* between windows nothing is counted: there is nothing to read */
	if (p->seen.open_ns == before.open_ns && p->seen.opened == before.opened)
		return 0;
	read_lost(p, sample);
	read_runs(p, sample);
	return read_maps(p, sample);
}

static void free_entries(ovl_packets_entries *entries)
{
	ovl_vec_each(e, entries)
		free(e->words);
	ovl_vec_fini(entries);
}

void ovl_packets_forget(struct ovl_packets *p)
{
	free_entries(&p->counts);
	free_entries(&p->scheduled);
	free_entries(&p->steps);
	free_entries(&p->waits);
	free_entries(&p->syscalls);
}
