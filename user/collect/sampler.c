#include "collect/sampler.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "base/clock.h"
#include "base/vec.h"
#include "collect/leaves.h"
#include "ovltrace.skel.h"

#define BATCH 256
/*
 * Stacks kept before the other stack map is taken: 1/8 of the buckets, so that few new ones
 * collide.
 */
#define STACKS_KEPT	(OVL_STACK_BUCKETS / 8)
#define RELOAD_FIRST_NS 5000000000ull
#define RELOAD_MAX_NS	600000000000ull

/* A stack by its id in the current stack map; ids stay valid until that map is emptied. */
struct known {
	struct ovl_stack_class class;
	bool valid, listed;
	int leaf; /* index of the leaf function, -1: unknown */
};

struct ovl_sampler {
	struct ovl_instruments *in;
	struct ovl_ksyms *ksyms;
	OVL_VEC(struct bpf_link *) links;
	struct known known[OVL_STACK_BUCKETS];
	OVL_VEC(uint32_t) ids; /* listed entries of known[] */
	uint32_t *counts;      /* by hit_index() */
	struct ovl_leaves leaves;
	bool strangers; /* addresses without a symbol were met */
	uint64_t reload_ts_ns, reload_wait_ns;
};

static size_t hits_per_cpu(void)
{
	return (size_t)OVL_STAGE_COUNT * OVL_WORK_COUNT * OVL_CTX_COUNT * OVL_TASK_CLASSES;
}

static size_t hit_index(uint32_t cpu, const struct ovl_class *c, uint8_t task_class)
{
	size_t i = (size_t)cpu * OVL_STAGE_COUNT + c->stage;

	i = i * OVL_WORK_COUNT + c->work;
	i = i * OVL_CTX_COUNT + c->ctx;
	return i * OVL_TASK_CLASSES + task_class;
}

