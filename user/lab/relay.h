/*
 * A user-space overlay daemon: joins a tun device to a UDP socket, the bare inner IP packet being
 * the datagram. Stands in for the proxy of flannel's udp backend, one packet a system call, and
 * shows with `batch` what the same daemon gives with segmentation offload on both of its ends. Both
 * modes speak the same wire format, so that either can be the other's peer.
 */
#ifndef OVL_LAB_RELAY_H
#define OVL_LAB_RELAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

/** UDP port of flannel's udp backend. */
#define OVL_RELAY_PORT 8285
/** Where a relay started by a lab says that it is ready, as docker-proxy does. */
#define OVL_RELAY_READY_FD 3

/** Inner packets for a subnet go to the daemon at an address. */
struct ovl_relay_route {
	const char *subnet; /* "10.244.2.0/24", "fd00:10:244:2::/64": the longest match wins */
	const char *remote; /* "192.168.77.2": of the same family as the local address */
};

/** What a relay did: read it when ovl_relay_run() has returned. */
struct ovl_relay_counts {
	/* inner packets as they are on the wire: a super-packet counts as its segments */
	uint64_t to_wire_pkts, to_tun_pkts;
	uint64_t to_wire_bytes, to_tun_bytes; /* their IP lengths */
	/* system calls, also those that found nothing to do */
	uint64_t polls, tun_reads, udp_sends, udp_recvs, tun_writes;
	/* packets lost here, by reason; a super-packet that is not even cut is one */
	uint64_t malformed;   /* not IP, cut short, or an offload request that cannot be met */
	uint64_t no_route;    /* multicast and everything else that no subnet covers */
	uint64_t expired;     /* time to live or hop limit ran out */
	uint64_t send_failed; /* no buffer space, remote unreachable, refused by a filter */
	uint64_t tun_refused; /* of to_tun_pkts: device down, or the kernel did not take it */
	/* faster than they were read: datagrams, with batch perhaps many in one (SO_MEMINFO) */
	uint64_t overflowed;
	/* batch */
	uint64_t gso_refused; /* sends with UDP_SEGMENT that had to be repeated singly */
	bool no_gso, no_gro; /* this kernel or path has no UDP_SEGMENT or UDP_GRO: singly instead */
};

struct ovl_relay_spec {
	const char *tun;   /* existing persistent tun device in the caller's network namespace */
	const char *local; /* address to bind, IPv4 or IPv6 */
	uint16_t port;	   /* UDP port of both ends (flannel: 8285) */
	const struct ovl_relay_route *routes;
	size_t n_routes;
	bool batch;
	/*
	 * Where "0\n" is written once it forwards, "1\n" and a sentence when it cannot (as
	 * docker-proxy does on its handle 3). Stays open. -1: nobody wants to know.
	 */
	int ready_fd;
	int stop_fd;			 /* readable or hung up: end. -1: never */
	int cpu;			 /* CPU the calling thread is put on, -1: stays free */
	struct ovl_relay_counts *counts; /* set to 0 first; NULL: not wanted */
};

/**
 * Forward until stop_fd says so. 0, or -errno with err set: what cannot be opened, the tun device
 * deleted meanwhile (-ENODEV). A tun device that is down only loses packets (tun_refused), as do
 * all failures to send. Needs CAP_NET_ADMIN in the calling thread's network namespace. Everything
 * is allocated before the first packet.
 */
int ovl_relay_run(const struct ovl_relay_spec *spec, struct ovl_err *err);

#endif
