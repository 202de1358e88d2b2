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
#include "lab/netlink.h"

#define PATIENCE_NS 3000000000ull
#define STEP_MS	    100

/* An address with room for either family. */
struct addr {
	union {
		struct sockaddr sa;
		struct sockaddr_in in;
		struct sockaddr_in6 in6;
	};
	socklen_t len;
};

static bool parse(const char *text, struct addr *a)
{
	struct ovl_netlink_ip ip;

	memset(a, 0, sizeof(*a));
	if (!ovl_netlink_parse_ip(text, &ip))
		return false;
	a->sa.sa_family = ip.family;
	a->len = ip.family == AF_INET6 ? sizeof(a->in6) : sizeof(a->in);
	if (ip.family == AF_INET6)
		memcpy(&a->in6.sin6_addr, ip.bytes, ip.n);
	else
		memcpy(&a->in.sin_addr, ip.bytes, ip.n);
	return true;
}

/* The port is at the same offset in both families. */
static in_port_t *port_of(struct addr *a)
{
	return a->sa.sa_family == AF_INET6 ? &a->in6.sin6_port : &a->in.sin_port;
}

static int tcp_socket(int netns_fd, int family)
{
	int fd;

	if (setns(netns_fd, CLONE_NEWNET) < 0)
		return -errno;
	fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
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

/* Listen in a place; port 0 becomes the kernel's choice. */
static int listen_at(int netns_fd, struct addr *a)
{
	int fd = tcp_socket(netns_fd, a->sa.sa_family), one = 1, rc;

	if (fd < 0)
		return fd;
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (bind(fd, &a->sa, a->len) == 0 && listen(fd, 1) == 0 &&
	    getsockname(fd, &a->sa, &a->len) == 0)
		return fd;
	rc = -errno;
	close(fd);
	return rc;
}

static int connected(int client, int listener, const struct addr *to)
{
	uint64_t until_ns = ovl_clock_ns() + PATIENCE_NS;
	socklen_t len = sizeof(int);
	int rc, error = 0, server;

	if (connect(client, &to->sa, to->len) < 0 && errno != EINPROGRESS)
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

static int try(const struct ovl_lab *lab, uint8_t from, uint8_t to)
{
	const struct ovl_lab_end *far = &lab->ends[to], *server = &lab->ends[far->server];
	struct addr bind_to, connect_to;
	int client, listener, rc;

	if (!parse(server->addr, &bind_to) || !parse(far->addr, &connect_to))
		return -EINVAL;
	if (far->place == OVL_LAB_NOWHERE)
		*port_of(&bind_to) = htons(OVL_LAB_SERVED_PORT);
	listener = listen_at(server->netns_fd, &bind_to);
	*port_of(&connect_to) = *port_of(&bind_to);
	client = tcp_socket(lab->ends[from].netns_fd, connect_to.sa.sa_family);
	rc = listener < 0 ? listener : client;
	if (rc >= 0)
		rc = connected(client, listener, &connect_to);
	if (client >= 0)
		close(client);
	if (listener >= 0)
		close(listener);
	return rc;
}

int ovl_reach_check(const struct ovl_lab *lab, uint8_t from, uint8_t to, struct ovl_err *err)
{
	int rc = try(lab, from, to);

	if (rc < 0)
		return ovl_err_set(err, OVL_EXIT_FAILED, rc,
				   "the lab was built but %s cannot reach %s (%s) over TCP: %s; "
				   "a firewall on new network namespaces may be the cause",
				   lab->ends[from].name, lab->ends[to].name, lab->ends[to].addr,
				   strerror(-rc));
	return 0;
}
