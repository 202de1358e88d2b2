/* The devices, addresses, neighbours and routes of a plan. Used by build.c alone. */
#ifndef OVL_LAB_DEVICE_H
#define OVL_LAB_DEVICE_H

#include <stdint.h>

#include "lab/build.h"
#include "lab/netlink.h"

/** What one run of the builder needs besides the plan; sockets by the index of the place. */
struct ovl_site {
	struct ovl_build *b;
	struct ovl_netlink nl[OVL_LAB_ENDS_MAX];
	struct ovl_err *err;
	int rc;
};

/** Move this thread into an end's namespace. */
int ovl_site_enter(const struct ovl_site *s, uint8_t end);
/** Turn a request that an end's netlink socket refused into one sentence. Returns rc. */
int ovl_site_refused(const struct ovl_site *s, uint8_t end, int rc, const char *what,
		     const char *name);
/** Make all devices, then neighbours, then routes. */
int ovl_site_devices(struct ovl_site *s);

#endif
