#include "lab/docker.h"

#include <stdio.h>

uint8_t ovl_docker_host(struct ovl_plan *plan)
{
	plan->steered = false;
	return ovl_plan_node(plan, 'a', "127.0.0.1", "node1");
}

void ovl_docker_addr(const struct ovl_docker_net *net, uint32_t container, ovl_plan_addr out)
{
	snprintf(out, sizeof(ovl_plan_addr), "172.%u.0.%u", net->octet, container + 2);
}

static void add_container(struct ovl_plan *plan, uint8_t host, uint8_t end,
			  const struct ovl_docker_net *net)
{
	struct ovl_plan_dev *d = ovl_plan_dev(plan, OVL_PLAN_VETH, end, "eth0");
	struct ovl_plan_route *r = ovl_plan_route(plan, end, "eth0");

	d->mtu = plan->spec->underlay_mtu;
	OVL_PLAN_SET(plan, d->addr, "%s/16", plan->ends[end].addr);
	d->peer_end = host;
	OVL_PLAN_SET(plan, d->peer_name, "veth%s", plan->ends[end].name);
	OVL_PLAN_SET(plan, d->peer_master, "%s", net->bridge);
	OVL_PLAN_SET(plan, r->via, "172.%u.0.1", net->octet);
	r->bounded = true;
}

uint8_t ovl_docker_network(struct ovl_plan *plan, uint8_t host, const struct ovl_docker_net *net,
			   uint32_t n, char side)
{
	struct ovl_plan_dev *d = ovl_plan_dev(plan, OVL_PLAN_BRIDGE, host, net->bridge);
	uint8_t first = 0;

	d->mtu = plan->spec->underlay_mtu;
	OVL_PLAN_SET(plan, d->addr, "172.%u.0.1/16", net->octet);
	for (uint32_t i = 0; i < n; i++) {
		char other = side == 'a' ? 'b' : 'a';
		ovl_plan_addr addr;
		uint8_t end;

		ovl_docker_addr(net, i, addr);
		end = ovl_plan_pod(plan, host, i % 2 ? other : side, addr, "%s%u", net->prefix,
				   i + 1);
		add_container(plan, host, end, net);
		if (i == 0)
			first = end;
	}
	return first;
}

static void nat_rules(struct ovl_buf *b, const struct ovl_docker_net *nets, uint32_t n_nets,
		      uint16_t port)
{
	ovl_plan_addr server;

	ovl_docker_addr(&nets[0], 0, server);
	ovl_buf_puts(b, "table ip nat {\n"
			"chain DOCKER {\n");
	for (uint32_t i = 0; i < n_nets; i++)
		ovl_buf_printf(b, "iifname \"%s\" counter return\n", nets[i].bridge);
	if (port)
		ovl_buf_printf(b, "iifname != \"%s\" tcp dport %u counter dnat to %s:%u\n",
			       nets[0].bridge, port, server, port);
	ovl_buf_puts(b, "}\n"
			"chain PREROUTING { type nat hook prerouting priority -100\n"
			"fib daddr type local counter jump DOCKER\n}\n"
			"chain OUTPUT { type nat hook output priority -100\n"
			"ip daddr != 127.0.0.0/8 fib daddr type local counter jump DOCKER\n}\n"
			"chain POSTROUTING { type nat hook postrouting priority 100\n");
	for (uint32_t i = 0; i < n_nets; i++)
		ovl_buf_printf(b, "oifname != \"%s\" ip saddr 172.%u.0.0/16 counter masquerade\n",
			       nets[i].bridge, nets[i].octet);
	if (port) /* a container that calls its own published port */
		ovl_buf_printf(b, "ip saddr %s ip daddr %s tcp dport %u counter masquerade\n",
			       server, server, port);
	ovl_buf_puts(b, "}\n}\n");
}

static void filter_rules(struct ovl_buf *b, const struct ovl_docker_net *nets, uint32_t n_nets,
			 uint16_t port)
{
	ovl_plan_addr server;

	ovl_docker_addr(&nets[0], 0, server);
	ovl_buf_puts(b, "table ip filter {\n"
			"chain DOCKER-USER { counter return\n}\n"
			"chain DOCKER-ISOLATION-STAGE-2 {\n");
	for (uint32_t i = 0; i < n_nets; i++)
		ovl_buf_printf(b, "oifname \"%s\" counter drop\n", nets[i].bridge);
	ovl_buf_puts(b, "counter return\n}\n"
			"chain DOCKER-ISOLATION-STAGE-1 {\n");
	for (uint32_t i = 0; i < n_nets; i++)
		ovl_buf_printf(
			b,
			"iifname \"%s\" oifname != \"%s\" counter jump DOCKER-ISOLATION-STAGE-2\n",
			nets[i].bridge, nets[i].bridge);
	ovl_buf_puts(b, "counter return\n}\n"
			"chain DOCKER {\n");
	if (port)
		ovl_buf_printf(b,
			       "ip daddr %s iifname != \"%s\" oifname \"%s\" tcp dport %u counter "
			       "accept\n",
			       server, nets[0].bridge, nets[0].bridge, port);
	ovl_buf_puts(b, "}\n"
			"chain FORWARD { type filter hook forward priority 0; policy drop;\n"
			"counter jump DOCKER-USER\n"
			"counter jump DOCKER-ISOLATION-STAGE-1\n");
	for (uint32_t i = 0; i < n_nets; i++) {
		const char *dev = nets[i].bridge;

		ovl_buf_printf(b,
			       "oifname \"%s\" ct state related,established counter accept\n"
			       "oifname \"%s\" counter jump DOCKER\n"
			       "iifname \"%s\" oifname != \"%s\" counter accept\n"
			       "iifname \"%s\" oifname \"%s\" counter accept\n",
			       dev, dev, dev, dev, dev, dev);
	}
	ovl_buf_puts(b, "}\n}\n");
}

void ovl_docker_rules(struct ovl_plan *plan, uint8_t host, const struct ovl_docker_net *nets,
		      uint32_t n_nets, uint16_t published_port)
{
	nat_rules(&plan->nft[host], nets, n_nets, published_port);
	filter_rules(&plan->nft[host], nets, n_nets, published_port);
}
