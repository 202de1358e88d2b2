/* Devices of one network namespace, read by rtnetlink (libmnl). */
#ifndef OVL_COLLECT_LINKS_H
#define OVL_COLLECT_LINKS_H

#include <linux/if_link.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/vec.h"
#include "model/facts.h"

/** An IPv4 or IPv6 address as the kernel gives it. */
struct ovl_raw_addr {
	uint8_t family; /* AF_INET, AF_INET6, 0: unset */
	uint8_t bytes[16];
};

/** One device as rtnetlink describes it. */
struct ovl_raw_link {
	int ifindex;
	char name[OVL_IF_MAX], kind[OVL_IF_MAX];
	uint32_t mtu, flags; /* flags: IFF_* */
	int master;	     /* ifindex of the bridge or bond it is a port of, 0: none */
	int link;	     /* IFLA_LINK: peer of a veth, lower device of a vlan…, 0: none */
	int link_nsid;	     /* number this namespace has for the one `link` lives in; -1: itself */
	/* vxlan only */
	uint32_t vni;
	uint16_t port;
	bool external;	/* metadata mode: no VNI of its own */
	int vxlan_link; /* ifindex of `dev`, 0: unset */
	struct ovl_raw_addr local, remote;
};
typedef OVL_VEC(struct ovl_raw_link) ovl_raw_links;

/** An rtnetlink socket inside one namespace. */
struct ovl_links;

/** Open a socket in ns_fd; NULL with *err (OVL_EXIT_RIGHTS if the namespace may not be entered). */
struct ovl_links *ovl_links_open(int ns_fd, struct ovl_err *err);
void ovl_links_close(struct ovl_links *l);
/** All devices of the namespace, appended to *out. 0 or -errno. */
int ovl_links_read(struct ovl_links *l, ovl_raw_links *out);
/** Device with this name or index among those read, NULL if there is none. */
const struct ovl_raw_link *ovl_links_by_name(const ovl_raw_links *links, const char *name);
const struct ovl_raw_link *ovl_links_by_index(const ovl_raw_links *links, int ifindex);
/** Statistics of one device (RTM_GETSTATS, IFLA_STATS_LINK_64). 0, -ENODEV: gone, or -errno. */
int ovl_links_stats(struct ovl_links *l, int ifindex, struct rtnl_link_stats64 *out);
/** Number by which this namespace knows another one, -1 if it has none for it. */
int ovl_links_nsid(struct ovl_links *l, int other_ns_fd);
/** Device that owns a local address, 0 if none. */
int ovl_links_owner(struct ovl_links *l, const struct ovl_raw_addr *addr);
/** Device that the route to an address leaves by, 0 if none. */
int ovl_links_route(struct ovl_links *l, const struct ovl_raw_addr *dst);
/** First unicast destination in a tunnel's forwarding table; family 0 if it has none. */
struct ovl_raw_addr ovl_links_fdb(struct ovl_links *l, int ifindex);
/** Address as text, "" when unset. */
void ovl_links_addr(const struct ovl_raw_addr *addr, char text[46]);

#endif