int ovl_sampler_event(uint32_t hz, pid_t pid, int cpu)
{
	/*
	 * Time, not cycles: a sample stands for 1 ÷ hz of a CPU's time only if its clock runs at
	 * the same speed whenever the CPU is busy.
	 */
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.freq = 1,
		.sample_freq = hz,
	};
	int fd = (int)syscall(SYS_perf_event_open, &attr, pid, cpu, -1, PERF_FLAG_FD_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

struct ovl_sampler *ovl_sampler_open(struct ovl_instruments *in, struct ovl_ksyms *ksyms,
				     struct ovl_err *err)
{
	struct ovl_sampler *s = calloc(1, sizeof(*s));

	if (s) {
		s->in = in;
		s->ksyms = ksyms;
		s->reload_wait_ns = RELOAD_FIRST_NS;
		s->counts = calloc((size_t)in->cpus_possible * hits_per_cpu(), sizeof(*s->counts));
		if (s->counts && !ovl_leaves_init(&s->leaves))
			return s;
	}
	ovl_sampler_close(s);
	ovl_err_set(err, OVL_EXIT_FAILED, -ENOMEM, "no memory for the stack sampler");
	return NULL;
}

static int start_cpu(struct ovl_sampler *s, uint32_t hz, int cpu)
{
	int fd = ovl_sampler_event(hz, -1, cpu);
	struct bpf_link **link;

	if (fd < 0)
		return fd;
	link = ovl_vec_push(&s->links);
	if (!link) {
		close(fd);
		return -ENOMEM;
	}
	*link = bpf_program__attach_perf_event(s->in->skel->progs.ovl_sampler, fd);
	if (!*link) {
		int rc = -errno;

		s->links.n--;
		close(fd);
		return rc;
	}
	return 0;
}

int ovl_sampler_start(struct ovl_sampler *s, uint32_t hz, struct ovl_err *err)
{
	for (int cpu = 0; cpu < s->in->cpus_possible; cpu++) {
		int rc = start_cpu(s, hz, cpu);

		if (rc == -ENODEV || rc == -ENXIO)
			continue; /* possible but not online */
		if (rc == -EPERM || rc == -EACCES)
			return ovl_err_set(err, OVL_EXIT_RIGHTS, rc,
					   "cannot sample CPU %d: CAP_PERFMON is needed, or "
					   "kernel.perf_event_paranoid ≤ 0",
					   cpu);
		if (rc)
			return ovl_err_set(err, OVL_EXIT_KERNEL, rc,
					   "cannot sample CPU %d at %u Hz: %s", cpu, hz,
					   strerror(-rc));
	}
	if (!s->links.n)
		return ovl_err_set(err, OVL_EXIT_KERNEL, -ENODEV, "no CPU can be sampled");
	return 0;
}

void ovl_sampler_close(struct ovl_sampler *s)
{
	if (!s)
		return;
	ovl_vec_each(link, &s->links)
		bpf_link__destroy(*link);
	ovl_vec_fini(&s->links);
	ovl_vec_fini(&s->ids);
	ovl_leaves_fini(&s->leaves);
	free(s->counts);
	free(s);
}

uint32_t ovl_sampler_flips(const struct ovl_sampler *s)
{
	return OVL_ACTIVE_EVENTS | (s->ids.n >= STACKS_KEPT ? OVL_ACTIVE_STACKS : 0);
}

/*
 * Frames of a stack as symbol indices, leaf first. The leaf is an address, callers are return
 * addresses.
 */
static uint32_t resolve(struct ovl_sampler *s, const uint64_t *ips, bool cut, int *index)
{
	uint32_t n = 0;

	for (; n < OVL_STACK_DEPTH && ips[n]; n++) {
		index[n] = ovl_ksyms_find(s->ksyms, n || cut ? ips[n] - 1 : ips[n]);
		s->strangers |= index[n] < 0;
	}
	return n;
}

/* The function that the CPU was in, seen through those that only let the interrupt in. */
static int leaf_of(const struct ovl_symbol_class *const *frames, const int *index, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		if (!frames[i] || !frames[i]->through)
			return index[i];
	return -1;
}

static int learn(struct ovl_sampler *s, int map_fd, const struct ovl_sample_key *key)
{
	const struct ovl_symbol_class *frames[OVL_STACK_DEPTH];
	uint32_t n, id = (uint32_t)key->kernel_stack;
	struct known *k = &s->known[id];
	uint64_t ips[OVL_STACK_DEPTH];
	int index[OVL_STACK_DEPTH];

	if (bpf_map_lookup_elem(map_fd, &id, ips))
		return -errno;
	n = resolve(s, ips, key->cut, index);
	for (uint32_t i = 0; i < n; i++)
		frames[i] = index[i] < 0 ? NULL : ovl_ksyms_class(s->ksyms, index[i]);
	ovl_classify_stack(frames, n, &k->class);
	k->leaf = key->cut ? -1 : leaf_of(frames, index, n);
	k->valid = true;
	if (!k->listed) {
		uint32_t *listed = ovl_vec_push(&s->ids);

		if (!listed)
			return -ENOMEM;
		*listed = id;
		k->listed = true;
	}
	return 0;
}

static int take(struct ovl_sampler *s, int map_fd, const struct ovl_sample_key *key, uint64_t count)
{
	const struct ovl_sample_mode mode = {key->idle, key->user, key->task_class};
	const struct known *k = NULL;
	struct ovl_class class;

	if (key->cpu >= (uint32_t)s->in->cpus_possible || key->task_class >= OVL_TASK_CLASSES)
		return 0;
	if (key->kernel_stack >= 0 && key->kernel_stack < OVL_STACK_BUCKETS) {
		k = &s->known[key->kernel_stack];
		if (!k->valid && learn(s, map_fd, key))
			k = NULL;
	}
	ovl_classify_sample(k ? &k->class : NULL, &mode, &class);
	if (!class.busy)
		return 0;
	s->counts[hit_index(key->cpu, &class, key->task_class)] += (uint32_t)count;
	if (k && k->leaf >= 0 && class.ctx != OVL_CTX_WAKE)
		return ovl_leaves_add(&s->leaves, k->leaf, class.stage, (uint32_t)count);
	return 0;
}

static int emit_hits(struct ovl_sampler *s, struct ovl_sample *sample)
{
	size_t n = (size_t)s->in->cpus_possible * hits_per_cpu();

	for (size_t i = 0; i < n; i++) {
		struct ovl_hit *h;
		size_t rest = i;

		if (!s->counts[i])
			continue;
		h = ovl_vec_push(&sample->hits);
		if (!h)
			return -ENOMEM;
		h->count = s->counts[i];
		h->task_class = (uint8_t)(rest % OVL_TASK_CLASSES);
		rest /= OVL_TASK_CLASSES;
		h->ctx = (uint8_t)(rest % OVL_CTX_COUNT);
		rest /= OVL_CTX_COUNT;
		h->work = (uint8_t)(rest % OVL_WORK_COUNT);
		rest /= OVL_WORK_COUNT;
		h->stage = (uint8_t)(rest % OVL_STAGE_COUNT);
		h->cpu = (uint32_t)(rest / OVL_STAGE_COUNT);
	}
	return 0;
}

static void empty_stacks(struct ovl_sampler *s, int map_fd)
{
	ovl_vec_each(id, &s->ids) {
		bpf_map_delete_elem(map_fd, id);
		s->known[*id] = (struct known){0};
	}
	ovl_vec_clear(&s->ids);
}

/* A module or a BPF program has appeared; indices into the table are void afterwards. */
static void meet_strangers(struct ovl_sampler *s)
{
	uint64_t now_ns = ovl_clock_ns();

	if (!s->strangers) {
		s->reload_wait_ns = RELOAD_FIRST_NS;
		return;
	}
	s->strangers = false;
	if (now_ns < s->reload_ts_ns + s->reload_wait_ns)
		return;
	s->reload_ts_ns = now_ns;
	/* an address that no table will ever name must not cost a reload each time */
	s->reload_wait_ns *= 2;
	if (s->reload_wait_ns > RELOAD_MAX_NS)
		s->reload_wait_ns = RELOAD_MAX_NS;
	if (ovl_ksyms_reload(s->ksyms, NULL))
		return;
	ovl_vec_each(id, &s->ids)
		s->known[*id].valid = false;
}

int ovl_sampler_drain(struct ovl_sampler *s, uint32_t flipped, struct ovl_sample *sample,
		      struct ovl_err *err)
{
	const uint32_t before = s->in->active ^ flipped;
	const struct ovltrace_bpf *skel = s->in->skel;
	int events = bpf_map__fd(before & OVL_ACTIVE_EVENTS ? skel->maps.samples_b
							    : skel->maps.samples_a);
	int stacks =
		bpf_map__fd(before & OVL_ACTIVE_STACKS ? skel->maps.stacks_b : skel->maps.stacks_a);
	struct ovl_sample_key keys[BATCH];
	uint64_t values[BATCH];
	uint32_t n, at, *from = NULL;
	int rc = 0, end = 0;

	memset(s->counts, 0, (size_t)s->in->cpus_possible * hits_per_cpu() * sizeof(*s->counts));
	ovl_leaves_clear(&s->leaves);
	while (!end && !rc) {
		n = BATCH;
		end = bpf_map_lookup_and_delete_batch(events, from, &at, keys, values, &n, NULL);
		if (end && end != -ENOENT)
			return ovl_err_set(err, OVL_EXIT_FAILED, end,
					   "cannot read the stack samples: %s", strerror(-end));
		from = &at;
		for (uint32_t i = 0; sample && i < n && !rc; i++)
			rc = take(s, stacks, &keys[i], values[i]);
	}
	if (sample && !rc)
		rc = emit_hits(s, sample);
	if (sample && !rc)
		rc = ovl_leaves_emit(&s->leaves, s->ksyms, sample);
	if (flipped & OVL_ACTIVE_STACKS)
		empty_stacks(s, stacks);
	meet_strangers(s);
	if (rc)
		return ovl_err_set(err, OVL_EXIT_FAILED, rc, "no memory for the stack samples");
	return 0;
}
