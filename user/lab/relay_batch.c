#include "lab/relay_batch.h"

#include <errno.h>
#include <netinet/udp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "lab/relay_super.h"

#define SEND_SEGS  64	 /* UDP_MAX_SEGMENTS of 6.1; later kernels take 128 */
#define SEND_BYTES 65507 /* largest datagram over IPv4; IPv6 takes more */
#define RECV_SLOTS 16	 /* super-packets in one receive */

struct ovl_relay_batch {
	struct ovl_relay_ends *ends;
	/* to the wire */
	struct virtio_net_hdr vnet;
	uint8_t from_tun[OVL_RELAY_PACKET_MAX];
	struct ovl_relay_seg segs[SEND_SEGS];
	struct iovec send_iov[2 * SEND_SEGS]; /* header and payload of each */
	/* to the tun device */
	struct mmsghdr slots[RECV_SLOTS];
	struct iovec recv_iov[RECV_SLOTS];
	union {
		struct cmsghdr align;
		uint8_t bytes[CMSG_SPACE(sizeof(int))];
	} control[RECV_SLOTS];
	uint8_t from_wire[RECV_SLOTS][OVL_RELAY_PACKET_MAX];
	struct ovl_relay_join join;
};

struct ovl_relay_batch *ovl_relay_batch_new(struct ovl_relay_ends *ends)
{
	struct ovl_relay_batch *b = calloc(1, sizeof(*b));

	if (!b)
		return NULL;
	b->ends = ends;
	for (size_t i = 0; i < RECV_SLOTS; i++) {
		b->recv_iov[i] = (struct iovec){b->from_wire[i], sizeof(b->from_wire[i])};
		b->slots[i].msg_hdr.msg_iov = &b->recv_iov[i];
		b->slots[i].msg_hdr.msg_iovlen = 1;
		b->slots[i].msg_hdr.msg_control = &b->control[i];
	}
	ovl_relay_join_init(&b->join);
	return b;
}

void ovl_relay_batch_free(struct ovl_relay_batch *b)
{
	free(b);
}

static void count_sent(struct ovl_relay_batch *b, int rc, size_t n_pkts, size_t n_bytes)
{
	if (rc) {
		b->ends->counts->send_failed += n_pkts;
		return;
	}
	b->ends->counts->to_wire_pkts += n_pkts;
	b->ends->counts->to_wire_bytes += n_bytes;
}

static void send_singly(struct ovl_relay_batch *b, const struct ovl_relay_addr *to, size_t n)
{
	struct msghdr msg = {.msg_name = (void *)&to->sa, .msg_namelen = to->len, .msg_iovlen = 2};

	for (size_t i = 0; i < n; i++) {
		msg.msg_iov = &b->send_iov[2 * i];
		count_sent(b, ovl_relay_ends_send(b->ends, &msg), 1,
			   msg.msg_iov[0].iov_len + msg.msg_iov[1].iov_len);
	}
}

/* Did the kernel object to UDP_SEGMENT rather than to the datagrams? */
static bool objects_to_gso(struct ovl_relay_batch *b, int rc)
{
	/* no checksum offload on the way: udp_send_skb() before commit 10154dbded6d (6.11) */
	if (rc == -EIO || rc == -EOPNOTSUPP || rc == -ENOPROTOOPT)
		b->ends->counts->no_gso = true;
	/* invalid or too long: segments beyond the path's MTU, which singly may be fragmented */
	return b->ends->counts->no_gso || rc == -EINVAL || rc == -EMSGSIZE;
}

/* Send n segments, all of seg_bytes but the last; n_bytes in total. */
static void send_segs(struct ovl_relay_batch *b, const struct ovl_relay_addr *to, size_t n,
		      size_t seg_bytes, size_t n_bytes)
{
	union {
		struct cmsghdr align;
		uint8_t bytes[CMSG_SPACE(sizeof(uint16_t))];
	} control = {.bytes = {0}};
	struct msghdr msg = {.msg_name = (void *)&to->sa,
			     .msg_namelen = to->len,
			     .msg_iov = b->send_iov,
			     .msg_iovlen = 2 * n,
			     .msg_control = &control,
			     .msg_controllen = sizeof(control.bytes)};
	struct cmsghdr *cmsg = CMSG_FIRSTHDR(&msg);
	uint16_t gso_size = (uint16_t)seg_bytes;
	int rc;

	if (n < 2 || b->ends->counts->no_gso) {
		send_singly(b, to, n);
		return;
	}
	cmsg->cmsg_level = SOL_UDP;
	cmsg->cmsg_type = UDP_SEGMENT;
	cmsg->cmsg_len = CMSG_LEN(sizeof(gso_size));
	memcpy(CMSG_DATA(cmsg), &gso_size, sizeof(gso_size));
	rc = ovl_relay_ends_send(b->ends, &msg);
	if (rc && objects_to_gso(b, rc)) {
		b->ends->counts->gso_refused++;
		send_singly(b, to, n);
		return;
	}
	count_sent(b, rc, n, n_bytes);
}

static void send_super(struct ovl_relay_batch *b, const struct ovl_relay_addr *to,
		       struct ovl_relay_cut *cut)
{
	size_t n = 0, n_bytes = 0, seg_bytes = 0;
	struct ovl_relay_seg *seg = b->segs;

