#include "collect/vtepstate.h"

#include <arpa/inet.h>
#include <errno.h>
#include <libmnl/libmnl.h>
#include <linux/neighbour.h>
#include <linux/rtnetlink.h>
#include <stdio.h>
#include <string.h>

#include "collect/rtnl.h"

#define ENTRIES_MAX 16384 /* routes, neighbours and forwarding entries looked at, of each */
#define HOPS_MAX    1024  /* next hops behind tunnels that are told of */

struct entry {
	int ifindex;
	uint8_t family;
	bool whole;		 /* a route to everything */
	struct ovl_raw_addr dst; /* a route's next hop, a neighbour's address, a VTEP */
	uint8_t mac[6];
	bool has_mac;
};
typedef OVL_VEC(struct entry) entries;

struct tables {
	entries routes, neighbours, fdb;
	entries *into; /* of the dump that runs */
	uint64_t left_out;
};

static int neigh_attr(const struct nlattr *attr, void *arg)
{
	struct entry *e = arg;
	uint16_t n = mnl_attr_get_payload_len(attr);

	if (mnl_attr_get_type(attr) == NDA_DST)
		ovl_rtnl_addr(attr, n == 4 ? AF_INET : AF_INET6, &e->dst);
	if (mnl_attr_get_type(attr) == NDA_LLADDR && n == 6) {
		memcpy(e->mac, mnl_attr_get_payload(attr), 6);
		e->has_mac = true;
	}
	return MNL_CB_OK;
}

static int neigh_msg(const struct nlmsghdr *nlh, void *arg)
{
	const struct ndmsg *msg = mnl_nlmsg_get_payload(nlh);
	struct tables *t = arg;
	struct entry *e = t->into->n < ENTRIES_MAX ? ovl_vec_push(t->into) : NULL;

	if (!e) {
		t->left_out++;
		return MNL_CB_OK;
	}
	e->ifindex = msg->ndm_ifindex;
	mnl_attr_parse(nlh, sizeof(*msg), neigh_attr, e);
	return MNL_CB_OK;
}

static int route_attr(const struct nlattr *attr, void *arg)
{
	struct entry *e = arg;

	if (mnl_attr_get_type(attr) == RTA_OIF)
		e->ifindex = (int)mnl_attr_get_u32(attr);
	else if (mnl_attr_get_type(attr) == RTA_GATEWAY)
		ovl_rtnl_addr(attr, e->family, &e->dst);
	return MNL_CB_OK;
}

static int route_msg(const struct nlmsghdr *nlh, void *arg)
{
	const struct rtmsg *msg = mnl_nlmsg_get_payload(nlh);
	struct tables *t = arg;
	struct entry e = {.family = msg->rtm_family}, *to;

	mnl_attr_parse(nlh, sizeof(*msg), route_attr, &e);
	e.whole = !msg->rtm_dst_len && msg->rtm_table == RT_TABLE_MAIN;
	if ((!e.dst.family && !e.whole) || msg->rtm_type != RTN_UNICAST)
		return MNL_CB_OK;
	to = t->into->n < ENTRIES_MAX ? ovl_vec_push(t->into) : NULL;
	if (to)
		*to = e;
	else
		t->left_out++;
	return MNL_CB_OK;
}

static void forget(void *arg)
{
	struct tables *t = arg;

	ovl_vec_clear(t->into);
}

static int dump_neigh(struct ovl_links *l, struct tables *t, uint8_t family, entries *into)
{
	struct nlmsghdr *nlh = ovl_rtnl_request(l, RTM_GETNEIGH, NLM_F_DUMP);
	struct ndmsg *msg = mnl_nlmsg_put_extra_header(nlh, sizeof(*msg));

	msg->ndm_family = family;
	t->into = into;
	return ovl_rtnl_dump(l, nlh, neigh_msg, forget, t);
}

static int dump_routes(struct ovl_links *l, struct tables *t, uint8_t family)
{
	struct nlmsghdr *nlh = ovl_rtnl_request(l, RTM_GETROUTE, NLM_F_DUMP);
	struct rtmsg *msg = mnl_nlmsg_put_extra_header(nlh, sizeof(*msg));

	msg->rtm_family = family;
	t->into = &t->routes;
	return ovl_rtnl_dump(l, nlh, route_msg, forget, t);
}

