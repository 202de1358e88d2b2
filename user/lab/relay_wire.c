#include "lab/relay_wire.h"

#include <errno.h>
#include <netinet/in.h>
#include <string.h>

/* offsets in the headers: RFC 791, RFC 8200, RFC 9293 */
enum {
	IP4_BYTES = 20,
	IP4_TOTAL = 2,
	IP4_FRAG = 6,
	IP4_TTL = 8,
	IP4_PROTO = 9,
	IP4_CHECK = 10,
	IP4_SRC = 12,
	IP4_DST = 16,
	IP6_BYTES = 40,
	IP6_PAYLOAD = 4,
	IP6_NEXT = 6,
	IP6_HOPS = 7,
	IP6_SRC = 8,
	IP6_DST = 24,
	TCP_BYTES = 20,
	TCP_DOFF = 12,
};

#define IP4_FRAG_MASK 0x3fff /* more fragments, or not the first */

uint64_t ovl_relay_wire_sum(uint64_t sum, const void *data, size_t n)
{
	const uint8_t *p = data;
	uint64_t a = 0, b = 0;
	uint32_t w[4] = {0};

	/* 32 bits at a time into 64: no carry to look after below 2^32 words */
	for (; n >= sizeof(w); p += sizeof(w), n -= sizeof(w)) {
		memcpy(w, p, sizeof(w));
		a += (uint64_t)w[0] + w[1];
		b += (uint64_t)w[2] + w[3];
	}
	memset(w, 0, sizeof(w));
	memcpy(w, p, n);
	a += (uint64_t)w[0] + w[1];
	b += (uint64_t)w[2] + w[3];
	return sum + a + b;
}

uint16_t ovl_relay_wire_fold(uint64_t sum)
{
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return (uint16_t)sum;
}

static int parse_ip4(size_t n, struct ovl_relay_packet *p)
{
	if (n < IP4_BYTES)
		return -EBADMSG;
	p->ip_bytes = (uint8_t)((p->data[0] & 0xf) * 4);
	p->bytes = ovl_relay_wire_get16(p->data + IP4_TOTAL);
	if (p->ip_bytes < IP4_BYTES || p->bytes < p->ip_bytes || p->bytes > n)
		return -EBADMSG;
	return 0;
}

static int parse_ip6(size_t n, struct ovl_relay_packet *p)
{
	if (n < IP6_BYTES)
		return -EBADMSG;
	p->ip_bytes = IP6_BYTES;
	p->bytes = IP6_BYTES + ovl_relay_wire_get16(p->data + IP6_PAYLOAD);
	/* no payload but something there: a jumbogram (RFC 2675), which no datagram can carry */
	if (p->bytes > n || (p->bytes == IP6_BYTES && n > IP6_BYTES))
		return -EBADMSG;
	return 0;
}

static bool is_tcp(const struct ovl_relay_packet *p)
{
	if (p->version == 6)
		return p->data[IP6_NEXT] == IPPROTO_TCP;
	return p->data[IP4_PROTO] == IPPROTO_TCP &&
	       (ovl_relay_wire_get16(p->data + IP4_FRAG) & IP4_FRAG_MASK) == 0;
}

int ovl_relay_wire_parse(uint8_t *data, size_t n, struct ovl_relay_packet *p)
{
	uint32_t l4_bytes;
	uint8_t tcp_bytes;
	int rc = -EBADMSG;

	*p = (struct ovl_relay_packet){.data = data};
	if (n == 0)
		return -EBADMSG;
	p->version = data[0] >> 4;
	if (p->version == 4)
		rc = parse_ip4(n, p);
	else if (p->version == 6)
		rc = parse_ip6(n, p);
	if (rc)
		return rc;
	l4_bytes = p->bytes - p->ip_bytes;
	if (!is_tcp(p) || l4_bytes < TCP_BYTES)
		return 0;
	tcp_bytes = (uint8_t)((data[p->ip_bytes + TCP_DOFF] >> 4) * 4);
	if (tcp_bytes >= TCP_BYTES && tcp_bytes <= l4_bytes)
		p->tcp_bytes = tcp_bytes;
	return 0;
}

bool ovl_relay_wire_hop(struct ovl_relay_packet *p)
{
	uint8_t *hops = p->data + (p->version == 6 ? IP6_HOPS : IP4_TTL);
	uint8_t *check = p->data + IP4_CHECK;
	uint32_t old, sum;

	if (*hops <= 1)
		return false;
	if (p->version == 6) {
		--*hops;
		return true;
	}
	old = ovl_relay_wire_get16(hops); /* with the protocol next to it */
	--*hops;
	/* RFC 1624, equation 3: HC' = ~(~HC + ~m + m') */
	sum = (uint16_t)~ovl_relay_wire_get16(check) + (uint16_t)~old + ovl_relay_wire_get16(hops);
	ovl_relay_wire_put16(check, (uint16_t)~ovl_relay_wire_fold(sum));
	return true;
}

const uint8_t *ovl_relay_wire_dst(const struct ovl_relay_packet *p)
{
	return p->data + (p->version == 6 ? IP6_DST : IP4_DST);
}

uint64_t ovl_relay_wire_pseudo(const struct ovl_relay_packet *p, uint32_t l4_bytes)
{
	uint8_t tail[8] = {0};

	/* length and protocol: 32 bits each for IPv6 (RFC 8200, 8.1), the same sum for IPv4 */
	ovl_relay_wire_put32(tail, l4_bytes);
	tail[7] = IPPROTO_TCP;
	if (p->version == 6)
		return ovl_relay_wire_sum(ovl_relay_wire_sum(0, tail, sizeof(tail)),
					  p->data + IP6_SRC, 32);
	return ovl_relay_wire_sum(ovl_relay_wire_sum(0, tail, sizeof(tail)), p->data + IP4_SRC, 8);
}

bool ovl_relay_wire_intact(const struct ovl_relay_packet *p)
{
	uint32_t l4_bytes = p->bytes - p->ip_bytes;
	uint64_t sum = ovl_relay_wire_pseudo(p, l4_bytes);

	if (p->version == 4 &&
	    ovl_relay_wire_fold(ovl_relay_wire_sum(0, p->data, p->ip_bytes)) != 0xffff)
		return false;
	return ovl_relay_wire_fold(ovl_relay_wire_sum(sum, p->data + p->ip_bytes, l4_bytes)) ==
	       0xffff;
}

int ovl_relay_wire_finish(struct ovl_relay_packet *p, uint32_t start, uint32_t offset)
{
	uint16_t check;

	/* both are 16 bits wide where they come from, so that their sum cannot wrap */
	if (start < p->ip_bytes || start > p->bytes || offset > p->bytes ||
	    start + offset + sizeof(check) > p->bytes)
		return -EBADMSG;
	check = (uint16_t)~ovl_relay_wire_fold(
		ovl_relay_wire_sum(0, p->data + start, p->bytes - start));
	/* UDP takes 0 for "none"; the other zero of one's complement means the same to all */
	if (check == 0)
		check = 0xffff;
	memcpy(p->data + start + offset, &check, sizeof(check));
	return 0;
}
