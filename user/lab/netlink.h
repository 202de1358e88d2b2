/* The rtnetlink requests a lab is made of, through libmnl. A socket stays in its namespace. */
#ifndef OVL_LAB_NETLINK_H
#define OVL_LAB_NETLINK_H

#include <stdbool.h>
#include <stdint.h>

#include <libmnl/libmnl.h>

struct ovl_netlink {
	struct mnl_socket *sock; /* NULL: not open */
	uint32_t seq;
	char why[160]; /* reason of the last failure: the kernel's own words where it gives some */
};

/** A new device; what is NULL or 0 is left to the kernel. */
struct ovl_netlink_dev {
	const char *kind; /* "veth", "bridge", "vxlan" */
	const char *name;
	const char *mac; /* "02:…", or "" */
	uint32_t mtu;
	/* veth: the other end, made in another namespace */
	const char *peer_name;
	int peer_netns_fd;
	/* vxlan */
	uint32_t vni, lower; /* lower: ifindex of the device below, 0: routed */
	uint16_t port;
	const char *local; /* address of this VTEP; "": no vxlan */
};

struct ovl_netlink_route {
	const char *dst; /* "10.244.2.0/24", "": default, of the family of via */
	const char *via; /* "": on the link */
	uint32_t ifindex;
	bool onlink;
	uint32_t cwnd_segs; /* locked congestion window (RTAX_CWND), 0: none */
};

/** Open a socket in the calling thread's network namespace. 0 or -errno. */
int ovl_netlink_open(struct ovl_netlink *nl);
void ovl_netlink_close(struct ovl_netlink *nl);

/* Each returns 0 or -errno with nl->why filled. */
int ovl_netlink_dev_add(struct ovl_netlink *nl, const struct ovl_netlink_dev *dev);
int ovl_netlink_dev_up(struct ovl_netlink *nl, uint32_t ifindex);
int ovl_netlink_dev_mtu(struct ovl_netlink *nl, uint32_t ifindex, uint32_t mtu);
/** Make a device a port of a bridge. */
int ovl_netlink_dev_master(struct ovl_netlink *nl, uint32_t ifindex, uint32_t master);
/** Let a port of a bridge send back what came in by it (a pod that calls its own Service). */
int ovl_netlink_port_hairpin(struct ovl_netlink *nl, uint32_t ifindex);
/** Add an address, "192.168.77.1/24". */
int ovl_netlink_addr_add(struct ovl_netlink *nl, uint32_t ifindex, const char *addr);
int ovl_netlink_route_add(struct ovl_netlink *nl, const struct ovl_netlink_route *route);
/** Permanent neighbour: address → MAC. */
int ovl_netlink_neigh_add(struct ovl_netlink *nl, uint32_t ifindex, const char *addr,
			  const char *mac);
/** Permanent tunnel forwarding entry: MAC → remote VTEP. */
int ovl_netlink_fdb_add(struct ovl_netlink *nl, uint32_t ifindex, const char *mac,
			const char *remote);

/**
 * Token bucket as the root qdisc, with a queue of 50 ms or ten packets of this MTU, whichever is
 * more.
 */
int ovl_netlink_tbf_add(struct ovl_netlink *nl, uint32_t ifindex, uint64_t rate_bps, uint32_t mtu);

/** An address of either family with a prefix length. */
struct ovl_netlink_ip {
	uint8_t family; /* AF_INET or AF_INET6 */
	uint8_t len;	/* prefix length; the family's full one if the text has none */
	uint8_t n;	/* bytes that count: 4 or 16 */
	uint8_t bytes[16];
};
/** Parse "a.b.c.d", "x:…::y", each with or without "/len". Pure. */
bool ovl_netlink_parse_ip(const char *text, struct ovl_netlink_ip *ip);
/** Parse "02:00:00:00:00:01". Pure. */
bool ovl_netlink_parse_mac(const char *text, uint8_t mac[6]);

#endif
