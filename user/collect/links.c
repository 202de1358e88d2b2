#include "collect/links.h"

#include <arpa/inet.h>
#include <errno.h>
#include <libmnl/libmnl.h>
#include <linux/neighbour.h>
#include <linux/net_namespace.h>
#include <linux/rtnetlink.h>
#include <string.h>
#include <sys/socket.h>

#include "base/str.h"
#include "collect/rtnl.h"

static void get_name(const struct nlattr *attr, char out[OVL_IF_MAX])
{
	if (!mnl_attr_validate(attr, MNL_TYPE_NUL_STRING))
		ovl_str_copy(out, OVL_IF_MAX, mnl_attr_get_str(attr));
}

static int vxlan_attr(const struct nlattr *attr, void *arg)
{
	struct ovl_raw_link *link = arg;

	switch (mnl_attr_get_type(attr)) {
	case IFLA_VXLAN_COLLECT_METADATA: link->external = mnl_attr_get_u8(attr) != 0; break;
	case IFLA_VXLAN_ID: link->vni = mnl_attr_get_u32(attr); break;
	case IFLA_VXLAN_LINK: link->vxlan_link = (int)mnl_attr_get_u32(attr); break;
	case IFLA_VXLAN_PORT: link->port = ntohs(mnl_attr_get_u16(attr)); break;
	case IFLA_VXLAN_LOCAL: ovl_rtnl_addr(attr, AF_INET, &link->local); break;
	case IFLA_VXLAN_LOCAL6: ovl_rtnl_addr(attr, AF_INET6, &link->local); break;
	case IFLA_VXLAN_GROUP: ovl_rtnl_addr(attr, AF_INET, &link->remote); break;
	case IFLA_VXLAN_GROUP6: ovl_rtnl_addr(attr, AF_INET6, &link->remote); break;
	default: break;
	}
	return MNL_CB_OK;
}

static int info_attr(const struct nlattr *attr, void *arg)
{
	struct ovl_raw_link *link = arg;

	/* the kernel puts the kind before its data */
	if (mnl_attr_get_type(attr) == IFLA_INFO_KIND)
		get_name(attr, link->kind);
	else if (mnl_attr_get_type(attr) == IFLA_INFO_DATA && !strcmp(link->kind, "vxlan"))
		mnl_attr_parse_nested(attr, vxlan_attr, link);
	return MNL_CB_OK;
}

static int link_attr(const struct nlattr *attr, void *arg)
{
	struct ovl_raw_link *link = arg;

	switch (mnl_attr_get_type(attr)) {
	case IFLA_IFNAME: get_name(attr, link->name); break;
	case IFLA_MTU: link->mtu = mnl_attr_get_u32(attr); break;
	case IFLA_MASTER: link->master = (int)mnl_attr_get_u32(attr); break;
	case IFLA_LINK: link->link = (int)mnl_attr_get_u32(attr); break;
	case IFLA_LINK_NETNSID: link->link_nsid = (int)mnl_attr_get_u32(attr); break;
	case IFLA_LINKINFO: mnl_attr_parse_nested(attr, info_attr, link); break;
	default: break;
	}
	return MNL_CB_OK;
}

static int link_msg(const struct nlmsghdr *nlh, void *arg)
{
	const struct ifinfomsg *info = mnl_nlmsg_get_payload(nlh);
	ovl_raw_links *out = arg;
	struct ovl_raw_link *link;

	if (nlh->nlmsg_type != RTM_NEWLINK)
		return MNL_CB_OK;
	link = ovl_vec_push(out);
	if (!link) {
		errno = ENOMEM;
		return MNL_CB_ERROR;
	}
	link->ifindex = info->ifi_index;
	link->flags = info->ifi_flags;
	link->link_nsid = -1;
	mnl_attr_parse(nlh, sizeof(*info), link_attr, link);
	/* some devices name themselves as their lower device */
	if (link->link == link->ifindex && link->link_nsid < 0)
		link->link = 0;
	return MNL_CB_OK;
}

