/*
 * What the packet programs share: the hops, the state of a CPU, counters, spans and histograms;
 * weak, so that the linker keeps one of each.
 *
 * Between net_dev_queue and net_dev_xmit bottom halves are off: nothing else of the network runs on
 * this CPU, so what happens in between is nested in it, and one stack per CPU is enough. (Not with
 * PREEMPT_RT, where user space does not load these programs.)
 */
#ifndef OVL_PACKETS_BPF_H
#define OVL_PACKETS_BPF_H

#include "vmlinux.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>

#include "abi.h"
#include "hist.h"

#define LEVELS	   8  /* devices nested in one another; a power of two */
#define CACHED	   16 /* devices that a CPU finds without a hash; a power of two */
#define TUNNELS	   8
#define SMALL	   250 /* a longer skb carries payload, whatever encapsulates it */
#define TCP_PROTO  6
#define UDP_PROTO  17
#define NO_HOP	   0xffffffffu
#define VXLAN_SKIP 30 /* UDP, VXLAN and Ethernet headers */
#define UDP_SKIP   8

/** UDP ports of tunnels that carry Ethernet behind a VXLAN header, or bare IP packets; 0: none. */
const volatile __u16 ovl_vxlan_ports[TUNNELS] __weak = {0};
const volatile __u16 ovl_ip_ports[TUNNELS] __weak = {0};

/**
 * Number of the open window, 0: closed. Programs are attached before and detached after, so that
 * all of them see the same packets.
 */
volatile __u32 ovl_window __weak;

struct level {
	__u64 skb;
	__u64 start_ns; /* of a tunnel's xmit, until its packet reaches the device below */
	__u32 hop;
};

struct queued {
	__u64 skb, head, start_ns; /* start_ns 0: no aggregate */
	__u32 hop, data_len;
	__u8 ip_summed;
};

struct cpu {
	__u32 window; /* that the rest belongs to */
	__u32 depth;
	struct level level[LEVELS];
	struct queued queued; /* last net_dev_queue */
	__u64 rx_skb;	      /* last netif_receive_skb, 0: something else came since */
	__u32 rx_node;
	__u64 raise_ns;	  /* NET_RX was raised and has not begun */
	__u64 scratch[2]; /* of the device layer; of a task, which the former may interrupt */
	struct {
		__u64 device; /* netns << 32 | ifindex; 0: none */
		struct ovl_hop_value hop;
	} cache[CACHED];
};

#define PER_CPU_ARRAY(name, n, T) \
	struct { \
		__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY); \
		__uint(max_entries, n); \
		__type(key, __u32); \
		__type(value, T); \
	} name __weak SEC(".maps")
#define GROWING_HASH(name, n, K, V) \
	struct { \
		__uint(type, BPF_MAP_TYPE_PERCPU_HASH); \
		__uint(map_flags, BPF_F_NO_PREALLOC); \
		__uint(max_entries, n); \
		__type(key, K); \
		__type(value, V); \
	} name __weak SEC(".maps")

PER_CPU_ARRAY(cpus, 1, struct cpu);
PER_CPU_ARRAY(packet_runs, OVL_PACKET_PROGS, __u64);
PER_CPU_ARRAY(packet_lost, OVL_LOST_COUNT, __u64);
/** By hop index; user space makes it as large as there are hops. */
PER_CPU_ARRAY(hop_counts, OVL_HOPS_MAX, struct ovl_hop_counts);
PER_CPU_ARRAY(daemon_counts, OVL_HOPS_MAX, struct ovl_daemon_counts);
GROWING_HASH(edges, OVL_EDGES_MAX, struct ovl_edge_key, struct ovl_edge_value);
GROWING_HASH(waits, OVL_WAITS_MAX, struct ovl_wait_key, struct ovl_wait_value);

/** Devices of the path. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, OVL_HOPS_MAX);
	__type(key, struct ovl_device_key);
	__type(value, struct ovl_hop_value);
} hops __weak SEC(".maps");

/** Where a packet's wait began, by the packet's address. */
struct span {
	__u64 skb; /* 0: free; odd: being written */
	__u64 start_ns;
	__u32 node; /* hop × 2 + received */
	__u16 kind;
	__u16 window;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1 << OVL_SPAN_BITS);
	__type(key, __u32);
	__type(value, struct span);
} spans __weak SEC(".maps");

static __always_inline void count(void *map, __u32 index)
{
	__u64 *n = bpf_map_lookup_elem(map, &index);

	if (n)
		(*n)++;
}

/**
 * The CPU's state if a window is open (fresh if it is a new one), else NULL. Counts the run in any
 * case.
 */
