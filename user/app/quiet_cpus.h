/* Which CPUs the load may keep busy. */
#ifndef OVL_APP_QUIET_CPUS_H
#define OVL_APP_QUIET_CPUS_H

#include "base/err.h"

/**
 * Look for 0.2 s at the CPUs of ovl_cpus_read: the two that ovl_cpus_pick prefers, so the idlest
 * that are no thread siblings, and how many CPUs' worth of time was idle in all of them. 0 or
 * -errno.
 */
int ovl_quiet_cpus(int *sender, int *receiver, double *idle_cpus, struct ovl_err *err);

#endif
