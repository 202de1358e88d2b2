/* Network namespaces: making, naming as iproute2 does, entering, removing, finding users. */
#ifndef OVL_LAB_NAMESPACE_H
#define OVL_LAB_NAMESPACE_H

#include <stdbool.h>

#include "base/buf.h"
#include "base/err.h"

#define OVL_NAMESPACE_DIR "/run/netns" /* iproute2's /var/run/netns */

/**
 * Move the calling thread into a fresh network namespace and return an open handle (O_CLOEXEC) that
 * keeps it alive. -errno; needs CAP_SYS_ADMIN.
 */
int ovl_namespace_new(void);
/**
 * Make /run/netns a shared mount exactly as `ip netns add` does, so that both see one another's.
 */
int ovl_namespace_prepare(struct ovl_err *err);
/** Give the calling thread's network namespace a name under /run/netns. -EEXIST if it is taken. */
int ovl_namespace_name(const char *name, struct ovl_err *err);
/** Is there a file of that name in /run/netns? */
bool ovl_namespace_exists(const char *name);
/** Open a named namespace (O_CLOEXEC). -errno; -EINVAL if the file is no namespace. */
int ovl_namespace_open(const char *name);
/** Take a name away; 0 also if there is none. The namespace lives on while processes use it. */
int ovl_namespace_remove(const char *name, struct ovl_err *err);
/** Append a line for each process that still runs in a named namespace (pid and comm). */
void ovl_namespace_users(const char *name, struct ovl_buf *out);
/**
 * Move this process into a namespace as `ip netns exec` does: a private mount namespace whose /sys
 * shows the devices of this network namespace.
 */
int ovl_namespace_become(int netns_fd, struct ovl_err *err);

#endif
