#include "collect/path.h"

#include <errno.h>
#include <inttypes.h>
#include <net/if.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/str.h"
#include "collect/features.h"

#define LOWER_DEPTH  4 /* vlan on bond on port: deeper stacks are cut */
#define BRIDGE_DEPTH 4 /* bridges joined by veth pairs: longer rows are cut */

/* A device by namespace (index into the facts) and ifindex. */
struct spot {
	int ns, ifindex;
};
#define NOWHERE ((struct spot){-1, 0})

void ovl_path_init(struct ovl_path *p, struct ovl_target *target, struct ovl_facts *facts)
{
	memset(p, 0, sizeof(*p));
	p->target = target;
	p->facts = facts;
}

void ovl_path_fini(struct ovl_path *p)
{
	for (size_t i = 0; i < OVL_PATH_NS_MAX; i++) {
		ovl_links_close(p->links[i]);
		ovl_vec_fini(&p->raw[i]);
	}
	ovl_vec_fini(&p->known);
}

/* Open the socket of a namespace of the facts and read its devices, once. */
static int look(struct ovl_path *p, uint32_t ns, struct ovl_err *err)
{
	int rc;

	if (p->links[ns])
		return 0;
	p->links[ns] = ovl_links_open(p->target->ns_fd[ns], err);
	if (!p->links[ns])
		return err && err->exit == OVL_EXIT_RIGHTS ? -EPERM : -EIO;
	rc = ovl_links_read(p->links[ns], &p->raw[ns]);
	if (!rc)
		return 0;
	ovl_links_close(p->links[ns]);
	p->links[ns] = NULL;
	return ovl_err_set(err, OVL_EXIT_FAILED, rc,
			   "the devices of network namespace %s could not be read: %s",
			   ovl_facts_ns(p->facts, ns), strerror(-rc));
}

static int find_ns(const struct ovl_facts *facts, uint64_t inode)
{
	for (size_t i = 0; i < facts->ns.n; i++)
		if (facts->ns.v[i].inode == inode)
			return (int)i;
	return -1;
}

int ovl_path_add_ns(struct ovl_path *p, const char *name, int ns_fd, struct ovl_err *err)
{
	const uint64_t inode = ovl_netns_inode(ns_fd);
	int at = find_ns(p->facts, inode);
	struct ovl_ns *ns;
	int rc;

	if (at >= 0) {
		ns = &p->facts->ns.v[at];
		if (name && ovl_str_starts(ns->name, "net:["))
			ovl_str_copy(ns->name, sizeof(ns->name), name);
		close(ns_fd);
		rc = look(p, (uint32_t)at, err);
		return rc ? rc : at;
	}
	if (p->target->n_ns >= OVL_PATH_NS_MAX) {
		close(ns_fd);
		return ovl_err_set(err, OVL_EXIT_FAILED, -ENOSPC,
				   "the path has more than %zu network namespaces",
				   OVL_PATH_NS_MAX);
	}
	ns = ovl_vec_push(&p->facts->ns);
	if (!ns) {
		close(ns_fd);
		return ovl_err_set(err, OVL_EXIT_FAILED, -ENOMEM, "out of memory");
	}
	ns->inode = inode;
	if (name)
		ovl_str_copy(ns->name, sizeof(ns->name), name);
	else
		ovl_netns_name(inode, ns->name);
	at = (int)p->target->n_ns++;
	p->target->ns_fd[at] = ns_fd;
	rc = look(p, (uint32_t)at, err);
	if (!rc)
		return at;
	p->target->ns_fd[--p->target->n_ns] = -1;
	p->facts->ns.n--;
	close(ns_fd);
	return rc;
}

