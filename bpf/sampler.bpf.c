/* The stack sampler: one run per CPU and timer tick, aggregated by kernel stack in the kernel. */
#include "shared.bpf.h"

/**
 * Thread group of ovltrace itself: its threads are OVL_TASK_SELF unless `classes` says otherwise.
 */
const volatile __u32 ovl_self_tgid = 0;
/** The PID namespace that user space counts thread ids in; inode 0: the initial one. */
const volatile __u64 ovl_pidns_dev = 0, ovl_pidns_ino = 0;

#define STACKS(name) \
	struct { \
		__uint(type, BPF_MAP_TYPE_STACK_TRACE); \
		__uint(max_entries, OVL_STACK_BUCKETS); \
		__uint(key_size, sizeof(__u32)); \
		__uint(value_size, OVL_STACK_DEPTH * sizeof(__u64)); \
	} name SEC(".maps")

STACKS(stacks_a);
STACKS(stacks_b);

/* One plain map with the CPU in its key: entries are only made for CPUs that have them. */
#define SAMPLES(name) \
	struct { \
		__uint(type, BPF_MAP_TYPE_HASH); \
		__uint(max_entries, OVL_SAMPLE_ENTRIES); \
		__type(key, struct ovl_sample_key); \
		__type(value, __u64); \
	} name SEC(".maps")

SAMPLES(samples_a);
SAMPLES(samples_b);

/** enum ovl_task_class by thread id. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, OVL_TASK_ENTRIES);
	__type(key, __u32);
	__type(value, __u32);
} classes SEC(".maps");

static __always_inline __u8 task_class(__u64 pid_tgid)
{
	struct bpf_pidns_info ids = {.pid = pid_tgid, .tgid = pid_tgid >> 32};
	__u32 *class;

	/* a task of another PID namespace has no id there, and cannot be one that was named */
	if (ovl_pidns_ino &&
	    bpf_get_ns_current_pid_tgid(ovl_pidns_dev, ovl_pidns_ino, &ids, sizeof(ids)))
		return OVL_TASK_OTHER;
	class = bpf_map_lookup_elem(&classes, &ids.pid);
	if (class)
		return *class;
	return ids.tgid == ovl_self_tgid ? OVL_TASK_SELF : OVL_TASK_OTHER;
}

static __always_inline void add_sample(void *map, const struct ovl_sample_key *key)
{
	__u64 one = 1;
	__u64 *n = bpf_map_lookup_elem(map, key);

	/* the key has the CPU in it, and this program does not nest: no atomic is needed */
	if (n)
		(*n)++;
	else if (bpf_map_update_elem(map, key, &one, BPF_NOEXIST))
		ovl_count(&lost, OVL_LOST_SAMPLE_MAP);
}

static __always_inline long stack_id(void *ctx, void *map, struct ovl_sample_key *key)
{
	long id = bpf_get_stackid(ctx, map, 0);

	/*
	 * Another stack sits in this one's bucket. Reusing the bucket would rename the samples that
	 * are already there; without its leaf the stack hashes elsewhere and still tells its stage.
	 */
	if (id == -EEXIST) {
		key->cut = 1;
		id = bpf_get_stackid(ctx, map, 1);
		if (id < 0)
			ovl_count(&lost, OVL_LOST_STACK);
	}
	return id;
}

SEC("perf_event")
int ovl_sampler(void *ctx)
{
	struct ovl_sample_key key = {};
	__u64 pid_tgid = bpf_get_current_pid_tgid();
	__u32 active = ovl_active;

	ovl_count(&runs, OVL_PROG_SAMPLER);
	key.cpu = bpf_get_smp_processor_id();
	key.idle = (__u32)pid_tgid == 0;
	if (!key.idle)
		key.task_class = task_class(pid_tgid);
	if (active & OVL_ACTIVE_STACKS)
		key.kernel_stack = stack_id(ctx, &stacks_b, &key);
	else
		key.kernel_stack = stack_id(ctx, &stacks_a, &key);
	/* no kernel frames at all: the interrupt hit user mode, on every architecture */
	key.user = key.kernel_stack == -EFAULT && !key.cut;
	if (active & OVL_ACTIVE_EVENTS)
		add_sample(&samples_b, &key);
	else
		add_sample(&samples_a, &key);
	return 0;
}

char LICENSE[] SEC("license") __weak = "GPL";
