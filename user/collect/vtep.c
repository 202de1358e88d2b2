#include "collect/vtep.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/neighbour.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <string.h>
#include <sys/socket.h>

#include "collect/links.h"
#include "collect/rtnl.h"

/* The three answers, one after the other. */
struct hunt {
	int ifindex; /* of the tunnel */
	int oif;     /* device that the route leaves by */
	struct ovl_raw_addr hop;
	bool has_mac;
	uint8_t mac[6];
	struct ovl_raw_addr vtep;
};

static int route_attr(const struct nlattr *attr, void *arg)
{
	struct hunt *h = arg;

	if (mnl_attr_get_type(attr) == RTA_OIF)
		h->oif = (int)mnl_attr_get_u32(attr);
	else if (mnl_attr_get_type(attr) == RTA_GATEWAY)
		ovl_rtnl_addr(attr, h->hop.family, &h->hop);
	return MNL_CB_OK;
}

static int route_msg(const struct nlmsghdr *nlh, void *arg)
{
	mnl_attr_parse(nlh, sizeof(struct rtmsg), route_attr, arg);
	return MNL_CB_STOP;
}

/* Without a gateway the address itself is the next hop. */
static int find_hop(struct ovl_links *l, struct hunt *h)
{
	const size_t n = h->hop.family == AF_INET ? 4 : 16;
	struct nlmsghdr *nlh = ovl_rtnl_request(l, RTM_GETROUTE, 0);
	struct rtmsg *msg = mnl_nlmsg_put_extra_header(nlh, sizeof(*msg));
	int rc;

	msg->rtm_family = h->hop.family;
	msg->rtm_dst_len = (unsigned char)(n * 8);
	mnl_attr_put(nlh, RTA_DST, n, h->hop.bytes);
	rc = ovl_rtnl_talk(l, nlh, route_msg, h);
	return rc ? rc : h->oif == h->ifindex ? 0 : -ENOENT;
}

/* One entry of a neighbour or forwarding table. */
struct entry {
	uint8_t family;
	struct ovl_raw_addr dst;
	const uint8_t *mac;
};

static int entry_attr(const struct nlattr *attr, void *arg)
{
	struct entry *e = arg;
	uint16_t n = mnl_attr_get_payload_len(attr);

	if (mnl_attr_get_type(attr) == NDA_DST)
		ovl_rtnl_addr(attr, n == 4 ? AF_INET : AF_INET6, &e->dst);
	else if (mnl_attr_get_type(attr) == NDA_LLADDR && n == 6)
		e->mac = mnl_attr_get_payload(attr);
	return MNL_CB_OK;
}

static bool read_entry(const struct nlmsghdr *nlh, const struct hunt *h, struct entry *e)
{
	const struct ndmsg *msg = mnl_nlmsg_get_payload(nlh);

	if (nlh->nlmsg_type != RTM_NEWNEIGH || msg->ndm_ifindex != h->ifindex)
		return false;
	mnl_attr_parse(nlh, sizeof(*msg), entry_attr, e);
	return e->mac != NULL && e->dst.family != 0;
}

static int neigh_msg(const struct nlmsghdr *nlh, void *arg)
{
	struct hunt *h = arg;
	struct entry e = {0};

	if (read_entry(nlh, h, &e) && e.dst.family == h->hop.family &&
	    !memcmp(e.dst.bytes, h->hop.bytes, sizeof(e.dst.bytes))) {
		memcpy(h->mac, e.mac, sizeof(h->mac));
		h->has_mac = true;
	}
	return MNL_CB_OK;
}

static int fdb_msg(const struct nlmsghdr *nlh, void *arg)
{
	struct hunt *h = arg;
	struct entry e = {0};

	if (read_entry(nlh, h, &e) && !memcmp(e.mac, h->mac, sizeof(h->mac)))
		h->vtep = e.dst;
	return MNL_CB_OK;
}

static int dump_neigh(struct ovl_links *l, uint8_t family, mnl_cb_t cb, struct hunt *h)
{
	struct nlmsghdr *nlh = ovl_rtnl_request(l, RTM_GETNEIGH, NLM_F_DUMP);
	struct ndmsg *msg = mnl_nlmsg_put_extra_header(nlh, sizeof(*msg));

	msg->ndm_family = family;
	return ovl_rtnl_talk(l, nlh, cb, h);
}

static int hunt(struct ovl_links *l, const char *ifname, struct hunt *h, const char **missing)
{
	ovl_raw_links links = {0};
	const struct ovl_raw_link *link;
	int rc = ovl_links_read(l, &links);

	link = rc ? NULL : ovl_links_by_name(&links, ifname);
	*missing = "device of that name";
	h->ifindex = link ? link->ifindex : 0;
	ovl_vec_fini(&links);
	if (!h->ifindex)
		return -ENOENT;
	*missing = "route through it";
	rc = find_hop(l, h);
	if (rc)
		return rc;
	*missing = "neighbour entry for the next hop";
	rc = dump_neigh(l, h->hop.family, neigh_msg, h);
	if (rc || !h->has_mac)
		return rc ? rc : -ENOENT;
	*missing = "forwarding entry for the next hop's MAC";
	rc = dump_neigh(l, AF_BRIDGE, fdb_msg, h);
	return rc || h->vtep.family ? rc : -ENOENT;
}

int ovl_vtep_find(int ns_fd, const char *ifname, const char *overlay_addr, char vtep[46],
		  struct ovl_err *err)
{
	struct hunt h = {.hop.family = strchr(overlay_addr, ':') ? AF_INET6 : AF_INET};
	const char *missing = "";
	struct ovl_links *l;
	int rc;

	if (inet_pton(h.hop.family, overlay_addr, h.hop.bytes) != 1)
		return ovl_err_set(err, OVL_EXIT_PEER, -EINVAL, "'%s' is no address", overlay_addr);
	l = ovl_links_open(ns_fd, err);
	if (!l)
		return -EIO;
	rc = hunt(l, ifname, &h, &missing);
	ovl_links_close(l);
	if (rc)
		return ovl_err_set(err, OVL_EXIT_PEER, -ENOENT,
				   "%s has no %s, so the peer's VTEP behind %s is not known",
				   ifname, missing, overlay_addr);
	ovl_links_addr(&h.vtep, vtep);
	return 0;
}
