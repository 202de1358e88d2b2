/*
 * One Docker host with a container whose port is published, and a machine that calls it: through
 * docker-proxy for whoever uses the host's loopback address, by DNAT for everybody else.
 */
#include "lab/docker.h"
#include "lab/topology.h"

#define PORT OVL_LAB_SERVED_PORT
#define HOST "192.168.77.1"

static void add_proxy(struct ovl_plan *plan, uint8_t host, const char *server)
{
	struct ovl_plan_daemon *d = ovl_plan_daemon(plan, host, "docker-proxy");

	d->program = "docker-proxy";
	d->variable = "OVLTRACE_DOCKER_PROXY";
	ovl_plan_arg(plan, d, "-proto");
	ovl_plan_arg(plan, d, "tcp");
	ovl_plan_arg(plan, d, "-host-ip");
	ovl_plan_arg(plan, d, "0.0.0.0");
	ovl_plan_arg(plan, d, "-host-port");
	ovl_plan_arg(plan, d, "%d", PORT);
	ovl_plan_arg(plan, d, "-container-ip");
	ovl_plan_arg(plan, d, "%s", server);
	ovl_plan_arg(plan, d, "-container-port");
	ovl_plan_arg(plan, d, "%d", PORT);
}

/* The wire to the machine that calls. */
static void add_wire(struct ovl_plan *plan, uint8_t host, uint8_t caller)
{
	struct ovl_plan_dev *d = ovl_plan_dev(plan, OVL_PLAN_VETH, host, "eth0");
	struct ovl_plan_route *r = ovl_plan_route(plan, caller, "eth0");

	d->mtu = plan->spec->underlay_mtu;
	d->underlay = true;
	d->rate_bps = plan->spec->rate_bps;
	OVL_PLAN_SET(plan, d->addr, HOST "/24");
	d->peer_end = caller;
	OVL_PLAN_SET(plan, d->peer_name, "eth0");
	OVL_PLAN_SET(plan, d->peer_addr, "%s/24", plan->ends[caller].addr);
	OVL_PLAN_SET(plan, r->dst, HOST "/32");
	r->bounded = true;
}

static void plan(struct ovl_plan *plan)
{
	static const struct ovl_docker_net net = {"docker0", 17, "c"};
	uint8_t host = ovl_docker_host(plan);
	uint8_t caller = ovl_plan_node(plan, 'a', "192.168.77.2", "node2");
	uint8_t c1, localhost, published;

	add_wire(plan, host, caller);
	c1 = ovl_docker_network(plan, host, &net, 1, 'b');
	ovl_docker_rules(plan, host, &net, 1, PORT);
	add_proxy(plan, host, plan->ends[c1].addr);
	localhost = ovl_plan_virtual(plan, c1, 1, "127.0.0.1", "localhost");
	published = ovl_plan_virtual(plan, c1, 1, HOST, "published");
	ovl_plan_path(plan, host, c1);
	ovl_plan_path(plan, host, localhost);
	ovl_plan_path(plan, host, published);
	ovl_plan_path(plan, caller, published);
	plan->load[OVL_LAB_LOAD_UNDERLAY] = (struct ovl_lab_pair){true, host, host};
	plan->load[OVL_LAB_LOAD_OVERLAY] = (struct ovl_lab_pair){true, host, localhost};
	plan->iface_end = host;
	OVL_PLAN_SET(plan, plan->iface, "docker0");
}

const struct ovl_topo ovl_topo_docker_published = {
	.name = "docker-published",
	.about = "a container's published port: localhost (docker-proxy), published (DNAT)",
	.options = OVL_TOPO_MTU | OVL_TOPO_UNDERLAY,
	.nodes = {2, 2, 2},
	.plan = plan,
};
