#include "lab/relay_super.h"

#include <errno.h>
#include <string.h>

/* offsets in the headers: RFC 791, RFC 8200, RFC 9293 */
enum {
	IP4_TOTAL = 2,
	IP4_ID = 4,
	IP4_FRAG = 6,
	IP4_CHECK = 10,
	IP4_SRC = 12,
	IP6_PAYLOAD = 4,
	TCP_SEQ = 4,
	TCP_ACK_SEQ = 8,
	TCP_FLAGS = 13,
	TCP_WINDOW = 14,
	TCP_CHECK = 16,
	TCP_URGENT = 18,
	TCP_BYTES = 20,
};

#define FLAG_FIN 0x01
#define FLAG_PSH 0x08
#define FLAG_ACK 0x10
#define FLAG_CWR 0x80
#define IP4_DF	 0x4000 /* then the identification means nothing (RFC 6864) */

#define IP_MAX_BYTES 65535

static uint32_t header_bytes(const struct ovl_relay_packet *p)
{
	return (uint32_t)p->ip_bytes + p->tcp_bytes;
}

static uint32_t payload_bytes(const struct ovl_relay_packet *p)
{
	return p->bytes - header_bytes(p);
}

static void put_check(uint8_t *at, uint16_t check)
{
	memcpy(at, &check, sizeof(check));
}

/* Length of an IP packet and, of IPv4, its header's checksum. */
static void put_ip_length(const struct ovl_relay_packet *p, uint32_t bytes)
{
	if (p->version == 6) {
		ovl_relay_wire_put16(p->data + IP6_PAYLOAD, bytes - p->ip_bytes);
		return;
	}
	ovl_relay_wire_put16(p->data + IP4_TOTAL, bytes);
	put_check(p->data + IP4_CHECK, 0);
	put_check(p->data + IP4_CHECK,
		  (uint16_t)~ovl_relay_wire_fold(ovl_relay_wire_sum(0, p->data, p->ip_bytes)));
}

int ovl_relay_cut_init(struct ovl_relay_cut *cut, const struct ovl_relay_packet *p,
		       const struct virtio_net_hdr *vnet)
{
	uint8_t kind = vnet->gso_type & (uint8_t)~VIRTIO_NET_HDR_GSO_ECN;

	*cut = (struct ovl_relay_cut){.p = *p, .gso_bytes = vnet->gso_size};
	if (kind != (p->version == 6 ? VIRTIO_NET_HDR_GSO_TCPV6 : VIRTIO_NET_HDR_GSO_TCPV4))
		return -EBADMSG;
	if (!p->tcp_bytes || !vnet->gso_size || !payload_bytes(p))
		return -EBADMSG;
	/* elsewhere than right behind IP there are extension headers between */
	if ((vnet->flags & VIRTIO_NET_HDR_F_NEEDS_CSUM) &&
	    (vnet->csum_start != p->ip_bytes || vnet->csum_offset != TCP_CHECK))
		return -EBADMSG;
	return 0;
}

static void put_tcp(const struct ovl_relay_cut *cut, struct ovl_relay_packet *p,
		    const struct ovl_relay_seg *seg)
{
	uint8_t *tcp = p->data + p->ip_bytes;
	uint64_t sum;

	ovl_relay_wire_put32(tcp + TCP_SEQ, ovl_relay_wire_get32(tcp + TCP_SEQ) + cut->at_bytes);
	if (cut->at_bytes > 0)
		tcp[TCP_FLAGS] &= (uint8_t)~FLAG_CWR;
	if (cut->at_bytes + seg->payload_bytes < payload_bytes(&cut->p))
		tcp[TCP_FLAGS] &= (uint8_t) ~(FLAG_FIN | FLAG_PSH);
	put_check(tcp + TCP_CHECK, 0);
	sum = ovl_relay_wire_pseudo(p, p->tcp_bytes + seg->payload_bytes);
	sum = ovl_relay_wire_sum(sum, tcp, p->tcp_bytes);
	sum = ovl_relay_wire_sum(sum, seg->payload, seg->payload_bytes);
	put_check(tcp + TCP_CHECK, (uint16_t)~ovl_relay_wire_fold(sum));
}

bool ovl_relay_cut_next(struct ovl_relay_cut *cut, struct ovl_relay_seg *seg)
{
	uint32_t left = payload_bytes(&cut->p) - cut->at_bytes;
	struct ovl_relay_packet p = cut->p;

	if (left == 0)
		return false;
	seg->header_bytes = header_bytes(&p);
	seg->payload = p.data + seg->header_bytes + cut->at_bytes;
	seg->payload_bytes = left < cut->gso_bytes ? left : cut->gso_bytes;
	memcpy(seg->header, p.data, seg->header_bytes);
	p.data = seg->header;
	p.bytes = seg->header_bytes + seg->payload_bytes;
	if (p.version == 4)
		ovl_relay_wire_put16(p.data + IP4_ID,
				     ovl_relay_wire_get16(p.data + IP4_ID) + cut->segs);
	put_ip_length(&p, p.bytes);
	put_tcp(cut, &p, seg);
	cut->at_bytes += seg->payload_bytes;
	cut->segs++;
	return true;
}

void ovl_relay_join_init(struct ovl_relay_join *join)
{
	join->segs = 0;
}

