/* Network namespaces of this machine: find, name, open and visit them. */
#ifndef OVL_COLLECT_NETNS_H
#define OVL_COLLECT_NETNS_H

#include <stdint.h>

#include "base/err.h"
#include "base/vec.h"
#include "model/facts.h"

#define OVL_NETNS_PATH_MAX 288 /* "/run/netns/" and a file name of up to 255 bytes */

/** A namespace that exists somewhere; opened by its path when needed, so that none is held open. */
struct ovl_netns {
	char name[OVL_NAME_MAX]; /* as in struct ovl_ns */
	char path[OVL_NETNS_PATH_MAX];
	uint64_t inode;
};
typedef OVL_VEC(struct ovl_netns) ovl_netns_vec;

/**
 * List named namespaces (/run/netns, /var/run/netns), then those of running processes
 * (/proc/PID/ns/net), each inode once. *refused (may be NULL) counts processes that could not be
 * looked at (CAP_SYS_PTRACE). 0 or -ENOMEM. Processes that vanish meanwhile are skipped.
 */
int ovl_netns_list(ovl_netns_vec *out, uint32_t *refused);
/** Open a namespace by NAME, PATH or PID: a descriptor, or -errno with *err. */
int ovl_netns_open(const char *netns, struct ovl_err *err);
/** Open a path: a descriptor, -EINVAL if it is no network namespace, or -errno. */
int ovl_netns_open_path(const char *path);
/** The calling thread's namespace: a descriptor or -errno. */
int ovl_netns_current(void);
/** Inode of an open namespace, 0 if the descriptor is bad. */
uint64_t ovl_netns_inode(int ns_fd);
/** Name of a namespace: the one in /run/netns with this inode, else "net:[inode]". */
void ovl_netns_name(uint64_t inode, char name[OVL_NAME_MAX]);
/**
 * Run fn(arg) with the calling thread in ns_fd and go back, whatever fn does. Needs CAP_SYS_ADMIN,
 * but not for the namespace the thread is in already. Returns fn's value, -errno if ns_fd cannot be
 * entered, or -ENOTRECOVERABLE if the way back is barred: the thread is in the wrong place then,
 * and must do no more.
 */
int ovl_netns_run(int ns_fd, int (*fn)(void *arg), void *arg);

#endif