int ovl_links_read(struct ovl_links *l, ovl_raw_links *out)
{
	const size_t before = out->n;
	int rc = -EINTR;

	/* EINTR: the table changed during the dump */
	for (int tries = 0; rc == -EINTR && tries < 8; tries++) {
		struct nlmsghdr *nlh = ovl_rtnl_request(l, RTM_GETLINK, NLM_F_DUMP);
		struct ifinfomsg *info = mnl_nlmsg_put_extra_header(nlh, sizeof(*info));

		info->ifi_family = AF_UNSPEC;
		mnl_attr_put_u32(nlh, IFLA_EXT_MASK, RTEXT_FILTER_SKIP_STATS);
		out->n = before;
		rc = ovl_rtnl_talk(l, nlh, link_msg, out);
	}
	return rc;
}

const struct ovl_raw_link *ovl_links_by_name(const ovl_raw_links *links, const char *name)
{
	for (size_t i = 0; i < links->n; i++)
		if (!strcmp(links->v[i].name, name))
			return &links->v[i];
	return NULL;
}

const struct ovl_raw_link *ovl_links_by_index(const ovl_raw_links *links, int ifindex)
{
	for (size_t i = 0; i < links->n; i++)
		if (links->v[i].ifindex == ifindex)
			return &links->v[i];
	return NULL;
}

static int stats_attr(const struct nlattr *attr, void *arg)
{
	struct rtnl_link_stats64 *out = arg;
	size_t n = mnl_attr_get_payload_len(attr);

	/* the structure grows with the kernel; what is read has always been there */
	if (mnl_attr_get_type(attr) == IFLA_STATS_LINK_64)
		memcpy(out, mnl_attr_get_payload(attr), n < sizeof(*out) ? n : sizeof(*out));
	return MNL_CB_OK;
}

static int stats_msg(const struct nlmsghdr *nlh, void *arg)
{
	mnl_attr_parse(nlh, sizeof(struct if_stats_msg), stats_attr, arg);
	return MNL_CB_STOP;
}

int ovl_links_stats(struct ovl_links *l, int ifindex, struct rtnl_link_stats64 *out)
{
	struct nlmsghdr *nlh = ovl_rtnl_request(l, RTM_GETSTATS, 0);
	struct if_stats_msg *msg = mnl_nlmsg_put_extra_header(nlh, sizeof(*msg));

	memset(out, 0, sizeof(*out));
	msg->ifindex = (uint32_t)ifindex;
	msg->filter_mask = IFLA_STATS_FILTER_BIT(IFLA_STATS_LINK_64);
	return ovl_rtnl_talk(l, nlh, stats_msg, out);
}

static int nsid_attr(const struct nlattr *attr, void *arg)
{
	if (mnl_attr_get_type(attr) == NETNSA_NSID)
		*(int *)arg = (int)mnl_attr_get_u32(attr);
	return MNL_CB_OK;
}

static int nsid_msg(const struct nlmsghdr *nlh, void *arg)
{
	mnl_attr_parse(nlh, sizeof(struct rtgenmsg), nsid_attr, arg);
	return MNL_CB_STOP;
}

int ovl_links_nsid(struct ovl_links *l, int other_ns_fd)
{
	struct nlmsghdr *nlh = ovl_rtnl_request(l, RTM_GETNSID, 0);
	int nsid = -1;

	mnl_nlmsg_put_extra_header(nlh, sizeof(struct rtgenmsg));
	mnl_attr_put_u32(nlh, NETNSA_FD, (uint32_t)other_ns_fd);
	return ovl_rtnl_talk(l, nlh, nsid_msg, &nsid) ? -1 : nsid;
}

/* An address looked for and the device found. */
struct owner {
	const struct ovl_raw_addr *addr;
	int ifindex;
	bool match;
};

static int owner_attr(const struct nlattr *attr, void *arg)
{
	struct owner *o = arg;
	struct ovl_raw_addr addr = {0};
	uint16_t type = mnl_attr_get_type(attr);

	if (type != IFA_LOCAL && type != IFA_ADDRESS)
		return MNL_CB_OK;
	ovl_rtnl_addr(attr, o->addr->family, &addr);
	/* IFA_ADDRESS is the far end of a point-to-point IPv4 link: IFA_LOCAL decides there */
	if (type == IFA_LOCAL || o->addr->family == AF_INET6)
		o->match |= !memcmp(addr.bytes, o->addr->bytes, sizeof(addr.bytes));
	return MNL_CB_OK;
}

