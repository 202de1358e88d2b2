/*
 * Two nodes with a vxlan between them and nothing else, for any pair of MTUs: an overlay that does
 * not fit the underlay has its outer packets fragmented.
 */
#include <stdio.h>

#include "lab/cluster.h"
#include "lab/topology.h"

static void overlay_addr(const struct ovl_plan *plan, uint32_t node, ovl_plan_addr out)
{
	snprintf(out, sizeof(ovl_plan_addr), plan->ip6_inside ? "fd00:10:77::%u" : "10.77.0.%u",
		 node + 1);
}

static void vtep_mac(uint32_t node, ovl_plan_mac out)
{
	snprintf(out, sizeof(ovl_plan_mac), "02:77:00:00:00:%02x", (node + 1) & 0xff);
}

static void add_vxlan(struct ovl_cluster *c, uint32_t node)
{
	struct ovl_plan *plan = c->plan;
	const char *tunnel = plan->spec->tunnel_name;
	struct ovl_plan_dev *d = ovl_plan_dev(plan, OVL_PLAN_VXLAN, c->node[node], tunnel);
	struct ovl_plan_vtep *v = ovl_plan_vtep(plan, c->node[node], tunnel);
	struct ovl_plan_route *r = ovl_plan_route(plan, c->node[node], tunnel);
	uint32_t fits_bytes = plan->spec->underlay_mtu, far = !node;
	ovl_plan_addr addr;

	d->mtu = plan->spec->overlay_mtu;
	overlay_addr(plan, node, addr);
	OVL_PLAN_SET(plan, d->addr, "%s/%d", addr, plan->ip6_inside ? 64 : 24);
	vtep_mac(node, d->mac);
	ovl_cluster_node_addr(plan, node, d->local);
	if (d->mtu + plan->encap_bytes <= fits_bytes)
		OVL_PLAN_SET(plan, d->lower, "eth0");
	overlay_addr(plan, far, v->addr);
	ovl_cluster_node_addr(plan, far, v->remote);
	vtep_mac(far, v->mac);
	OVL_PLAN_SET(plan, r->dst, "%s/%d", v->addr, plan->ip6_inside ? 128 : 32);
	r->bounded = true;
	r->frames_per_segment = ovl_plan_frames_per_segment(plan);
}

static void plan(struct ovl_plan *plan)
{
	struct ovl_cluster c;
	ovl_plan_addr addr;
	uint8_t end[2];

	ovl_cluster_nodes(&c, plan);
	for (uint32_t i = 0; i < 2; i++) {
		add_vxlan(&c, i);
		overlay_addr(plan, i, addr);
		end[i] = ovl_plan_sharer(plan, c.node[i], addr, i ? "vxlan2" : "vxlan1");
	}
	ovl_plan_path(plan, c.node[0], c.node[1]);
	ovl_plan_path(plan, end[0], end[1]);
	plan->load[OVL_LAB_LOAD_UNDERLAY] = (struct ovl_lab_pair){true, c.node[0], c.node[1]};
	plan->load[OVL_LAB_LOAD_OVERLAY] = (struct ovl_lab_pair){true, end[0], end[1]};
	plan->iface_end = c.node[0];
	OVL_PLAN_SET(plan, plan->iface, "%s", plan->spec->tunnel_name);
}

const struct ovl_topo ovl_topo_vxlan_mtu = {
	.name = "vxlan-mtu",
	.about = "two nodes and a vxlan of any MTU on an underlay of any MTU (vxlan0)",
	.options = OVL_TOPO_MTU | OVL_TOPO_UNDERLAY | OVL_TOPO_OVERLAY_MTU | OVL_TOPO_VNI |
		   OVL_TOPO_IPV6_INSIDE | OVL_TOPO_IPV6_OUTSIDE,
	.nodes = {2, 2, 2},
	.tunnel = "vxlan0",
	.encap_bytes = 50, /* IPv4, UDP and VXLAN headers, inner Ethernet header */
	.port = 4789,
	.plan = plan,
};
