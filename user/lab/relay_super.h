/*
 * TCP super-packets: cut one into the segments that go over the wire, join segments into one. Both
 * without touching the payload, as runs of bytes for one system call. Pure.
 */
#ifndef OVL_LAB_RELAY_SUPER_H
#define OVL_LAB_RELAY_SUPER_H

#include <linux/virtio_net.h>
#include <sys/uio.h>

#include "lab/relay_wire.h"

/** A super-packet being cut. */
struct ovl_relay_cut {
	struct ovl_relay_packet p;
	uint32_t gso_bytes; /* payload of every segment but the last */
	uint32_t at_bytes;  /* payload cut off so far */
	uint32_t segs;	    /* segments cut off so far */
};

/** One segment: header and payload. */
struct ovl_relay_seg {
	uint8_t header[OVL_RELAY_HEADER_MAX];
	uint32_t header_bytes;
	const uint8_t *payload;
	uint32_t payload_bytes;
};

/**
 * Begin to cut a packet that the kernel handed over with a GSO header; its checksums do not matter.
 * -EBADMSG if the header does not fit the packet, or asks for what is not segmentation of TCP right
 * behind IP.
 */
int ovl_relay_cut_init(struct ovl_relay_cut *cut, const struct ovl_relay_packet *p,
		       const struct virtio_net_hdr *vnet);
/**
 * The next segment with all checksums complete, as tcp_gso_segment() has it: sequence and IPv4
 * identification counted on, FIN and PSH on the last only, CWR on the first only. False at the end.
 */
bool ovl_relay_cut_next(struct ovl_relay_cut *cut, struct ovl_relay_seg *seg);

/** Segments in one super-packet: 64 KiB of those with an MSS of 536. */
#define OVL_RELAY_JOIN_MAX 120

/** Segments of one flow that follow upon each other; they stay where they lie until written. */
struct ovl_relay_join {
	struct virtio_net_hdr vnet;
	struct ovl_relay_packet head;
	uint32_t segs; /* 0: empty */
	uint32_t gso_bytes, payload_bytes;
	bool closed;	     /* nothing can follow: not TCP data, PSH, or a short segment */
	const uint8_t *last; /* newest segment */
	struct iovec iov[1 + OVL_RELAY_JOIN_MAX];
};

/** Empty it. */
void ovl_relay_join_init(struct ovl_relay_join *join);
/**
 * Take a packet whose bytes stay valid and may be changed until the join is written. An empty one
 * takes anything. False if p cannot become one packet with what is held: write that first.
 */
bool ovl_relay_join_add(struct ovl_relay_join *join, const struct ovl_relay_packet *p);
/**
 * Make iov what a tun device with a virtio-net header takes: the segments as one GSO packet, a
 * single packet as it came. Number of iov to write, 0 if empty.
 */
size_t ovl_relay_join_finish(struct ovl_relay_join *join);

#endif
