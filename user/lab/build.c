#include "lab/build.h"

#include <ctype.h>
#include <errno.h>
#include <net/if.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>

#include "base/str.h"
#include "lab/fault.h"
#include "lab/namespace.h"
#include "lab/netlink.h"
#include "lab/offload.h"
#include "lab/reach.h"
#include "lab/tune.h"

#define VXLAN_BYTES 50 /* outer IPv4, UDP and VXLAN headers, inner Ethernet header */
#define IP4_BYTES   20
#define MTU_MIN	    (68 + VXLAN_BYTES)
#define MTU_MAX	    65535
#define VNI_MAX	    0xffffff

/* What one run of the builder needs besides the plan. */
struct site {
	struct ovl_build *b;
	struct ovl_netlink nl[OVL_LAB_ENDS_MAX];
	struct ovl_err *err;
	int rc;
};

bool ovl_build_name_ok(const char *name)
{
	if (!*name || strlen(name) >= IFNAMSIZ || strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
		return false;
	for (; *name; name++) {
		if (*name == '/' || *name == ':' || *name == '%' || isspace((unsigned char)*name))
			return false;
	}
	return true;
}

static const char *dev_name(const struct ovl_build *b, const char *name)
{
	return strcmp(name, OVL_TOPO_TUNNEL) == 0 ? b->spec.tunnel_name : name;
}

static int check_tunnel_name(const struct ovl_build *b, struct ovl_err *err)
{
	const char *name = b->spec.tunnel_name;

	if (!ovl_build_name_ok(name))
		return ovl_err_set(err, OVL_EXIT_USAGE, -EINVAL,
				   "cannot name the tunnel device '%s': a device name has 1 to %d "
				   "characters without '/', ':', '%%' and spaces",
				   name, IFNAMSIZ - 1);
	for (size_t i = 0; i < b->topo->n_devs; i++) {
		const struct ovl_topo_dev *d = &b->topo->devs[i];

		if (strcmp(d->name, name) == 0 || strcmp(name, "lo") == 0 ||
		    (d->peer_name && strcmp(d->peer_name, name) == 0))
			return ovl_err_set(err, OVL_EXIT_USAGE, -EINVAL,
					   "cannot name the tunnel device '%s': topology %s has "
					   "another device of that name",
					   name, b->topo->name);
	}
	return 0;
}

static int check_numbers(const struct ovl_build *b, struct ovl_err *err)
{
	const struct ovl_lab_spec *s = &b->spec;

	if (s->underlay_mtu < MTU_MIN || s->underlay_mtu > MTU_MAX)
		return ovl_err_set(err, OVL_EXIT_USAGE, -EINVAL,
				   "cannot build an underlay of MTU %u: it must be %d to %d",
				   s->underlay_mtu, MTU_MIN, MTU_MAX);
	if (s->overlay_mtu < MTU_MIN - VXLAN_BYTES || s->overlay_mtu > MTU_MAX)
		return ovl_err_set(err, OVL_EXIT_USAGE, -EINVAL,
				   "cannot build an overlay of MTU %u: it must be %d to %d",
				   s->overlay_mtu, MTU_MIN - VXLAN_BYTES, MTU_MAX);
	if (s->vni > VNI_MAX)
		return ovl_err_set(err, OVL_EXIT_USAGE, -EINVAL,
				   "cannot build a vxlan of VNI %u: it must be at most %d", s->vni,
				   VNI_MAX);
	return 0;
}

static void fill_defaults(struct ovl_lab_spec *s)
{
	if (!s->underlay_mtu)
		s->underlay_mtu = 1500;
	if (!s->overlay_mtu)
		s->overlay_mtu = s->underlay_mtu - VXLAN_BYTES;
	if (!s->vni)
		s->vni = 1;
	if (!s->port)
		s->port = 8472;
	if (!s->tunnel_name)
		s->tunnel_name = "flannel.1";
	if (!s->max_streams)
		s->max_streams = 1;
}

void ovl_build_ends(const struct ovl_topo *topo, bool named, struct ovl_lab *lab)
{
	lab->twin = !named;
	ovl_str_copy(lab->topology, sizeof(lab->topology), topo->name);
	lab->n_ends = (uint32_t)topo->n_ends;
	for (size_t i = 0; i < topo->n_ends; i++) {
		const struct ovl_topo_end *from = &topo->ends[i];
		struct ovl_lab_end *end = &lab->ends[i];

		ovl_str_copy(end->name, sizeof(end->name), from->name);
		ovl_str_copy(end->addr, sizeof(end->addr), from->addr);
		if (named)
			snprintf(end->netns, sizeof(end->netns), OVL_LAB_PREFIX "%s-%s", topo->name,
				 from->name);
		else
			snprintf(end->netns, sizeof(end->netns), "twin:%s", from->twin_name);
		end->side = from->side;
		end->node = from->node;
		end->netns_fd = -1;
	}
}

int ovl_build_init(struct ovl_build *b, const struct ovl_lab_spec *spec, struct ovl_lab *lab,
		   struct ovl_err *err)
{
	int rc;

	memset(b, 0, sizeof(*b));
	b->spec = *spec;
	b->lab = lab;
	b->topo = ovl_topo_find(spec->topology);
	if (!b->topo) {
		struct ovl_buf known = {0};

		ovl_topo_names(&known);
		rc = ovl_err_set(err, OVL_EXIT_USAGE, -EINVAL, "unknown topology '%s'; known: %s",
				 spec->topology ? spec->topology : "", ovl_buf_str(&known));
		ovl_buf_fini(&known);
		return rc;
	}
	fill_defaults(&b->spec);
	rc = check_tunnel_name(b, err);
	if (!rc)
		rc = check_numbers(b, err);
	if (!rc)
		rc = ovl_tune_cpus(&b->spec.cpu_sender, &b->spec.cpu_receiver, err);
	if (rc < 0)
		return rc;
	memset(lab, 0, sizeof(*lab));
	ovl_str_copy(lab->tunnel_name, sizeof(lab->tunnel_name), b->spec.tunnel_name);
	lab->cpu_sender = b->spec.cpu_sender;
	lab->cpu_receiver = b->spec.cpu_receiver;
	lab->max_frames = ovl_tune_max_frames();
	return 0;
}

/* Move this thread into an end's namespace. */
static int enter(const struct site *s, uint8_t end)
{
	int rc;

	if (setns(s->b->lab->ends[end].netns_fd, CLONE_NEWNET) == 0)
		return 0;
	rc = -errno;
	return ovl_err_set(s->err, OVL_EXIT_FAILED, rc, "cannot enter namespace %s: %s",
			   s->b->lab->ends[end].netns, strerror(-rc));
}

/* Turn a refused request into one sentence. */
static int refused(const struct site *s, uint8_t end, int rc, const char *what, const char *name)
{
	/* ENOENT: a module that could not be loaded */
	enum ovl_exit exit = rc == -ENOENT ? OVL_EXIT_KERNEL : ovl_fault_exit(rc);

	return ovl_err_set(s->err, exit, rc, "cannot %s %s in %s: %s%s", what, name,
			   s->b->lab->ends[end].netns, s->nl[end].why, ovl_fault_hint(rc));
}

static int make_end(struct site *s, uint8_t i)
{
	struct ovl_lab_end *end = &s->b->lab->ends[i];
	int rc;

	end->netns_fd = ovl_namespace_new();
	if (end->netns_fd < 0) {
		rc = end->netns_fd;
		return ovl_err_set(s->err, ovl_fault_exit(rc), rc,
				   "cannot make network namespace %s: %s%s", end->netns,
				   strerror(-rc), ovl_fault_hint(rc));
	}
	if (s->b->named) {
		rc = ovl_namespace_name(end->netns, s->err);
		if (rc < 0)
			return rc;
	}
	s->b->n_made = i + 1u;
	rc = ovl_netlink_open(&s->nl[i]);
	if (rc < 0)
		return ovl_err_set(s->err, OVL_EXIT_FAILED, rc,
				   "cannot open an rtnetlink socket in %s: %s", end->netns,
				   strerror(-rc));
	rc = ovl_tune_sysctls(end->node, s->err);
	if (rc < 0)
		return rc;
	rc = ovl_netlink_dev_up(&s->nl[i], if_nametoindex("lo"));
	return rc < 0 ? refused(s, i, rc, "bring up", "lo") : 0;
}

/* Index of a device in an end's namespace, 0 if there is none. Leaves the thread there. */
static uint32_t index_of(const struct site *s, uint8_t end, const char *name)
{
	return enter(s, end) < 0 ? 0 : if_nametoindex(dev_name(s->b, name));
}

static int make_dev(struct site *s, const struct ovl_topo_dev *d)
{
	static const char *const kinds[] = {
		[OVL_TOPO_VETH] = "veth",
		[OVL_TOPO_BRIDGE] = "bridge",
		[OVL_TOPO_VXLAN] = "vxlan",
	};
	const struct ovl_lab_spec *spec = &s->b->spec;
	struct ovl_netlink_dev dev = {
		.kind = kinds[d->kind],
		.name = dev_name(s->b, d->name),
		.mac = d->mac,
		.mtu = d->mtu == OVL_TOPO_MTU_UNDERLAY ? spec->underlay_mtu : spec->overlay_mtu,
	};
	int rc;

	if (d->kind == OVL_TOPO_VETH) {
		dev.peer_name = d->peer_name;
		dev.peer_netns_fd = s->b->lab->ends[d->peer_end].netns_fd;
	}
	if (d->kind == OVL_TOPO_VXLAN) {
		dev.vni = spec->vni;
		dev.port = spec->port;
		dev.local = d->local;
		/* bound to a device, a vxlan refuses an MTU that needs outer fragments */
		if (spec->overlay_mtu + VXLAN_BYTES <= spec->underlay_mtu)
			dev.lower = index_of(s, d->end, d->lower);
	}
	rc = ovl_netlink_dev_add(&s->nl[d->end], &dev);
	return rc < 0 ? refused(s, d->end, rc, "make device", dev.name) : 0;
}

/* Offload features of one device as spec and profile say. */
static int set_features(const struct site *s, const struct ovl_topo_dev *d, const char *name)
{
	const struct ovl_lab_spec *spec = &s->b->spec;
	const char *const *profile;
	size_t n = 0;
	int rc = 0;

	if (d->kind == OVL_TOPO_VXLAN)
		return ovl_offload_off(name, spec->tunnel_features_off, spec->n_tunnel_features_off,
				       s->err);
	if (!d->underlay)
		return 0;
	if (spec->features_off)
		return ovl_offload_off(name, spec->features_off, spec->n_features_off, s->err);
	profile = ovl_offload_profile(spec->offloads);
	while (profile[n])
		n++;
	if (n)
		rc = ovl_offload_off(name, profile, n, s->err);
	return rc;
}

/* One side of a device: features, address, port of a bridge, up. */
static int finish_dev(struct site *s, const struct ovl_topo_dev *d, bool peer)
{
	const char *name = dev_name(s->b, peer ? d->peer_name : d->name);
	const char *addr = peer ? d->peer_addr : d->addr;
	uint8_t end = peer ? d->peer_end : d->end;
	uint32_t ifindex = index_of(s, end, name);
	int rc;

	rc = set_features(s, d, name);
	if (rc < 0)
		return rc;
	if (addr) {
		rc = ovl_netlink_addr_add(&s->nl[end], ifindex, addr);
		if (rc < 0)
			return refused(s, end, rc, "give an address to", name);
	}
	if (peer && d->master) {
		rc = ovl_netlink_dev_master(&s->nl[end], ifindex, index_of(s, end, d->master));
		if (rc < 0)
			return refused(s, end, rc, "put into its bridge", name);
	}
	rc = ovl_netlink_dev_up(&s->nl[end], ifindex);
	return rc < 0 ? refused(s, end, rc, "bring up", name) : 0;
}

static int add_vtep(struct site *s, const struct ovl_topo_vtep *v)
{
	uint32_t ifindex = index_of(s, v->end, v->dev);
	struct ovl_netlink *nl = &s->nl[v->end];
	int rc;

	rc = ovl_netlink_neigh_add(nl, ifindex, v->addr, v->mac);
	if (rc < 0)
		return refused(s, v->end, rc, "add the neighbour", v->addr);
	rc = ovl_netlink_fdb_add(nl, ifindex, v->mac, v->remote);
	return rc < 0 ? refused(s, v->end, rc, "add the forwarding entry", v->mac) : 0;
}

/* Is this route over the wire itself, without a tunnel? */
static bool on_underlay(const struct ovl_topo *topo, const struct ovl_topo_route *r)
{
	for (size_t i = 0; i < topo->n_devs; i++) {
		const struct ovl_topo_dev *d = &topo->devs[i];

		if (d->underlay && ((d->end == r->end && strcmp(d->name, r->dev) == 0) ||
				    (d->peer_end == r->end && strcmp(d->peer_name, r->dev) == 0)))
			return true;
	}
	return false;
}

uint32_t ovl_build_fragments(uint32_t overlay_mtu, uint32_t underlay_mtu)
{
	uint32_t payload_bytes = overlay_mtu + VXLAN_BYTES - IP4_BYTES;
	uint32_t room_bytes = underlay_mtu - IP4_BYTES;
	uint32_t step_bytes = room_bytes & ~7u; /* RFC 791: all but the last in units of 8 */

	if (payload_bytes <= room_bytes)
		return 1;
	return 1 + (payload_bytes - room_bytes + step_bytes - 1) / step_bytes;
}

/* Congestion window that keeps all streams together below max_frames on the wire. */
static uint32_t cwnd_for(const struct ovl_build *b, const struct ovl_topo_route *r)
{
	uint32_t frames = b->lab->max_frames / b->spec.max_streams;
	uint32_t per_segment = 1;

	if (!r->bounded)
		return 0;
	if (!on_underlay(b->topo, r))
		per_segment = ovl_build_fragments(b->spec.overlay_mtu, b->spec.underlay_mtu);
	/* below two segments TCP waits for delayed ACKs; then the bound cannot be kept */
	return frames / per_segment < 2 ? 2 : frames / per_segment;
}

static int add_route(struct site *s, const struct ovl_topo_route *r)
{
	const struct ovl_netlink_route route = {
		.dst = r->dst,
		.via = r->via,
		.ifindex = index_of(s, r->end, r->dev),
		.onlink = r->onlink,
		.cwnd_segs = cwnd_for(s->b, r),
	};
	int rc = ovl_netlink_route_add(&s->nl[r->end], &route);

	return rc < 0 ? refused(s, r->end, rc, "add the route to", r->dst ? r->dst : "default") : 0;
}

static int build_devs(struct site *s)
{
	const struct ovl_topo *topo = s->b->topo;
	int rc = 0;

	for (size_t i = 0; !rc && i < topo->n_devs; i++) {
		const struct ovl_topo_dev *d = &topo->devs[i];

		rc = make_dev(s, d);
		if (!rc)
			rc = finish_dev(s, d, false);
		if (!rc && d->kind == OVL_TOPO_VETH)
			rc = finish_dev(s, d, true);
	}
	for (size_t i = 0; !rc && i < topo->n_vteps; i++)
		rc = add_vtep(s, &topo->vteps[i]);
	for (size_t i = 0; !rc && i < topo->n_routes; i++)
		rc = add_route(s, &topo->routes[i]);
	return rc;
}

static int build_all(struct site *s)
{
	const struct ovl_topo *topo = s->b->topo;
	struct ovl_lab *lab = s->b->lab;
	int rc = 0;

	for (uint8_t i = 0; !rc && i < topo->n_ends; i++)
		rc = make_end(s, i);
	if (!rc)
		rc = build_devs(s);
	for (uint8_t i = 0; !rc && i < topo->n_ends; i++) {
		rc = enter(s, i);
		if (!rc)
			rc = ovl_tune_rps(lab->ends[i].side == 'a' ? lab->cpu_sender
								   : lab->cpu_receiver,
					  s->err);
	}
	for (size_t i = 0; !rc && i < topo->n_paths; i++)
		rc = ovl_reach_check(&lab->ends[topo->paths[i].from], &lab->ends[topo->paths[i].to],
				     s->err);
	return rc;
}

static void *builder(void *arg)
{
	struct site *s = arg;

	s->rc = build_all(s);
	for (size_t i = 0; i < s->b->topo->n_ends; i++)
		ovl_netlink_close(&s->nl[i]);
	return NULL;
}

int ovl_build_run(struct ovl_build *b, struct ovl_err *err)
{
	struct site s = {.b = b, .err = err};
	pthread_t thread;
	int rc;

	ovl_build_ends(b->topo, b->named, b->lab);
	rc = pthread_create(&thread, NULL, builder, &s);
	if (rc)
		return ovl_err_set(err, OVL_EXIT_FAILED, -rc, "cannot start a thread: %s",
				   strerror(rc));
	pthread_join(thread, NULL);
	return s.rc;
}
