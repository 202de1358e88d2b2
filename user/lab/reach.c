#include "lab/reach.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"

#define PATIENCE_NS 3000000000ull
#define STEP_MS	    100

static int tcp_socket(int netns_fd)
{
	int fd;

	if (setns(netns_fd, CLONE_NEWNET) < 0)
		return -errno;
	fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	return fd < 0 ? -errno : fd;
}

static int wait_for(int fd, short events, uint64_t until_ns)
{
	struct pollfd p = {.fd = fd, .events = events};
	int n;

	do {
		n = poll(&p, 1, STEP_MS);
		if (n < 0 && errno != EINTR)
			return -errno;
	} while (n <= 0 && ovl_clock_ns() < until_ns);
	return n > 0 ? 0 : -ETIMEDOUT;
}

/* Open a listener on a port of the kernel's choice; its address goes to *sa. */
static int listen_at(const struct ovl_lab_end *end, struct sockaddr_in *sa)
{
	socklen_t len = sizeof(*sa);
	int fd = tcp_socket(end->netns_fd), rc;

	if (fd < 0)
		return fd;
	memset(sa, 0, sizeof(*sa));
	sa->sin_family = AF_INET;
	if (inet_pton(AF_INET, end->addr, &sa->sin_addr) == 1 &&
	    bind(fd, (struct sockaddr *)sa, sizeof(*sa)) == 0 && listen(fd, 1) == 0 &&
	    getsockname(fd, (struct sockaddr *)sa, &len) == 0)
		return fd;
	rc = errno ? -errno : -EINVAL;
	close(fd);
	return rc;
}

static int connected(int client, int listener, const struct sockaddr_in *sa)
{
	uint64_t until_ns = ovl_clock_ns() + PATIENCE_NS;
	socklen_t len = sizeof(int);
	int rc, error = 0, server;

	if (connect(client, (const struct sockaddr *)sa, sizeof(*sa)) < 0 && errno != EINPROGRESS)
		return -errno;
	rc = wait_for(client, POLLOUT, until_ns);
	if (!rc && getsockopt(client, SOL_SOCKET, SO_ERROR, &error, &len) == 0)
		rc = -error;
	if (!rc)
		rc = wait_for(listener, POLLIN, until_ns);
	if (rc < 0)
		return rc;
	server = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	if (server < 0)
		return -errno;
	close(server);
	return 0;
}

int ovl_reach_check(const struct ovl_lab_end *from, const struct ovl_lab_end *to,
		    struct ovl_err *err)
{
	int client = tcp_socket(from->netns_fd), listener, rc;
	struct sockaddr_in sa;

	listener = listen_at(to, &sa);
	rc = client < 0 ? client : listener;
	if (rc >= 0)
		rc = connected(client, listener, &sa);
	if (client >= 0)
		close(client);
	if (listener >= 0)
		close(listener);
	if (rc < 0)
		return ovl_err_set(err, OVL_EXIT_FAILED, rc,
				   "the lab was built but %s cannot reach %s (%s) over TCP: %s; "
				   "a firewall on new network namespaces may be the cause",
				   from->name, to->name, to->addr, strerror(-rc));
	return 0;
}
