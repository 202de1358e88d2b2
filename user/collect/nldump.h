/*
 * A dump over a netlink socket that comes back to order after whatever went wrong: what is left of
 * an answer that was given up is taken off the socket, so that the next question meets its own
 * answer only.
 */
#ifndef OVL_COLLECT_NLDUMP_H
#define OVL_COLLECT_NLDUMP_H

#include <libmnl/libmnl.h>
#include <stddef.h>

struct ovl_nldump {
	struct mnl_socket *nl;
	unsigned int seq;
	char *reply; /* room for answers */
	size_t reply_bytes;
	/* forget what cb took: the dump begins anew, as the table changed meanwhile; may be NULL */
	void (*again)(void *arg);
};

/** Open a socket of this netlink family in the thread's namespace; an answer takes 2 s at most. 0
 * or -errno; *nl is to be closed in any case. */
int ovl_nldump_open(struct mnl_socket **nl, int family);
/**
 * Send a request for a dump and hand every message to cb. A dump that the kernel calls inconsistent
 * is tried again a few times. 0, -EINTR if it never was consistent, -ETIMEDOUT, or -errno.
 */
int ovl_nldump_run(struct ovl_nldump *d, struct nlmsghdr *nlh, mnl_cb_t cb, void *arg);
/** Take whatever waits on the socket off it. */
void ovl_nldump_drain(struct mnl_socket *nl, char *room, size_t n);

#endif
