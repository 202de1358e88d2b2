#include "lab/netlink.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/if_link.h>
#include <linux/neighbour.h>
#include <linux/netlink.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <linux/veth.h>
#include <net/if.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "base/str.h"

#define MSG_BYTES 2048 /* the largest request here, a veth pair, takes under 300 */

int ovl_netlink_open(struct ovl_netlink *nl)
{
	int one = 1, rc;

	memset(nl, 0, sizeof(*nl));
	nl->sock = mnl_socket_open2(NETLINK_ROUTE, SOCK_CLOEXEC);
	if (!nl->sock)
		return -errno;
	if (mnl_socket_bind(nl->sock, 0, MNL_SOCKET_AUTOPID) < 0) {
		rc = -errno;
		ovl_netlink_close(nl);
		return rc;
	}
	/* the kernel's own words for a refusal; without them the errno has to do */
	mnl_socket_setsockopt(nl->sock, NETLINK_EXT_ACK, &one, sizeof(one));
	return 0;
}

void ovl_netlink_close(struct ovl_netlink *nl)
{
	if (nl->sock)
		mnl_socket_close(nl->sock);
	nl->sock = NULL;
}

/* The text of an extended ack, NULL if the kernel gave none. */
static const char *extack(const struct nlmsghdr *h)
{
	const struct nlmsgerr *e = mnl_nlmsg_get_payload(h);
	size_t skip = sizeof(*e);
	const struct nlattr *at;

	if (!(h->nlmsg_flags & NLM_F_ACK_TLVS))
		return NULL;
	if (!(h->nlmsg_flags & NLM_F_CAPPED))
		skip += e->msg.nlmsg_len - sizeof(e->msg);
	mnl_attr_for_each(at, h, skip)
	{
		if (mnl_attr_get_type(at) == NLMSGERR_ATTR_MSG &&
		    mnl_attr_validate(at, MNL_TYPE_NUL_STRING) >= 0)
			return mnl_attr_get_str(at);
	}
	return NULL;
}

static int fail(struct ovl_netlink *nl, int rc, const char *text)
{
	if (text)
		snprintf(nl->why, sizeof(nl->why), "%s (%s)", strerror(-rc), text);
	else
		ovl_str_copy(nl->why, sizeof(nl->why), strerror(-rc));
	return rc;
}

/* Send a request and wait for its acknowledgement. */
static int talk(struct ovl_netlink *nl, struct nlmsghdr *h)
{
	_Alignas(struct nlmsghdr) char reply[4096];
	ssize_t n;

	nl->why[0] = '\0';
	h->nlmsg_flags |= NLM_F_REQUEST | NLM_F_ACK;
	h->nlmsg_seq = ++nl->seq;
	if (mnl_socket_sendto(nl->sock, h, h->nlmsg_len) < 0)
		return fail(nl, -errno, NULL);
	for (;;) {
		struct nlmsghdr *r = (struct nlmsghdr *)reply;
		int left;

		n = mnl_socket_recvfrom(nl->sock, reply, sizeof(reply));
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return fail(nl, -errno, NULL);
		for (left = (int)n; mnl_nlmsg_ok(r, left); r = mnl_nlmsg_next(r, &left)) {
			const struct nlmsgerr *e = mnl_nlmsg_get_payload(r);

			if (r->nlmsg_type != NLMSG_ERROR || r->nlmsg_seq != nl->seq)
				continue;
			return e->error ? fail(nl, e->error, extack(r)) : 0;
		}
	}
}

static struct nlmsghdr *start(char *buf, uint16_t type, uint16_t flags)
{
	struct nlmsghdr *h = mnl_nlmsg_put_header(buf);

	h->nlmsg_type = type;
	h->nlmsg_flags = flags;
	return h;
}

bool ovl_netlink_parse_ip(const char *text, struct ovl_netlink_ip *ip)
{
	char addr[INET6_ADDRSTRLEN];
	const char *slash = strchr(text, '/');
	size_t n = slash ? (size_t)(slash - text) : strlen(text);
	unsigned long long bits;

	memset(ip, 0, sizeof(*ip));
	if (n >= sizeof(addr))
		return false;
	memcpy(addr, text, n);
	addr[n] = '\0';
	ip->family = memchr(addr, ':', n) ? AF_INET6 : AF_INET;
	ip->n = ip->family == AF_INET6 ? 16 : 4;
	bits = ip->n * 8u;
	if (slash && !ovl_str_u64(slash + 1, 0, bits, &bits))
		return false;
	ip->len = (uint8_t)bits;
	return inet_pton(ip->family, addr, ip->bytes) == 1;
}

