/*
 * Calls of the functions in hooks.def: how often, how many bytes, how long. Four programs, of which
 * user space attaches copies to each function; the attachment's cookie is the function's row. Where
 * functions cannot be probed, two tracepoints count some of the rows.
 */
#include "place.bpf.h"
#include "regs.h"
#include "span.h"
#include <bpf/bpf_tracing.h>

#define GSO_CB_OFFSET 32 /* SKB_GSO_CB_OFFSET in sk_buff.cb; the first member there is mac_offset */
#define HEADERS_MOST  1024 /* bytes of all headers of a packet */
#define ROWS	      64   /* of the table, a power of two */
#define PARAMETERS    6	   /* that are passed in registers everywhere */

/* from include/linux/net.h: part of the kernel's ABI */
#define MSG_TRUNC	 0x20
#define MSG_ZEROCOPY	 0x4000000
#define MSG_SPLICE_PAGES 0x8000000 /* since 6.5; not used before */
#define SOCK_STREAM	 1
#define SOCK_DGRAM	 2

struct row {
	__u8 place, place_arg, skb_arg, bytes, bytes_arg, flags;
};

#define NO     OVL_FUNC_NO
#define SLEEPS OVL_FUNC_SLEEPS
static const volatile struct row rows[ROWS] = {
#define FUNC(KEY, key, symbol, module, place, p, skb, bytes, b, touch, side, flags, lost) \
	[OVL_FUNC_##KEY] = {OVL_PLACE_##place, p, skb, OVL_BYTES_##bytes, b, flags},
#include "hooks.def"
};
#undef NO
#undef SLEEPS
_Static_assert(OVL_FUNC_COUNT <= ROWS, "the table has outgrown its mask");

/* Masked where it is used: 6.1's verifier loses a bound that was checked on another register. */
static __always_inline const volatile struct row *row_at(__u32 func)
{
	barrier_var(func);
	return &rows[func & (ROWS - 1)];
}

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_HASH);
	__uint(max_entries, OVL_FUNC_ENTRIES);
	__type(key, struct ovl_func_key);
	__type(value, struct ovl_func_value);
} calls SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct ovl_span_stack);
} stacks SEC(".maps");

/** Which of two sets of sums to add to; flipped by user space: intervals have sharp edges. */
volatile __u32 ovl_func_turn;

/** Runs of all these programs, by CPU. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
} func_runs SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, OVL_LOST_COUNT);
	__type(key, __u32);
	__type(value, __u64);
} func_lost SEC(".maps");

/*
 * Where a function that may sleep was called, for its return by kprobe, which sees no arguments
 * any more: by thread and function.
 */
struct waiting {
	__u32 task, func;
};

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, OVL_TASK_ENTRIES);
	__type(key, struct waiting);
	__type(value, struct ovl_func_key);
} sleepers SEC(".maps");

static __always_inline void add(void *map, __u32 index, __u64 n)
{
	__u64 *v = bpf_map_lookup_elem(map, &index);

	if (v)
		*v += n;
}

static __always_inline struct ovl_func_value *value_of(const struct ovl_func_key *of)
{
	struct ovl_func_key key = {of->netns, of->ifindex, of->func, ovl_func_turn};
	struct ovl_func_value *v;

	if (key.func >= OVL_FUNC_COUNT)
		return (void *)0;
	v = bpf_map_lookup_elem(&calls, &key);
	if (!v) {
		struct ovl_func_value none = {};

		bpf_map_update_elem(&calls, &key, &none, BPF_NOEXIST);
		v = bpf_map_lookup_elem(&calls, &key);
		if (!v)
			add(&func_lost, OVL_LOST_FUNC_MAP, 1);
	}
	return v;
}

static __always_inline void count_call(const struct ovl_func_key *key, __u64 bytes, __u64 segs)
{
	struct ovl_func_value *v = value_of(key);

	if (!v)
		return;
	v->calls++;
	v->bytes += bytes;
	v->segs += segs;
}

static __always_inline __u64 wire_segs(struct sk_buff *skb)
{
	struct skb_shared_info *shared;
	__u32 size, segs;

	shared = (void *)(BPF_CORE_READ(skb, head) + BPF_CORE_READ(skb, end));
	size = BPF_CORE_READ(shared, gso_size);
	segs = BPF_CORE_READ(shared, gso_segs);
	if (size && !segs)
		segs = (BPF_CORE_READ(skb, len) + size - 1) / size;
	return segs ? segs : 1;
}