/* Can p be part of a super-packet at all? Plain data with nothing to lose, undamaged. */
static bool joinable(const struct ovl_relay_packet *p)
{
	const uint8_t *tcp = p->data + p->ip_bytes;

	if (!p->tcp_bytes || !payload_bytes(p))
		return false;
	if (p->version == 4 && p->ip_bytes != 20) /* options may be for one packet only */
		return false;
	/* SYN, FIN, RST, URG, ECE and CWR each mean something at their very place */
	if ((tcp[TCP_FLAGS] & ~FLAG_PSH) != FLAG_ACK)
		return false;
	/* what is joined counts as checked: the kernel will not see a wrong checksum any more */
	return ovl_relay_wire_intact(p);
}

/* Do the IP headers differ in lengths, checksum and a consecutive identification only? */
static bool same_ip(const uint8_t *head, const uint8_t *last, const struct ovl_relay_packet *p)
{
	const uint8_t *ip = p->data;
	uint16_t frag = ovl_relay_wire_get16(ip + IP4_FRAG);

	if (p->version == 6)
		return memcmp(head, ip, IP6_PAYLOAD) == 0 && memcmp(head + 6, ip + 6, 34) == 0;
	if (memcmp(head, ip, IP4_TOTAL) != 0 || ovl_relay_wire_get16(head + IP4_FRAG) != frag)
		return false;
	if (!(frag & IP4_DF) && (uint16_t)(ovl_relay_wire_get16(last + IP4_ID) + 1) !=
					ovl_relay_wire_get16(ip + IP4_ID))
		return false;
	/* time to live and protocol, addresses */
	return memcmp(head + 8, ip + 8, 2) == 0 && memcmp(head + IP4_SRC, ip + IP4_SRC, 8) == 0;
}

static bool same_flow(const struct ovl_relay_join *join, const struct ovl_relay_packet *p)
{
	const uint8_t *a = join->head.data + join->head.ip_bytes, *b = p->data + p->ip_bytes;

	if (p->version != join->head.version || p->ip_bytes != join->head.ip_bytes ||
	    p->tcp_bytes != join->head.tcp_bytes || !same_ip(join->head.data, join->last, p))
		return false;
	if (ovl_relay_wire_get32(b + TCP_SEQ) !=
	    ovl_relay_wire_get32(a + TCP_SEQ) + join->payload_bytes)
		return false;
	/* all else but flags, which are known, and the checksum: ports, ACK, length, window, … */
	return memcmp(a, b, TCP_SEQ) == 0 &&
	       memcmp(a + TCP_ACK_SEQ, b + TCP_ACK_SEQ, TCP_FLAGS - TCP_ACK_SEQ) == 0 &&
	       memcmp(a + TCP_WINDOW, b + TCP_WINDOW, 2) == 0 &&
	       memcmp(a + TCP_URGENT, b + TCP_URGENT, p->tcp_bytes - TCP_URGENT) == 0;
}

static void start(struct ovl_relay_join *join, const struct ovl_relay_packet *p)
{
	join->head = *p;
	join->last = p->data;
	join->segs = 1;
	join->closed = !joinable(p);
	join->gso_bytes = join->payload_bytes = join->closed ? 0 : payload_bytes(p);
	if (!join->closed && (p->data[p->ip_bytes + TCP_FLAGS] & FLAG_PSH))
		join->closed = true;
	join->iov[0] = (struct iovec){&join->vnet, sizeof(join->vnet)};
	join->iov[1] = (struct iovec){p->data, p->bytes};
}

bool ovl_relay_join_add(struct ovl_relay_join *join, const struct ovl_relay_packet *p)
{
	uint8_t *tcp = p->data + p->ip_bytes;
	uint32_t more;

	if (join->segs == 0) {
		start(join, p);
		return true;
	}
	if (join->closed || join->segs == OVL_RELAY_JOIN_MAX || !p->tcp_bytes)
		return false;
	more = payload_bytes(p);
	if (more > join->gso_bytes ||
	    header_bytes(&join->head) + join->payload_bytes + more > IP_MAX_BYTES)
		return false;
	if (!same_flow(join, p) || !joinable(p))
		return false;
	join->segs++;
	join->iov[join->segs] = (struct iovec){p->data + header_bytes(p), more};
	join->payload_bytes += more;
	join->last = p->data;
	if (tcp[TCP_FLAGS] & FLAG_PSH) {
		join->head.data[join->head.ip_bytes + TCP_FLAGS] |= FLAG_PSH;
		join->closed = true;
	}
	if (more < join->gso_bytes)
		join->closed = true;
	return true;
}

size_t ovl_relay_join_finish(struct ovl_relay_join *join)
{
	struct ovl_relay_packet *head = &join->head;
	uint32_t l4_bytes = head->tcp_bytes + join->payload_bytes;

	join->vnet = (struct virtio_net_hdr){.gso_type = VIRTIO_NET_HDR_GSO_NONE};
	if (join->segs <= 1)
		return join->segs ? 2 : 0;
	join->vnet.flags = VIRTIO_NET_HDR_F_NEEDS_CSUM;
	join->vnet.gso_type =
		head->version == 6 ? VIRTIO_NET_HDR_GSO_TCPV6 : VIRTIO_NET_HDR_GSO_TCPV4;
	join->vnet.gso_size = (uint16_t)join->gso_bytes;
	join->vnet.hdr_len = (uint16_t)header_bytes(head);
	join->vnet.csum_start = head->ip_bytes;
	join->vnet.csum_offset = TCP_CHECK;
	put_ip_length(head, head->ip_bytes + l4_bytes);
	put_check(head->data + head->ip_bytes + TCP_CHECK,
		  ovl_relay_wire_fold(ovl_relay_wire_pseudo(head, l4_bytes)));
	return 1 + join->segs;
}
