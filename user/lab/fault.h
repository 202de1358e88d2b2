/* Which exit code a refusal by the kernel leads to. */
#ifndef OVL_LAB_FAULT_H
#define OVL_LAB_FAULT_H

#include <errno.h>

#include "base/exit.h"

/** A missing right, something this kernel lacks, or plain failure. Pure. */
static inline enum ovl_exit ovl_fault_exit(int rc)
{
	switch (-rc) {
	case EPERM:
	case EACCES: return OVL_EXIT_RIGHTS;
	case EOPNOTSUPP:
	case ENOSYS: return OVL_EXIT_KERNEL;
	default: return OVL_EXIT_FAILED;
	}
}

/** The hint that belongs after a missing right's errno; "" for other failures. Pure. */
static inline const char *ovl_fault_hint(int rc)
{
	return ovl_fault_exit(rc) == OVL_EXIT_RIGHTS
		       ? " (labs need root: CAP_SYS_ADMIN and CAP_NET_ADMIN)"
		       : "";
}

#endif
