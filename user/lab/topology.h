/*
 * The topologies: name, what it stands for, which options it knows, and the function that plans
 * it. A new topology is one file and a row in topology.c; nothing else knows any by name.
 */
#ifndef OVL_LAB_TOPOLOGY_H
#define OVL_LAB_TOPOLOGY_H

#include <stdint.h>

#include "base/err.h"
#include "lab/lab.h"
#include "lab/plan.h"

/** Options of `lab up` that a topology knows, as bits; what else is given is refused. */
enum {
	OVL_TOPO_MTU = 1,	   /* --mtu */
	OVL_TOPO_UNDERLAY = 2,	   /* --offloads, --rate: it has links between hosts */
	OVL_TOPO_OVERLAY_MTU = 4,  /* --overlay-mtu */
	OVL_TOPO_VNI = 8,	   /* --vni, and a name for the tunnel */
	OVL_TOPO_BATCH = 16,	   /* --batch */
	OVL_TOPO_IPV6_INSIDE = 32, /* --ipv6 inside */
	OVL_TOPO_IPV6_OUTSIDE = 64,
};

/** How many of a thing: least, default, most. 0, 0, 0: has none. */
struct ovl_topo_range {
	uint32_t min, normal, max;
};

struct ovl_topo {
	const char *name, *about;
	uint32_t options;
	struct ovl_topo_range nodes, pods; /* pods: on each node, or containers in a network */
	const char *tunnel;		   /* name of the tunnel device, NULL: none */
	uint32_t encap_bytes; /* outer headers over IPv4 (IPv6: 20 more), 0: no tunnel */
	uint16_t port;	      /* UDP port of the encapsulation */
	/** Plan it; the spec is complete and checked. */
	void (*plan)(struct ovl_plan *plan);
};

extern const struct ovl_topo ovl_topo_host, ovl_topo_veth, ovl_topo_flannel_vxlan,
	ovl_topo_flannel_udp, ovl_topo_flannel_hostgw, ovl_topo_vxlan_mtu, ovl_topo_docker_bridge,
	ovl_topo_docker_published, ovl_topo_docker_hostnet, ovl_topo_docker_sharedns, ovl_topo_k8s;

/** Topology by name, NULL if there is none. */
const struct ovl_topo *ovl_topo_find(const char *name);
/** Topology by index, NULL past the last. */
const struct ovl_topo *ovl_topo_at(uint32_t i);
/** Say that there is none of this name, and which there are. -EINVAL with OVL_EXIT_USAGE. */
int ovl_topo_unknown(const char *name, struct ovl_err *err);

#endif