bool ovl_netlink_parse_mac(const char *text, uint8_t mac[6])
{
	char end;

	return sscanf(text, "%2hhx:%2hhx:%2hhx:%2hhx:%2hhx:%2hhx%c", &mac[0], &mac[1], &mac[2],
		      &mac[3], &mac[4], &mac[5], &end) == 6;
}

static void put_ip(struct nlmsghdr *h, uint16_t type, const char *text)
{
	struct ovl_netlink_ip ip;

	if (ovl_netlink_parse_ip(text, &ip))
		mnl_attr_put(h, type, ip.n, ip.bytes);
}

static void put_mac(struct nlmsghdr *h, uint16_t type, const char *text)
{
	uint8_t mac[6] = {0};

	ovl_netlink_parse_mac(text, mac);
	mnl_attr_put(h, type, sizeof(mac), mac);
}

static void put_veth(struct nlmsghdr *h, const struct ovl_netlink_dev *dev)
{
	struct nlattr *peer = mnl_attr_nest_start(h, VETH_INFO_PEER);

	mnl_nlmsg_put_extra_header(h, sizeof(struct ifinfomsg));
	mnl_attr_put_strz(h, IFLA_IFNAME, dev->peer_name);
	mnl_attr_put_u32(h, IFLA_NET_NS_FD, (uint32_t)dev->peer_netns_fd);
	if (dev->mtu)
		mnl_attr_put_u32(h, IFLA_MTU, dev->mtu);
	mnl_attr_nest_end(h, peer);
}

static void put_vxlan(struct nlmsghdr *h, const struct ovl_netlink_dev *dev)
{
	mnl_attr_put_u32(h, IFLA_VXLAN_ID, dev->vni);
	put_ip(h, strchr(dev->local, ':') ? IFLA_VXLAN_LOCAL6 : IFLA_VXLAN_LOCAL, dev->local);
	mnl_attr_put_u16(h, IFLA_VXLAN_PORT, htons(dev->port));
	mnl_attr_put_u8(h, IFLA_VXLAN_LEARNING, 0);
	if (dev->lower)
		mnl_attr_put_u32(h, IFLA_VXLAN_LINK, dev->lower);
}

int ovl_netlink_dev_add(struct ovl_netlink *nl, const struct ovl_netlink_dev *dev)
{
	_Alignas(struct nlmsghdr) char buf[MSG_BYTES];
	struct nlmsghdr *h = start(buf, RTM_NEWLINK, NLM_F_CREATE | NLM_F_EXCL);
	struct nlattr *info, *data;

	mnl_nlmsg_put_extra_header(h, sizeof(struct ifinfomsg));
	mnl_attr_put_strz(h, IFLA_IFNAME, dev->name);
	if (dev->mac && *dev->mac)
		put_mac(h, IFLA_ADDRESS, dev->mac);
	if (dev->mtu)
		mnl_attr_put_u32(h, IFLA_MTU, dev->mtu);
	info = mnl_attr_nest_start(h, IFLA_LINKINFO);
	mnl_attr_put_strz(h, IFLA_INFO_KIND, dev->kind);
	data = mnl_attr_nest_start(h, IFLA_INFO_DATA);
	if (dev->peer_name)
		put_veth(h, dev);
	if (dev->local && *dev->local)
		put_vxlan(h, dev);
	mnl_attr_nest_end(h, data);
	mnl_attr_nest_end(h, info);
	return talk(nl, h);
}

int ovl_netlink_dev_up(struct ovl_netlink *nl, uint32_t ifindex)
{
	_Alignas(struct nlmsghdr) char buf[MSG_BYTES];
	struct nlmsghdr *h = start(buf, RTM_NEWLINK, 0);
	struct ifinfomsg *m = mnl_nlmsg_put_extra_header(h, sizeof(*m));

	m->ifi_index = (int)ifindex;
	m->ifi_flags = IFF_UP;
	m->ifi_change = IFF_UP;
	return talk(nl, h);
}