/* What skb_segment puts in front of each segment: from the outermost MAC header to the payload. */
static __always_inline __u64 segment_headers(struct sk_buff *skb)
{
	__s64 room = BPF_CORE_READ(skb, data) - BPF_CORE_READ(skb, head);
	__s32 mac = 0;

	bpf_probe_read_kernel(&mac, sizeof(mac),
			      (char *)skb + bpf_core_field_offset(skb->cb) + GSO_CB_OFFSET);
	if (room < mac || room - mac > HEADERS_MOST)
		return 0;
	return room - mac;
}

static __always_inline __u64 after_csum_start(struct sk_buff *skb, __u64 len)
{
	__u64 start = BPF_CORE_READ(skb, csum_start);
	__u64 room = BPF_CORE_READ(skb, data) - BPF_CORE_READ(skb, head);

	return start >= room && start - room < len ? len - (start - room) : 0;
}

static __always_inline __u64 skb_bytes(__u32 rule, struct sk_buff *skb, __u64 arg, __u64 segs)
{
	__u64 len = BPF_CORE_READ(skb, len);

	switch (rule) {
	case OVL_BYTES_LEN: return len;
	case OVL_BYTES_REST: return len > arg ? len - arg : 0;
	case OVL_BYTES_TAIL: return BPF_CORE_READ(skb, tail);
	case OVL_BYTES_HEADLEN: return len - BPF_CORE_READ(skb, data_len);
	case OVL_BYTES_PAGED: return BPF_CORE_READ(skb, data_len);
	case OVL_BYTES_SEGHDR: return segment_headers(skb) * segs;
	case OVL_BYTES_CSUM: return after_csum_start(skb, len);
	default: return 0;
	}
}

/** The arguments of a call. */
struct params {
	__u64 a[8]; /* those beyond PARAMETERS are 0 */
};

static __always_inline __u64 param(const struct params *p, __u32 i)
{
	return p->a[i & 7];
}

/*
 * Which row a call is counted in, where that depends on what it does; OVL_FUNC_COUNT: in none.
 * UDP's packets belong to no socket, and what it copies is counted as a whole elsewhere.
 */
static __always_inline __u32 row_of(__u32 func, __u32 device, const struct params *p)
{
	struct sk_buff *skb = (void *)p->a[0];

	if (func == OVL_FUNC_COPY_OUT && device & OVL_DEVICE_TUN)
		return OVL_FUNC_TUN_READ;
	if (func == OVL_FUNC_COPY_OUT && !BPF_CORE_READ(skb, sk))
		return OVL_FUNC_COUNT;
	if (func == OVL_FUNC_PULL && (__u32)p->a[1] == BPF_CORE_READ(skb, data_len))
		return OVL_FUNC_LINEARISE;
	return func;
}

/* Are this function's bytes known when it returns only? Then its calls are counted there. */
static __always_inline bool at_return(__u32 func)
{
	__u32 bytes = row_at(func)->bytes;

	return bytes == OVL_BYTES_RET || bytes == OVL_BYTES_RETLEN;
}

static __always_inline bool sleeps(__u32 func)
{
	return row_at(func)->flags & OVL_FUNC_SLEEPS;
}

/* Does TCP take references to the sender's pages instead of copying them? */
static __always_inline bool copies_nothing(__u32 func, const struct params *p)
{
	struct msghdr *msg = (void *)p->a[1];

	return func == OVL_FUNC_TCP_SEND &&
	       BPF_CORE_READ(msg, msg_flags) & (MSG_ZEROCOPY | MSG_SPLICE_PAGES);
}

static __always_inline void find(__u32 func, const struct params *p, struct ovl_func_key *key)
{
	__u64 arg = param(p, row_at(func)->place_arg);
	__u32 device = place_arg(row_at(func)->place, arg, sleeps(func), key);

	key->func = row_of(func, device, p);
}