/* Add a device without its features. Index or -ENOMEM; *fresh: it was not there before. */
static int add_plain(struct ovl_path *p, uint32_t ns, const struct ovl_raw_link *raw, bool *fresh)
{
	struct ovl_link *link;

	*fresh = false;

	for (size_t i = 0; i < p->facts->links.n; i++)
		if (p->facts->links.v[i].ns == ns && p->facts->links.v[i].ifindex == raw->ifindex)
			return (int)i;
	link = ovl_vec_push(&p->facts->links);
	if (!link)
		return -ENOMEM;
	link->ns = ns;
	link->ifindex = raw->ifindex;
	ovl_str_copy(link->name, sizeof(link->name), raw->name);
	ovl_str_copy(link->kind, sizeof(link->kind),
		     !*raw->kind && raw->flags & IFF_LOOPBACK ? "loopback" : raw->kind);
	link->mtu = raw->mtu;
	link->lower = link->master = -1;
	link->up = raw->flags & IFF_UP;
	*fresh = true;
	return (int)p->facts->links.n - 1;
}

int ovl_path_add_link(struct ovl_path *p, uint32_t ns, const struct ovl_raw_link *raw)
{
	bool fresh;
	int at = add_plain(p, ns, raw, &fresh);

	/* a device without readable features has none in the facts: unknown, not off */
	if (at >= 0 && fresh)
		ovl_features_read(p->target->ns_fd[ns], &p->facts->links.v[at]);
	return at;
}

/* Index of the namespace that `ns` knows as `nsid`, among those in the facts; -1: none. */
static int ns_by_nsid(struct ovl_path *p, uint32_t ns, int nsid)
{
	if (nsid < 0)
		return (int)ns;
	for (uint32_t i = 0; i < p->target->n_ns; i++)
		if (ovl_links_nsid(p->links[ns], p->target->ns_fd[i]) == nsid)
			return (int)i;
	return -1;
}

/* The same, and take the namespace into the facts if it is found elsewhere on this machine. */
static int adopt_ns(struct ovl_path *p, uint32_t ns, int nsid)
{
	int at = ns_by_nsid(p, ns, nsid);

	if (at >= 0)
		return at;
	if (p->target->n_ns >= OVL_PATH_FOUND_MAX) {
		p->left_out++;
		return -1;
	}
	if (!p->known.n)
		ovl_netns_list(&p->known, NULL);
	ovl_vec_each(known, &p->known) {
		int fd = ovl_netns_open_path(known->path);

		if (fd < 0)
			continue;
		if (ovl_links_nsid(p->links[ns], fd) == nsid) {
			at = ovl_path_add_ns(p, NULL, fd, NULL);
			p->unresolved += at < 0;
			return at;
		}
		close(fd);
	}
	p->unresolved++;
	return -1;
}

/*
 * The device a tunnel sends through: `dev`, else the owner of its local address, else where the
 * route to its remote address, or to the first address of its forwarding table, leaves.
 */
static int vxlan_lower(struct ovl_path *p, uint32_t ns, uint32_t lower_ns,
		       const struct ovl_raw_link *raw)
{
	struct ovl_raw_addr dst = raw->remote;
	int ifindex = raw->vxlan_link;

	if (!ifindex && raw->local.family)
		ifindex = ovl_links_owner(p->links[lower_ns], &raw->local);
	if (!ifindex && !dst.family)
		dst = ovl_links_fdb(p->links[ns], raw->ifindex);
	if (!ifindex && dst.family)
		ifindex = ovl_links_route(p->links[lower_ns], &dst);
	return ifindex;
}

/* What a device rests on (or its peer, for a veth), in a namespace resolved by `resolve`. */
static struct spot lower_of(struct ovl_path *p, uint32_t ns, const struct ovl_raw_link *raw,
			    int (*resolve)(struct ovl_path *p, uint32_t ns, int nsid))
{
	const bool vxlan = !strcmp(raw->kind, "vxlan");
	struct spot spot;

	if (!vxlan && !raw->link)
		return NOWHERE;
	spot.ns = resolve(p, ns, raw->link_nsid);
	if (spot.ns < 0)
		return NOWHERE;
	spot.ifindex = vxlan ? vxlan_lower(p, ns, (uint32_t)spot.ns, raw) : raw->link;
	return spot.ifindex ? spot : NOWHERE;
}

