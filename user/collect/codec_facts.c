/* The facts of a recording: one line per member. */
#include "collect/codec.h"

#include <errno.h>
#include <inttypes.h>

static const struct ovl_codec_field ns_fields[] = {
	OVL_F(struct ovl_ns, name, STR),
	OVL_F(struct ovl_ns, inode, UINT),
};
static const struct ovl_codec_table ns_table =
	OVL_CODEC_TABLE(struct ovl_ns, "a namespace", ns_fields);

static const struct ovl_codec_field feature_fields[] = {
	OVL_F(struct ovl_feature, name, STR),
	OVL_F(struct ovl_feature, on, BOOL),
};
static const struct ovl_codec_table feature_table =
	OVL_CODEC_TABLE(struct ovl_feature, "a feature", feature_fields);

static const struct ovl_codec_field link_fields[] = {
	OVL_F(struct ovl_link, ns, UINT),
	OVL_F(struct ovl_link, ifindex, INT),
	OVL_F(struct ovl_link, name, STR),
	OVL_F(struct ovl_link, kind, STR),
	OVL_F(struct ovl_link, mtu, UINT),
	OVL_F(struct ovl_link, lower, INDEX),
	OVL_F(struct ovl_link, master, INDEX),
	OVL_F(struct ovl_link, up, BOOL),
	OVL_F_VEC(struct ovl_link, features, feature_table, 256),
};
static const struct ovl_codec_table link_table =
	OVL_CODEC_TABLE(struct ovl_link, "a link", link_fields);

static const struct ovl_codec_field vxlan_fields[] = {
	OVL_F(struct ovl_vxlan, valid, BOOL), OVL_F(struct ovl_vxlan, vni, UINT),
	OVL_F(struct ovl_vxlan, port, UINT),  OVL_F(struct ovl_vxlan, local, STR),
	OVL_F(struct ovl_vxlan, dev, STR),
};
static const struct ovl_codec_table vxlan_table =
	OVL_CODEC_TABLE(struct ovl_vxlan, "the vxlan device", vxlan_fields);

static const struct ovl_codec_field load_fields[] = {
	OVL_F(struct ovl_load_facts, valid, BOOL),
	OVL_F(struct ovl_load_facts, kind, STR),
	OVL_F(struct ovl_load_facts, peer_kind, STR),
	OVL_F_MAX(struct ovl_load_facts, streams, 65536),
	OVL_F(struct ovl_load_facts, congestion, STR),
	OVL_F(struct ovl_load_facts, cpu_sender, INDEX),
	OVL_F(struct ovl_load_facts, cpu_receiver, INDEX),
	OVL_F(struct ovl_load_facts, has_underlay, BOOL),
	OVL_F(struct ovl_load_facts, where, STR),
	OVL_F(struct ovl_load_facts, disagreement, STR),
};
static const struct ovl_codec_table load_table =
	OVL_CODEC_TABLE(struct ovl_load_facts, "the load", load_fields);

static const struct ovl_codec_field packet_fields[] = {
	OVL_F(struct ovl_packet_facts, valid, BOOL),
	OVL_F(struct ovl_packet_facts, deep, BOOL),
	OVL_F(struct ovl_packet_facts, window_ns, UINT),
	OVL_F_MAX(struct ovl_packet_facts, progs, OVL_PACKET_PROGS),
	OVL_F_ARRAY(struct ovl_packet_facts, cost_ns),
};
static const struct ovl_codec_table packet_table =
	OVL_CODEC_TABLE(struct ovl_packet_facts, "the packet windows", packet_fields);

static const struct ovl_codec_field daemon_fields[] = {
	OVL_F(struct ovl_daemon, link, UINT),
	OVL_F(struct ovl_daemon, pid, INT),
	OVL_F(struct ovl_daemon, name, STR),
	OVL_F(struct ovl_daemon, vnet_header, INDEX),
};
static const struct ovl_codec_table daemon_table =
	OVL_CODEC_TABLE(struct ovl_daemon, "a tun daemon", daemon_fields);

static const struct ovl_codec_field missing_fields[] = {
	OVL_F(struct ovl_missing, hook, STR),
	OVL_F(struct ovl_missing, reason, STR),
	OVL_F(struct ovl_missing, lost, STR),
};
static const struct ovl_codec_table missing_table =
	OVL_CODEC_TABLE(struct ovl_missing, "a missing instrument", missing_fields);

static const char *func_name(uint32_t value)
{
	return ovl_func_info(value)->key;
}

/* A function that a newer version counts is no function of this one's. */
const struct ovl_codec_keys ovl_codec_funcs = {OVL_FUNC_COUNT, func_name, ovl_func_find,
					       OVL_FUNC_COUNT};
