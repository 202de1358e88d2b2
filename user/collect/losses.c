#include "collect/losses.h"

#include <errno.h>
#include <linux/ethtool.h>
#include <linux/gen_stats.h>
#include <linux/rtnetlink.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/str.h"
#include "collect/netns.h"
#include "collect/rtnl.h"

#define STATS_MAX 8192 /* of one device: a large NIC has a few thousand */

/* A driver's counter that is read. */
struct counter {
	uint32_t index;
	char name[OVL_NAME_MAX]; /* with the device */
};

struct device {
	int ifindex;
	char name[OVL_IF_MAX];
	uint32_t n; /* of the driver's counters */
	OVL_VEC(struct counter) counters;
};

struct ovl_losses {
	int sock; /* in the namespace, -1: none */
	OVL_VEC(struct device) devices;
	struct ethtool_stats *stats; /* room for the largest device's */
	uint32_t room;
};

bool ovl_losses_named(const char *counter)
{
	static const char *const parts[] = {"drop",  "miss",	 "discard", "no_buf",
					    "nobuf", "overflow", "overrun", "xmit_errors"};

	for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++)
		if (strstr(counter, parts[i]))
			return true;
	return false;
}

int ovl_losses_link(const struct ovl_link *link, const struct rtnl_link_stats64 *before,
		    const struct rtnl_link_stats64 *now,
		    int (*put_one)(struct ovl_sample *s, uint32_t ns, const char *group,
				   const char *name, int64_t delta),
		    struct ovl_sample *sample)
{
#define LOSS(member) \
	{ \
#member, before->member, now->member \
	}
	const struct {
		const char *name;
		uint64_t before, now;
	} losses[] = {
		LOSS(rx_missed_errors),	 LOSS(rx_over_errors), LOSS(rx_fifo_errors),
		LOSS(rx_length_errors),	 LOSS(rx_crc_errors),  LOSS(rx_nohandler),
		LOSS(tx_carrier_errors),
	};
#undef LOSS
	char name[OVL_NAME_MAX];
	int rc = 0;

	for (size_t i = 0; !rc && i < sizeof(losses) / sizeof(*losses); i++) {
		if (losses[i].now <= losses[i].before)
			continue;
		snprintf(name, sizeof(name), "%s:%s", link->name, losses[i].name);
		rc = put_one(sample, link->ns, "link", name,
			     (int64_t)(losses[i].now - losses[i].before));
	}
	return rc;
}

static int ethtool(int sock, const char *name, void *data)
{
	struct ifreq req = {.ifr_data = data};

	ovl_str_copy(req.ifr_name, sizeof(req.ifr_name), name);
	return ioctl(sock, SIOCETHTOOL, &req) ? -errno : 0;
}

static uint32_t count_stats(int sock, const char *name)
{
	union {
		struct ethtool_sset_info head;
		char room[sizeof(struct ethtool_sset_info) + sizeof(uint32_t)];
	} info = {.room = ""};
	uint32_t n;

	info.head.cmd = ETHTOOL_GSSET_INFO;
	info.head.sset_mask = 1ull << ETH_SS_STATS;
	if (ethtool(sock, name, &info) || !info.head.sset_mask)
		return 0;
	memcpy(&n, info.room + sizeof(info.head), sizeof(n));
	return n <= STATS_MAX ? n : 0;
}

static int keep(struct device *d, const struct ethtool_gstrings *names)
{
	for (uint32_t i = 0; i < names->len; i++) {
		char whole[ETH_GSTRING_LEN + 1] = "";
		struct counter *c;

		memcpy(whole, names->data + (size_t)i * ETH_GSTRING_LEN, ETH_GSTRING_LEN);
		if (!ovl_losses_named(whole))
			continue;
		c = ovl_vec_push(&d->counters);
		if (!c)
			return -ENOMEM;
		c->index = i;
		snprintf(c->name, sizeof(c->name), "%s:%s", d->name, whole);
	}
	return 0;
}

/* Which counters this device's driver has. */
static int name_stats(struct ovl_losses *l, struct device *d)
{
	uint32_t n = count_stats(l->sock, d->name);
	struct ethtool_gstrings *names;
	int rc = 0;

	if (!n)
		return 0;
	names = calloc(1, sizeof(*names) + (size_t)n * ETH_GSTRING_LEN);
	if (!names)
		return -ENOMEM;
	*names = (struct ethtool_gstrings){
		.cmd = ETHTOOL_GSTRINGS, .string_set = ETH_SS_STATS, .len = n};
	if (!ethtool(l->sock, d->name, names)) {
		d->n = n;
		rc = keep(d, names);
	}
	free(names);
	if (n > l->room)
		l->room = n;
	return rc;
}

static int open_socket(void *arg)
{
	struct ovl_losses *l = arg;

	l->sock = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	return l->sock < 0 ? -errno : 0;
}

struct ovl_losses *ovl_losses_open(const struct ovl_facts *facts, uint32_t ns, int ns_fd)
{
	struct ovl_losses *l = calloc(1, sizeof(*l));
	int rc = 0;

