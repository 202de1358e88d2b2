#include "collect/funcs.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "base/str.h"
#include "collect/funcs_attach.h"
#include "collect/lost.h"
#include "funcs.skel.h"

#define BATCH 64

/* Sums of one function at one device, as at the last reading. */
struct known {
	struct ovl_func_key key;
	struct ovl_func_value sum;
};

struct ovl_funcs {
	struct ovl_funcs_attach attach;
	size_t cpus;		       /* possible ones */
	struct ovl_func_value *values; /* BATCH × possible CPUs */
	uint64_t *counts;	       /* possible CPUs */
	uint64_t *runs;		       /* the same, at the last reading */
	struct ovl_lost_seen lost;
	uint64_t missed;
	OVL_VEC(struct known) known;
	uint32_t turn; /* that the programs add to */
};

static int alloc(struct ovl_funcs *f)
{
	f->values = calloc(BATCH * f->cpus, sizeof(*f->values));
	f->counts = calloc(f->cpus, sizeof(*f->counts));
	f->runs = calloc(f->cpus, sizeof(*f->runs));
	return f->values && f->counts && f->runs ? 0 : -ENOMEM;
}

struct ovl_funcs *ovl_funcs_open(enum ovl_tier tier, int devices_fd, struct ovl_facts *facts,
				 struct ovl_err *err)
{
	struct ovl_funcs *f = calloc(1, sizeof(*f));
	int cpus = libbpf_num_possible_cpus(), rc;

	if (!f || cpus <= 0) {
		free(f);
		ovl_err_set(err, OVL_EXIT_FAILED, -ENOMEM, "no memory to count functions' calls");
		return NULL;
	}
	f->cpus = (size_t)cpus;
	rc = ovl_funcs_load(&f->attach, tier, devices_fd, facts, err);
	if (rc)
		goto failed;
	rc = alloc(f);
	if (rc) {
		ovl_err_set(err, OVL_EXIT_FAILED, rc, "no memory to count functions' calls");
		goto failed;
	}
	if (f->attach.fentry || f->attach.kprobe)
		ovl_funcs_attach_all(&f->attach, facts);
	if (!facts->funcs.n)
		ovl_funcs_attach_copies(&f->attach, facts);
	return f;
failed:
	ovl_funcs_close(f);
	return NULL;
}

void ovl_funcs_close(struct ovl_funcs *f)
{
	if (!f)
		return;
	ovl_funcs_detach(&f->attach);
	ovl_vec_fini(&f->known);
	free(f->values);
	free(f->counts);
	free(f->runs);
	free(f);
}

void ovl_funcs_poll(struct ovl_funcs *f, struct ovl_facts *facts)
{
	struct ovl_buf now = {0};

	if (!f->attach.fentry && !f->attach.kprobe)
		return;
	ovl_hooks_modules(&now);
	if (strcmp(ovl_buf_str(&now), ovl_buf_str(&f->attach.modules)) != 0)
		ovl_funcs_attach_all(&f->attach, facts);
	ovl_buf_fini(&now);
}

static struct known *known_of(struct ovl_funcs *f, const struct ovl_func_key *key)
{
	struct known *fresh;

	ovl_vec_each(k, &f->known) {
		if (k->key.func == key->func && k->key.turn == key->turn &&
		    k->key.ifindex == key->ifindex && k->key.netns == key->netns)
			return k;
	}
	fresh = ovl_vec_push(&f->known);
	if (fresh)
		fresh->key = *key;
	return fresh;
}

/* Namespace and device by the numbers that the program checked against the same facts. */
static void place(const struct ovl_facts *facts, const struct ovl_func_key *key,
		  struct ovl_func_delta *out)
{
	out->ns = OVL_NS_MACHINE;
	for (size_t i = 0; i < facts->ns.n; i++)
		if (facts->ns.v[i].inode == key->netns)
			out->ns = (uint32_t)i;
	ovl_vec_each(link, &facts->links) {
		if (key->ifindex && link->ns == out->ns && link->ifindex == (int)key->ifindex)
			ovl_str_copy(out->iface, sizeof(out->iface), link->name);
	}
}

static int take(struct ovl_funcs *f, const struct ovl_facts *facts, const struct ovl_func_key *key,
		const struct ovl_func_value *per_cpu, struct ovl_sample *sample)
{
	struct known *k = known_of(f, key);
	struct ovl_func_value sum = {0}, before;
	struct ovl_func_delta *out;

	if (!k)
		return -ENOMEM;
	for (size_t cpu = 0; cpu < f->cpus; cpu++) {
		sum.calls += per_cpu[cpu].calls;
		sum.bytes += per_cpu[cpu].bytes;
		sum.segs += per_cpu[cpu].segs;
		sum.timed += per_cpu[cpu].timed;
		sum.incl_ns += per_cpu[cpu].incl_ns;
		sum.excl_ns += per_cpu[cpu].excl_ns;
	}
	before = k->sum;
	k->sum = sum;
	if (!sample || (sum.calls == before.calls && sum.timed == before.timed))
		return 0;
	out = ovl_vec_push(&sample->funcs);
	if (!out)
		return -ENOMEM;
	out->func = (uint8_t)key->func;
	place(facts, key, out);
	out->calls = sum.calls - before.calls;
	out->bytes = sum.bytes - before.bytes;
	out->segs = sum.segs - before.segs;
	out->timed = sum.timed - before.timed;
	out->incl_ns = sum.incl_ns - before.incl_ns;
	out->excl_ns = sum.excl_ns - before.excl_ns;
	return 0;
}

