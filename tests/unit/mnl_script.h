/*
 * Stands before libmnl's sendto and recvfrom, and before recv: a test lets sends fail, or plays the
 * kernel's part itself.
 */
#ifndef OVL_TESTS_MNL_SCRIPT_H
#define OVL_TESTS_MNL_SCRIPT_H

#include <dlfcn.h>
#include <errno.h>
#include <libmnl/libmnl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#define SCRIPT_MSGS 5 /* of one answer: two datagrams of messages, then the end */

static struct {
	int send_errno; /* 0: sends pass */
	bool plays;	/* the answers are made here, */
	int interrupts; /* of which so many first ones are inconsistent */
	int sends;
	/* datagrams that wait: by the number of the request and of the message */
	struct {
		unsigned int seq, at;
		bool interrupted;
	} queue[256];
	size_t first, n;
} script;

ssize_t mnl_socket_sendto(const struct mnl_socket *nl, const void *req, size_t n)
{
	ssize_t (*next)(const struct mnl_socket *, const void *, size_t);
	const struct nlmsghdr *nlh = req;

	script.sends++;
	if (script.send_errno) {
		errno = script.send_errno;
		return -1;
	}
	if (!script.plays) {
		*(void **)&next = dlsym(RTLD_NEXT, "mnl_socket_sendto");
		return next(nl, req, n);
	}
	for (unsigned int i = 0; i < SCRIPT_MSGS; i++) {
		script.queue[script.n].seq = nlh->nlmsg_seq;
		script.queue[script.n].at = i;
		script.queue[script.n++].interrupted = script.interrupts > 0 && i == 1;
	}
	script.interrupts--;
	return (ssize_t)n;
}

static inline ssize_t script_pop(void *buf, size_t n)
{
	struct nlmsghdr *nlh = buf;

	if (script.first == script.n) {
		errno = EAGAIN;
		return -1;
	}
	memset(buf, 0, n < 64 ? n : 64);
	nlh = mnl_nlmsg_put_header(buf);
	nlh->nlmsg_seq = script.queue[script.first].seq;
	nlh->nlmsg_type = script.queue[script.first].at == SCRIPT_MSGS - 1 ? NLMSG_DONE : 0x20;
	nlh->nlmsg_flags = NLM_F_MULTI;
	if (script.queue[script.first].interrupted)
		nlh->nlmsg_flags |= NLM_F_DUMP_INTR;
	script.first++;
	mnl_nlmsg_put_extra_header(nlh, sizeof(int));
	return (ssize_t)nlh->nlmsg_len;
}

ssize_t mnl_socket_recvfrom(const struct mnl_socket *nl, void *buf, size_t n)
{
	ssize_t (*next)(const struct mnl_socket *, void *, size_t);

	if (script.plays)
		return script_pop(buf, n);
	*(void **)&next = dlsym(RTLD_NEXT, "mnl_socket_recvfrom");
	return next(nl, buf, n);
}

ssize_t recv(int fd, void *buf, size_t n, int flags)
{
	if (script.plays)
		return script_pop(buf, n);
	return recvfrom(fd, buf, n, flags, NULL, NULL);
}

#endif
