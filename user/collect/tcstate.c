#include "collect/tcstate.h"

#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <libmnl/libmnl.h>
#include <linux/gen_stats.h>
#include <linux/pkt_cls.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <stdio.h>
#include <string.h>

#include "base/str.h"
#include "collect/rtnl.h"

#define FILTERED_MAX 64 /* devices with a clsact or ingress qdisc that are looked into */

/* One device while its attributes are read. */
struct device {
	int ifindex;
	char name[OVL_IF_MAX], kind[OVL_IF_MAX];
	uint32_t queue_pkts, xdp_id;
	bool has_queue, ttl_set, ports_set;
	uint8_t ttl;
	uint16_t port_low, port_high;
	char mac[18];
};
typedef OVL_VEC(struct device) devices;

struct reading {
	struct ovl_sheet *sheet;
	devices devices;
	int filtered[FILTERED_MAX];
	size_t n_filtered;
	bool failed;
	/* of the filter dump that runs */
	const char *device, *place;
};

static const char *name_of(const struct reading *r, int ifindex)
{
	ovl_vec_each(d, &r->devices)
		if (d->ifindex == ifindex)
			return d->name;
	return "?";
}

/* ---- devices ---- */

static int vxlan_attr(const struct nlattr *attr, void *arg)
{
	struct device *d = arg;

	if (mnl_attr_get_type(attr) == IFLA_VXLAN_TTL) {
		d->ttl = mnl_attr_get_u8(attr);
		d->ttl_set = true;
	} else if (mnl_attr_get_type(attr) == IFLA_VXLAN_PORT_RANGE &&
		   mnl_attr_get_payload_len(attr) >= sizeof(struct ifla_vxlan_port_range)) {
		const struct ifla_vxlan_port_range *range = mnl_attr_get_payload(attr);

		d->port_low = ntohs(range->low);
		d->port_high = ntohs(range->high);
		d->ports_set = true;
	}
	return MNL_CB_OK;
}

static int info_attr(const struct nlattr *attr, void *arg)
{
	struct device *d = arg;

	if (mnl_attr_get_type(attr) == IFLA_INFO_KIND)
		ovl_str_copy(d->kind, sizeof(d->kind), mnl_attr_get_str(attr));
	else if (mnl_attr_get_type(attr) == IFLA_INFO_DATA && !strcmp(d->kind, "vxlan"))
		mnl_attr_parse_nested(attr, vxlan_attr, d);
	return MNL_CB_OK;
}

static int xdp_attr(const struct nlattr *attr, void *arg)
{
	struct device *d = arg;
	uint16_t type = mnl_attr_get_type(attr);

	if (type == IFLA_XDP_PROG_ID || type == IFLA_XDP_SKB_PROG_ID ||
	    type == IFLA_XDP_DRV_PROG_ID || type == IFLA_XDP_HW_PROG_ID)
		d->xdp_id = mnl_attr_get_u32(attr);
	return MNL_CB_OK;
}

static int device_attr(const struct nlattr *attr, void *arg)
{
	struct device *d = arg;

	switch (mnl_attr_get_type(attr)) {
	case IFLA_IFNAME: ovl_str_copy(d->name, sizeof(d->name), mnl_attr_get_str(attr)); break;
	case IFLA_TXQLEN:
		d->queue_pkts = mnl_attr_get_u32(attr);
		d->has_queue = true;
		break;
	case IFLA_LINKINFO: mnl_attr_parse_nested(attr, info_attr, d); break;
	case IFLA_XDP: mnl_attr_parse_nested(attr, xdp_attr, d); break;
	case IFLA_ADDRESS:
		if (mnl_attr_get_payload_len(attr) == 6) {
			const uint8_t *m = mnl_attr_get_payload(attr);

			snprintf(d->mac, sizeof(d->mac), "%02x:%02x:%02x:%02x:%02x:%02x", m[0],
				 m[1], m[2], m[3], m[4], m[5]);
		}
		break;
	default: break;
	}
	return MNL_CB_OK;
}

static int device_msg(const struct nlmsghdr *nlh, void *arg)
{
	const struct ifinfomsg *info = mnl_nlmsg_get_payload(nlh);
	struct reading *r = arg;
	struct device *d = ovl_vec_push(&r->devices);

	if (!d) {
		r->failed = true;
		return MNL_CB_OK;
	}
	d->ifindex = info->ifi_index;
	mnl_attr_parse(nlh, sizeof(*info), device_attr, d);
	return MNL_CB_OK;
}