/* Change one number of a device. */
static int dev_set(struct ovl_netlink *nl, uint32_t ifindex, uint16_t type, uint32_t value)
{
	_Alignas(struct nlmsghdr) char buf[MSG_BYTES];
	struct nlmsghdr *h = start(buf, RTM_NEWLINK, 0);
	struct ifinfomsg *m = mnl_nlmsg_put_extra_header(h, sizeof(*m));

	m->ifi_index = (int)ifindex;
	mnl_attr_put_u32(h, type, value);
	return talk(nl, h);
}

int ovl_netlink_dev_master(struct ovl_netlink *nl, uint32_t ifindex, uint32_t master)
{
	return dev_set(nl, ifindex, IFLA_MASTER, master);
}

int ovl_netlink_dev_mtu(struct ovl_netlink *nl, uint32_t ifindex, uint32_t mtu)
{
	return dev_set(nl, ifindex, IFLA_MTU, mtu);
}

int ovl_netlink_port_hairpin(struct ovl_netlink *nl, uint32_t ifindex)
{
	_Alignas(struct nlmsghdr) char buf[MSG_BYTES];
	struct nlmsghdr *h = start(buf, RTM_SETLINK, 0);
	struct ifinfomsg *m = mnl_nlmsg_put_extra_header(h, sizeof(*m));
	struct nlattr *info;

	m->ifi_family = AF_BRIDGE;
	m->ifi_index = (int)ifindex;
	info = mnl_attr_nest_start(h, IFLA_PROTINFO);
	mnl_attr_put_u8(h, IFLA_BRPORT_MODE, 1);
	mnl_attr_nest_end(h, info);
	return talk(nl, h);
}

int ovl_netlink_addr_add(struct ovl_netlink *nl, uint32_t ifindex, const char *addr)
{
	_Alignas(struct nlmsghdr) char buf[MSG_BYTES];
	struct nlmsghdr *h = start(buf, RTM_NEWADDR, NLM_F_CREATE | NLM_F_EXCL);
	struct ifaddrmsg *m = mnl_nlmsg_put_extra_header(h, sizeof(*m));
	struct ovl_netlink_ip ip;
	uint32_t ip4;

	if (!ovl_netlink_parse_ip(addr, &ip))
		return fail(nl, -EINVAL, addr);
	m->ifa_family = ip.family;
	m->ifa_prefixlen = ip.len;
	m->ifa_index = ifindex;
	if (ip.family == AF_INET6)
		m->ifa_flags = IFA_F_NODAD; /* usable at once */
	mnl_attr_put(h, IFA_LOCAL, ip.n, ip.bytes);
	mnl_attr_put(h, IFA_ADDRESS, ip.n, ip.bytes);
	if (ip.family == AF_INET && ip.len < 31) {
		memcpy(&ip4, ip.bytes, sizeof(ip4));
		ip4 |= htonl(ip.len ? UINT32_MAX >> ip.len : UINT32_MAX);
		mnl_attr_put_u32(h, IFA_BROADCAST, ip4);
	}
	return talk(nl, h);
}

int ovl_netlink_route_add(struct ovl_netlink *nl, const struct ovl_netlink_route *route)
{
	_Alignas(struct nlmsghdr) char buf[MSG_BYTES];
	struct nlmsghdr *h = start(buf, RTM_NEWROUTE, NLM_F_CREATE | NLM_F_EXCL);
	struct rtmsg *m = mnl_nlmsg_put_extra_header(h, sizeof(*m));
	struct ovl_netlink_ip ip;

	if (!ovl_netlink_parse_ip(*route->dst ? route->dst : route->via, &ip))
		return fail(nl, -EINVAL, route->dst);
	m->rtm_family = ip.family;
	m->rtm_dst_len = *route->dst ? ip.len : 0;
	m->rtm_table = RT_TABLE_MAIN;
	m->rtm_protocol = RTPROT_BOOT;
	m->rtm_scope = *route->via || ip.family == AF_INET6 ? RT_SCOPE_UNIVERSE : RT_SCOPE_LINK;
	m->rtm_type = RTN_UNICAST;
	m->rtm_flags = route->onlink ? RTNH_F_ONLINK : 0;
	if (*route->dst)
		mnl_attr_put(h, RTA_DST, ip.n, ip.bytes);
	if (*route->via)
		put_ip(h, RTA_GATEWAY, route->via);
	mnl_attr_put_u32(h, RTA_OIF, route->ifindex);
	if (route->cwnd_segs) {
		struct nlattr *metrics = mnl_attr_nest_start(h, RTA_METRICS);

		mnl_attr_put_u32(h, RTAX_LOCK, 1u << RTAX_CWND);
		mnl_attr_put_u32(h, RTAX_CWND, route->cwnd_segs);
		mnl_attr_nest_end(h, metrics);
	}
	return talk(nl, h);
}

