#include "collect/rtnl.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "collect/netns.h"
#include "collect/nldump.h"

#define REPLY_BYTES 32768 /* the kernel fills dump messages up to this size */
#define TRIES_MAX   8	  /* of a dump whose table changes meanwhile */

struct ovl_links {
	struct mnl_socket *nl;
	unsigned int seq;
	_Alignas(struct nlmsghdr) char request[512];
	_Alignas(struct nlmsghdr) char reply[REPLY_BYTES];
};

static int open_here(void *arg)
{
	struct ovl_links *l = arg;

	return ovl_nldump_open(&l->nl, NETLINK_ROUTE);
}

struct ovl_links *ovl_links_open(int ns_fd, struct ovl_err *err)
{
	struct ovl_links *l = calloc(1, sizeof(*l));
	int rc = l ? ovl_netns_run(ns_fd, open_here, l) : -ENOMEM;

	if (!rc)
		return l;
	ovl_links_close(l);
	if (rc == -EPERM)
		ovl_err_set(err, OVL_EXIT_RIGHTS, rc,
			    "a network namespace may not be entered: run as root (CAP_SYS_ADMIN)");
	else
		ovl_err_set(err, OVL_EXIT_FAILED, rc, "no rtnetlink socket in a namespace: %s",
			    strerror(-rc));
	return NULL;
}

void ovl_links_close(struct ovl_links *l)
{
	if (l && l->nl)
		mnl_socket_close(l->nl);
	free(l);
}

struct nlmsghdr *ovl_rtnl_request(struct ovl_links *l, uint16_t type, uint16_t flags)
{
	struct nlmsghdr *nlh = mnl_nlmsg_put_header(l->request);

	nlh->nlmsg_type = type;
	nlh->nlmsg_flags = NLM_F_REQUEST | flags;
	return nlh;
}

int ovl_rtnl_talk(struct ovl_links *l, struct nlmsghdr *nlh, mnl_cb_t cb, void *arg)
{
	const unsigned int port = mnl_socket_get_portid(l->nl);
	int rc;

	nlh->nlmsg_seq = ++l->seq;
	if (mnl_socket_sendto(l->nl, nlh, nlh->nlmsg_len) < 0)
		return -errno;
	for (;;) {
		ssize_t n = mnl_socket_recvfrom(l->nl, l->reply, sizeof(l->reply));

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return errno == EAGAIN ? -ETIMEDOUT : -errno;
		rc = mnl_cb_run(l->reply, (size_t)n, l->seq, port, cb, arg);
		/* EPROTO: the rest of an answer that was given up earlier */
		if (rc < 0 && errno != EPROTO) {
			rc = -errno;
			ovl_nldump_drain(l->nl, l->reply, sizeof(l->reply));
			return rc;
		}
		if (rc == MNL_CB_STOP)
			return 0;
	}
}

int ovl_rtnl_dump(struct ovl_links *l, struct nlmsghdr *nlh, mnl_cb_t cb, void (*again)(void *arg),
		  void *arg)
{
	int rc = -EINTR;

	for (int i = 0; i < TRIES_MAX && rc == -EINTR; i++) {
		if (again)
			again(arg);
		rc = ovl_rtnl_talk(l, nlh, cb, arg);
	}
	return rc;
}

void ovl_rtnl_addr(const struct nlattr *attr, uint8_t family, struct ovl_raw_addr *out)
{
	const size_t want = family == AF_INET ? 4 : 16;

	if (mnl_attr_get_payload_len(attr) < want)
		return;
	out->family = family;
	memcpy(out->bytes, mnl_attr_get_payload(attr), want);
}

void ovl_links_addr(const struct ovl_raw_addr *addr, char text[46])
{
	if (!addr->family || !inet_ntop(addr->family, addr->bytes, text, 46))
		text[0] = '\0';
}
