/* Queues, programs and tunnel settings of the devices of a namespace (rtnetlink). */
#ifndef OVL_COLLECT_TCSTATE_H
#define OVL_COLLECT_TCSTATE_H

#include "collect/links.h"
#include "collect/sheet.h"

/**
 * Put into the sheet, by device: "qdisc" (rate, limit, backlog, drops, overlimits), "bpf" (programs
 * attached by tc and XDP), "device" (queue length, MAC, XDP), "tunnel" (TTL, source ports). Only
 * reads. 0 or -errno of the first request that failed.
 */
int ovl_tcstate_read(struct ovl_links *l, struct ovl_sheet *s);

#endif