static const struct ovl_codec_keys tier_keys = {OVL_TIER_COUNT, ovl_tier_name, ovl_tier_find,
						OVL_TIER_AUTO};

static const struct ovl_codec_field func_fields[] = {
	OVL_F_KEY(struct ovl_func_probe, func, ovl_codec_funcs),
	OVL_F_KEY(struct ovl_func_probe, tier, tier_keys),
};
static const struct ovl_codec_table func_table =
	OVL_CODEC_TABLE(struct ovl_func_probe, "a probed function", func_fields);

static const struct ovl_codec_field setting_fields[] = {
	OVL_F(struct ovl_setting, name, STR),
	OVL_F(struct ovl_setting, value, STR),
};
static const struct ovl_codec_table setting_table =
	OVL_CODEC_TABLE(struct ovl_setting, "a setting", setting_fields);

static const struct ovl_codec_field facts_fields[] = {
	OVL_F(struct ovl_facts, tool_version, STR),
	OVL_F(struct ovl_facts, libbpf_version, STR),
	OVL_F(struct ovl_facts, kernel, STR),
	OVL_F(struct ovl_facts, arch, STR),
	OVL_F(struct ovl_facts, nodename, STR),
	OVL_F_MAX(struct ovl_facts, cpus, OVL_CODEC_CPUS_MAX),
	OVL_F(struct ovl_facts, start_unix_ns, UINT),
	OVL_F_VEC(struct ovl_facts, ns, ns_table, 4096),
	OVL_F_VEC(struct ovl_facts, links, link_table, 4096),
	OVL_F(struct ovl_facts, iface, INDEX),
	OVL_F_SUB(struct ovl_facts, vxlan, vxlan_table),
	OVL_F_SUB(struct ovl_facts, load, load_table),
	OVL_F_MAX(struct ovl_facts, sample_hz, 1000000),
	OVL_F(struct ovl_facts, interval_ns, UINT),
	OVL_F(struct ovl_facts, sample_cost_ns, UINT),
	OVL_F(struct ovl_facts, drop_cost_ns, UINT),
	OVL_F(struct ovl_facts, retransmit_cost_ns, UINT),
	OVL_F(struct ovl_facts, func_cost_ns, UINT),
	OVL_F_MAX(struct ovl_facts, progs_attached, 4096),
	OVL_F_SUB(struct ovl_facts, packets, packet_table),
	OVL_F_VEC(struct ovl_facts, daemons, daemon_table, OVL_DAEMONS_MAX),
	OVL_F_VEC(struct ovl_facts, funcs, func_table, 1024),
	OVL_F_VEC(struct ovl_facts, missing, missing_table, 1024),
	OVL_F_VEC(struct ovl_facts, config, setting_table, 1024),
};
const struct ovl_codec_table ovl_codec_facts =
	OVL_CODEC_TABLE(struct ovl_facts, "the facts", facts_fields);

int ovl_codec_facts_check(const struct ovl_facts *f, struct ovl_err *err)
{
	ovl_vec_each(link, &f->links) {
		if (link->ns >= f->ns.n)
			return ovl_err_set(err, OVL_EXIT_INPUT, -EINVAL,
					   "link '%s' names namespace %" PRIu32 " of %zu",
					   link->name, link->ns, f->ns.n);
		if (link->lower >= 0 && (size_t)link->lower >= f->links.n)
			return ovl_err_set(err, OVL_EXIT_INPUT, -EINVAL,
					   "link '%s' names link %d of %zu", link->name,
					   link->lower, f->links.n);
		if (link->master >= 0 && (size_t)link->master >= f->links.n)
			return ovl_err_set(err, OVL_EXIT_INPUT, -EINVAL,
					   "link '%s' is a port of link %d of %zu", link->name,
					   link->master, f->links.n);
	}
	if (f->iface >= 0 && (size_t)f->iface >= f->links.n)
		return ovl_err_set(err, OVL_EXIT_INPUT, -EINVAL, "its interface is link %d of %zu",
				   f->iface, f->links.n);
	ovl_vec_each(daemon, &f->daemons) {
		if (daemon->link >= f->links.n)
			return ovl_err_set(err, OVL_EXIT_INPUT, -EINVAL,
					   "tun daemon '%s' names link %" PRIu32 " of %zu",
					   daemon->name, daemon->link, f->links.n);
	}
	if (f->load.cpu_sender >= OVL_CODEC_CPUS_MAX || f->load.cpu_receiver >= OVL_CODEC_CPUS_MAX)
		return ovl_err_set(err, OVL_EXIT_INPUT, -EINVAL,
				   "the load's CPUs %d and %d are beyond %d", f->load.cpu_sender,
				   f->load.cpu_receiver, OVL_CODEC_CPUS_MAX);
	return 0;
}
