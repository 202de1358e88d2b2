#include "lab/cluster.h"

#include <stdio.h>
#include <string.h>

void ovl_cluster_node_addr(const struct ovl_plan *plan, uint32_t node, ovl_plan_addr out)
{
	snprintf(out, sizeof(ovl_plan_addr),
		 plan->ip6_outside ? "fd00:192:168:77::%u" : "192.168.77.%u", node + 1);
}

void ovl_cluster_pod_addr(const struct ovl_plan *plan, uint32_t node, uint32_t host,
			  ovl_plan_addr out)
{
	if (!plan->ip6_inside)
		snprintf(out, sizeof(ovl_plan_addr), "10.244.%u.%u", node + 1, host);
	else if (host)
		snprintf(out, sizeof(ovl_plan_addr), "fd00:10:244:%u::%u", node + 1, host);
	else
		snprintf(out, sizeof(ovl_plan_addr), "fd00:10:244:%u::", node + 1);
}

void ovl_cluster_pod_net(const struct ovl_plan *plan, uint32_t node, ovl_plan_addr out)
{
	snprintf(out, sizeof(ovl_plan_addr),
		 plan->ip6_inside ? "fd00:10:244:%u::/64" : "10.244.%u.0/24", node + 1);
}

const char *ovl_cluster_all_pods(const struct ovl_plan *plan)
{
	return plan->ip6_inside ? "fd00:10:244::/48" : "10.244.0.0/16";
}

static char side_of(uint32_t node)
{
	return node ? 'b' : 'a';
}

/* A node's eth0 and what its wire ends in. */
static void add_wire(struct ovl_cluster *c, uint32_t node, uint8_t to, const char *to_name)
{
	struct ovl_plan *plan = c->plan;
	struct ovl_plan_dev *d = ovl_plan_dev(plan, OVL_PLAN_VETH, c->node[node], "eth0");
	ovl_plan_addr addr;

	ovl_cluster_node_addr(plan, node, addr);
	OVL_PLAN_SET(plan, d->addr, "%s/%d", addr, plan->ip6_outside ? 64 : 24);
	d->mtu = plan->spec->underlay_mtu;
	d->underlay = true;
	d->rate_bps = plan->spec->rate_bps;
	d->peer_end = to;
	OVL_PLAN_SET(plan, d->peer_name, "%s", to_name);
}

static void add_switch(struct ovl_cluster *c)
{
	struct ovl_plan *plan = c->plan;
	uint8_t sw = ovl_plan_node(plan, 'a', "", "switch");
	struct ovl_plan_dev *bridge = ovl_plan_dev(plan, OVL_PLAN_BRIDGE, sw, "br0");
	char port[16];

	bridge->mtu = plan->spec->underlay_mtu;
	for (uint32_t i = 0; i < c->n_nodes; i++) {
		snprintf(port, sizeof(port), "port%u", i + 1);
		add_wire(c, i, sw, port);
		OVL_PLAN_SET(plan, plan->devs[plan->n_devs - 1].peer_master, "br0");
	}
}

/* The connected route of the underlay cannot carry a bound: an explicit host route does. */
static void add_node_routes(struct ovl_cluster *c)
{
	struct ovl_plan *plan = c->plan;

	for (uint32_t i = 0; i < c->n_nodes; i++) {
		for (uint32_t k = 0; k < c->n_nodes; k++) {
			struct ovl_plan_route *r;
			ovl_plan_addr addr;

			if (i == k)
				continue;
			r = ovl_plan_route(plan, c->node[i], "eth0");
			ovl_cluster_node_addr(plan, k, addr);
			OVL_PLAN_SET(plan, r->dst, "%s/%d", addr, plan->ip6_outside ? 128 : 32);
			r->bounded = true;
		}
	}
}

void ovl_cluster_nodes(struct ovl_cluster *c, struct ovl_plan *plan)
{
	*c = (struct ovl_cluster){.plan = plan, .n_nodes = plan->spec->nodes};
	for (uint32_t i = 0; i < c->n_nodes; i++) {
		ovl_plan_addr addr;

		ovl_cluster_node_addr(plan, i, addr);
		c->node[i] = ovl_plan_node(plan, side_of(i), addr, "node%u", i + 1);
	}
	if (c->n_nodes > 2) {
		add_switch(c);
	} else {
		struct ovl_plan_dev *wire;
		ovl_plan_addr addr;

		add_wire(c, 0, c->node[1], "eth0");
		wire = &plan->devs[plan->n_devs - 1];
		ovl_cluster_node_addr(plan, 1, addr);
		OVL_PLAN_SET(plan, wire->peer_addr, "%s/%d", addr, plan->ip6_outside ? 64 : 24);
	}
	add_node_routes(c);
}

static void add_bridges(struct ovl_cluster *c)
{
	struct ovl_plan *plan = c->plan;

	for (uint32_t i = 0; i < c->n_nodes; i++) {
		struct ovl_plan_dev *d = ovl_plan_dev(plan, OVL_PLAN_BRIDGE, c->node[i], "cni0");
		ovl_plan_addr addr;

		d->mtu = plan->spec->overlay_mtu;
		ovl_cluster_pod_addr(plan, i, 1, addr);
		OVL_PLAN_SET(plan, d->addr, "%s/%d", addr, plan->ip6_inside ? 64 : 24);
	}
}

