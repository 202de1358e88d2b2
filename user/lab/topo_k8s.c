/*
 * A small Kubernetes: flannel's vxlan backend, flannel's masquerading, and Services as kube-proxy
 * makes them with nftables: `service` with one endpoint, `services` with all pods that are not on
 * node1.
 */
#include "lab/cluster.h"
#include "lab/topology.h"

/* iperf3, iperf 2, and qperf's control port: qperf's data port cannot be known beforehand */
static const uint16_t ports[] = {OVL_LAB_SERVED_PORT, 5001, 19765};

#define N_PORTS (sizeof(ports) / sizeof(ports[0]))

struct service {
	const char *name, *vip;
	uint8_t pods[OVL_CLUSTER_PODS_MAX]; /* ends */
	uint32_t n_pods;
};

/* kubeadm's network of Services */
static const char *service_net(const struct ovl_plan *plan)
{
	return plan->ip6_inside ? "fd00:10:96::/112" : "10.96.0.0/12";
}

/* "10.96.0.10:5201", "[fd00:10:96::a]:5201" */
static void put_target(struct ovl_buf *b, const struct ovl_plan *plan, const char *addr,
		       uint16_t port)
{
	ovl_buf_printf(b, plan->ip6_inside ? "[%s]:%u" : "%s:%u", addr, port);
}

/* One port of a Service: a chain that chooses an endpoint, and a chain for each of these. */
static void put_chains(struct ovl_buf *b, const struct ovl_plan *plan, const struct service *s,
		       uint16_t port)
{
	const char *ip = plan->ip6_inside ? "ip6" : "ip";

	for (uint32_t i = 0; i < s->n_pods; i++) {
		const struct ovl_lab_end *pod = &plan->ends[s->pods[i]];

		ovl_buf_printf(b,
			       "chain endpoint-%s-%u-%s {\n"
			       "%s saddr %s jump mark-for-masquerade\n"
			       "meta l4proto tcp counter dnat to ",
			       s->name, port, pod->name, ip, pod->addr);
		put_target(b, plan, pod->addr, port);
		ovl_buf_puts(b, "\n}\n");
	}
	ovl_buf_printf(b,
		       "chain service-%s-%u {\n"
		       "%s saddr != %s jump mark-for-masquerade\n"
		       "numgen random mod %u vmap {",
		       s->name, port, ip, ovl_cluster_all_pods(plan), s->n_pods);
	for (uint32_t i = 0; i < s->n_pods; i++)
		ovl_buf_printf(b, "%s %u : goto endpoint-%s-%u-%s", i ? "," : "", i, s->name, port,
			       plan->ends[s->pods[i]].name);
	ovl_buf_puts(b, " }\n}\n");
}

/* Other ports of a Service are refused, addresses that no Service has lead nowhere. */
static void put_check(struct ovl_buf *b, const struct ovl_plan *plan, const struct service *s,
		      uint32_t n)
{
	const char *ip = plan->ip6_inside ? "ip6" : "ip";

	ovl_buf_printf(b, "chain cluster-ips-check {\n%s daddr {", ip);
	for (uint32_t i = 0; i < n; i++)
		ovl_buf_printf(b, "%s %s", i ? "," : "", s[i].vip);
	ovl_buf_printf(b,
		       " } counter reject\n"
		       "%s daddr %s counter drop\n}\n"
		       "chain filter-forward { type filter hook forward priority -110\n"
		       "ct state new jump cluster-ips-check\n}\n"
		       "chain filter-output { type filter hook output priority 0\n"
		       "ct state new jump cluster-ips-check\n}\n",
		       ip, service_net(plan));
}

static void put_services(struct ovl_buf *b, const struct ovl_plan *plan, const struct service *s,
			 uint32_t n)
{
	const char *family = plan->ip6_inside ? "ip6" : "ip";

	ovl_buf_printf(b,
		       "table %s kube-proxy {\n"
		       "chain mark-for-masquerade { meta mark set meta mark or 0x4000\n}\n",
		       family);
	for (uint32_t i = 0; i < n * N_PORTS; i++)
		put_chains(b, plan, &s[i / N_PORTS], ports[i % N_PORTS]);
	ovl_buf_printf(b, "chain services {\n%s daddr . meta l4proto . th dport vmap {", family);
	for (uint32_t i = 0; i < n * N_PORTS; i++)
		ovl_buf_printf(b, "%s %s . tcp . %u : goto service-%s-%u", i ? "," : "",
			       s[i / N_PORTS].vip, ports[i % N_PORTS], s[i / N_PORTS].name,
			       ports[i % N_PORTS]);
	ovl_buf_puts(b, " }\n}\n"
			"chain nat-prerouting { type nat hook prerouting priority -100\n"
			"jump services\n}\n"
			"chain nat-output { type nat hook output priority -100\n"
			"jump services\n}\n"
			"chain nat-postrouting { type nat hook postrouting priority 100\n"
			"meta mark and 0x4000 != 0x4000 return\n"
			"meta mark set meta mark xor 0x4000\n"
			"masquerade fully-random\n}\n");
	put_check(b, plan, s, n);
	ovl_buf_puts(b, "}\n");
}

