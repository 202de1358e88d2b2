/* One Docker host: containers on the default bridge and on a user-defined one. */
#include "lab/docker.h"
#include "lab/topology.h"

static void plan(struct ovl_plan *plan)
{
	/* a user-defined bridge is called br- and the first 12 digits of its network's id */
	static const struct ovl_docker_net nets[] = {{"docker0", 17, "c"},
						     {"br-6f1c2ab94e07", 18, "u"}};
	uint8_t host = ovl_docker_host(plan), first[2];

	for (uint32_t i = 0; i < 2; i++)
		first[i] = ovl_docker_network(plan, host, &nets[i], plan->spec->pods, 'a');
	ovl_docker_rules(plan, host, nets, 2, 0);
	for (uint32_t i = 0; i < 2; i++)
		ovl_plan_path(plan, first[i], first[i] + 1);
	ovl_plan_path(plan, host, first[0] + 1);
	plan->load[OVL_LAB_LOAD_UNDERLAY] = (struct ovl_lab_pair){true, host, host};
	plan->load[OVL_LAB_LOAD_OVERLAY] = (struct ovl_lab_pair){true, first[0], first[0] + 1};
	plan->iface_end = host;
	OVL_PLAN_SET(plan, plan->iface, "docker0");
}

const struct ovl_topo ovl_topo_docker_bridge = {
	.name = "docker-bridge",
	.about = "containers on Docker's default bridge (c1, c2) and a user-defined one (u1, u2)",
	.options = OVL_TOPO_MTU,
	.nodes = {1, 1, 1},
	.pods = {2, 2, 4},
	.plan = plan,
};