static __always_inline void count_entry(__u32 func, const struct params *p,
					const struct ovl_func_key *key)
{
	__u32 rule = row_at(func)->bytes, skb_arg = row_at(func)->skb_arg;
	struct sk_buff *skb = (void *)(skb_arg == OVL_FUNC_NO ? 0 : param(p, skb_arg));
	__u64 arg = param(p, row_at(func)->bytes_arg), segs = skb ? wire_segs(skb) : 0;

	if (rule == OVL_BYTES_ARG)
		count_call(key, (__u32)arg, segs);
	else
		count_call(key, skb ? skb_bytes(rule, skb, (__u32)arg, segs) : 0, segs);
}

/* A call that failed moved nothing, and a packet that was not made has no length. */
static __always_inline void count_return(__u32 func, const struct ovl_func_key *key, __s64 result)
{
	if (row_at(func)->bytes == OVL_BYTES_RET) {
		if ((__s32)result > 0)
			count_call(key, (__s32)result, 0);
	} else if (result > 0 || result < -4095) {
		count_call(key, BPF_CORE_READ((struct sk_buff *)result, len), 0);
	}
}

static __always_inline void begin(__u32 func, const struct ovl_func_key *key)
{
	__u32 zero = 0, lost = 0;
	struct ovl_span_stack *stack = bpf_map_lookup_elem(&stacks, &zero);
	struct ovl_span_frame *f;

	if (!stack)
		return;
	f = ovl_span_push(stack, bpf_ktime_get_ns(), &lost);
	f->netns = key->netns;
	f->ifindex = key->ifindex;
	f->func = func;
	f->row = key->func;
	f->task = bpf_get_current_pid_tgid();
	if (lost)
		add(&func_lost, OVL_LOST_FUNC_SPAN, lost);
}

/* Take the call's time; *key becomes where it began. False: its begin was not seen. */
static __always_inline bool end(__u32 func, __u64 now_ns, struct ovl_func_key *key)
{
	__u32 zero = 0, task = bpf_get_current_pid_tgid();
	struct ovl_span_stack *stack = bpf_map_lookup_elem(&stacks, &zero);
	struct ovl_span_times t;
	struct ovl_span_frame *f;
	struct ovl_func_value *v;

	f = stack ? ovl_span_pop(stack, func, task, now_ns, &t) : (void *)0;
	if (!f)
		return false;
	if (t.lost)
		add(&func_lost, OVL_LOST_FUNC_SPAN, t.lost);
	key->netns = f->netns;
	key->ifindex = f->ifindex;
	key->func = f->row;
	v = value_of(key);
	if (v) {
		v->timed++;
		v->incl_ns += t.incl_ns;
		v->excl_ns += t.excl_ns;
	}
	return true;
}

static __always_inline void fentry_params(__u64 *ctx, struct params *p)
{
	/* an argument that the function does not have stays 0 */
	bpf_get_func_arg(ctx, 0, &p->a[0]);
	bpf_get_func_arg(ctx, 1, &p->a[1]);
	bpf_get_func_arg(ctx, 2, &p->a[2]);
	bpf_get_func_arg(ctx, 3, &p->a[3]);
	bpf_get_func_arg(ctx, 4, &p->a[4]);
	bpf_get_func_arg(ctx, 5, &p->a[5]);
}

SEC("fentry")
int ovl_func_entry(__u64 *ctx)
{
	__u64 func = bpf_get_attach_cookie(ctx);
	struct ovl_func_key key = {};
	struct params p = {};

	add(&func_runs, 0, 1);
	if (func >= OVL_FUNC_COUNT)
		return 0;
	fentry_params(ctx, &p);
	find(func, &p, &key);
	if (!at_return(func))
		count_entry(func, &p, &key);
	if (!sleeps(func))
		begin(func, &key);
	return 0;
}

SEC("fexit")
int ovl_func_exit(__u64 *ctx)
{
	__u64 func = bpf_get_attach_cookie(ctx), now_ns = bpf_ktime_get_ns(), result = 0;
	struct ovl_func_key key = {};
	struct params p = {};

	add(&func_runs, 0, 1);
	if (func >= OVL_FUNC_COUNT)
		return 0;
	if (!sleeps(func))
		end(func, now_ns, &key);
	if (!at_return(func))
		return 0;
	fentry_params(ctx, &p);
	if (copies_nothing(func, &p))
		return 0;
	key = (struct ovl_func_key){};
	find(func, &p, &key);
	bpf_get_func_ret(ctx, &result);
	count_return(func, &key, result);
	return 0;
}

