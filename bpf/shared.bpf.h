/* Maps and switches that all programs share; weak, so that the linker keeps one of each. */
#ifndef OVL_SHARED_BPF_H
#define OVL_SHARED_BPF_H

#include "vmlinux.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>

#include "abi.h"

/** Which of the twin maps to write to: OVL_ACTIVE_* bits, flipped by user space. */
volatile __u32 ovl_active __weak;

/** Runs by enum ovl_prog. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, OVL_PROG_COUNT);
	__type(key, __u32);
	__type(value, __u64);
} runs __weak SEC(".maps");

/** Events that could not be kept, by enum ovl_lost. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, OVL_LOST_COUNT);
	__type(key, __u32);
	__type(value, __u64);
} lost __weak SEC(".maps");

/** Devices and namespaces of the path, with OVL_DEVICE_* bits: filled by user space. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, OVL_DEVICE_ENTRIES);
	__type(key, struct ovl_device_key);
	__type(value, __u32);
} devices __weak SEC(".maps");

static __always_inline void ovl_count(void *map, __u32 index)
{
	__u64 *n = bpf_map_lookup_elem(map, &index);

	if (n)
		(*n)++;
}

static __always_inline bool ovl_known(__u64 netns, __u64 ifindex)
{
	struct ovl_device_key key = {.netns = netns, .ifindex = ifindex};

	return netns && bpf_map_lookup_elem(&devices, &key);
}

/** Inode of a socket's network namespace, 0 when the pointer leads nowhere. */
static __always_inline __u64 ovl_sock_netns(struct sock *sk)
{
	return sk ? BPF_CORE_READ(sk, __sk_common.skc_net.net, ns.inum) : 0;
}

#endif