static int drain_calls(struct ovl_funcs *f, const struct ovl_facts *facts,
		       struct ovl_sample *sample, struct ovl_err *err)
{
	int fd = bpf_map__fd(f->attach.skel->maps.calls), rc = 0, end = 0;
	struct ovl_func_key keys[BATCH];
	uint32_t n, at, *from = NULL;

	while (!end && !rc) {
		n = BATCH;
		end = bpf_map_lookup_batch(fd, from, &at, keys, f->values, &n, NULL);
		if (end && end != -ENOENT)
			return ovl_err_set(err, OVL_EXIT_FAILED, end,
					   "cannot read the functions' calls: %s", strerror(-end));
		from = &at;
		for (uint32_t i = 0; i < n && !rc; i++)
			if (keys[i].turn != f->turn)
				rc = take(f, facts, &keys[i], f->values + (size_t)i * f->cpus,
					  sample);
	}
	return rc ? ovl_err_set(err, OVL_EXIT_FAILED, rc, "no memory for the functions' calls") : 0;
}

static void drain_runs(struct ovl_funcs *f, struct ovl_sample *sample)
{
	const uint32_t slot = 0;

	if (bpf_map_lookup_elem(bpf_map__fd(f->attach.skel->maps.func_runs), &slot, f->counts))
		return;
	if (sample)
		ovl_vec_each(d, &sample->self) {
			if (d->cpu < f->cpus)
				d->func_runs = f->counts[d->cpu] - f->runs[d->cpu];
		}
	memcpy(f->runs, f->counts, f->cpus * sizeof(*f->runs));
}

/* Sums over all programs; a program that ran while it was to run again was left out: missed. */
static void run_sums(const struct ovl_funcs *f, uint64_t *ns, uint64_t *runs, uint64_t *missed)
{
	const struct funcs_bpf *skel = f->attach.skel;
	const int shared[] = {
		bpf_program__fd(skel->progs.ovl_func_kprobe),
		bpf_program__fd(skel->progs.ovl_func_kretprobe),
		bpf_program__fd(skel->progs.ovl_copy_out),
		bpf_program__fd(skel->progs.ovl_copy_in),
		bpf_program__fd(skel->progs.ovl_copy_recv),
	};
	const size_t own = sizeof(shared) / sizeof(*shared), n = own + 2 * (size_t)OVL_FUNC_COUNT;

	*ns = *runs = *missed = 0;
	for (size_t i = 0; i < n; i++) {
		struct bpf_prog_info info = {0};
		uint32_t len = sizeof(info);
		int fd =
			i < own ? shared[i] : f->attach.probe[(i - own) / 2].prog_fd[(i - own) % 2];

		if (fd <= 0 || bpf_obj_get_info_by_fd(fd, &info, &len))
			continue;
		*ns += info.run_time_ns;
		*runs += info.run_cnt;
		*missed += info.recursion_misses;
	}
}

static void drain_lost(struct ovl_funcs *f, struct ovl_sample *sample)
{
	uint64_t ns, runs, missed;

	ovl_lost_drain(&f->lost, bpf_map__fd(f->attach.skel->maps.func_lost), f->cpus, f->counts,
		       sample);
	run_sums(f, &ns, &runs, &missed);
	missed += ovl_funcs_kprobes_missed(&f->attach);
	if (sample && missed > f->missed)
		sample->lost[OVL_LOST_RUN] += missed - f->missed;
	f->missed = missed;
}

void ovl_funcs_flip(struct ovl_funcs *f)
{
	f->turn ^= 1;
	__atomic_store_n(&f->attach.skel->bss->ovl_func_turn, f->turn, __ATOMIC_SEQ_CST);
}

int ovl_funcs_drain(struct ovl_funcs *f, const struct ovl_facts *facts, struct ovl_sample *sample,
		    struct ovl_err *err)
{
	drain_runs(f, sample);
	drain_lost(f, sample);
	if (sample)
		sample->funcs_valid = true;
	return drain_calls(f, facts, sample, err);
}

uint64_t ovl_funcs_body_ns(const struct ovl_funcs *f)
{
	uint64_t ns, runs, missed;

	run_sums(f, &ns, &runs, &missed);
	return runs ? ns / runs : 0;
}
