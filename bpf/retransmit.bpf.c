/* TCP retransmissions by namespace. */
#include "shared.bpf.h"

/**
 * Arguments of the running kernel's tcp_retransmit_skb tracepoint: the third, err, is newer than
 * 6.12.
 */
const volatile __u32 ovl_retransmit_args = 2;

/**
 * Segments sent again, by the path's namespaces: user space makes the entries, counts only grow.
 */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_HASH);
	__uint(max_entries, OVL_DEVICE_ENTRIES);
	__type(key, __u64);
	__type(value, __u64);
} retransmits SEC(".maps");

SEC("tp_btf/tcp_retransmit_skb")
int ovl_retransmit(__u64 *ctx)
{
	struct sock *sk = (void *)ctx[0];
	__u64 netns, *n;

	ovl_count(&runs, OVL_PROG_RETRANSMIT);
	/* with err the event fires for failed attempts too; without, only for successful ones */
	if (ovl_retransmit_args >= 3 && (int)ctx[2])
		return 0;
	netns = ovl_sock_netns(sk);
	n = bpf_map_lookup_elem(&retransmits, &netns);
	if (n)
		(*n)++;
	return 0;
}

char LICENSE[] SEC("license") __weak = "GPL";
