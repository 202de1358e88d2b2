/* One Docker host with a container that has the host's network: `docker run --network host`. */
#include "lab/docker.h"
#include "lab/topology.h"

static void plan(struct ovl_plan *plan)
{
	uint8_t host = ovl_docker_host(plan);
	uint8_t c1 = ovl_plan_sharer(plan, host, "127.0.0.1", "c1");

	ovl_plan_path(plan, host, c1);
	ovl_plan_path(plan, c1, host);
	plan->load[OVL_LAB_LOAD_OVERLAY] = (struct ovl_lab_pair){true, host, c1};
	plan->iface_end = host;
	OVL_PLAN_SET(plan, plan->iface, "lo");
}

const struct ovl_topo ovl_topo_docker_hostnet = {
	.name = "docker-hostnet",
	.about = "a container with host networking (c1) and its host (lo)",
	.nodes = {1, 1, 1},
	.plan = plan,
};