static void add_pod(struct ovl_cluster *c, uint32_t pod, uint32_t node)
{
	struct ovl_plan *plan = c->plan;
	uint8_t end = c->pod[pod];
	struct ovl_plan_dev *d = ovl_plan_dev(plan, OVL_PLAN_VETH, end, "eth0");
	ovl_plan_addr gateway;

	OVL_PLAN_SET(plan, d->addr, "%s/%d", plan->ends[end].addr, plan->ip6_inside ? 64 : 24);
	d->mtu = plan->spec->overlay_mtu;
	d->peer_end = c->node[node];
	OVL_PLAN_SET(plan, d->peer_name, "veth%s", plan->ends[end].name);
	OVL_PLAN_SET(plan, d->peer_master, "cni0");
	d->peer_hairpin = true; /* flannel's CNI configuration has hairpinMode */
	ovl_cluster_pod_addr(plan, node, 1, gateway);
	for (int i = 0; i < 2; i++) {
		struct ovl_plan_route *r = ovl_plan_route(plan, end, "eth0");

		OVL_PLAN_SET(plan, r->dst, "%s", i ? "" : ovl_cluster_all_pods(plan));
		OVL_PLAN_SET(plan, r->via, "%s", gateway);
		r->bounded = true;
		r->frames_per_segment = ovl_plan_frames_per_segment(plan);
	}
}

void ovl_cluster_pods(struct ovl_cluster *c)
{
	struct ovl_plan *plan = c->plan;

	add_bridges(c);
	c->n_pods = c->n_nodes * plan->spec->pods;
	for (uint32_t i = 0; i < c->n_pods; i++) {
		uint32_t node = i % c->n_nodes;
		ovl_plan_addr addr;

		ovl_cluster_pod_addr(plan, node, 2 + i / c->n_nodes, addr);
		c->pod[i] = ovl_plan_pod(plan, c->node[node], side_of(node), addr, "pod%u", i + 1);
		add_pod(c, i, node);
	}
}

static void vtep_mac(uint32_t node, ovl_plan_mac out)
{
	snprintf(out, sizeof(ovl_plan_mac), "02:f1:a0:00:00:%02x", (node + 1) & 0xff);
}

/* What node i knows of node k: its VTEP's neighbour and forwarding entries, its pods' route. */
static void add_vtep(struct ovl_cluster *c, uint32_t i, uint32_t k)
{
	struct ovl_plan *plan = c->plan;
	const char *tunnel = plan->spec->tunnel_name;
	struct ovl_plan_vtep *v = ovl_plan_vtep(plan, c->node[i], tunnel);
	struct ovl_plan_route *r = ovl_plan_route(plan, c->node[i], tunnel);

	ovl_cluster_pod_addr(plan, k, 0, v->addr);
	ovl_cluster_node_addr(plan, k, v->remote);
	vtep_mac(k, v->mac);
	ovl_cluster_pod_net(plan, k, r->dst);
	ovl_cluster_pod_addr(plan, k, 0, r->via);
	r->onlink = true;
	r->bounded = true;
	r->frames_per_segment = ovl_plan_frames_per_segment(plan);
}

void ovl_cluster_vxlan(struct ovl_cluster *c)
{
	struct ovl_plan *plan = c->plan;

	for (uint32_t i = 0; i < c->n_nodes; i++) {
		struct ovl_plan_dev *d =
			ovl_plan_dev(plan, OVL_PLAN_VXLAN, c->node[i], plan->spec->tunnel_name);
		ovl_plan_addr addr;

		d->mtu = plan->spec->overlay_mtu;
		ovl_cluster_pod_addr(plan, i, 0, addr);
		OVL_PLAN_SET(plan, d->addr, "%s/%d", addr, plan->ip6_inside ? 128 : 32);
		vtep_mac(i, d->mac);
		ovl_cluster_node_addr(plan, i, d->local);
		/* bound to a device, a vxlan refuses an MTU that needs outer fragments */
		if (d->mtu + plan->encap_bytes <= plan->spec->underlay_mtu)
			OVL_PLAN_SET(plan, d->lower, "eth0");
	}
	for (uint32_t i = 0; i < c->n_nodes; i++) {
		for (uint32_t k = 0; k < c->n_nodes; k++) {
			if (i != k)
				add_vtep(c, i, k);
		}
	}
}

void ovl_cluster_paths(struct ovl_cluster *c)
{
	struct ovl_plan *plan = c->plan;

	ovl_plan_path(plan, c->node[0], c->node[1]);
	ovl_plan_path(plan, c->pod[0], c->pod[1]);
	if (plan->ip6_inside == plan->ip6_outside) {
		ovl_plan_path(plan, c->node[0], c->pod[1]);
		ovl_plan_path(plan, c->pod[0], c->node[1]);
	}
	plan->load[OVL_LAB_LOAD_UNDERLAY] = (struct ovl_lab_pair){true, c->node[0], c->node[1]};
	plan->load[OVL_LAB_LOAD_OVERLAY] = (struct ovl_lab_pair){true, c->pod[0], c->pod[1]};
	plan->iface_end = c->node[0];
}
