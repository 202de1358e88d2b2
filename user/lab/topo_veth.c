/* Two nodes joined by a veth pair and nothing else: the underlay of the other topologies. */
#include "lab/cluster.h"
#include "lab/topology.h"

static void plan(struct ovl_plan *plan)
{
	struct ovl_cluster c;

	ovl_cluster_nodes(&c, plan);
	ovl_plan_path(plan, c.node[0], c.node[1]);
	plan->load[OVL_LAB_LOAD_OVERLAY] = (struct ovl_lab_pair){true, c.node[0], c.node[1]};
	plan->iface_end = c.node[0];
	OVL_PLAN_SET(plan, plan->iface, "eth0");
}

const struct ovl_topo ovl_topo_veth = {
	.name = "veth",
	.about = "two nodes and their underlay, nothing else (eth0)",
	.options = OVL_TOPO_MTU | OVL_TOPO_UNDERLAY | OVL_TOPO_IPV6_OUTSIDE,
	.nodes = {2, 2, 3},
	.plan = plan,
};
