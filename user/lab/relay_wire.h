/* Inner packets as a relay sees them: IP and TCP headers of bytes nobody vouches for. Pure. */
#ifndef OVL_LAB_RELAY_WIRE_H
#define OVL_LAB_RELAY_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** Longest IPv4 and TCP header together; IPv6 has no more without extension headers. */
#define OVL_RELAY_HEADER_MAX 120
/** Longest IP packet, and so longest datagram, with room for a read that is too long. */
#define OVL_RELAY_PACKET_MAX 65536

/** A checked IP packet: all lengths lie within the bytes that were given. */
struct ovl_relay_packet {
	uint8_t *data;
	uint32_t bytes;	   /* its IP length: what followed is cut off */
	uint8_t version;   /* 4 or 6 */
	uint8_t ip_bytes;  /* header, IPv4 options included */
	uint8_t tcp_bytes; /* header, options included; 0: no TCP header, or a fragment */
};

/** Check and take apart n bytes. 0, or -EBADMSG if they are not a whole IP packet. */
int ovl_relay_wire_parse(uint8_t *data, size_t n, struct ovl_relay_packet *p);
/**
 * Count one hop: time to live or hop limit − 1, the IPv4 checksum updated, not mended.
 * False if that leaves none; the packet is then not to be forwarded.
 */
bool ovl_relay_wire_hop(struct ovl_relay_packet *p);
/** Destination address, 4 or 16 bytes in network order. */
const uint8_t *ovl_relay_wire_dst(const struct ovl_relay_packet *p);

/** Add n bytes to a one's complement sum; all but the last run must be of even length. */
uint64_t ovl_relay_wire_sum(uint64_t sum, const void *data, size_t n);
/** The 16 bits of a sum (RFC 1071), not inverted, as they lie in memory. */
uint16_t ovl_relay_wire_fold(uint64_t sum);
/** Sum of the pseudo-header of p for l4_bytes of TCP header and payload. */
uint64_t ovl_relay_wire_pseudo(const struct ovl_relay_packet *p, uint32_t l4_bytes);
/** Are the checksums of the IPv4 header and of TCP right? p must have a TCP header. */
bool ovl_relay_wire_intact(const struct ovl_relay_packet *p);
/**
 * Finish a partial checksum: the sum from `start` on goes to start + offset, where the sum of the
 * pseudo-header stands (as VIRTIO_NET_HDR_F_NEEDS_CSUM has it). -EBADMSG if that is outside of p.
 */
int ovl_relay_wire_finish(struct ovl_relay_packet *p, uint32_t start, uint32_t offset);

static inline uint16_t ovl_relay_wire_get16(const uint8_t *p)
{
	return (uint16_t)(p[0] << 8 | p[1]);
}

static inline void ovl_relay_wire_put16(uint8_t *p, uint32_t v)
{
	p[0] = (uint8_t)(v >> 8);
	p[1] = (uint8_t)v;
}

static inline uint32_t ovl_relay_wire_get32(const uint8_t *p)
{
	return (uint32_t)ovl_relay_wire_get16(p) << 16 | ovl_relay_wire_get16(p + 2);
}

static inline void ovl_relay_wire_put32(uint8_t *p, uint32_t v)
{
	ovl_relay_wire_put16(p, v >> 16);
	ovl_relay_wire_put16(p + 2, v & 0xffff);
}

#endif