/* What leaves the cluster, and what comes to pods from without, gets the node's address. */
static void put_flannel(struct ovl_buf *b, const struct ovl_plan *plan, const char *node_net)
{
	const char *ip = plan->ip6_inside ? "ip6" : "ip", *all = ovl_cluster_all_pods(plan);

	ovl_buf_printf(b,
		       "table %s flannel {\n"
		       "chain postrouting { type nat hook postrouting priority 100\n"
		       "meta mark and 0x4000 == 0x4000 return\n"
		       "%s saddr %s %s daddr %s counter return\n"
		       "%s saddr %s %s daddr != %s counter masquerade fully-random\n"
		       "%s saddr != %s %s daddr %s counter return\n"
		       "%s saddr != %s %s daddr %s counter masquerade fully-random\n"
		       "}\n}\n",
		       ip, ip, all, ip, all, ip, all, ip,
		       plan->ip6_inside ? "ff00::/8" : "224.0.0.0/4", ip, all, ip, node_net, ip,
		       all, ip, all);
}

static void add_services(struct ovl_cluster *c)
{
	struct ovl_plan *plan = c->plan;
	struct service s[2] = {
		{.name = "service", .vip = plan->ip6_inside ? "fd00:10:96::a" : "10.96.0.10"},
		{.name = "services", .vip = plan->ip6_inside ? "fd00:10:96::14" : "10.96.0.20"},
	};
	uint32_t n = 1;

	s[0].pods[s[0].n_pods++] = c->pod[1];
	for (uint32_t i = 1; i < c->n_pods; i++) {
		if (i % c->n_nodes)
			s[1].pods[s[1].n_pods++] = c->pod[i];
	}
	n += s[1].n_pods > 1;
	for (uint32_t i = 0; i < n; i++)
		ovl_plan_virtual(plan, s[i].pods[0], s[i].n_pods, s[i].vip, s[i].name);
	for (uint32_t i = 0; i < c->n_nodes; i++) {
		struct ovl_buf *b = &plan->nft[c->node[i]];
		ovl_plan_addr net;

		ovl_cluster_pod_net(plan, i, net);
		put_services(b, plan, s, n);
		put_flannel(b, plan, net);
	}
}

/* Before it is translated, a Service's address has to have a route, on a real node the default. */
static void add_service_routes(struct ovl_cluster *c)
{
	for (uint32_t i = 0; i < c->n_nodes; i++) {
		struct ovl_plan_route *r = ovl_plan_route(c->plan, c->node[i], "eth0");

		OVL_PLAN_SET(c->plan, r->dst, "%s", service_net(c->plan));
		ovl_cluster_node_addr(c->plan, (i + 1) % c->n_nodes, r->via);
		r->bounded = true;
		r->frames_per_segment = ovl_plan_frames_per_segment(c->plan);
	}
}

static void plan(struct ovl_plan *plan)
{
	struct ovl_cluster c;

	ovl_cluster_nodes(&c, plan);
	if (plan->ip6_inside == plan->ip6_outside)
		add_service_routes(&c);
	ovl_cluster_vxlan(&c);
	ovl_cluster_pods(&c);
	ovl_cluster_paths(&c);
	add_services(&c);
	ovl_plan_path(plan, c.pod[0], (uint8_t)ovl_plan_find(plan, "service"));
	if (plan->ip6_inside == plan->ip6_outside)
		ovl_plan_path(plan, c.node[0], (uint8_t)ovl_plan_find(plan, "service"));
	OVL_PLAN_SET(plan, plan->iface, "%s", plan->spec->tunnel_name);
}

const struct ovl_topo ovl_topo_k8s = {
	.name = "k8s",
	.about = "flannel-vxlan with Services: `service` (one endpoint), `services` (several)",
	.options = OVL_TOPO_MTU | OVL_TOPO_UNDERLAY | OVL_TOPO_OVERLAY_MTU | OVL_TOPO_VNI |
		   OVL_TOPO_IPV6_INSIDE | OVL_TOPO_IPV6_OUTSIDE,
	.nodes = {2, 2, 3},
	.pods = {1, 2, 3},
	.tunnel = "flannel.1",
	.encap_bytes = 50,
	.port = 8472,
	.plan = plan,
};
