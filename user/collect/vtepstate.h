/* Neighbours and forwarding entries behind tunnel devices (rtnetlink). */
#ifndef OVL_COLLECT_VTEPSTATE_H
#define OVL_COLLECT_VTEPSTATE_H

#include "collect/links.h"
#include "collect/sheet.h"

/**
 * Put "vtep" readings for each route through a vxlan device: does its next hop have a neighbour,
 * and that neighbour's MAC a forwarding entry; "route": the device of the default route. What is
 * long is only read where there is a tunnel. 0 or -errno.
 */
int ovl_vtepstate_read(struct ovl_links *l, struct ovl_sheet *s);

#endif
