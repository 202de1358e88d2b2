/* Two containers in one network namespace: `docker run --network container:c1`. */
#include "lab/docker.h"
#include "lab/topology.h"

static void plan(struct ovl_plan *plan)
{
	static const struct ovl_docker_net net = {"docker0", 17, "c"};
	uint8_t host = ovl_docker_host(plan);
	uint8_t c1 = ovl_docker_network(plan, host, &net, 1, 'a');
	uint8_t c2 = ovl_plan_sharer(plan, c1, "127.0.0.1", "c2");

	ovl_docker_rules(plan, host, &net, 1, 0);
	ovl_plan_path(plan, host, c1);
	ovl_plan_path(plan, c1, c2);
	plan->load[OVL_LAB_LOAD_OVERLAY] = (struct ovl_lab_pair){true, c1, c2};
	plan->iface_end = c1;
	OVL_PLAN_SET(plan, plan->iface, "lo");
}

const struct ovl_topo ovl_topo_docker_sharedns = {
	.name = "docker-sharedns",
	.about = "two containers that share a network namespace (c1, c2; lo)",
	.options = OVL_TOPO_MTU,
	.nodes = {1, 1, 1},
	.plan = plan,
};
