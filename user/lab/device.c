#include "lab/device.h"

#include <errno.h>
#include <net/if.h>
#include <sched.h>
#include <string.h>

#include "lab/fault.h"
#include "lab/offload.h"
#include "lab/tun.h"

int ovl_site_enter(const struct ovl_site *s, uint8_t end)
{
	int rc;

	if (setns(s->b->lab->ends[end].netns_fd, CLONE_NEWNET) == 0)
		return 0;
	rc = -errno;
	return ovl_err_set(s->err, OVL_EXIT_FAILED, rc, "cannot enter namespace %s: %s",
			   s->b->lab->ends[end].netns, strerror(-rc));
}

int ovl_site_refused(const struct ovl_site *s, uint8_t end, int rc, const char *what,
		     const char *name)
{
	/* ENOENT: a module that could not be loaded */
	enum ovl_exit exit = rc == -ENOENT ? OVL_EXIT_KERNEL : ovl_fault_exit(rc);

	return ovl_err_set(s->err, exit, rc, "cannot %s %s in %s: %s%s", what, name,
			   s->b->lab->ends[end].netns,
			   s->nl[end].why[0] ? s->nl[end].why : strerror(-rc), ovl_fault_hint(rc));
}

/* Find a device in an end's namespace and leave the thread there. 0, or -errno with s->err. */
static int find_dev(const struct ovl_site *s, uint8_t end, const char *name, uint32_t *ifindex)
{
	int rc = ovl_site_enter(s, end);

	if (rc < 0)
		return rc;
	*ifindex = if_nametoindex(name);
	return *ifindex ? 0
			: ovl_err_set(s->err, OVL_EXIT_FAILED, -errno,
				      "device %s has vanished from %s while the lab was made", name,
				      s->b->lab->ends[end].netns);
}

static int make_tun(struct ovl_site *s, const struct ovl_plan_dev *d)
{
	int rc = ovl_site_enter(s, d->end);

	if (rc)
		return rc;
	s->nl[d->end].why[0] = '\0';
	rc = ovl_tun_add(d->name);
	if (!rc)
		rc = ovl_netlink_dev_mtu(&s->nl[d->end], if_nametoindex(d->name), d->mtu);
	return rc;
}

static int make_dev(struct ovl_site *s, const struct ovl_plan_dev *d)
{
	static const char *const kinds[] = {
		[OVL_PLAN_VETH] = "veth",
		[OVL_PLAN_BRIDGE] = "bridge",
		[OVL_PLAN_VXLAN] = "vxlan",
		[OVL_PLAN_TUN] = "tun",
	};
	struct ovl_netlink_dev dev = {
		.kind = kinds[d->kind], .name = d->name, .mac = d->mac, .mtu = d->mtu};
	int rc;

	if (d->kind == OVL_PLAN_VETH) {
		dev.peer_name = d->peer_name;
		dev.peer_netns_fd = s->b->lab->ends[d->peer_end].netns_fd;
	}
	if (d->kind == OVL_PLAN_VXLAN) {
		dev.vni = s->b->spec.vni;
		dev.port = s->b->spec.port;
		dev.local = d->local;
		rc = d->lower[0] ? find_dev(s, d->end, d->lower, &dev.lower) : 0;
		if (rc < 0)
			return rc;
	}
	rc = d->kind == OVL_PLAN_TUN ? make_tun(s, d) : ovl_netlink_dev_add(&s->nl[d->end], &dev);
	return rc < 0 ? ovl_site_refused(s, d->end, rc, "make device", d->name) : 0;
}

/* Offload features of one device as spec and profile say. */
static int set_features(const struct ovl_site *s, const struct ovl_plan_dev *d, const char *name)
{
	const struct ovl_lab_spec *spec = &s->b->spec;
	const char *const *profile;
	size_t n = 0;

	if (d->kind == OVL_PLAN_VXLAN)
		return ovl_offload_off(name, spec->tunnel_features_off, spec->n_tunnel_features_off,
				       s->err);
	if (!d->underlay)
		return 0;
	if (spec->features_off)
		return ovl_offload_off(name, spec->features_off, spec->n_features_off, s->err);
	profile = ovl_offload_profile(spec->offloads);
	while (profile[n])
		n++;
	return n ? ovl_offload_off(name, profile, n, s->err) : 0;
}

