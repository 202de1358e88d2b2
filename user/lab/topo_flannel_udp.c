/*
 * Nodes with pods, flannel's udp backend between them: the tun device flannel0 and on each node a
 * daemon that moves its packets to a UDP socket and back (flanneld's proxy; ours is relay.c).
 */
#include "lab/cluster.h"
#include "lab/relay.h"
#include "lab/topology.h"

static void add_tun(struct ovl_cluster *c, uint32_t node)
{
	struct ovl_plan *plan = c->plan;
	const char *tun = plan->spec->tunnel_name;
	struct ovl_plan_dev *d = ovl_plan_dev(plan, OVL_PLAN_TUN, c->node[node], tun);
	struct ovl_plan_route *r = ovl_plan_route(plan, c->node[node], tun);
	ovl_plan_addr addr;

	d->mtu = plan->spec->overlay_mtu;
	ovl_cluster_pod_addr(plan, node, 0, addr);
	OVL_PLAN_SET(plan, d->addr, "%s/%d", addr, plan->ip6_inside ? 128 : 32);
	/* the whole network; each node's own pods have the longer prefix of its bridge */
	OVL_PLAN_SET(plan, r->dst, "%s", ovl_cluster_all_pods(plan));
}

static void add_daemon(struct ovl_cluster *c, uint32_t node)
{
	struct ovl_plan *plan = c->plan;
	struct ovl_plan_daemon *d = ovl_plan_daemon(plan, c->node[node], "flannel's relay");
	ovl_plan_addr net, addr;

	ovl_cluster_node_addr(plan, node, addr);
	ovl_plan_arg(plan, d, "relay");
	if (plan->spec->batch)
		ovl_plan_arg(plan, d, "--batch");
	ovl_plan_arg(plan, d, "--port=%u", plan->spec->port);
	ovl_plan_arg(plan, d, "%s", plan->spec->tunnel_name);
	ovl_plan_arg(plan, d, "%s", addr);
	for (uint32_t i = 0; i < c->n_nodes; i++) {
		if (i == node)
			continue;
		ovl_cluster_pod_net(plan, i, net);
		ovl_cluster_node_addr(plan, i, addr);
		ovl_plan_arg(plan, d, "%s=%s", net, addr);
	}
}

static void plan(struct ovl_plan *plan)
{
	struct ovl_cluster c;

	ovl_cluster_nodes(&c, plan);
	for (uint32_t i = 0; i < c.n_nodes; i++) {
		add_tun(&c, i);
		add_daemon(&c, i);
	}
	ovl_cluster_pods(&c);
	ovl_cluster_paths(&c);
	OVL_PLAN_SET(plan, plan->iface, "%s", plan->spec->tunnel_name);
}

const struct ovl_topo ovl_topo_flannel_udp = {
	.name = "flannel-udp",
	.about = "the same over flannel's udp backend: tun flannel0 and a relay in user space",
	.options = OVL_TOPO_MTU | OVL_TOPO_UNDERLAY | OVL_TOPO_OVERLAY_MTU | OVL_TOPO_BATCH |
		   OVL_TOPO_IPV6_INSIDE | OVL_TOPO_IPV6_OUTSIDE,
	.nodes = {2, 2, 3},
	.pods = {1, 1, 3},
	.tunnel = "flannel0",
	.encap_bytes = 28, /* IPv4 and UDP headers */
	.port = OVL_RELAY_PORT,
	.plan = plan,
};
