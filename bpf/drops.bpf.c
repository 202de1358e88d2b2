/* Drops: every skb that the kernel frees as lost, by reason, place and device. */
#include "shared.bpf.h"
#include <bpf/bpf_endian.h>

/** Arguments of the running kernel's kfree_skb tracepoint: the fourth, rx_sk, came with 6.11. */
const volatile __u32 ovl_kfree_skb_args = 3;

#define DROPS(name) \
	struct { \
		__uint(type, BPF_MAP_TYPE_PERCPU_HASH); \
		__uint(max_entries, OVL_DROP_ENTRIES); \
		__type(key, struct ovl_drop_key); \
		__type(value, struct ovl_drop_value); \
	} name SEC(".maps")

DROPS(drops_a);
DROPS(drops_b);

struct budget {
	__u64 start_ns;
	__u64 seen; /* events since the program was loaded */
	__u64 used; /* events looked at since start_ns */
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct budget);
} budgets SEC(".maps");

/*
 * A flood of drops must not make this program the bottleneck it reports. The clock is read once in
 * 256 events, which is precise enough for a flood and free for a trickle.
 */
static __always_inline bool within_budget(void)
{
	__u32 zero = 0;
	struct budget *b = bpf_map_lookup_elem(&budgets, &zero);

	if (!b)
		return false;
	if (!(b->seen++ & 255)) {
		__u64 now_ns = bpf_ktime_get_ns();

		if (now_ns - b->start_ns >= 1000000000ull) {
			b->start_ns = now_ns;
			b->used = 0;
		}
	}
	if (b->used >= OVL_DROP_BUDGET)
		return false;
	b->used++;
	return true;
}

/*
 * skb->dev shares its place with other things (rbnode, dev_scratch) and may point anywhere: a
 * device counts only if user space knows it. Else the namespace alone, else nothing.
 */
static __always_inline void find_device(struct sk_buff *skb, struct sock *rx_sk,
					struct ovl_drop_key *key)
{
	struct net_device *dev = BPF_CORE_READ(skb, dev);
	__u64 netns = dev ? BPF_CORE_READ(dev, nd_net.net, ns.inum) : 0;
	__u32 ifindex = dev ? BPF_CORE_READ(dev, ifindex) : 0;

	if (!ovl_known(netns, ifindex)) {
		__u64 of_dev = netns;

		netns = ovl_sock_netns(rx_sk ? rx_sk : BPF_CORE_READ(skb, sk));
		if (!ovl_known(netns, 0))
			netns = of_dev;
		ifindex = BPF_CORE_READ(skb, skb_iif);
		if (!ovl_known(netns, ifindex))
			ifindex = 0;
		if (!ifindex && !ovl_known(netns, 0))
			netns = 0;
	}
	key->netns = netns;
	key->ifindex = ifindex;
}

static __always_inline __u64 wire_segs(struct sk_buff *skb)
{
	struct skb_shared_info *shared;
	__u32 size, segs;

	shared = (void *)(BPF_CORE_READ(skb, head) + BPF_CORE_READ(skb, end));
	size = BPF_CORE_READ(shared, gso_size);
	segs = BPF_CORE_READ(shared, gso_segs);
	/*
	 * gso_segs of an untrusted origin (tun, virtio) is only filled in when the skb is checked
	 */
	if (size && !segs)
		segs = (BPF_CORE_READ(skb, len) + size - 1) / size;
	return segs ? segs : 1;
}

static __always_inline void add_drop(void *map, const struct ovl_drop_key *key, __u64 segs)
{
	struct ovl_drop_value first = {.pkts = 1, .segs = segs};
	struct ovl_drop_value *v = bpf_map_lookup_elem(map, key);

	if (!v) {
		if (!bpf_map_update_elem(map, key, &first, BPF_NOEXIST))
			return;
		/* refused: full, or another CPU was quicker */
		v = bpf_map_lookup_elem(map, key);
	}
	if (v) {
		v->pkts++;
		v->segs += segs;
	} else {
		ovl_count(&lost, OVL_LOST_DROP_MAP);
	}
}

SEC("tp_btf/kfree_skb")
int ovl_drop(__u64 *ctx)
{
	struct sk_buff *skb = (void *)ctx[0];
	struct sock *rx_sk = ovl_kfree_skb_args >= 4 ? (void *)ctx[3] : (void *)0;
	struct ovl_drop_key key = {.location = ctx[1], .reason = ctx[2]};

	ovl_count(&runs, OVL_PROG_DROPS);
	if (!within_budget()) {
		ovl_count(&lost, OVL_LOST_DROP_BUDGET);
		return 0;
	}
	key.protocol = bpf_ntohs(BPF_CORE_READ(skb, protocol));
	find_device(skb, rx_sk, &key);
	if (ovl_active & OVL_ACTIVE_EVENTS)
		add_drop(&drops_b, &key, wire_segs(skb));
	else
		add_drop(&drops_a, &key, wire_segs(skb));
	return 0;
}

char LICENSE[] SEC("license") __weak = "GPL";