static __always_inline struct cpu *open_cpu(enum ovl_packet_prog prog)
{
	__u32 zero = 0, window = ovl_window;
	struct cpu *c;

	count(&packet_runs, prog);
	if (!window)
		return (void *)0;
	c = bpf_map_lookup_elem(&cpus, &zero);
	if (c && c->window != window) {
		c->depth = 0;
		c->queued.skb = c->rx_skb = c->raise_ns = 0;
		/* last: an interrupt before does all of it, and one after finds it done */
		barrier();
		c->window = window;
	}
	return c;
}

/**
 * A pointer as a number to calculate with, which the verifier does not allow with a pointer: what
 * comes back from memory is one.
 */
static __always_inline __u64 address(struct cpu *c, bool task, const volatile void *pointer)
{
	volatile __u64 *scratch = &c->scratch[task];

	*scratch = (__u64)pointer;
	return *scratch;
}

/**
 * The hop of a device; index NO_HOP: not of the path. The cache goes by what the device is called,
 * not by its address, which may be another's by now. keep: the cache may be written, as no
 * interrupt gets here with that.
 */
static __always_inline struct ovl_hop_value find_hop(struct cpu *c, const struct net_device *dev,
						     bool keep)
{
	struct ovl_hop_value hop = {.index = NO_HOP}, *found;
	struct ovl_device_key key = {};
	__u64 device;
	__u32 slot;

	if (!dev)
		return hop;
	key.netns = dev->nd_net.net->ns.inum;
	key.ifindex = dev->ifindex;
	device = key.netns << 32 | key.ifindex;
	slot = (key.netns * 5 + key.ifindex) & (CACHED - 1);
	if (c->cache[slot].device == device)
		return c->cache[slot].hop;
	found = bpf_map_lookup_elem(&hops, &key);
	if (found)
		hop = *found;
	if (keep) {
		*(volatile __u64 *)&c->cache[slot].device = 0;
		*(volatile struct ovl_hop_value *)&c->cache[slot].hop = hop;
		*(volatile __u64 *)&c->cache[slot].device = device;
	}
	return hop;
}

static __always_inline void add_wait(__u32 hop, enum ovl_wait_kind kind, bool ack, __u64 ns)
{
	struct ovl_wait_key key = {.hop = hop, .kind = kind, .dir = ack};
	struct ovl_wait_value *v = bpf_map_lookup_elem(&waits, &key);
	__u32 bucket = ovl_wait_bucket(ns);

	if (!v) {
		static const struct ovl_wait_value empty;

		bpf_map_update_elem(&waits, &key, &empty, BPF_NOEXIST);
		v = bpf_map_lookup_elem(&waits, &key);
	}
	if (!v) {
		count(&packet_lost, OVL_LOST_PACKET_MAP);
		return;
	}
	v->sum_ns += ns;
	if (ns > v->max_ns)
		v->max_ns = ns;
	if (bucket < OVL_WAIT_BUCKETS)
		v->n[bucket]++;
}

static __always_inline struct span *span_of(__u64 skb)
{
	__u32 slot = (skb * 0x9e3779b97f4a7c15ull) >> (64 - OVL_SPAN_BITS);

	return bpf_map_lookup_elem(&spans, &slot);
}

/**
 * A packet begins to wait. Its slot may hold another packet's: that one keeps it while it can still
 * be waiting, unless it waits for a process to read it, as most never do by that address. What the
 * same address began before is over: it was freed, or went on.
 */
static __always_inline void span_begin(__u64 skb, enum ovl_wait_kind kind, __u32 node, __u32 window)
{
	__u64 old, now_ns = bpf_ktime_get_ns();
	struct span *s = span_of(skb);

	if (!s)
		return;
	old = s->skb;
	if ((old && old != skb && s->kind != OVL_WAIT_SOCKET && s->window == (__u16)window &&
	     now_ns - s->start_ns < OVL_SPAN_MAX_NS) ||
	    __sync_val_compare_and_swap(&s->skb, old, skb | 1) != old) {
		count(&packet_lost, OVL_LOST_PACKET_SPAN);
		return;
	}
	s->start_ns = now_ns;
	s->node = node;
	s->kind = kind;
	s->window = window;
	__sync_val_compare_and_swap(&s->skb, skb | 1, skb);
}

/**
 * Its wait is over: how long it was and where it began; 0: not known. What was read is true if the
 * slot is still this packet's when it is set free.
 */
static __always_inline __u64 span_end(__u64 skb, enum ovl_wait_kind kind, __u32 *node, __u32 window)
{
	struct span *s = span_of(skb);
	__u64 ns;

	if (!s || s->skb != skb || s->kind != kind || s->window != (__u16)window)
		return 0;
	ns = bpf_ktime_get_ns() - s->start_ns;
	*node = s->node;
	if (__sync_val_compare_and_swap(&s->skb, skb, 0) != skb || ns >= OVL_SPAN_MAX_NS) {
		count(&packet_lost, OVL_LOST_PACKET_SPAN);
		return 0;
	}
	return ns ? ns : 1;
}

#endif
