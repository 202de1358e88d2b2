#include "lab/spec.h"

#include <ctype.h>
#include <errno.h>
#include <net/if.h>
#include <string.h>

#define MTU_IP4_MIN  68
#define MTU_IP6_MIN  1280
#define MTU_MAX	     65535
#define VNI_MAX	     0xffffff
#define RATE_MIN_BPS 64000

bool ovl_spec_name_ok(const char *name)
{
	if (!*name || strlen(name) >= IFNAMSIZ || strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
		return false;
	for (; *name; name++) {
		if (*name == '/' || *name == ':' || *name == '%' || isspace((unsigned char)*name))
			return false;
	}
	return true;
}

uint32_t ovl_spec_encap_bytes(const struct ovl_lab_spec *spec, const struct ovl_topo *topo)
{
	if (!topo->encap_bytes)
		return 0;
	return topo->encap_bytes + (spec->ipv6 & OVL_LAB_IPV6_OUTSIDE ? 20 : 0);
}

/* An option that was given although the topology has nothing it could mean. */
static int check_known(const struct ovl_lab_spec *s, const struct ovl_topo *topo,
		       struct ovl_err *err)
{
	const struct {
		bool given;
		uint32_t option;
		const char *name;
	} rows[] = {
		{s->underlay_mtu != 0, OVL_TOPO_MTU, "--mtu"},
		{s->overlay_mtu != 0, OVL_TOPO_OVERLAY_MTU, "--overlay-mtu"},
		{s->offloads != OVL_LAB_OFFLOADS_CLOUD, OVL_TOPO_UNDERLAY, "--offloads"},
		{s->rate_bps != 0, OVL_TOPO_UNDERLAY, "--rate"},
		{s->vni != 0, OVL_TOPO_VNI, "--vni"},
		{s->batch, OVL_TOPO_BATCH, "--batch"},
		{s->ipv6 & OVL_LAB_IPV6_INSIDE, OVL_TOPO_IPV6_INSIDE, "--ipv6 inside"},
		{s->ipv6 & OVL_LAB_IPV6_OUTSIDE, OVL_TOPO_IPV6_OUTSIDE, "--ipv6 outside"},
		{s->nodes && topo->nodes.max == topo->nodes.min, 0, "--nodes"},
		{s->pods && topo->pods.max == topo->pods.min, 0, "--pods"},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (rows[i].given && !(topo->options & rows[i].option))
			return ovl_err_set(err, OVL_EXIT_USAGE, -EINVAL,
					   "topology %s has no %s; see ovltrace lab --help",
					   topo->name, rows[i].name);
	}
	return 0;
}

static int check_tunnel_name(const struct ovl_lab_spec *s, const struct ovl_topo *topo,
			     struct ovl_err *err)
{
	static const char *const taken[] = {"lo", "eth0", "cni0"};
	const char *name = s->tunnel_name;

	if (!topo->tunnel)
		return 0;
	if (!ovl_spec_name_ok(name))
		return ovl_err_set(err, OVL_EXIT_USAGE, -EINVAL,
				   "cannot name the tunnel device '%s': a device name has 1 to %d "
				   "characters without '/', ':', '%%' and spaces",
				   name, IFNAMSIZ - 1);
	for (size_t i = 0; i < sizeof(taken) / sizeof(taken[0]); i++) {
		if (strcmp(name, taken[i]) == 0)
			return ovl_err_set(err, OVL_EXIT_USAGE, -EINVAL,
					   "cannot name the tunnel device '%s': topology %s has "
					   "another device of that name",
					   name, topo->name);
	}
	if (strncmp(name, "veth", 4) == 0)
		return ovl_err_set(
			err, OVL_EXIT_USAGE, -EINVAL,
			"cannot name the tunnel device '%s': names with veth are another "
			"device's in topology %s",
			name, topo->name);
	return 0;
}

static int check_range(uint32_t v, const struct ovl_topo_range *range, const char *option,
		       const struct ovl_topo *topo, struct ovl_err *err)
{
	if (v >= range->min && v <= range->max)
		return 0;
	return ovl_err_set(err, OVL_EXIT_USAGE, -EINVAL, "%s %u: topology %s takes %u to %u",
			   option, v, topo->name, range->min, range->max);
}

static int check_numbers(const struct ovl_lab_spec *s, const struct ovl_topo *topo,
			 struct ovl_err *err)
{
	const uint32_t encap_bytes = ovl_spec_encap_bytes(s, topo);
	const uint32_t overlay_min = s->ipv6 & OVL_LAB_IPV6_INSIDE ? MTU_IP6_MIN : MTU_IP4_MIN;
	/* the length of an IPv6 packet does not count its header */
	const uint32_t ip6_bytes = s->ipv6 & OVL_LAB_IPV6_OUTSIDE ? 40 : 0;
	uint32_t underlay_min = MTU_IP4_MIN + encap_bytes;
	int rc = check_range(s->nodes, &topo->nodes, "--nodes", topo, err);

	if (s->ipv6 & OVL_LAB_IPV6_OUTSIDE && underlay_min < MTU_IP6_MIN)
		underlay_min = MTU_IP6_MIN;
	if (!rc)
		rc = check_range(s->pods, &topo->pods, "--pods", topo, err);
	if (rc)
		return rc;
	if (s->underlay_mtu < underlay_min || s->underlay_mtu > MTU_MAX)
		return ovl_err_set(err, OVL_EXIT_USAGE, -EINVAL,
				   "cannot build an underlay of MTU %u: it must be %u to %d",
				   s->underlay_mtu, underlay_min, MTU_MAX);
	if (s->overlay_mtu < overlay_min || s->overlay_mtu > MTU_MAX)
		return ovl_err_set(err, OVL_EXIT_USAGE, -EINVAL,
				   "cannot build an overlay of MTU %u: it must be %u to %d",
				   s->overlay_mtu, overlay_min, MTU_MAX);
	if (encap_bytes && s->overlay_mtu + encap_bytes > MTU_MAX + ip6_bytes)
		return ovl_err_set(
			err, OVL_EXIT_USAGE, -EINVAL,
			"cannot build an overlay of MTU %u: with %u bytes around it a packet "
			"would be too large for IP; at most %u",
			s->overlay_mtu, encap_bytes, MTU_MAX + ip6_bytes - encap_bytes);
	if (ip6_bytes && topo->options & OVL_TOPO_VNI &&
	    s->overlay_mtu + encap_bytes > s->underlay_mtu)
		return ovl_err_set(
			err, OVL_EXIT_USAGE, -EINVAL,
			"cannot build an overlay of MTU %u on an underlay of MTU %u: the "
			"kernel does not fragment vxlan over IPv6; at most %u",
			s->overlay_mtu, s->underlay_mtu, s->underlay_mtu - encap_bytes);
	if (s->vni > VNI_MAX)
		return ovl_err_set(err, OVL_EXIT_USAGE, -EINVAL,
				   "cannot build a vxlan of VNI %u: it must be at most %d", s->vni,
				   VNI_MAX);
	if (s->rate_bps && s->rate_bps < RATE_MIN_BPS)
		return ovl_err_set(err, OVL_EXIT_USAGE, -EINVAL,
				   "cannot build a link of %llu bit/s: it must be at least %d",
				   (unsigned long long)s->rate_bps, RATE_MIN_BPS);
	return 0;
}

int ovl_spec_complete(struct ovl_lab_spec *s, const struct ovl_topo *topo, struct ovl_err *err)
{
	int rc = check_known(s, topo, err);

	if (rc)
		return rc;
	if (!s->nodes)
		s->nodes = topo->nodes.normal;
	if (!s->pods)
		s->pods = topo->pods.normal;
	if (!s->underlay_mtu)
		s->underlay_mtu = 1500;
	if (!s->overlay_mtu)
		s->overlay_mtu = s->underlay_mtu - ovl_spec_encap_bytes(s, topo);
	if (!s->vni)
		s->vni = 1;
	if (!s->port)
		s->port = topo->port;
	if (!s->tunnel_name)
		s->tunnel_name = topo->tunnel;
	if (!s->max_streams)
		s->max_streams = 1;
	rc = check_tunnel_name(s, topo, err);
	return rc ? rc : check_numbers(s, topo, err);
}
