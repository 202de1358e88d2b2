/*
 * Packets at the devices of the path: how many, how many segments, what changed on the way, and
 * which device they came from.
 */
#include "dir.bpf.h"

#define CHECKSUM_PARTIAL 3 /* the device, or who stands in for it, computes it */

/** What a packet is at one point. */
struct seen {
	__u32 len, segs;
	bool gso, ack;
};

static __always_inline struct seen look(struct sk_buff *skb, bool sent)
{
	struct skb_shared_info *shared = (void *)(skb->head + skb->end);
	struct seen p = {.len = skb->len, .segs = 1};
	__u16 size = BPF_CORE_READ(shared, gso_size);

	if (size) {
		p.segs = BPF_CORE_READ(shared, gso_segs);
		/* what comes from tun or virtio has none until the kernel has checked it */
		if (!p.segs)
			p.segs = (p.len + size - 1) / size;
		p.gso = p.segs > 1;
	} else if (p.len <= SMALL) {
		p.ack = bare_tcp(sent ? skb->head + skb->network_header : skb->data);
	}
	return p;
}

static __always_inline struct ovl_hop_counts *count_at(__u32 hop, enum ovl_hop_point point,
						       const struct seen *p)
{
	struct ovl_hop_counts *h = bpf_map_lookup_elem(&hop_counts, &hop);
	struct ovl_point_value *v;

	if (!h)
		return h;
	v = &h->at[point][p->ack ? OVL_DIR_ACK : OVL_DIR_DATA];
	v->skbs++;
	v->bytes += p->len;
	v->segs += p->segs;
	v->gso_skbs += p->gso;
	return h;
}

static __always_inline void step(__u32 from, __u32 to, bool ack)
{
	struct ovl_edge_key key = {.from = from, .to = to};
	struct ovl_edge_value *v = bpf_map_lookup_elem(&edges, &key);

	if (!v) {
		struct ovl_edge_value empty = {};

		bpf_map_update_elem(&edges, &key, &empty, BPF_NOEXIST);
		v = bpf_map_lookup_elem(&edges, &key);
	}
	if (v)
		v->skbs[ack ? OVL_DIR_ACK : OVL_DIR_DATA]++;
	else
		count(&packet_lost, OVL_LOST_PACKET_MAP);
}

/* The device whose driver is at work on this CPU. */
static __always_inline struct level *innermost(struct cpu *c)
{
	__u32 depth = c->depth;

	return depth && depth <= LEVELS ? &c->level[(depth - 1) & (LEVELS - 1)] : (void *)0;
}

static __always_inline void changed(struct ovl_hop_counts *h, struct sk_buff *skb, __u64 head,
				    __u32 data_len)
{
	h->head_moved += (__u64)skb->head != head;
	h->linearised += data_len && !skb->data_len;
}

/*
 * A packet that was received and goes on has skb_iif; a new one at a freed one's address does not.
 */
SEC("tp_btf/net_dev_queue")
int ovl_queue(__u64 *ctx)
{
	struct cpu *c = open_cpu(OVL_PACKET_QUEUE);
	struct sk_buff *skb = (void *)ctx[0];
	struct ovl_hop_value hop;
	struct level *outer;
	struct seen p;

	if (!c)
		return 0;
	hop = find_hop(c, skb->dev, true);
	outer = innermost(c);
	if (hop.index != NO_HOP) {
		p = look(skb, true);
		count_at(hop.index, OVL_POINT_QUEUE, &p);
		if (outer) {
			if (outer->start_ns)
				add_wait(outer->hop, OVL_WAIT_ENCAP, p.ack,
					 bpf_ktime_get_ns() - outer->start_ns);
			if (outer->hop != NO_HOP)
				step(outer->hop * 2, hop.index * 2, p.ack);
		} else if (c->rx_skb == (__u64)skb && skb->skb_iif) {
			step(c->rx_node, hop.index * 2, p.ack);
		}
		c->queued.head = (__u64)skb->head;
		c->queued.data_len = skb->data_len;
		c->queued.ip_summed = BPF_CORE_READ_BITFIELD(skb, ip_summed);
		c->queued.start_ns = p.gso ? bpf_ktime_get_ns() : 0;
	}
	/* an inner packet may become several outer ones: the first is what encapsulation took */
	if (outer)
		outer->start_ns = 0;
	c->queued.skb = (__u64)skb;
	c->queued.hop = hop.index;
	c->rx_skb = 0;
	return 0;
}

/* What lies between net_dev_queue and here: segmentation, checksum, linearisation. */
static __always_inline void prepared(struct cpu *c, struct sk_buff *skb, struct ovl_hop_counts *h,
				     const struct seen *p, __u32 hop)
{
	struct queued *q = &c->queued;

	if (q->hop != hop)
		return;
	if (q->start_ns) {
		add_wait(hop, OVL_WAIT_SEGMENT, p->ack, bpf_ktime_get_ns() - q->start_ns);
		q->start_ns = 0;
	}
	if (h && q->skb == (__u64)skb) {
		changed(h, skb, q->head, q->data_len);
		h->checksummed += q->ip_summed == CHECKSUM_PARTIAL &&
				  BPF_CORE_READ_BITFIELD(skb, ip_summed) != CHECKSUM_PARTIAL;
	}
	q->skb = 0;
}