	if (!l)
		return NULL;
	l->sock = -1;
	ovl_netns_run(ns_fd, open_socket, l);
	ovl_vec_each(link, &facts->links) {
		struct device *d = link->ns == ns && !rc ? ovl_vec_push(&l->devices) : NULL;

		if (link->ns != ns || rc)
			continue;
		if (!d) {
			rc = -ENOMEM;
			continue;
		}
		d->ifindex = link->ifindex;
		ovl_str_copy(d->name, sizeof(d->name), link->name);
		rc = l->sock < 0 ? 0 : name_stats(l, d);
	}
	if (!rc && l->room)
		l->stats = calloc(1, sizeof(*l->stats) + l->room * sizeof(l->stats->data[0]));
	if (!rc && (l->stats || !l->room))
		return l;
	ovl_losses_close(l);
	return NULL;
}

void ovl_losses_close(struct ovl_losses *l)
{
	if (!l)
		return;
	ovl_vec_each(d, &l->devices)
		ovl_vec_fini(&d->counters);
	ovl_vec_fini(&l->devices);
	free(l->stats);
	if (l->sock >= 0)
		close(l->sock);
	free(l);
}

/* Where the counters of one reading go. */
struct out {
	struct ovl_losses *losses;
	ovl_procnet_counter each;
	void *arg;
	const struct device *device; /* of the message being read, NULL: not of the path */
	char name[OVL_NAME_MAX];
	char kind[IFNAMSIZ];
	uint32_t drops;
	bool has_drops;
};

static void put(const struct out *out, const char *group, const char *name, uint64_t value)
{
	if (value <= INT64_MAX)
		out->each(out->arg, (struct ovl_word){group, strlen(group)},
			  (struct ovl_word){name, strlen(name)}, (int64_t)value);
}

static int queue_attr(const struct nlattr *attr, void *arg)
{
	struct gnet_stats_queue queue;
	struct out *out = arg;

	if (mnl_attr_get_type(attr) != TCA_STATS_QUEUE ||
	    mnl_attr_get_payload_len(attr) < sizeof(queue))
		return MNL_CB_OK;
	memcpy(&queue, mnl_attr_get_payload(attr), sizeof(queue));
	out->drops = queue.drops;
	out->has_drops = true;
	return MNL_CB_OK;
}

static int qdisc_attr(const struct nlattr *attr, void *arg)
{
	struct out *out = arg;

	if (mnl_attr_get_type(attr) == TCA_KIND && !mnl_attr_validate(attr, MNL_TYPE_NUL_STRING))
		ovl_str_copy(out->kind, sizeof(out->kind), mnl_attr_get_str(attr));
	else if (mnl_attr_get_type(attr) == TCA_STATS2)
		mnl_attr_parse_nested(attr, queue_attr, out);
	return MNL_CB_OK;
}

static int qdisc_msg(const struct nlmsghdr *nlh, void *arg)
{
	const struct tcmsg *msg = mnl_nlmsg_get_payload(nlh);
	struct out *out = arg;

	if (nlh->nlmsg_type != RTM_NEWQDISC)
		return MNL_CB_OK;
	out->device = NULL;
	ovl_vec_each(d, &out->losses->devices)
		if (d->ifindex == msg->tcm_ifindex)
			out->device = d;
	if (!out->device)
		return MNL_CB_OK;
	out->has_drops = false;
	out->kind[0] = '\0';
	mnl_attr_parse(nlh, sizeof(*msg), qdisc_attr, out);
	/* those without a handle of their own are told apart by their parent's class */
	if (msg->tcm_handle)
		snprintf(out->name, sizeof(out->name), "%s:%s %x: drops", out->device->name,
			 out->kind, msg->tcm_handle >> 16);
	else
		snprintf(out->name, sizeof(out->name), "%s:%s of %x:%x drops", out->device->name,
			 out->kind, msg->tcm_parent >> 16, msg->tcm_parent & 0xffff);
	if (out->has_drops)
		put(out, "qdisc", out->name, out->drops);
	return MNL_CB_OK;
}

static void read_qdiscs(struct out *out, struct ovl_links *links)
{
	struct nlmsghdr *nlh = ovl_rtnl_request(links, RTM_GETQDISC, NLM_F_DUMP);

	mnl_nlmsg_put_extra_header(nlh, sizeof(struct tcmsg));
	/* a namespace that is gone has nothing to tell: that is found out elsewhere */
	ovl_rtnl_talk(links, nlh, qdisc_msg, out);
}

static void read_driver(const struct out *out, const struct device *d)
{
	struct ethtool_stats *stats = out->losses->stats;

	if (!d->counters.n || !stats)
		return;
	*stats = (struct ethtool_stats){.cmd = ETHTOOL_GSTATS, .n_stats = d->n};
	if (count_stats(out->losses->sock, d->name) != d->n ||
	    ethtool(out->losses->sock, d->name, stats) || stats->n_stats != d->n)
		return; /* gone, or changed its number of queues */
	ovl_vec_each(c, &d->counters)
		put(out, "ethtool", c->name, stats->data[c->index]);
}

void ovl_losses_read(struct ovl_losses *l, struct ovl_links *links, ovl_procnet_counter each,
		     void *arg)
{
	struct out out = {.losses = l, .each = each, .arg = arg};

	read_qdiscs(&out, links);
	ovl_vec_each(d, &l->devices)
		read_driver(&out, d);
}
