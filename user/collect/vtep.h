/*
 * Which remote tunnel endpoint (VTEP) carries an overlay address: route, neighbour, forwarding
 * entry.
 */
#ifndef OVL_COLLECT_VTEP_H
#define OVL_COLLECT_VTEP_H

#include "base/err.h"

/**
 * Outer address that `ifname` (a vxlan in ns_fd) sends packets for `overlay_addr` to: its route's
 * next hop, that hop's permanent neighbour, that MAC's forwarding entry. 0, or -ENOENT with *err
 * saying which of the three is missing.
 */
int ovl_vtep_find(int ns_fd, const char *ifname, const char *overlay_addr, char vtep[46],
		  struct ovl_err *err);

#endif
