/* One host and its loopback device: what everything else is compared with. */
#include "lab/topology.h"

static void plan(struct ovl_plan *plan)
{
	uint8_t node = ovl_plan_node(plan, 'a', "127.0.0.1", "node1");

	plan->steered = false;
	ovl_plan_path(plan, node, node);
	plan->load[OVL_LAB_LOAD_OVERLAY] = (struct ovl_lab_pair){true, node, node};
	plan->iface_end = node;
	OVL_PLAN_SET(plan, plan->iface, "lo");
}

const struct ovl_topo ovl_topo_host = {
	.name = "host",
	.about = "one host, process to process over loopback (lo)",
	.nodes = {1, 1, 1},
	.plan = plan,
};
