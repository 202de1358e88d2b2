#include "collect/nldump.h"

#include <errno.h>
#include <sys/socket.h>
#include <sys/time.h>

#define TRIES_MAX 4	/* a table that changes all the time is left for the next reading */
#define DRAIN_MAX 65536 /* messages: an end even while the kernel sends on */

int ovl_nldump_open(struct mnl_socket **nl, int family)
{
	/* no answer in 2 s is an error, not a hang */
	const struct timeval patience = {.tv_sec = 2};

	*nl = mnl_socket_open2(family, SOCK_CLOEXEC);
	if (!*nl)
		return -errno;
	if (mnl_socket_bind(*nl, 0, MNL_SOCKET_AUTOPID) < 0 ||
	    setsockopt(mnl_socket_get_fd(*nl), SOL_SOCKET, SO_RCVTIMEO, &patience,
		       sizeof(patience)))
		return -errno;
	return 0;
}

void ovl_nldump_drain(struct mnl_socket *nl, char *room, size_t n)
{
	for (int i = 0; i < DRAIN_MAX; i++)
		if (recv(mnl_socket_get_fd(nl), room, n, MSG_DONTWAIT) < 0 && errno != EINTR &&
		    errno != ENOBUFS)
			return;
}

static int run_once(struct ovl_nldump *d, struct nlmsghdr *nlh, mnl_cb_t cb, void *arg)
{
	const unsigned int port = mnl_socket_get_portid(d->nl);
	int rc = 1;

	nlh->nlmsg_seq = ++d->seq;
	if (mnl_socket_sendto(d->nl, nlh, nlh->nlmsg_len) < 0)
		return -errno;
	while (rc > 0) {
		ssize_t got = mnl_socket_recvfrom(d->nl, d->reply, d->reply_bytes);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return errno == EAGAIN ? -ETIMEDOUT : -errno;
		rc = mnl_cb_run(d->reply, (size_t)got, d->seq, port, cb, arg);
	}
	return rc < 0 ? -errno : 0;
}

int ovl_nldump_run(struct ovl_nldump *d, struct nlmsghdr *nlh, mnl_cb_t cb, void *arg)
{
	int rc = -EINTR;

	for (int i = 0; i < TRIES_MAX && (rc == -EINTR || rc == -EPROTO); i++) {
		if (i && d->again)
			d->again(arg);
		rc = run_once(d, nlh, cb, arg);
		if (rc)
			ovl_nldump_drain(d->nl, d->reply, d->reply_bytes);
	}
	return rc;
}