	while (ovl_relay_cut_next(cut, seg)) {
		b->send_iov[2 * n] = (struct iovec){seg->header, seg->header_bytes};
		b->send_iov[2 * n + 1] = (struct iovec){(void *)seg->payload, seg->payload_bytes};
		if (n == 0)
			seg_bytes = seg->header_bytes + seg->payload_bytes;
		n_bytes += seg->header_bytes + seg->payload_bytes;
		n++;
		seg++;
		if (n == SEND_SEGS || n_bytes + seg_bytes > SEND_BYTES) {
			send_segs(b, to, n, seg_bytes, n_bytes);
			n = n_bytes = 0;
			seg = b->segs;
		}
	}
	if (n)
		send_segs(b, to, n, seg_bytes, n_bytes);
}

static void send_plain(struct ovl_relay_batch *b, const struct ovl_relay_addr *to,
		       struct ovl_relay_packet *p)
{
	struct iovec iov = {p->data, p->bytes};
	struct msghdr msg = {.msg_name = (void *)&to->sa,
			     .msg_namelen = to->len,
			     .msg_iov = &iov,
			     .msg_iovlen = 1};

	count_sent(b, ovl_relay_ends_send(b->ends, &msg), 1, p->bytes);
}

static void forward(struct ovl_relay_batch *b, size_t n)
{
	const struct ovl_relay_addr *to;
	struct ovl_relay_packet p;
	struct ovl_relay_cut cut;
	int rc = 0;

	if (!ovl_relay_ends_check(b->ends, b->from_tun, n, &p))
		return;
	to = ovl_relay_ends_route(b->ends, &p);
	if (!to)
		return;
	if (b->vnet.gso_type != VIRTIO_NET_HDR_GSO_NONE)
		rc = ovl_relay_cut_init(&cut, &p, &b->vnet);
	else if (b->vnet.flags & VIRTIO_NET_HDR_F_NEEDS_CSUM)
		rc = ovl_relay_wire_finish(&p, b->vnet.csum_start, b->vnet.csum_offset);
	if (rc)
		b->ends->counts->malformed++;
	else if (b->vnet.gso_type != VIRTIO_NET_HDR_GSO_NONE)
		send_super(b, to, &cut);
	else
		send_plain(b, to, &p);
}

int ovl_relay_batch_to_wire(struct ovl_relay_batch *b, struct ovl_err *err)
{
	struct iovec iov[] = {{&b->vnet, sizeof(b->vnet)}, {b->from_tun, sizeof(b->from_tun)}};
	ssize_t n;

	b->ends->counts->tun_reads++;
	n = readv(b->ends->tun, iov, 2);
	if (n < 0)
		return ovl_relay_ends_tun_fault(b->ends, errno, err);
	if ((size_t)n < sizeof(b->vnet))
		b->ends->counts->malformed++;
	else
		forward(b, (size_t)n - sizeof(b->vnet));
	return 1;
}

static int flush(struct ovl_relay_batch *b, struct ovl_err *err)
{
	size_t n_iov = ovl_relay_join_finish(&b->join);

	ovl_relay_join_init(&b->join);
	return n_iov ? ovl_relay_ends_write(b->ends, b->join.iov, n_iov, err) : 0;
}

/* One datagram: into the join, before which what it cannot follow is written. */
static int take(struct ovl_relay_batch *b, uint8_t *data, size_t n, struct ovl_err *err)
{
	struct ovl_relay_packet p;
	int rc;

	if (!ovl_relay_ends_check(b->ends, data, n, &p))
		return 0;
	b->ends->counts->to_tun_pkts++;
	b->ends->counts->to_tun_bytes += p.bytes;
	if (ovl_relay_join_add(&b->join, &p))
		return 0;
	rc = flush(b, err);
	ovl_relay_join_add(&b->join, &p); /* empty now: takes anything */
	return rc;
}

/* Length of the datagrams that one receive brought, the last may be shorter; all if not joined. */
static size_t gro_bytes(struct msghdr *msg, size_t n)
{
	struct cmsghdr *cmsg = CMSG_FIRSTHDR(msg);
	int size;

	for (; cmsg; cmsg = CMSG_NXTHDR(msg, cmsg)) {
		if (cmsg->cmsg_level != SOL_UDP || cmsg->cmsg_type != UDP_GRO ||
		    cmsg->cmsg_len < CMSG_LEN(sizeof(size)))
			continue;
		memcpy(&size, CMSG_DATA(cmsg), sizeof(size));
		if (size > 0 && (size_t)size < n)
			return (size_t)size;
	}
	return n;
}

static int take_slot(struct ovl_relay_batch *b, size_t slot, struct ovl_err *err)
{
	struct mmsghdr *m = &b->slots[slot];
	size_t n = m->msg_len, size = gro_bytes(&m->msg_hdr, n);
	int rc = 0;

	if (n == 0 || (m->msg_hdr.msg_flags & MSG_TRUNC)) {
		b->ends->counts->malformed++;
		return 0;
	}
	for (size_t at = 0; at < n && !rc; at += size)
		rc = take(b, b->from_wire[slot] + at, n - at < size ? n - at : size, err);
	return rc;
}

int ovl_relay_batch_to_tun(struct ovl_relay_batch *b, struct ovl_err *err)
{
	int n, rc = 0;

	for (size_t i = 0; i < RECV_SLOTS; i++)
		b->slots[i].msg_hdr.msg_controllen = sizeof(b->control[i].bytes);
	b->ends->counts->udp_recvs++;
	n = recvmmsg(b->ends->sock, b->slots, RECV_SLOTS, MSG_DONTWAIT, NULL);
	if (n < 0)
		return ovl_relay_ends_recv_fault(b->ends, errno, err);
	for (int i = 0; i < n && !rc; i++)
		rc = take_slot(b, (size_t)i, err);
	/* the slots are used again: nothing may stay in the join */
	if (!rc)
		rc = flush(b, err);
	return rc ? rc : n > 0;
}