static const struct ovl_raw_link *raw_at(struct ovl_path *p, struct spot spot)
{
	return spot.ns < 0 ? NULL : ovl_links_by_index(&p->raw[spot.ns], spot.ifindex);
}

/* Add a device and what it rests on, down to the last or to a veth's peer. */
static int add_stack(struct ovl_path *p, uint32_t ns, const struct ovl_raw_link *raw)
{
	for (int depth = 0; raw && depth < LOWER_DEPTH; depth++) {
		const bool veth = !strcmp(raw->kind, "veth");
		struct spot spot;
		int rc = ovl_path_add_link(p, ns, raw);

		if (rc < 0)
			return rc;
		/* the peer of an underlay veth is the wire: not part of this node's path */
		if (depth && veth)
			return 0;
		spot = lower_of(p, ns, raw, adopt_ns);
		raw = raw_at(p, spot);
		if (raw && veth) {
			rc = ovl_path_add_link(p, (uint32_t)spot.ns, raw);
			return rc < 0 ? rc : 0;
		}
		ns = spot.ns < 0 ? ns : (uint32_t)spot.ns;
	}
	return 0;
}

static bool in_facts(const struct ovl_facts *facts, uint32_t ns, int ifindex)
{
	for (size_t i = 0; i < facts->links.n; i++)
		if (facts->links.v[i].ns == ns && facts->links.v[i].ifindex == ifindex)
			return true;
	return false;
}

/* Does this device belong to the path as a bridge's port or, without a bridge, as a pod's? */
static bool is_port(const struct ovl_path *p, uint32_t ns, const struct ovl_raw_link *raw,
		    bool bridged)
{
	if (raw->master)
		return in_facts(p->facts, ns, raw->master);
	/* routed pods: a veth that is no port, its peer elsewhere */
	return !bridged && !strcmp(raw->kind, "veth") && raw->link_nsid >= 0;
}

/*
 * A port or pod's device too many: only where the traffic of a bridge needs its counters (up to the
 * kernel's 1024 ports) is it taken in, by itself: its features and its pod are left out.
 */
static int leave_out(struct ovl_path *p, uint32_t ns, const struct ovl_raw_link *raw, bool counted)
{
	bool fresh;

	p->left_out++;
	return counted ? add_plain(p, ns, raw, &fresh) : 0;
}

/* Does this port lead to another bridge of the same namespace? */
static bool joins(struct ovl_path *p, uint32_t ns, const struct ovl_raw_link *port)
{
	const struct ovl_raw_link *peer =
		port->link_nsid < 0 ? raw_at(p, (struct spot){(int)ns, port->link}) : NULL;

	return !strcmp(port->kind, "veth") && peer && peer->master && peer->master != port->master;
}

/* The ports of a bridge, with their pods; or those alone that join it to another one. */
static int add_ports(struct ovl_path *p, uint32_t ns, int bridge, bool all, uint32_t *ports)
{
	int rc = 0;

	for (size_t i = 0; rc >= 0 && i < p->raw[ns].n; i++) {
		const struct ovl_raw_link *raw = &p->raw[ns].v[i];

		if (raw->master != bridge || in_facts(p->facts, ns, raw->ifindex) ||
		    (!all && !joins(p, ns, raw)))
			continue;
		if ((*ports)++ >= OVL_PATH_PORTS_MAX)
			p->left_out++;
		else
			rc = add_stack(p, ns, raw);
	}
	return rc;
}

/*
 * What is bridged on: a device of the path, or its peer, may be a port of another bridge. That is
 * added and, seen from a bridge, what hangs on it as well.
 */
