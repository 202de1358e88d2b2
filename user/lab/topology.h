/*
 * What a topology is made of: tables, read by build.c. A new topology is one file with such tables
 * and a row in topology.c; nothing else knows any topology by name.
 */
#ifndef OVL_LAB_TOPOLOGY_H
#define OVL_LAB_TOPOLOGY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

/** Device name that stands for the spec's tunnel name. */
#define OVL_TOPO_TUNNEL "<tunnel>"

/** One endpoint: a network namespace of its own. */
struct ovl_topo_end {
	const char *name;      /* "node1": also the suffix of the namespace's name in a lab */
	const char *twin_name; /* "a-node": shown as twin:a-node */
	const char *addr;      /* where it is reached from its peers */
	char side;	       /* 'a' sender's host, 'b' receiver's host */
	bool node;	       /* forwards; a pod does not */
};

enum ovl_topo_kind { OVL_TOPO_VETH, OVL_TOPO_BRIDGE, OVL_TOPO_VXLAN };
enum ovl_topo_mtu { OVL_TOPO_MTU_UNDERLAY, OVL_TOPO_MTU_OVERLAY };

/** One device (a veth: both ends of it). Devices are made in the table's order. */
struct ovl_topo_dev {
	enum ovl_topo_kind kind;
	enum ovl_topo_mtu mtu;
	uint8_t end; /* index into the topology's ends */
	const char *name;
	const char *addr; /* "10.244.1.1/24", NULL: none */
	const char *mac;  /* NULL: the kernel's choice */
	/* veth: the other end; `master` is a bridge in the peer's namespace it becomes a port of */
	uint8_t peer_end;
	const char *peer_name, *peer_addr, *master;
	bool underlay; /* this pair is the wire between hosts: the offload profile applies to it */
	/* vxlan */
	const char *local, *lower;
};

/** One far VTEP as flanneld enters it: neighbour addr → mac on dev, forwarding mac → remote. */
struct ovl_topo_vtep {
	uint8_t end;
	const char *dev, *addr, *mac, *remote;
};

struct ovl_topo_route {
	uint8_t end;
	const char *dst; /* NULL: default */
	const char *via; /* NULL: on the link */
	const char *dev;
	bool onlink;
	bool bounded; /* leads to the other side: carries the bound on frames in flight */
};

/** A pair of ends that must reach each other over TCP once the topology is up. */
struct ovl_topo_path {
	uint8_t from, to;
};

struct ovl_topo {
	const char *name;
	const struct ovl_topo_end *ends;
	const struct ovl_topo_dev *devs;
	const struct ovl_topo_vtep *vteps;
	const struct ovl_topo_route *routes;
	const struct ovl_topo_path *paths;
	size_t n_ends, n_devs, n_vteps, n_routes, n_paths;
};

extern const struct ovl_topo ovl_topo_flannel_vxlan;

/** Topology by name, NULL if there is none. */
const struct ovl_topo *ovl_topo_find(const char *name);
/** Index of an end by name, -1 if there is none. */
int ovl_topo_end(const struct ovl_topo *topo, const char *name);
/** Append the names of all topologies, ", " between them. */
void ovl_topo_names(struct ovl_buf *out);
/** Append the names of a topology's ends, ", " between them. */
void ovl_topo_end_names(const struct ovl_topo *topo, struct ovl_buf *out);

#endif
