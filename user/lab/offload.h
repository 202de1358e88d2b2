/* Offload features of a device, by the kernel's names for them (ethtool -k), through ioctl. */
#ifndef OVL_LAB_OFFLOAD_H
#define OVL_LAB_OFFLOAD_H

#include <stddef.h>

#include "base/err.h"
#include "lab/lab.h"

/** Feature names that an offload profile switches off on the underlay; NULL-terminated. Pure. */
const char *const *ovl_offload_profile(enum ovl_lab_offloads offloads);

/**
 * Switch features off on a device of the calling thread's network namespace and read back. Names
 * this kernel does not know are taken as off; the few that no device can change are left.
 * 0; -EIO with err set if one stayed on; other -errno.
 */
int ovl_offload_off(const char *dev, const char *const *names, size_t n, struct ovl_err *err);

#endif
