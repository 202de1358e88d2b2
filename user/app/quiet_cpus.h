/* Which CPUs the load may keep busy. */
#ifndef OVL_APP_QUIET_CPUS_H
#define OVL_APP_QUIET_CPUS_H

#include "base/err.h"

/**
 * Look at the CPUs this process may use for 0.2 s: the two idlest, the receiver (which usually limits)
 * on the lower one as in labs (one CPU: the same twice), and how many CPUs' worth of time was idle in
 * all. 0 or -errno.
 */
int ovl_quiet_cpus(int *sender, int *receiver, double *idle_cpus, struct ovl_err *err);

#endif
