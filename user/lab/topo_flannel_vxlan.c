/* Nodes with pods, flannel's vxlan backend between them: names and addresses as flannel's. */
#include "lab/cluster.h"
#include "lab/topology.h"

static void plan(struct ovl_plan *plan)
{
	struct ovl_cluster c;

	ovl_cluster_nodes(&c, plan);
	ovl_cluster_vxlan(&c);
	ovl_cluster_pods(&c);
	ovl_cluster_paths(&c);
	OVL_PLAN_SET(plan, plan->iface, "%s", plan->spec->tunnel_name);
}

const struct ovl_topo ovl_topo_flannel_vxlan = {
	.name = "flannel-vxlan",
	.about = "pods on nodes, flannel's vxlan backend (flannel.1)",
	.options = OVL_TOPO_MTU | OVL_TOPO_UNDERLAY | OVL_TOPO_OVERLAY_MTU | OVL_TOPO_VNI |
		   OVL_TOPO_IPV6_INSIDE | OVL_TOPO_IPV6_OUTSIDE,
	.nodes = {2, 2, 3},
	.pods = {1, 1, 3},
	.tunnel = "flannel.1",
	.encap_bytes = 50, /* IPv4, UDP and VXLAN headers, inner Ethernet header */
	.port = 8472,
	.plan = plan,
};