static int ndmsg_add(struct ovl_netlink *nl, const struct ndmsg *nd, const char *addr,
		     const char *mac)
{
	_Alignas(struct nlmsghdr) char buf[MSG_BYTES];
	struct nlmsghdr *h = start(buf, RTM_NEWNEIGH, NLM_F_CREATE | NLM_F_REPLACE);

	memcpy(mnl_nlmsg_put_extra_header(h, sizeof(*nd)), nd, sizeof(*nd));
	put_ip(h, NDA_DST, addr);
	put_mac(h, NDA_LLADDR, mac);
	return talk(nl, h);
}

int ovl_netlink_neigh_add(struct ovl_netlink *nl, uint32_t ifindex, const char *addr,
			  const char *mac)
{
	const struct ndmsg nd = {
		.ndm_family = strchr(addr, ':') ? AF_INET6 : AF_INET,
		.ndm_ifindex = (int)ifindex,
		.ndm_state = NUD_PERMANENT,
	};

	return ndmsg_add(nl, &nd, addr, mac);
}

int ovl_netlink_fdb_add(struct ovl_netlink *nl, uint32_t ifindex, const char *mac,
			const char *remote)
{
	const struct ndmsg nd = {
		.ndm_family = AF_BRIDGE,
		.ndm_ifindex = (int)ifindex,
		.ndm_state = NUD_PERMANENT | NUD_NOARP,
		.ndm_flags = NTF_SELF,
	};

	return ndmsg_add(nl, &nd, remote, mac);
}

int ovl_netlink_tbf_add(struct ovl_netlink *nl, uint32_t ifindex, uint64_t rate_bps, uint32_t mtu)
{
	_Alignas(struct nlmsghdr) char buf[MSG_BYTES];
	struct nlmsghdr *h = start(buf, RTM_NEWQDISC, NLM_F_CREATE | NLM_F_EXCL);
	struct tcmsg *m = mnl_nlmsg_put_extra_header(h, sizeof(*m));
	const uint64_t rate = rate_bps / 8; /* bytes a second, as are the sizes below */
	const uint32_t packet = mtu + 100;
	/* 4 ms, which any timer keeps; what is larger than a burst the qdisc cuts up itself */
	const uint32_t burst = rate / 250 > 2 * packet ? (uint32_t)(rate / 250) : 2 * packet;
	const uint64_t queue = rate / 20 > 10ull * packet ? rate / 20 : 10ull * packet;
	struct tc_tbf_qopt opt = {
		.rate = {.rate = rate > UINT32_MAX ? UINT32_MAX : (uint32_t)rate,
			 .linklayer = TC_LINKLAYER_ETHERNET},
		.limit = queue > UINT32_MAX ? UINT32_MAX : (uint32_t)queue,
	};
	struct nlattr *options;

	m->tcm_family = AF_UNSPEC;
	m->tcm_ifindex = (int)ifindex;
	m->tcm_parent = TC_H_ROOT;
	mnl_attr_put_strz(h, TCA_KIND, "tbf");
	options = mnl_attr_nest_start(h, TCA_OPTIONS);
	mnl_attr_put(h, TCA_TBF_PARMS, sizeof(opt), &opt);
	mnl_attr_put_u32(h, TCA_TBF_BURST, burst);
	if (rate > UINT32_MAX)
		mnl_attr_put_u64(h, TCA_TBF_RATE64, rate);
	mnl_attr_nest_end(h, options);
	return talk(nl, h);
}
