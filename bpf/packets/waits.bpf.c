/* Where packets wait: in a qdisc, for the softirq, in a tun device's ring, in a socket. */
#include "packets.bpf.h"

#define NET_RX 3  /* of the kernel's softirqs, include/linux/interrupt.h */
#define BULK   16 /* packets of one dequeue that are looked at */

SEC("tp_btf/qdisc_enqueue")
int ovl_enqueue(__u64 *ctx)
{
	struct cpu *c = open_cpu(OVL_PACKET_ENQUEUE);
	struct sk_buff *skb = (void *)ctx[2];
	struct ovl_hop_value hop;

	if (!c)
		return 0;
	hop = find_hop(c, skb->dev, true);
	if (hop.index != NO_HOP)
		span_begin(address(c, false, skb), OVL_WAIT_QDISC, hop.index * 2, c->window);
	return 0;
}

SEC("tp_btf/qdisc_dequeue")
int ovl_dequeue(__u64 *ctx)
{
	struct cpu *c = open_cpu(OVL_PACKET_DEQUEUE);
	struct sk_buff *skb = (void *)ctx[3];
	__u32 node = 0;

	/* an empty qdisc answers with nothing; several packets are a list */
	for (int i = 0; c && skb && i < BULK; i++) {
		__u64 ns = span_end(address(c, false, skb), OVL_WAIT_QDISC, &node, c->window);

		if (ns)
			add_wait(node / 2, OVL_WAIT_QDISC, false, ns);
		skb = skb->next;
	}
	return 0;
}

SEC("tp_btf/skb_copy_datagram_iovec")
int ovl_copy(__u64 *ctx)
{
	struct cpu *c = open_cpu(OVL_PACKET_COPY);
	__u32 node = 0;
	__u64 ns;

	if (!c)
		return 0;
	ns = span_end(address(c, true, (void *)ctx[0]), OVL_WAIT_TUN, &node, c->window);
	if (ns) {
		add_wait(node / 2, OVL_WAIT_TUN, false, ns);
		return 0;
	}
	ns = span_end(address(c, true, (void *)ctx[0]), OVL_WAIT_SOCKET, &node, c->window);
	if (ns)
		add_wait(node / 2, OVL_WAIT_SOCKET, false, ns);
	return 0;
}

SEC("tp_btf/softirq_raise")
int ovl_raise(__u64 *ctx)
{
	struct cpu *c;

	if ((__u32)ctx[0] != NET_RX)
		return 0;
	c = open_cpu(OVL_PACKET_RAISE);
	if (c && !c->raise_ns)
		c->raise_ns = bpf_ktime_get_ns();
	return 0;
}

SEC("tp_btf/softirq_entry")
int ovl_softirq(__u64 *ctx)
{
	struct cpu *c;

	if ((__u32)ctx[0] != NET_RX)
		return 0;
	c = open_cpu(OVL_PACKET_SOFTIRQ);
	if (!c)
		return 0;
	if (c->raise_ns)
		add_wait(OVL_HOP_NONE, OVL_WAIT_RAISE, false, bpf_ktime_get_ns() - c->raise_ns);
	c->raise_ns = 0;
	/* what the last softirq received is not what this one does; no driver is at work here */
	c->rx_skb = 0;
	c->depth = 0;
	return 0;
}

char LICENSE[] SEC("license") __weak = "GPL";
