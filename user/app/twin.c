#include "app/twin.h"

#include <errno.h>
#include <string.h>

#include "app/quiet_cpus.h"

/*
 * Feature bits that change where segments and checksums are made; the rest does not matter to a
 * veth.
 */
static const char *const copied[] = {
	"tx-tcp-segmentation",		"tx-tcp-ecn-segmentation",
	"tx-tcp-mangleid-segmentation", "tx-tcp6-segmentation",
	"tx-udp-segmentation",		"tx-udp_tnl-segmentation",
	"tx-udp_tnl-csum-segmentation", "tx-gso-partial",
	"tx-checksum-ip-generic",	"tx-scatter-gather",
	"tx-scatter-gather-fraglist",
};
#define COPIED (sizeof(copied) / sizeof(copied[0]))

static bool feature_on(const struct ovl_link *link, const char *name)
{
	ovl_vec_each(f, &link->features)
		if (!strcmp(f->name, name))
			return f->on;
	return false;
}

/*
 * Devices checksum by protocol (tx-checksum-ipv4) or generically; veth and vxlan know only the
 * latter.
 */
static bool has_feature(const struct ovl_link *link, const char *name)
{
	if (!strcmp(name, "tx-checksum-ip-generic") && feature_on(link, "tx-checksum-ipv4"))
		return true;
	return feature_on(link, name);
}

static size_t features_off(const struct ovl_link *link, const char **off)
{
	size_t n = 0;

	if (!link || !link->features.n)
		return 0;
	for (size_t i = 0; i < COPIED; i++)
		if (!has_feature(link, copied[i]))
			off[n++] = copied[i];
	return n;
}

int ovl_twin_make(const struct ovl_facts *facts, const struct ovl_options *o, struct ovl_lab *lab,
		  struct ovl_err *err)
{
	const struct ovl_link *iface = ovl_facts_iface(facts);
	const struct ovl_link *under = iface->lower >= 0 ? &facts->links.v[iface->lower] : NULL;
	const char *under_off[COPIED], *tunnel_off[COPIED];
	struct ovl_lab_spec spec = {.topology = "flannel-vxlan"};
	double idle_cpus;
	int rc;

	if (strcmp(iface->kind, "vxlan") != 0 || !facts->vxlan.valid)
		return ovl_err_set(
			err, OVL_EXIT_INPUT, -EOPNOTSUPP,
			"%s is %s%s: only a vxlan device with a fixed VNI has a twin; give "
			"--peer HOST to load it for real, or leave out --load",
			iface->name, *iface->kind ? "of kind " : "a physical device", iface->kind);
	rc = ovl_quiet_cpus(&spec.cpu_sender, &spec.cpu_receiver, &idle_cpus, err);
	if (rc)
		return rc;
	if (idle_cpus < 1.0 && !o->load_anyway)
		return ovl_err_set(
			err, OVL_EXIT_FAILED, -EBUSY,
			"only %.1f CPUs are idle and a twin keeps up to two busy: nothing was "
			"started; --load-anyway loads all the same",
			idle_cpus);
	spec.overlay_mtu = iface->mtu;
	spec.underlay_mtu = under ? under->mtu : iface->mtu + 50;
	spec.vni = facts->vxlan.vni + 1 < 1 << 24 ? facts->vxlan.vni + 1 : 1;
	spec.port = facts->vxlan.port;
	spec.tunnel_name = iface->name;
	spec.offloads = OVL_LAB_OFFLOADS_ALL;
	spec.max_streams = o->streams;
	spec.n_features_off = features_off(under, under_off);
	spec.features_off = under_off;
	spec.n_tunnel_features_off = features_off(iface, tunnel_off);
	spec.tunnel_features_off = tunnel_off;
	rc = ovl_lab_twin(&spec, lab, err);
	if (rc && err->exit == OVL_EXIT_USAGE) /* the interface asks for what no twin can be */
		err->exit = OVL_EXIT_INPUT;
	return rc;
}