static const struct entry *find(const entries *in, int ifindex, const struct ovl_raw_addr *addr,
				const uint8_t *mac)
{
	ovl_vec_each(e, in) {
		if (e->ifindex != ifindex)
			continue;
		if (addr && e->dst.family == addr->family &&
		    !memcmp(e->dst.bytes, addr->bytes, sizeof(addr->bytes)))
			return e;
		if (mac && e->has_mac && e->dst.family && !memcmp(e->mac, mac, 6))
			return e;
	}
	return NULL;
}

/* A flood entry (all-zero MAC) or a `remote` of the device serves every MAC. */
static bool floods(const struct tables *t, const struct ovl_raw_link *link)
{
	static const uint8_t any[6];

	return link->remote.family || find(&t->fdb, link->ifindex, NULL, any);
}

static void put_hop(struct ovl_sheet *s, const struct tables *t, const struct ovl_raw_link *link,
		    const struct entry *route)
{
	const struct entry *neigh = find(&t->neighbours, link->ifindex, &route->dst, NULL);
	const struct entry *fdb =
		neigh && neigh->has_mac ? find(&t->fdb, link->ifindex, NULL, neigh->mac) : NULL;
	char object[OVL_NAME_MAX], hop[46];

	ovl_links_addr(&route->dst, hop);
	snprintf(object, sizeof(object), "%.40s %s", hop, link->name);
	/* of tables that were cut, what is missing may be in the rest */
	if (neigh || !t->left_out)
		ovl_sheet_set(s, "vtep", object, "neighbour", neigh && neigh->has_mac);
	if (fdb || floods(t, link))
		ovl_sheet_set(s, "vtep", object, "forwarding", 1);
	else if (!t->left_out)
		ovl_sheet_set(s, "vtep", object, "forwarding", 0);
}

/* The device of the node's own network: that of the first default route. */
static void put_default(struct ovl_sheet *s, const struct tables *t, const ovl_raw_links *links)
{
	ovl_vec_each(route, &t->routes) {
		const struct ovl_raw_link *link = ovl_links_by_index(links, route->ifindex);

		if (!route->whole || !link)
			continue;
		ovl_sheet_say(s, "route", "default", "device", link->name);
		return;
	}
}

static bool is_vxlan(const struct ovl_raw_link *link)
{
	return !strcmp(link->kind, "vxlan");
}

static bool is_tunnel(const struct ovl_raw_link *link)
{
	static const char *const kinds[] = {"vxlan", "geneve", "wireguard",
					    "gre",   "gretap", "ipip"};

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (!strcmp(link->kind, kinds[i]))
			return true;
	return false;
}

/* The tables may be long: each is only read where something asks for it. */
static int read_tables(struct ovl_links *l, const ovl_raw_links *links, struct tables *t)
{
	bool vxlan = false, tunnel = false;
	int rc = 0;

	ovl_vec_each(link, links) {
		vxlan |= is_vxlan(link);
		tunnel |= is_tunnel(link);
	}
	if (vxlan)
		rc = dump_neigh(l, t, AF_BRIDGE, &t->fdb);
	if (vxlan && !rc)
		rc = dump_neigh(l, t, AF_INET, &t->neighbours);
	return rc || !tunnel ? rc : dump_routes(l, t, AF_INET);
}

static void put_hops(struct ovl_sheet *s, const struct tables *t, const struct ovl_raw_link *link)
{
	int n = 0;

	ovl_vec_each(route, &t->routes) {
		if (route->ifindex != link->ifindex || !route->dst.family)
			continue;
		if (n++ < HOPS_MAX)
			put_hop(s, t, link, route);
		else
			s->left_out++;
	}
}

int ovl_vtepstate_read(struct ovl_links *l, struct ovl_sheet *s)
{
	struct tables t = {.left_out = 0};
	ovl_raw_links links = {0};
	int rc = ovl_links_read(l, &links);

	rc = rc ? rc : read_tables(l, &links, &t);
	ovl_vec_each(link, &links)
		if (!rc && is_vxlan(link))
			put_hops(s, &t, link);
	if (!rc)
		put_default(s, &t, &links);
	s->left_out += t.left_out;
	ovl_vec_fini(&links);
	ovl_vec_fini(&t.routes);
	ovl_vec_fini(&t.neighbours);
	ovl_vec_fini(&t.fdb);
	return rc;
}
