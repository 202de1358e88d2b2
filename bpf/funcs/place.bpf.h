/* Where a call happens: the device and the namespace, if they are of the path. */
#ifndef OVL_FUNCS_PLACE_H
#define OVL_FUNCS_PLACE_H

#include "vmlinux.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>

#include "abi.h"

/* from include/linux/socket.h: part of the kernel's ABI */
#define AF_UNSPEC 0
#define AF_INET	  2
#define AF_INET6  10

/** That of bpf/shared.bpf.h: user space puts the same map here. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, OVL_DEVICE_ENTRIES);
	__type(key, struct ovl_device_key);
	__type(value, __u32);
} devices SEC(".maps");

static __always_inline __u32 *place_known(__u64 netns, __u32 ifindex)
{
	struct ovl_device_key key = {.netns = netns, .ifindex = ifindex};

	return netns ? bpf_map_lookup_elem(&devices, &key) : (void *)0;
}

static __always_inline void place_netns(__u64 netns, struct ovl_func_key *key)
{
	if (place_known(netns, 0))
		key->netns = netns;
}

/** The flags of a known device, else 0. */
static __always_inline __u32 place_dev(struct net_device *dev, struct ovl_func_key *key)
{
	__u64 netns = dev ? BPF_CORE_READ(dev, nd_net.net, ns.inum) : 0;
	__u32 ifindex = dev ? BPF_CORE_READ(dev, ifindex) : 0;
	__u32 *flags = place_known(netns, ifindex);

	if (!flags)
		return 0;
	key->netns = netns;
	key->ifindex = ifindex;
	return *flags;
}

/* Only of the Internet's families, and the nameless one of tun devices: others cross no path. */
static __always_inline void place_sk(struct sock *sk, struct ovl_func_key *key)
{
	__u16 family = sk ? BPF_CORE_READ(sk, __sk_common.skc_family) : AF_UNSPEC;

	if (sk && (family == AF_INET || family == AF_INET6 || family == AF_UNSPEC))
		place_netns(BPF_CORE_READ(sk, __sk_common.skc_net.net, ns.inum), key);
}

/*
 * skb->dev shares its place with other things, so it counts only if it is a device of the path.
 * Else the socket; else, for what a process (in_task) takes out of a socket that does not own its
 * packets (UDP), the process, which nearly always lives where its sockets do.
 */
static __always_inline __u32 place_skb(struct sk_buff *skb, bool in_task, struct ovl_func_key *key)
{
	__u32 flags = place_dev(BPF_CORE_READ(skb, dev), key);
	struct task_struct *task;
	struct sock *sk;

	if (key->netns)
		return flags;
	sk = BPF_CORE_READ(skb, sk);
	if (sk) {
		place_sk(sk, key);
	} else if (in_task) {
		task = (void *)bpf_get_current_task();
		place_netns(BPF_CORE_READ(task, nsproxy, net_ns, ns.inum), key);
	}
	return 0;
}

/** Bits of a device in the argument of this kind; 0: none known. */
static __always_inline __u32 place_arg(__u32 kind, __u64 arg, bool in_task,
				       struct ovl_func_key *key)
{
	void *p = (void *)arg;

	switch (kind) {
	case OVL_PLACE_SKB: return place_skb(p, in_task, key);
	case OVL_PLACE_PKT:
		if (bpf_probe_read_kernel(&p, sizeof(p), p))
			return 0;
		return place_skb(p, in_task, key);
	case OVL_PLACE_DEV: return place_dev(p, key);
	case OVL_PLACE_NAPI: return place_dev(BPF_CORE_READ((struct napi_struct *)p, dev), key);
	case OVL_PLACE_SK: place_sk(p, key); return 0;
	case OVL_PLACE_NET: place_netns(BPF_CORE_READ((struct net *)p, ns.inum), key); return 0;
	case OVL_PLACE_STATE:
		place_netns(BPF_CORE_READ((struct nf_hook_state *)p, net, ns.inum), key);
		return 0;
	default: return 0;
	}
}

#endif