/* One side of a device: features, address, port of a bridge, shaper, up. */
static int finish_dev(struct ovl_site *s, const struct ovl_plan_dev *d, bool peer)
{
	const char *name = peer ? d->peer_name : d->name, *addr = peer ? d->peer_addr : d->addr;
	const char *master = peer ? d->peer_master : d->master;
	uint8_t end = peer ? d->peer_end : d->end;
	uint32_t ifindex, bridge;
	struct ovl_netlink *nl = &s->nl[end];
	int rc = find_dev(s, end, name, &ifindex);

	if (!rc)
		rc = set_features(s, d, name);
	if (rc < 0)
		return rc;
	if (*addr) {
		rc = ovl_netlink_addr_add(nl, ifindex, addr);
		if (rc < 0)
			return ovl_site_refused(s, end, rc, "give an address to", name);
	}
	if (*master) {
		rc = find_dev(s, end, master, &bridge);
		if (rc < 0)
			return rc;
		rc = ovl_netlink_dev_master(nl, ifindex, bridge);
		if (!rc && peer && d->peer_hairpin)
			rc = ovl_netlink_port_hairpin(nl, ifindex);
		if (rc < 0)
			return ovl_site_refused(s, end, rc, "put into its bridge", name);
	}
	if (d->rate_bps) {
		rc = ovl_netlink_tbf_add(nl, ifindex, d->rate_bps, d->mtu);
		if (rc < 0)
			return ovl_site_refused(s, end, rc, "limit the rate of", name);
	}
	rc = ovl_netlink_dev_up(nl, ifindex);
	return rc < 0 ? ovl_site_refused(s, end, rc, "bring up", name) : 0;
}

static int add_vtep(struct ovl_site *s, const struct ovl_plan_vtep *v)
{
	struct ovl_netlink *nl = &s->nl[v->end];
	uint32_t ifindex;
	int rc = find_dev(s, v->end, v->dev, &ifindex);

	if (rc < 0)
		return rc;
	rc = ovl_netlink_neigh_add(nl, ifindex, v->addr, v->mac);
	if (rc < 0)
		return ovl_site_refused(s, v->end, rc, "add the neighbour", v->addr);
	rc = ovl_netlink_fdb_add(nl, ifindex, v->mac, v->remote);
	return rc < 0 ? ovl_site_refused(s, v->end, rc, "add the forwarding entry", v->mac) : 0;
}

/* Congestion window that keeps all streams together below max_frames on the wire. */
static uint32_t cwnd_for(const struct ovl_build *b, const struct ovl_plan_route *r)
{
	uint32_t frames = b->lab->max_frames / b->spec.max_streams;

	if (!r->bounded)
		return 0;
	/* below two segments TCP waits for delayed ACKs; then the bound cannot be kept */
	return frames / r->frames_per_segment < 2 ? 2 : frames / r->frames_per_segment;
}

static int add_route(struct ovl_site *s, const struct ovl_plan_route *r)
{
	struct ovl_netlink_route route = {
		.dst = r->dst,
		.via = r->via,
		.onlink = r->onlink,
		.cwnd_segs = cwnd_for(s->b, r),
	};
	int rc = find_dev(s, r->end, r->dev, &route.ifindex);

	if (rc < 0)
		return rc;
	rc = ovl_netlink_route_add(&s->nl[r->end], &route);
	return rc < 0 ? ovl_site_refused(s, r->end, rc, "add the route to",
					 *r->dst ? r->dst : "default")
		      : 0;
}

int ovl_site_devices(struct ovl_site *s)
{
	const struct ovl_plan *plan = s->b->plan;
	int rc = 0;

	for (uint32_t i = 0; !rc && i < plan->n_devs; i++) {
		const struct ovl_plan_dev *d = &plan->devs[i];

		rc = make_dev(s, d);
		if (!rc)
			rc = finish_dev(s, d, false);
		if (!rc && d->kind == OVL_PLAN_VETH)
			rc = finish_dev(s, d, true);
	}
	for (uint32_t i = 0; !rc && i < plan->n_vteps; i++)
		rc = add_vtep(s, &plan->vteps[i]);
	for (uint32_t i = 0; !rc && i < plan->n_routes; i++)
		rc = add_route(s, &plan->routes[i]);
	return rc;
}