static int owner_msg(const struct nlmsghdr *nlh, void *arg)
{
	const struct ifaddrmsg *msg = mnl_nlmsg_get_payload(nlh);
	struct owner *o = arg;

	if (msg->ifa_family != o->addr->family)
		return MNL_CB_OK;
	o->match = false;
	mnl_attr_parse(nlh, sizeof(*msg), owner_attr, o);
	if (o->match)
		o->ifindex = (int)msg->ifa_index;
	return MNL_CB_OK;
}

int ovl_links_owner(struct ovl_links *l, const struct ovl_raw_addr *addr)
{
	struct nlmsghdr *nlh = ovl_rtnl_request(l, RTM_GETADDR, NLM_F_DUMP);
	struct ifaddrmsg *msg = mnl_nlmsg_put_extra_header(nlh, sizeof(*msg));
	struct owner owner = {.addr = addr};

	msg->ifa_family = addr->family;
	return ovl_rtnl_talk(l, nlh, owner_msg, &owner) ? 0 : owner.ifindex;
}

static int route_attr(const struct nlattr *attr, void *arg)
{
	if (mnl_attr_get_type(attr) == RTA_OIF)
		*(int *)arg = (int)mnl_attr_get_u32(attr);
	return MNL_CB_OK;
}

static int route_msg(const struct nlmsghdr *nlh, void *arg)
{
	mnl_attr_parse(nlh, sizeof(struct rtmsg), route_attr, arg);
	return MNL_CB_STOP;
}

int ovl_links_route(struct ovl_links *l, const struct ovl_raw_addr *dst)
{
	const size_t n = dst->family == AF_INET ? 4 : 16;
	struct nlmsghdr *nlh = ovl_rtnl_request(l, RTM_GETROUTE, 0);
	struct rtmsg *msg = mnl_nlmsg_put_extra_header(nlh, sizeof(*msg));
	int ifindex = 0;

	msg->rtm_family = dst->family;
	msg->rtm_dst_len = (unsigned char)(n * 8);
	mnl_attr_put(nlh, RTA_DST, n, dst->bytes);
	return ovl_rtnl_talk(l, nlh, route_msg, &ifindex) ? 0 : ifindex;
}

/* A tunnel's forwarding entries: the first usable destination. */
struct fdb {
	int ifindex;
	struct ovl_raw_addr dst;
};

static int fdb_attr(const struct nlattr *attr, void *arg)
{
	struct fdb *f = arg;

	if (mnl_attr_get_type(attr) == NDA_DST && !f->dst.family)
		ovl_rtnl_addr(attr, mnl_attr_get_payload_len(attr) == 4 ? AF_INET : AF_INET6,
			      &f->dst);
	return MNL_CB_OK;
}

static int fdb_msg(const struct nlmsghdr *nlh, void *arg)
{
	const struct ndmsg *msg = mnl_nlmsg_get_payload(nlh);
	struct fdb *f = arg;

	if (nlh->nlmsg_type == RTM_NEWNEIGH && msg->ndm_ifindex == f->ifindex)
		mnl_attr_parse(nlh, sizeof(*msg), fdb_attr, f);
	return MNL_CB_OK;
}

struct ovl_raw_addr ovl_links_fdb(struct ovl_links *l, int ifindex)
{
	struct nlmsghdr *nlh = ovl_rtnl_request(l, RTM_GETNEIGH, NLM_F_DUMP);
	struct ndmsg *msg = mnl_nlmsg_put_extra_header(nlh, sizeof(*msg));
	struct fdb fdb = {.ifindex = ifindex};

	msg->ndm_family = AF_BRIDGE;
	if (ovl_rtnl_talk(l, nlh, fdb_msg, &fdb))
		fdb.dst.family = 0;
	return fdb.dst;
}
