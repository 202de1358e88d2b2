/*
 * Two nodes, one pod each, flannel's vxlan backend between them: names and addresses as flannel's.
 */
#include "lab/topology.h"

enum { NODE1, POD1, NODE2, POD2 };

#define COUNT(table) (sizeof(table) / sizeof((table)[0]))

#define NODE1_ADDR "192.168.77.1"
#define NODE2_ADDR "192.168.77.2"
#define VTEP1_MAC  "02:f1:a0:00:00:01"
#define VTEP2_MAC  "02:f1:a0:00:00:02"

static const struct ovl_topo_end ends[] = {
	[NODE1] = {"node1", "a-node", NODE1_ADDR, 'a', true},
	[POD1] = {"pod1", "a-pod", "10.244.1.2", 'a', false},
	[NODE2] = {"node2", "b-node", NODE2_ADDR, 'b', true},
	[POD2] = {"pod2", "b-pod", "10.244.2.2", 'b', false},
};

static const struct ovl_topo_dev devs[] = {
	{
		.kind = OVL_TOPO_VETH,
		.mtu = OVL_TOPO_MTU_UNDERLAY,
		.underlay = true,
		.end = NODE1,
		.name = "eth0",
		.addr = NODE1_ADDR "/24",
		.peer_end = NODE2,
		.peer_name = "eth0",
		.peer_addr = NODE2_ADDR "/24",
	},
	{
		.kind = OVL_TOPO_BRIDGE,
		.mtu = OVL_TOPO_MTU_OVERLAY,
		.end = NODE1,
		.name = "cni0",
		.addr = "10.244.1.1/24",
	},
	{
		.kind = OVL_TOPO_BRIDGE,
		.mtu = OVL_TOPO_MTU_OVERLAY,
		.end = NODE2,
		.name = "cni0",
		.addr = "10.244.2.1/24",
	},
	{
		.kind = OVL_TOPO_VXLAN,
		.mtu = OVL_TOPO_MTU_OVERLAY,
		.end = NODE1,
		.name = OVL_TOPO_TUNNEL,
		.addr = "10.244.1.0/32",
		.mac = VTEP1_MAC,
		.local = NODE1_ADDR,
		.lower = "eth0",
	},
	{
		.kind = OVL_TOPO_VXLAN,
		.mtu = OVL_TOPO_MTU_OVERLAY,
		.end = NODE2,
		.name = OVL_TOPO_TUNNEL,
		.addr = "10.244.2.0/32",
		.mac = VTEP2_MAC,
		.local = NODE2_ADDR,
		.lower = "eth0",
	},
	{
		.kind = OVL_TOPO_VETH,
		.mtu = OVL_TOPO_MTU_OVERLAY,
		.end = POD1,
		.name = "eth0",
		.addr = "10.244.1.2/24",
		.peer_end = NODE1,
		.peer_name = "vethpod1",
		.master = "cni0",
	},
	{
		.kind = OVL_TOPO_VETH,
		.mtu = OVL_TOPO_MTU_OVERLAY,
		.end = POD2,
		.name = "eth0",
		.addr = "10.244.2.2/24",
		.peer_end = NODE2,
		.peer_name = "vethpod2",
		.master = "cni0",
	},
};

static const struct ovl_topo_vtep vteps[] = {
	{NODE1, OVL_TOPO_TUNNEL, "10.244.2.0", VTEP2_MAC, NODE2_ADDR},
	{NODE2, OVL_TOPO_TUNNEL, "10.244.1.0", VTEP1_MAC, NODE1_ADDR},
};

/* The connected route of the underlay cannot carry a bound: an explicit host route does. */
static const struct ovl_topo_route routes[] = {
	{NODE1, NODE2_ADDR "/32", NULL, "eth0", .bounded = true},
	{NODE2, NODE1_ADDR "/32", NULL, "eth0", .bounded = true},
	{NODE1, "10.244.2.0/24", "10.244.2.0", OVL_TOPO_TUNNEL, .onlink = true, .bounded = true},
	{NODE2, "10.244.1.0/24", "10.244.1.0", OVL_TOPO_TUNNEL, .onlink = true, .bounded = true},
	{POD1, "10.244.0.0/16", "10.244.1.1", "eth0", .bounded = true},
	{POD2, "10.244.0.0/16", "10.244.2.1", "eth0", .bounded = true},
	{POD1, NULL, "10.244.1.1", "eth0", .bounded = true},
	{POD2, NULL, "10.244.2.1", "eth0", .bounded = true},
};

static const struct ovl_topo_path paths[] = {
	{NODE1, NODE2},
	{POD1, POD2},
	{NODE1, POD2},
	{POD1, NODE2},
};

const struct ovl_topo ovl_topo_flannel_vxlan = {
	.name = "flannel-vxlan",
	.ends = ends,
	.devs = devs,
	.vteps = vteps,
	.routes = routes,
	.paths = paths,
	.n_ends = COUNT(ends),
	.n_devs = COUNT(devs),
	.n_vteps = COUNT(vteps),
	.n_routes = COUNT(routes),
	.n_paths = COUNT(paths),
};