static void put_devices(struct reading *r)
{
	ovl_vec_each(d, &r->devices) {
		if (d->has_queue)
			ovl_sheet_set(r->sheet, "device", d->name, "queue_pkts", d->queue_pkts);
		if (*d->mac)
			ovl_sheet_say(r->sheet, "device", d->name, "mac", d->mac);
		if (d->xdp_id) {
			char object[OVL_NAME_MAX];

			snprintf(object, sizeof(object), "%s xdp", d->name);
			ovl_sheet_set(r->sheet, "bpf", object, "id", d->xdp_id);
		}
		if (d->ttl_set)
			ovl_sheet_set(r->sheet, "tunnel", d->name, "ttl", d->ttl);
		if (d->ports_set)
			ovl_sheet_set(r->sheet, "tunnel", d->name, "source_ports",
				      d->port_high - d->port_low);
	}
}

/* ---- queueing disciplines ---- */

struct qdisc {
	char kind[16];
	uint64_t drops, overlimits, backlog_bytes, rate;
	bool stats;
};

static int stats_attr(const struct nlattr *attr, void *arg)
{
	struct qdisc *q = arg;

	if (mnl_attr_get_type(attr) == TCA_STATS_QUEUE &&
	    mnl_attr_get_payload_len(attr) >= sizeof(struct gnet_stats_queue)) {
		struct gnet_stats_queue stats;

		memcpy(&stats, mnl_attr_get_payload(attr), sizeof(stats));
		q->drops = stats.drops;
		q->overlimits = stats.overlimits;
		q->backlog_bytes = stats.backlog;
		q->stats = true;
	}
	return MNL_CB_OK;
}

static int tbf_attr(const struct nlattr *attr, void *arg)
{
	struct qdisc *q = arg;

	if (mnl_attr_get_type(attr) == TCA_TBF_PARMS &&
	    mnl_attr_get_payload_len(attr) >= sizeof(struct tc_tbf_qopt)) {
		struct tc_tbf_qopt opt;

		memcpy(&opt, mnl_attr_get_payload(attr), sizeof(opt));
		if (!q->rate)
			q->rate = opt.rate.rate;
	} else if (mnl_attr_get_type(attr) == TCA_TBF_RATE64) {
		q->rate = mnl_attr_get_u64(attr);
	}
	return MNL_CB_OK;
}

static int htb_attr(const struct nlattr *attr, void *arg)
{
	struct qdisc *q = arg;

	if (mnl_attr_get_type(attr) == TCA_HTB_PARMS &&
	    mnl_attr_get_payload_len(attr) >= sizeof(struct tc_htb_opt)) {
		struct tc_htb_opt opt;

		memcpy(&opt, mnl_attr_get_payload(attr), sizeof(opt));
		if (!q->rate)
			q->rate = opt.ceil.rate;
	} else if (mnl_attr_get_type(attr) == TCA_HTB_CEIL64) {
		q->rate = mnl_attr_get_u64(attr);
	}
	return MNL_CB_OK;
}

static int qdisc_attr(const struct nlattr *attr, void *arg)
{
	struct qdisc *q = arg;

	switch (mnl_attr_get_type(attr)) {
	case TCA_KIND: ovl_str_copy(q->kind, sizeof(q->kind), mnl_attr_get_str(attr)); break;
	case TCA_STATS2: mnl_attr_parse_nested(attr, stats_attr, q); break;
	case TCA_OPTIONS:
		if (!strcmp(q->kind, "tbf"))
			mnl_attr_parse_nested(attr, tbf_attr, q);
		else if (!strcmp(q->kind, "htb"))
			mnl_attr_parse_nested(attr, htb_attr, q);
		break;
	default: break;
	}
	return MNL_CB_OK;
}

static void put_qdisc(struct reading *r, const struct tcmsg *msg, const struct qdisc *q,
		      const char *what)
{
	char object[OVL_NAME_MAX];

	snprintf(object, sizeof(object), "%s %s %x:%x", name_of(r, msg->tcm_ifindex), what,
		 TC_H_MAJ(msg->tcm_handle) >> 16, TC_H_MIN(msg->tcm_handle));
	if (q->rate)
		ovl_sheet_set(r->sheet, "qdisc", object, "rate_bps", (int64_t)q->rate * 8);
	if (!q->stats)
		return;
	ovl_sheet_count(r->sheet, "qdisc", object, "drops", q->drops);
	ovl_sheet_count(r->sheet, "qdisc", object, "overlimits", q->overlimits);
	ovl_sheet_set(r->sheet, "qdisc", object, "backlog_bytes", (int64_t)q->backlog_bytes);
}

static int qdisc_msg(const struct nlmsghdr *nlh, void *arg)
{
	const struct tcmsg *msg = mnl_nlmsg_get_payload(nlh);
	struct reading *r = arg;
	struct qdisc q = {0};

	mnl_attr_parse(nlh, sizeof(*msg), qdisc_attr, &q);
	if (!strcmp(q.kind, "noqueue"))
		return MNL_CB_OK;
	if (!strcmp(q.kind, "clsact") || !strcmp(q.kind, "ingress") || !strcmp(q.kind, "htb")) {
		if (r->n_filtered >= FILTERED_MAX)
			r->sheet->left_out++;
		else
			r->filtered[r->n_filtered++] = msg->tcm_ifindex;
	}
	put_qdisc(r, msg, &q, q.kind);
	return MNL_CB_OK;
}

