/* The path of an interface: which devices in which namespaces belong to it, as facts. */
#ifndef OVL_COLLECT_PATH_H
#define OVL_COLLECT_PATH_H

#include <stdint.h>

#include "base/err.h"
#include "collect/collect.h"
#include "collect/links.h"
#include "collect/netns.h"
#include "model/facts.h"

#define OVL_PATH_NS_MAX	   (sizeof(((struct ovl_target *)0)->ns_fd) / sizeof(int))
#define OVL_PATH_FOUND_MAX (OVL_PATH_NS_MAX - 4) /* of these by following devices: a twin has 4 */
#define OVL_PATH_PORTS_MAX 64 /* bridge ports and pods' devices that are followed to their pods */

/** Sockets and device tables of the namespaces in the facts while a path is being worked out. */
struct ovl_path {
	struct ovl_target *target;
	struct ovl_facts *facts;
	struct ovl_links *links[OVL_PATH_NS_MAX];
	ovl_raw_links raw[OVL_PATH_NS_MAX];
	ovl_netns_vec known; /* namespaces of this machine, listed when first needed */
	uint32_t left_out;   /* pod namespaces that found no room */
	uint32_t unresolved; /* peers whose namespace could not be found or entered */
};

void ovl_path_init(struct ovl_path *p, struct ovl_target *target, struct ovl_facts *facts);
void ovl_path_fini(struct ovl_path *p);
/**
 * Add a namespace and read its devices; takes over ns_fd in any case (a known inode keeps its old).
 * name NULL: looked up. Index into facts->ns, -ENOSPC when there are too many, or -errno with *err.
 */
int ovl_path_add_ns(struct ovl_path *p, const char *name, int ns_fd, struct ovl_err *err);
/** Add a device of namespace `ns` with its features. Index into facts->links or -ENOMEM. */
int ovl_path_add_link(struct ovl_path *p, uint32_t ns, const struct ovl_raw_link *raw);
/**
 * Add what belongs to the interface: underlay, bridges, pods; all ports of a bridge, as its traffic
 * is theirs; bridges that veth pairs join to these. 0 or -ENOMEM.
 */
int ovl_path_follow(struct ovl_path *p, uint32_t ns, const struct ovl_raw_link *iface);
/** Set `lower` and `master` of every device in the facts. */
int ovl_path_connect(struct ovl_path *p, struct ovl_err *err);
/** The tunnel's parameters as facts. */
void ovl_path_vxlan(struct ovl_path *p, uint32_t ns, const struct ovl_raw_link *raw);

#endif
