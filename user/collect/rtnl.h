/* Requests and answers on the rtnetlink socket of struct ovl_links: for links.c and vtep.c. */
#ifndef OVL_COLLECT_RTNL_H
#define OVL_COLLECT_RTNL_H

#include <libmnl/libmnl.h>

#include "collect/links.h"

/** Begin a request in the socket's own buffer; one at a time. */
struct nlmsghdr *ovl_rtnl_request(struct ovl_links *l, uint16_t type, uint16_t flags);
/**
 * Send a request and hand every answer to cb, which returns MNL_CB_STOP after a single answer. 0,
 * -ETIMEDOUT after 2 s without an answer, or the kernel's -errno.
 */
int ovl_rtnl_talk(struct ovl_links *l, struct nlmsghdr *nlh, mnl_cb_t cb, void *arg);
/**
 * The same of a dump that begins anew, a few times, when the kernel calls it inconsistent: the
 * table changed meanwhile. `again` (may be NULL) forgets what cb took. 0, -EINTR if it never was
 * consistent, or as above.
 */
int ovl_rtnl_dump(struct ovl_links *l, struct nlmsghdr *nlh, mnl_cb_t cb, void (*again)(void *arg),
		  void *arg);
/** Take an address out of an attribute; *out stays unset if the attribute is too short. */
void ovl_rtnl_addr(const struct nlattr *attr, uint8_t family, struct ovl_raw_addr *out);

#endif
