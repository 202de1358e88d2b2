/* Control groups whose CPU quota cuts the work of the path's namespaces short. */
#ifndef OVL_COLLECT_CGROUPS_H
#define OVL_COLLECT_CGROUPS_H

#include "collect/sheet.h"
#include "model/facts.h"

/**
 * Put "cgroup" readings of every group with a CPU quota (version 1 or 2): periods, throttled
 * periods, throttled time, quota, and of the namespaces of facts the first that one of its tasks is
 * in.
 */
void ovl_cgroups_read(struct ovl_sheet *s, const struct ovl_facts *facts);

#endif
