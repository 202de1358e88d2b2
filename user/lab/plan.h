/*
 * What one lab consists of: filled in by a topology from a spec (topo_*.c), carried out by
 * build.c. Plain data of fixed size, no handles; texts are copied, so that addresses can be made
 * up as the plan grows.
 */
#ifndef OVL_LAB_PLAN_H
#define OVL_LAB_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "lab/lab.h"

#define OVL_PLAN_DEVS	 32
#define OVL_PLAN_VTEPS	 8
#define OVL_PLAN_ROUTES	 48
#define OVL_PLAN_PATHS	 8
#define OVL_PLAN_DAEMONS 4
#define OVL_PLAN_ARGS	 16

/** Device names and addresses with a prefix length, "fd00:10:244:1::2/64". */
typedef char ovl_plan_if[16];
typedef char ovl_plan_addr[52];
typedef char ovl_plan_mac[18];

enum ovl_plan_kind { OVL_PLAN_VETH, OVL_PLAN_BRIDGE, OVL_PLAN_VXLAN, OVL_PLAN_TUN };

/** One device (a veth: both ends of it). Devices are made in the plan's order. */
struct ovl_plan_dev {
	enum ovl_plan_kind kind;
	uint8_t end; /* index of the end in whose namespace it is */
	uint32_t mtu;
	ovl_plan_if name;
	ovl_plan_addr addr; /* "10.244.1.1/24", "": none */
	ovl_plan_mac mac;   /* "": the kernel's choice */
	ovl_plan_if master; /* bridge of the same namespace it becomes a port of, "": none */
	/* veth: the other end, with the same three */
	uint8_t peer_end;
	ovl_plan_if peer_name, peer_master;
	bool peer_hairpin; /* the bridge sends back to this port what came by it */
	ovl_plan_addr peer_addr;
	bool underlay;	   /* this pair is the wire between hosts: offload profile and rate apply */
	uint64_t rate_bps; /* token bucket on both ends, 0: none */
	/* vxlan: address of this VTEP, device below ("": routed) */
	ovl_plan_addr local;
	ovl_plan_if lower;
};

/** One far VTEP as flanneld enters it: neighbour addr → mac on dev, forwarding mac → remote. */
struct ovl_plan_vtep {
	uint8_t end;
	ovl_plan_if dev;
	ovl_plan_addr addr, remote;
	ovl_plan_mac mac;
};

struct ovl_plan_route {
	uint8_t end;
	ovl_plan_addr dst; /* "": default */
	ovl_plan_addr via; /* "": on the link */
	ovl_plan_if dev;
	bool onlink;
	bool bounded; /* leads to the other side: carries the bound on frames in flight */
	uint32_t frames_per_segment; /* bounded: wire frames that one full TCP segment takes */
};

/** A pair of ends that must reach each other over TCP once the lab is up. */
struct ovl_plan_path {
	uint8_t from, to;
};

/** A program that runs in an end's namespace as long as the lab is up. */
struct ovl_plan_daemon {
	uint8_t end;
	const char *what;	      /* for sentences: "flannel's relay" */
	const char *program;	      /* NULL: this program itself */
	const char *variable;	      /* of the environment, that may name the file of `program` */
	char args[OVL_PLAN_ARGS][64]; /* after argv[0]; "" ends them */
};

struct ovl_plan {
	const struct ovl_lab_spec *spec;
	bool ip6_inside, ip6_outside;
	uint32_t encap_bytes; /* outer headers of this plan's tunnel, 0: no tunnel */
	struct ovl_lab_end ends[OVL_LAB_ENDS_MAX];
	struct ovl_plan_dev devs[OVL_PLAN_DEVS];
	struct ovl_plan_vtep vteps[OVL_PLAN_VTEPS];
	struct ovl_plan_route routes[OVL_PLAN_ROUTES];
	struct ovl_plan_path paths[OVL_PLAN_PATHS];
	struct ovl_plan_daemon daemons[OVL_PLAN_DAEMONS];
	uint32_t n_ends, n_devs, n_vteps, n_routes, n_paths, n_daemons;
	/* rule sets for `nft -f -`, one per end; empty: none */
	struct ovl_buf nft[OVL_LAB_ENDS_MAX];
	struct ovl_lab_pair load[OVL_LAB_LOADS]; /* what --load uses */
	char iface[16];				 /* the device this lab is about */
	uint8_t iface_end;			 /* where to look at it */
	/*
	 * Received packets are steered to the CPU of their side, as between hosts each of which has
	 * its own; not within one host, whose packets stay on the CPU they were sent from.
	 */
	bool steered;
	bool full; /* a table overflowed: the topology asks for too much */
};

void ovl_plan_init(struct ovl_plan *plan, const struct ovl_lab_spec *spec, uint32_t encap_bytes);
void ovl_plan_fini(struct ovl_plan *plan);

/**
 * Add an end with a namespace of its own, a node or a pod on one; its index. side: 'a' the
 * sender's host, 'b' the receiver's. A name or address longer than its field is a mistake of the
 * topology: `full`.
 */
uint8_t ovl_plan_node(struct ovl_plan *plan, char side, const char *addr, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));
uint8_t ovl_plan_pod(struct ovl_plan *plan, uint8_t host, char side, const char *addr,
		     const char *fmt, ...) __attribute__((format(printf, 5, 6)));
/** Add an end that shares the namespace of another one and has an address of its own. */
uint8_t ovl_plan_sharer(struct ovl_plan *plan, uint8_t with, const char *addr, const char *name);
/**
 * Add an address without a place: what is sent to it is served by the end `server`, or by one of
 * several of which that is the first.
 */
uint8_t ovl_plan_virtual(struct ovl_plan *plan, uint8_t server, uint32_t servers, const char *addr,
			 const char *name);

/* Each returns a zeroed row to be filled in; one that is thrown away if the table is full. */
struct ovl_plan_dev *ovl_plan_dev(struct ovl_plan *plan, enum ovl_plan_kind kind, uint8_t end,
				  const char *name);
struct ovl_plan_vtep *ovl_plan_vtep(struct ovl_plan *plan, uint8_t end, const char *dev);
struct ovl_plan_route *ovl_plan_route(struct ovl_plan *plan, uint8_t end, const char *dev);
struct ovl_plan_daemon *ovl_plan_daemon(struct ovl_plan *plan, uint8_t end, const char *what);
void ovl_plan_path(struct ovl_plan *plan, uint8_t from, uint8_t to);

/** Copy formatted text into a field of a row; too long a text sets `full`. */
#define OVL_PLAN_SET(plan, field, ...) ovl_plan_set(plan, field, sizeof(field), __VA_ARGS__)
void ovl_plan_set(struct ovl_plan *plan, char *field, size_t n, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));
/** Append a word to a daemon's arguments. */
void ovl_plan_arg(struct ovl_plan *plan, struct ovl_plan_daemon *daemon, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/**
 * Fragments that an IP payload needs when a packet has room for room_bytes of it: RFC 791, all but
 * the last in units of 8 bytes. Pure.
 */
uint32_t ovl_plan_fragments(uint32_t payload_bytes, uint32_t room_bytes);
/** Wire frames that one full segment of the overlay takes: 1 unless outer packets fragment. */
uint32_t ovl_plan_frames_per_segment(const struct ovl_plan *plan);
/** Index of an end by name, -1 if there is none. */
int ovl_plan_find(const struct ovl_plan *plan, const char *name);

#endif