#ifdef PT_REGS_PARM1
SEC("kprobe")
int ovl_func_kprobe(struct pt_regs *ctx)
{
	__u64 func = bpf_get_attach_cookie(ctx);
	struct ovl_func_key key = {};
	struct params p = {};

	add(&func_runs, 0, 1);
	if (func >= OVL_FUNC_COUNT)
		return 0;
	p.a[0] = PT_REGS_PARM1(ctx);
	p.a[1] = PT_REGS_PARM2(ctx);
	p.a[2] = PT_REGS_PARM3(ctx);
	p.a[3] = PT_REGS_PARM4(ctx);
	p.a[4] = PT_REGS_PARM5(ctx);
	find(func, &p, &key);
	if (!at_return(func))
		count_entry(func, &p, &key);
	if (!sleeps(func)) {
		begin(func, &key);
	} else if (at_return(func) && !copies_nothing(func, &p)) {
		struct waiting w = {.task = bpf_get_current_pid_tgid(), .func = func};

		bpf_map_update_elem(&sleepers, &w, &key, BPF_ANY);
	}
	return 0;
}

SEC("kretprobe")
int ovl_func_kretprobe(struct pt_regs *ctx)
{
	__u64 func = bpf_get_attach_cookie(ctx), now_ns = bpf_ktime_get_ns();
	struct ovl_func_key key = {}, *began;
	struct waiting w;

	add(&func_runs, 0, 1);
	if (func >= OVL_FUNC_COUNT)
		return 0;
	if (!sleeps(func)) {
		if (end(func, now_ns, &key) && at_return(func))
			count_return(func, &key, PT_REGS_RC(ctx));
		return 0;
	}
	w = (struct waiting){.task = bpf_get_current_pid_tgid(), .func = func};
	began = bpf_map_lookup_elem(&sleepers, &w);
	if (!began)
		return 0;
	key = *began;
	bpf_map_delete_elem(&sleepers, &w);
	count_return(func, &key, PT_REGS_RC(ctx));
	return 0;
}
#endif

/** This kernel's tracepoint sock_recv_length counts what sockets copy out. */
const volatile bool ovl_recv_counted;

/* The same for what tracepoints tell, where functions cannot be probed. */
SEC("tp_btf/skb_copy_datagram_iovec")
int ovl_copy_out(__u64 *ctx)
{
	struct params p = {.a = {ctx[0], 0, 0, (__u32)ctx[1]}};
	struct ovl_func_key key = {};

	add(&func_runs, 0, 1);
	find(OVL_FUNC_COPY_OUT, &p, &key);
	if (key.func == OVL_FUNC_TUN_READ || !ovl_recv_counted)
		count_entry(OVL_FUNC_COPY_OUT, &p, &key);
	return 0;
}

static __always_inline void count_socket(struct sock *sk, __s32 bytes, __u32 tcp, __u32 udp,
					 __u32 udp6)
{
	__u16 family = BPF_CORE_READ(sk, __sk_common.skc_family);
	__u16 type = BPF_CORE_READ(sk, sk_type);
	struct ovl_func_key key = {.func = OVL_FUNC_COUNT};

	if (family != AF_INET && family != AF_INET6)
		return;
	if (type == SOCK_STREAM)
		key.func = tcp;
	else if (type == SOCK_DGRAM)
		key.func = family == AF_INET ? udp : udp6;
	place_sk(sk, &key);
	if (bytes > 0)
		count_call(&key, bytes, 0);
}

SEC("tp_btf/sock_send_length")
int ovl_copy_in(__u64 *ctx)
{
	add(&func_runs, 0, 1);
	count_socket((void *)ctx[0], ctx[1], OVL_FUNC_TCP_SEND, OVL_FUNC_UDP_SEND,
		     OVL_FUNC_UDP6_SEND);
	return 0;
}

SEC("tp_btf/sock_recv_length")
int ovl_copy_recv(__u64 *ctx)
{
	add(&func_runs, 0, 1);
	/* TCP only drops what is read so */
	if (BPF_CORE_READ((struct sock *)ctx[0], sk_type) == SOCK_STREAM && ctx[2] & MSG_TRUNC)
		return 0;
	count_socket((void *)ctx[0], ctx[1], OVL_FUNC_COPY_OUT, OVL_FUNC_UDP_RECV,
		     OVL_FUNC_UDP6_RECV);
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
