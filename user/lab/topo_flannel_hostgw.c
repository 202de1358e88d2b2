/* Nodes with pods, flannel's host-gw backend: no tunnel, each node is the others' gateway. */
#include "lab/cluster.h"
#include "lab/topology.h"

static void plan(struct ovl_plan *plan)
{
	struct ovl_cluster c;

	ovl_cluster_nodes(&c, plan);
	ovl_cluster_pods(&c);
	for (uint32_t i = 0; i < c.n_nodes; i++) {
		for (uint32_t k = 0; k < c.n_nodes; k++) {
			struct ovl_plan_route *r;

			if (i == k)
				continue;
			r = ovl_plan_route(plan, c.node[i], "eth0");
			ovl_cluster_pod_net(plan, k, r->dst);
			ovl_cluster_node_addr(plan, k, r->via);
			r->bounded = true;
		}
	}
	ovl_cluster_paths(&c);
	OVL_PLAN_SET(plan, plan->iface, "cni0");
}

const struct ovl_topo ovl_topo_flannel_hostgw = {
	.name = "flannel-hostgw",
	.about = "the same routed without a tunnel, flannel's host-gw backend (cni0)",
	.options = OVL_TOPO_MTU | OVL_TOPO_UNDERLAY,
	.nodes = {2, 2, 3},
	.pods = {1, 1, 3},
	.plan = plan,
};