static int class_msg(const struct nlmsghdr *nlh, void *arg)
{
	const struct tcmsg *msg = mnl_nlmsg_get_payload(nlh);
	struct reading *r = arg;
	struct qdisc q = {0};

	mnl_attr_parse(nlh, sizeof(*msg), qdisc_attr, &q);
	if (!strcmp(q.kind, "htb"))
		put_qdisc(r, msg, &q, "htb class");
	return MNL_CB_OK;
}

/* ---- filters: only programs matter here ---- */

struct filter {
	char kind[16], name[32];
	uint32_t id;
};

static int bpf_attr(const struct nlattr *attr, void *arg)
{
	struct filter *f = arg;

	if (mnl_attr_get_type(attr) == TCA_BPF_ID)
		f->id = mnl_attr_get_u32(attr);
	else if (mnl_attr_get_type(attr) == TCA_BPF_NAME)
		ovl_str_copy(f->name, sizeof(f->name), mnl_attr_get_str(attr));
	return MNL_CB_OK;
}

static int filter_attr(const struct nlattr *attr, void *arg)
{
	struct filter *f = arg;

	if (mnl_attr_get_type(attr) == TCA_KIND)
		ovl_str_copy(f->kind, sizeof(f->kind), mnl_attr_get_str(attr));
	else if (mnl_attr_get_type(attr) == TCA_OPTIONS && !strcmp(f->kind, "bpf"))
		mnl_attr_parse_nested(attr, bpf_attr, f);
	return MNL_CB_OK;
}

static int filter_msg(const struct nlmsghdr *nlh, void *arg)
{
	struct reading *r = arg;
	struct filter f = {0};
	char object[OVL_NAME_MAX];

	mnl_attr_parse(nlh, sizeof(struct tcmsg), filter_attr, &f);
	if (!f.id)
		return MNL_CB_OK;
	snprintf(object, sizeof(object), "%s %s", r->device, r->place);
	ovl_sheet_set(r->sheet, "bpf", object, "id", f.id);
	ovl_sheet_say(r->sheet, "bpf", object, "name", f.name);
	return MNL_CB_OK;
}

static void forget_devices(void *arg)
{
	struct reading *r = arg;

	ovl_vec_clear(&r->devices);
}

static void forget_filtered(void *arg)
{
	struct reading *r = arg;

	r->n_filtered = 0;
}

static int dump_tc(struct ovl_links *l, uint16_t type, int ifindex, uint32_t parent, mnl_cb_t cb,
		   struct reading *r)
{
	struct nlmsghdr *nlh = ovl_rtnl_request(l, type, NLM_F_DUMP);
	struct tcmsg *msg = mnl_nlmsg_put_extra_header(nlh, sizeof(*msg));

	msg->tcm_family = AF_UNSPEC;
	msg->tcm_ifindex = ifindex;
	msg->tcm_parent = parent;
	return ovl_rtnl_dump(l, nlh, cb, type == RTM_GETQDISC ? forget_filtered : NULL, r);
}

static void read_filters(struct ovl_links *l, struct reading *r)
{
	for (size_t i = 0; i < r->n_filtered; i++) {
		const int at = r->filtered[i];

		r->device = name_of(r, at);
		r->place = "tc ingress";
		dump_tc(l, RTM_GETTFILTER, at, TC_H_MAKE(TC_H_CLSACT, TC_H_MIN_INGRESS), filter_msg,
			r);
		r->place = "tc egress";
		dump_tc(l, RTM_GETTFILTER, at, TC_H_MAKE(TC_H_CLSACT, TC_H_MIN_EGRESS), filter_msg,
			r);
		dump_tc(l, RTM_GETTCLASS, at, 0, class_msg, r);
	}
}

int ovl_tcstate_read(struct ovl_links *l, struct ovl_sheet *s)
{
	struct reading r = {.sheet = s};
	struct nlmsghdr *nlh = ovl_rtnl_request(l, RTM_GETLINK, NLM_F_DUMP);
	struct ifinfomsg *info = mnl_nlmsg_put_extra_header(nlh, sizeof(*info));
	int rc;

	info->ifi_family = AF_UNSPEC;
	mnl_attr_put_u32(nlh, IFLA_EXT_MASK, RTEXT_FILTER_SKIP_STATS);
	rc = ovl_rtnl_dump(l, nlh, device_msg, forget_devices, &r);
	if (!rc && r.failed)
		rc = -ENOMEM;
	if (!rc) {
		put_devices(&r);
		rc = dump_tc(l, RTM_GETQDISC, 0, 0, qdisc_msg, &r);
	}
	if (!rc)
		read_filters(l, &r);
	ovl_vec_fini(&r.devices);
	return rc;
}