static int follow_bridges(struct ovl_path *p, bool all, uint32_t *ports)
{
	size_t from = 0;
	int rc = 0;

	for (int depth = 0; rc >= 0 && depth < BRIDGE_DEPTH; depth++) {
		const size_t n = p->facts->links.n;

		for (; rc >= 0 && from < n; from++) {
			const uint32_t ns = p->facts->links.v[from].ns;
			const struct ovl_raw_link *raw =
				raw_at(p, (struct spot){(int)ns, p->facts->links.v[from].ifindex});
			const struct ovl_raw_link *bridge =
				raw && raw->master ? raw_at(p, (struct spot){(int)ns, raw->master})
						   : NULL;

			if (!bridge || strcmp(bridge->kind, "bridge") != 0 ||
			    in_facts(p->facts, ns, bridge->ifindex))
				continue;
			rc = ovl_path_add_link(p, ns, bridge);
			if (rc >= 0)
				rc = add_ports(p, ns, bridge->ifindex, all, ports);
		}
	}
	return rc;
}

int ovl_path_follow(struct ovl_path *p, uint32_t ns, const struct ovl_raw_link *iface)
{
	const bool bridge = !strcmp(iface->kind, "bridge");
	const bool bridged = bridge || iface->master;
	uint32_t ports = 0;
	int rc = add_stack(p, ns, iface);

	/* pods hang on a bridge that routes lead to, unless the interface has one of its own */
	for (size_t i = 0; rc >= 0 && !bridge && i < p->raw[ns].n; i++) {
		const struct ovl_raw_link *raw = &p->raw[ns].v[i];

		if (iface->master ? raw->ifindex == iface->master : !strcmp(raw->kind, "bridge"))
			rc = ovl_path_add_link(p, ns, raw);
	}
	for (size_t i = 0; rc >= 0 && i < p->raw[ns].n; i++) {
		const struct ovl_raw_link *raw = &p->raw[ns].v[i];

		if (!is_port(p, ns, raw, bridged) || in_facts(p->facts, ns, raw->ifindex))
			continue;
		if (ports++ >= OVL_PATH_PORTS_MAX)
			rc = leave_out(p, ns, raw, bridge && raw->master == iface->ifindex);
		else
			rc = add_stack(p, ns, raw);
	}
	if (rc >= 0)
		rc = follow_bridges(p, bridge, &ports);
	return rc < 0 ? rc : 0;
}

static int find_link(const struct ovl_facts *facts, struct spot spot)
{
	for (size_t i = 0; spot.ns >= 0 && i < facts->links.n; i++)
		if (facts->links.v[i].ns == (uint32_t)spot.ns &&
		    facts->links.v[i].ifindex == spot.ifindex)
			return (int)i;
	return -1;
}

int ovl_path_connect(struct ovl_path *p, struct ovl_err *err)
{
	int rc = 0;

	for (uint32_t ns = 0; !rc && ns < p->target->n_ns; ns++)
		rc = look(p, ns, err);
	for (size_t i = 0; !rc && i < p->facts->links.n; i++) {
		struct ovl_link *link = &p->facts->links.v[i];
		const struct ovl_raw_link *raw =
			ovl_links_by_index(&p->raw[link->ns], link->ifindex);

		if (!raw)
			continue;
		link->lower = find_link(p->facts, lower_of(p, link->ns, raw, ns_by_nsid));
		if (raw->master)
			link->master =
				find_link(p->facts, (struct spot){(int)link->ns, raw->master});
	}
	return rc;
}

void ovl_path_vxlan(struct ovl_path *p, uint32_t ns, const struct ovl_raw_link *raw)
{
	struct ovl_vxlan *vxlan = &p->facts->vxlan;
	int lower_ns = ns_by_nsid(p, ns, raw->link_nsid);
	const struct ovl_raw_link *dev;

	*vxlan = (struct ovl_vxlan){.valid = !strcmp(raw->kind, "vxlan") && !raw->external};
	if (!vxlan->valid)
		return;
	vxlan->vni = raw->vni;
	vxlan->port = raw->port;
	ovl_links_addr(&raw->local, vxlan->local);
	dev = raw_at(p, (struct spot){lower_ns, raw->vxlan_link});
	if (dev)
		ovl_str_copy(vxlan->dev, sizeof(vxlan->dev), dev->name);
}
