/* TCP packets for the tests of the relay, with checksums made here from scratch. */
#ifndef OVL_TESTS_RELAY_PACKET_H
#define OVL_TESTS_RELAY_PACKET_H

#include <arpa/inet.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "lab/relay_wire.h"
#include "tap.h"

/* RFC 1071 as it is written there: bytes in pairs, big-endian. */
static inline uint32_t sum_of(uint32_t sum, const uint8_t *p, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		sum += i % 2 ? p[i] : (uint32_t)p[i] << 8;
		sum = (sum & 0xffff) + (sum >> 16);
	}
	return sum;
}

/* Is every checksum and length of a TCP packet of n bytes right? */
static inline bool sound(const uint8_t *p, size_t n)
{
	bool v6 = p[0] >> 4 == 6;
	size_t ip = v6 ? 40 : (size_t)(p[0] & 15) * 4;
	size_t length = v6 ? 40 + (size_t)(p[4] << 8 | p[5]) : (size_t)(p[2] << 8 | p[3]);
	uint32_t sum = (uint32_t)(n - ip) + 6;

	if (length != n || (!v6 && sum_of(0, p, ip) != 0xffff))
		return false;
	sum = sum_of(sum, v6 ? p + 8 : p + 12, v6 ? 32 : 8);
	return sum_of(sum, p + ip, n - ip) == 0xffff;
}

/* What a test packet is made of. */
struct shape {
	bool v6;
	size_t ip_opt, tcp_opt, payload;
	uint16_t id, frag;
	uint32_t seq;
	uint8_t flags, hops;
};

static const struct shape plain = {.tcp_opt = 12,
				   .payload = 1000,
				   .id = 77,
				   .frag = 0x4000,
				   .seq = 0xfffff000,
				   .flags = 0x10,
				   .hops = 64};

static inline void put16(uint8_t *p, size_t v)
{
	p[0] = (uint8_t)(v >> 8);
	p[1] = (uint8_t)v;
}

/* Make checksums right, with the sums of this file. */
static inline void seal(uint8_t *p, size_t n)
{
	bool v6 = p[0] >> 4 == 6;
	size_t ip = v6 ? 40 : (size_t)(p[0] & 15) * 4;
	uint32_t sum = (uint32_t)(n - ip) + 6;

	if (!v6) {
		put16(p + 10, 0);
		put16(p + 10, ~sum_of(0, p, ip) & 0xffff);
	}
	put16(p + ip + 16, 0);
	sum = sum_of(sum, v6 ? p + 8 : p + 12, v6 ? 32 : 8);
	put16(p + ip + 16, ~sum_of(sum, p + ip, n - ip) & 0xffff);
}

/* A TCP packet in memory of exactly its size, *n bytes. */
static inline uint8_t *make(const struct shape *s, size_t *n)
{
	size_t ip = s->v6 ? 40 : 20 + s->ip_opt, tcp = 20 + s->tcp_opt;
	uint8_t *p = calloc(1, *n = ip + tcp + s->payload);

	if (s->v6) {
		p[0] = 0x60;
		put16(p + 4, *n - 40);
		p[6] = IPPROTO_TCP;
		p[7] = s->hops;
		inet_pton(AF_INET6, "fd00:244:1::2", p + 8);
		inet_pton(AF_INET6, "fd00:244:2::2", p + 24);
	} else {
		p[0] = (uint8_t)(0x40 | ip / 4);
		put16(p + 2, *n);
		put16(p + 4, s->id);
		put16(p + 6, s->frag);
		p[8] = s->hops;
		p[9] = IPPROTO_TCP;
		inet_pton(AF_INET, "10.244.1.2", p + 12);
		inet_pton(AF_INET, "10.244.2.2", p + 16);
		memset(p + 20, 1, s->ip_opt);
	}
	put16(p + ip, 40000);
	put16(p + ip + 2, 5201);
	put16(p + ip + 4, s->seq >> 16);
	put16(p + ip + 6, s->seq & 0xffff);
	put16(p + ip + 8, 0x1234);
	p[ip + 12] = (uint8_t)(tcp / 4 << 4);
	p[ip + 13] = s->flags;
	put16(p + ip + 14, 501);
	memset(p + ip + 20, 1, s->tcp_opt);
	for (size_t i = 0; i < s->payload; i++)
		p[ip + tcp + i] = (uint8_t)(i * 7 + i / 251);
	seal(p, *n);
	return p;
}

static inline struct ovl_relay_packet parsed(uint8_t *data, size_t n)
{
	struct ovl_relay_packet p = {.data = NULL};

	ok(ovl_relay_wire_parse(data, n, &p) == 0 && p.bytes == n, "a packet of %zu bytes", n);
	return p;
}

#endif
