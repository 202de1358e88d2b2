/*
 * The processes behind tun devices: their system calls, how often they are woken and switched away.
 * Attached only where there is such a process, as these events are everybody's.
 */
#include "packets.bpf.h"

/** The daemons' processes (value: index of the daemon): filled by user space. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, OVL_DAEMONS_MAX);
	__type(key, __u32);
	__type(value, __u32);
} daemons SEC(".maps");

/** What a daemon's thread is at, by thread; those that ended make room. */
struct thread {
	struct ovl_syscall_key call;
	__u32 window; /* in which it began the system call */
	__u32 woken_window;
	__u64 woken_ns;
};

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, OVL_TASK_ENTRIES);
	__type(key, __u32);
	__type(value, struct thread);
} threads SEC(".maps");

GROWING_HASH(syscalls, OVL_SYSCALLS_MAX, struct ovl_syscall_key, struct ovl_syscall_value);

static __always_inline struct thread *thread_of(__u32 tid)
{
	struct thread *t = bpf_map_lookup_elem(&threads, &tid);

	if (!t) {
		struct thread fresh = {};

		bpf_map_update_elem(&threads, &tid, &fresh, BPF_NOEXIST);
		t = bpf_map_lookup_elem(&threads, &tid);
		if (!t)
			count(&packet_lost, OVL_LOST_PACKET_MAP);
	}
	return t;
}

SEC("tp_btf/sys_enter")
int ovl_sys_enter(__u64 *ctx)
{
	__u64 id = bpf_get_current_pid_tgid();
	__u32 tgid = id >> 32, window = ovl_window;
	__u32 *daemon = bpf_map_lookup_elem(&daemons, &tgid);
	struct thread *t;

	count(&packet_runs, OVL_PACKET_SYS_ENTER);
	if (!daemon || !window)
		return 0;
	t = thread_of((__u32)id);
	if (t) {
		t->call.daemon = *daemon;
		t->call.nr = ctx[1];
		t->window = window;
	}
	return 0;
}

SEC("tp_btf/sys_exit")
int ovl_sys_exit(__u64 *ctx)
{
	__u32 tid = bpf_get_current_pid_tgid();
	struct thread *t = bpf_map_lookup_elem(&threads, &tid);
	struct ovl_syscall_value *v;
	__s64 result = ctx[1];

	count(&packet_runs, OVL_PACKET_SYS_EXIT);
	if (!t || !t->window || t->window != ovl_window)
		return 0;
	t->window = 0;
	v = bpf_map_lookup_elem(&syscalls, &t->call);
	if (!v) {
		struct ovl_syscall_value empty = {};

		bpf_map_update_elem(&syscalls, &t->call, &empty, BPF_NOEXIST);
		v = bpf_map_lookup_elem(&syscalls, &t->call);
	}
	if (!v) {
		count(&packet_lost, OVL_LOST_PACKET_MAP);
		return 0;
	}
	v->calls++;
	if (result < 0)
		v->failed++;
	else
		v->result += result;
	return 0;
}

SEC("tp_btf/sched_waking")
int ovl_waking(__u64 *ctx)
{
	struct task_struct *p = (void *)ctx[0];
	__u32 tgid = p->tgid, tid = p->pid, window = ovl_window;
	__u32 *daemon = bpf_map_lookup_elem(&daemons, &tgid);
	struct ovl_daemon_counts *d;
	struct thread *t;

	count(&packet_runs, OVL_PACKET_WAKING);
	if (!daemon || !window)
		return 0;
	d = bpf_map_lookup_elem(&daemon_counts, daemon);
	if (d)
		d->wakeups++;
	t = thread_of(tid);
	if (t) {
		t->woken_window = window;
		t->woken_ns = bpf_ktime_get_ns();
	}
	return 0;
}

static __always_inline void switched_away(struct task_struct *prev, bool preempt)
{
	__u32 tgid = prev->tgid;
	__u32 *daemon = bpf_map_lookup_elem(&daemons, &tgid);
	struct ovl_daemon_counts *d =
		daemon ? bpf_map_lookup_elem(&daemon_counts, daemon) : (void *)0;

	if (!d)
		return;
	d->switches++;
	d->preemptions += preempt;
}

static __always_inline void switched_to(struct task_struct *next, __u32 window)
{
	__u32 tgid = next->tgid, tid = next->pid;
	__u32 *daemon = bpf_map_lookup_elem(&daemons, &tgid);
	struct thread *t = daemon ? bpf_map_lookup_elem(&threads, &tid) : (void *)0;

	if (!t || t->woken_window != window)
		return;
	t->woken_window = 0;
	add_wait(*daemon, OVL_WAIT_WAKE, false, bpf_ktime_get_ns() - t->woken_ns);
}

SEC("tp_btf/sched_switch")
int ovl_switch(__u64 *ctx)
{
	__u32 window = ovl_window;

	count(&packet_runs, OVL_PACKET_SWITCH);
	if (!window)
		return 0;
	switched_away((void *)ctx[1], ctx[0]);
	switched_to((void *)ctx[2], window);
	return 0;
}

char LICENSE[] SEC("license") __weak = "GPL";
