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

/** connect.bpf.c */
void ovl_connect_again(struct sock *sk);

/* Segments of a packet that is sent again, as the kernel's own RetransSegs counts them. */
static __always_inline __u16 segments(struct sk_buff *skb)
{
	struct tcp_skb_cb *cb = (void *)skb + bpf_core_field_offset(struct sk_buff, cb);
	__u16 n = 0;

	bpf_core_read(&n, sizeof(n), &cb->tcp_gso_segs);
	return n;
}

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
		*n += segments((void *)ctx[1]);
	ovl_connect_again(sk);
	return 0;
}

char LICENSE[] SEC("license") __weak = "GPL";