SEC("tp_btf/net_dev_start_xmit")
int ovl_start_xmit(__u64 *ctx)
{
	struct cpu *c = open_cpu(OVL_PACKET_START_XMIT);
	struct sk_buff *skb = (void *)ctx[0];
	struct ovl_hop_value hop;
	struct ovl_hop_counts *h;
	struct level *level;
	struct seen p = {};

	if (!c)
		return 0;
	hop = find_hop(c, (void *)ctx[1], true);
	if (hop.index != NO_HOP) {
		p = look(skb, true);
		h = count_at(hop.index, OVL_POINT_XMIT, &p);
		prepared(c, skb, h, &p, hop.index);
		if (hop.flags & OVL_HOP_TUN)
			span_begin(address(c, false, skb), OVL_WAIT_TUN, hop.index * 2, c->window);
	}
	if (c->depth >= LEVELS)
		count(&packet_lost, OVL_LOST_PACKET_DEPTH);
	c->depth++;
	level = innermost(c);
	if (level) {
		level->skb = (__u64)skb;
		level->hop = hop.index;
		level->start_ns = hop.flags & OVL_HOP_TUNNEL ? bpf_ktime_get_ns() : 0;
	}
	return 0;
}

SEC("tp_btf/net_dev_xmit")
int ovl_xmit(__u64 *ctx)
{
	struct cpu *c = open_cpu(OVL_PACKET_XMIT);
	struct level *level = c ? innermost(c) : (void *)0;
	struct ovl_hop_counts *h;

	if (!c || !c->depth)
		return 0;
	/* the packet may be freed by now: its address is all that may be looked at */
	if (level && level->skb != ctx[0])
		return 0;
	if (level && (int)ctx[1] && level->hop != NO_HOP) {
		h = bpf_map_lookup_elem(&hop_counts, &level->hop);
		if (h)
			h->xmit_refused++;
	}
	c->depth--;
	return 0;
}

SEC("tp_btf/netif_rx")
int ovl_netif_rx(__u64 *ctx)
{
	struct cpu *c = open_cpu(OVL_PACKET_NETIF_RX);
	struct sk_buff *skb = (void *)ctx[0];
	struct ovl_hop_value hop;
	struct level *outer;
	struct seen p;

	if (!c)
		return 0;
	hop = find_hop(c, skb->dev, false);
	if (hop.index == NO_HOP)
		return 0;
	p = look(skb, false);
	count_at(hop.index, OVL_POINT_BACKLOG, &p);
	span_begin(address(c, false, skb), OVL_WAIT_SOFTIRQ, hop.index * 2 + 1, c->window);
	outer = innermost(c);
	if (outer && outer->hop != NO_HOP)
		step(outer->hop * 2, hop.index * 2 + 1, p.ack);
	return 0;
}

static __always_inline int enter_gro(struct sk_buff *skb, enum ovl_packet_prog prog)
{
	struct cpu *c = open_cpu(prog);
	struct ovl_hop_value hop;
	__u32 from = 0;
	struct seen p;
	__u64 ns;

	if (!c)
		return 0;
	hop = find_hop(c, skb->dev, true);
	if (hop.index == NO_HOP)
		return 0;
	p = look(skb, false);
	count_at(hop.index, OVL_POINT_GRO, &p);
	ns = span_end(address(c, false, skb), OVL_WAIT_SOCKET, &from, c->window);
	if (ns && hop.flags & OVL_HOP_TUNNEL) {
		add_wait(hop.index, OVL_WAIT_DECAP_GRO, p.ack, ns);
		step(from, hop.index * 2 + 1, p.ack);
	}
	return 0;
}

SEC("tp_btf/napi_gro_receive_entry")
int ovl_gro(__u64 *ctx)
{
	return enter_gro((void *)ctx[0], OVL_PACKET_GRO);
}

SEC("tp_btf/napi_gro_frags_entry")
int ovl_gro_frags(__u64 *ctx)
{
	return enter_gro((void *)ctx[0], OVL_PACKET_GRO_FRAGS);
}

/* The device this packet was received by before; it may have changed the CPU since (RPS). */
static __always_inline bool received_before(struct cpu *c, struct sk_buff *skb, __u32 *node)
{
	if (c->rx_skb == (__u64)skb) {
		*node = c->rx_node;
		return true;
	}
	return span_end(address(c, false, skb), OVL_WAIT_SOCKET, node, c->window);
}

SEC("tp_btf/netif_receive_skb")
int ovl_receive(__u64 *ctx)
{
	struct cpu *c = open_cpu(OVL_PACKET_RECEIVE);
	struct sk_buff *skb = (void *)ctx[0];
	struct ovl_hop_value hop;
	__u32 from = 0, node;
	struct seen p;
	__u64 ns;

	if (!c)
		return 0;
	hop = find_hop(c, skb->dev, true);
	if (hop.index == NO_HOP) {
		c->rx_skb = 0;
		return 0;
	}
	node = hop.index * 2 + 1;
	p = look(skb, false);
	count_at(hop.index, OVL_POINT_RX, &p);
	ns = span_end(address(c, false, skb), OVL_WAIT_SOFTIRQ, &from, c->window);
	if (ns && from == node)
		add_wait(hop.index, OVL_WAIT_SOFTIRQ, p.ack, ns);
	else if (skb->skb_iif && received_before(c, skb, &from) && from != node)
		step(from, node, p.ack);
	/* until a tunnel takes it on, or a process reads it */
	span_begin(address(c, false, skb), OVL_WAIT_SOCKET, node, c->window);
	c->rx_skb = (__u64)skb;
	c->rx_node = node;
	return 0;
}

char LICENSE[] SEC("license") __weak = "GPL";
