/* Packet filter rules that act, and how long the chains are (nf_tables by nfnetlink). */
#ifndef OVL_COLLECT_NFTRULES_H
#define OVL_COLLECT_NFTRULES_H

#include "base/err.h"
#include "collect/sheet.h"

struct ovl_nftrules;

/** A socket in ns_fd; NULL without one (no nf_tables there, or no memory). */
struct ovl_nftrules *ovl_nftrules_open(int ns_fd);
void ovl_nftrules_close(struct ovl_nftrules *n);
/**
 * Put "chain" readings (rules, hook, packets dropped by the policy) and "rule" readings of rules
 * that drop, limit, clamp or translate, by "family table chain handle N". Rule lists are read at
 * most so often that it takes 2 % of the time. 0 or -errno.
 */
int ovl_nftrules_read(struct ovl_nftrules *n, struct ovl_sheet *s);

#endif
