#include "load/sock.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/tcp.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/str.h"

#define LISTEN_BACKLOG 256
#define DEAD_PEER_MS   15000

static uint16_t *addr_port(struct ovl_addr *addr)
{
	return addr->sa.ss_family == AF_INET6 ? &((struct sockaddr_in6 *)&addr->sa)->sin6_port
					      : &((struct sockaddr_in *)&addr->sa)->sin_port;
}

static void addr_name(struct ovl_addr *addr)
{
	char host[NI_MAXHOST];

	if (getnameinfo((struct sockaddr *)&addr->sa, addr->len, host, sizeof(host), NULL, 0,
			NI_NUMERICHOST))
		ovl_str_copy(host, sizeof(host), "?");
	host[INET6_ADDRSTRLEN + 16] = 0; /* address and zone: what fits the name */
	snprintf(addr->name, sizeof(addr->name),
		 addr->sa.ss_family == AF_INET6 ? "[%s]:%u" : "%s:%u", host,
		 ntohs(*addr_port(addr)));
}

int ovl_addr_resolve(const char *host, uint16_t port, bool names, struct ovl_addr *out,
		     struct ovl_err *err)
{
	struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM}, *list;
	int rc;

	hints.ai_flags = names ? 0 : AI_NUMERICHOST;
	rc = getaddrinfo(host, NULL, &hints, &list);
	if (rc)
		return ovl_err_set(err, names ? OVL_EXIT_PEER : OVL_EXIT_USAGE, -EINVAL,
				   "cannot find the address of \"%s\": %s; %s", host,
				   gai_strerror(rc),
				   names ? "check the name or give a numeric address"
					 : "give a numeric IPv4 or IPv6 address");
	memset(out, 0, sizeof(*out));
	memcpy(&out->sa, list->ai_addr, list->ai_addrlen);
	out->len = list->ai_addrlen;
	freeaddrinfo(list);
	*addr_port(out) = htons(port);
	addr_name(out);
	return 0;
}

int ovl_addr_of_socket(int fd, struct ovl_addr *out)
{
	out->len = sizeof(out->sa);
	if (getsockname(fd, (struct sockaddr *)&out->sa, &out->len))
		return -errno;
	addr_name(out);
	return 0;
}

int ovl_addr_of_peer(int fd, struct ovl_addr *out)
{
	struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)&out->sa;

	memset(out, 0, sizeof(*out));
	out->len = sizeof(out->sa);
	if (getpeername(fd, (struct sockaddr *)&out->sa, &out->len))
		return -errno;
	/* a listener of both families calls 10.0.0.2 ::ffff:10.0.0.2 */
	if (out->sa.ss_family == AF_INET6 && IN6_IS_ADDR_V4MAPPED(&v6->sin6_addr)) {
		struct sockaddr_in v4 = {.sin_family = AF_INET, .sin_port = v6->sin6_port};

		memcpy(&v4.sin_addr, &v6->sin6_addr.s6_addr[12], sizeof(v4.sin_addr));
		memcpy(&out->sa, &v4, sizeof(v4));
		out->len = sizeof(v4);
	}
	addr_name(out);
	return 0;
}

int ovl_sock_netns(void)
{
	int fd = open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

int ovl_netns_enter(int netns_fd, const char *what, struct ovl_err *err)
{
	int rc;

	if (setns(netns_fd, CLONE_NEWNET) == 0)
		return 0;
	rc = -errno;
	if (rc == -EPERM)
		return ovl_err_set(err, OVL_EXIT_RIGHTS, rc,
				   "cannot enter the network namespace of the %s: not permitted; "
				   "run as root or with CAP_SYS_ADMIN",
				   what);
	return ovl_err_set(err, OVL_EXIT_FAILED, rc,
			   "cannot enter the network namespace of the %s: %s; check that it still "
			   "exists",
			   what, strerror(-rc));
}

void ovl_signals_block(sigset_t *old)
{
	sigset_t all;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, old);
}

void ovl_signals_restore(const sigset_t *old)
{
	pthread_sigmask(SIG_SETMASK, old, NULL);
}

int ovl_cpu_pin(int cpu, const char *what, struct ovl_err *err)
{
	cpu_set_t set;
	int rc;

	if (cpu < 0)
		return 0;
	CPU_ZERO(&set);
	if (cpu < CPU_SETSIZE)
		CPU_SET(cpu, &set);
	rc = -pthread_setaffinity_np(pthread_self(), sizeof(set), &set);
	if (!rc)
		return 0;
	return ovl_err_set(
		err, OVL_EXIT_FAILED, rc,
		"cannot pin the %s to CPU %d: %s; choose a CPU that this process may use", what,
		cpu, strerror(-rc));
}

void ovl_sock_rcvbuf(int fd, uint32_t bytes)
{
	/* the kernel doubles the value to pay for its bookkeeping: sk_rcvbuf becomes `bytes` */
	int half = bytes / 2 > INT32_MAX / 2 ? INT32_MAX / 2 : (int)(bytes / 2);
	int clamp = half * 2;

	if (setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &half, sizeof(half)))
		setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &half, sizeof(half));
	/* up to 6.8 the clamp of the accepted socket stays that of the listener's buffer */
	setsockopt(fd, IPPROTO_TCP, TCP_WINDOW_CLAMP, &clamp, sizeof(clamp));
}

static int listen_failed(const struct ovl_addr *addr, int rc, struct ovl_err *err)
{
	struct ovl_addr copy = *addr;
	unsigned int port = ntohs(*addr_port(&copy));

	switch (rc) {
	case -EADDRINUSE:
		return ovl_err_set(err, OVL_EXIT_FAILED, rc,
				   "cannot listen on %s: the port is taken; end the program that "
				   "`ss -ltnp sport = :%u` shows, or choose another with --port",
				   addr->name, port);
	case -EACCES:
		return ovl_err_set(
			err, OVL_EXIT_RIGHTS, rc,
			"cannot listen on %s: ports below 1024 need CAP_NET_BIND_SERVICE; "
			"choose a higher one with --port",
			addr->name);
	case -EADDRNOTAVAIL:
		return ovl_err_set(
			err, OVL_EXIT_FAILED, rc,
			"cannot listen on %s: no interface of this network namespace has "
			"that address; `ip address` lists them",
			addr->name);
	default:
		return ovl_err_set(err, OVL_EXIT_FAILED, rc, "cannot listen on %s: %s", addr->name,
				   strerror(-rc));
	}
}

int ovl_sock_listen(const struct ovl_addr *addr, uint32_t rcvbuf_bytes, struct ovl_err *err)
{
	const int on = 1, off = 0;
	int fd = socket(addr->sa.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), rc;

	if (fd < 0)
		return listen_failed(addr, -errno, err);
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (addr->sa.ss_family == AF_INET6)
		setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off));
	if (rcvbuf_bytes)
		ovl_sock_rcvbuf(fd, rcvbuf_bytes);
	if (bind(fd, (const struct sockaddr *)&addr->sa, addr->len) == 0 &&
	    listen(fd, LISTEN_BACKLOG) == 0)
		return fd;
	rc = -errno;
	close(fd);
	return listen_failed(addr, rc, err);
}

void ovl_sock_mortal(int fd)
{
	const int on = 1, idle_s = 5, every_s = 2, count = 5, dead_ms = DEAD_PEER_MS;

	setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
	setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle_s, sizeof(idle_s));
	setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &every_s, sizeof(every_s));
	setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &count, sizeof(count));
	setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &dead_ms, sizeof(dead_ms));
}

void ovl_sock_abort(int fd)
{
	const struct linger reset = {.l_onoff = 1, .l_linger = 0};

	if (fd < 0)
		return;
	setsockopt(fd, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset));
	close(fd);
}

int ovl_sock_wait(int fd, short events, uint64_t deadline_ns)
{
	struct pollfd p = {.fd = fd, .events = events};

	for (;;) {
		uint64_t now = ovl_clock_ns();
		int n;

		if (now >= deadline_ns)
			return -ETIMEDOUT;
		n = poll(&p, 1, (int)((deadline_ns - now) / 1000000 + 1));
		if (n > 0)
			return 0;
		if (n < 0 && errno != EINTR)
			return -errno;
	}
}

int ovl_sock_send_all(int fd, const void *p, size_t n, uint64_t deadline_ns)
{
	const char *at = p;

	while (n) {
		ssize_t got = send(fd, at, n, MSG_NOSIGNAL | MSG_DONTWAIT);
		int rc = got < 0 ? -errno : 0;

		if (rc == -EAGAIN)
			rc = ovl_sock_wait(fd, POLLOUT, deadline_ns);
		if (rc && rc != -EINTR)
			return rc;
		if (got > 0) {
			at += got;
			n -= (size_t)got;
		}
	}
	return 0;
}

int ovl_sock_recv_all(int fd, void *p, size_t n, uint64_t deadline_ns)
{
	char *at = p;

	while (n) {
		int rc = ovl_sock_wait(fd, POLLIN, deadline_ns);
		ssize_t got = rc ? 0 : recv(fd, at, n, MSG_DONTWAIT);

		if (rc)
			return rc;
		if (got == 0)
			return -ECONNRESET;
		if (got < 0) {
			if (errno != EAGAIN && errno != EINTR)
				return -errno;
			continue;
		}
		at += got;
		n -= (size_t)got;
	}
	return 0;
}

int ovl_sock_blocking(int fd)
{
	int flags = fcntl(fd, F_GETFL);

	return flags < 0 || fcntl(fd, F_SETFL, flags & ~O_NONBLOCK) ? -errno : 0;
}

int ovl_sock_send_blocking(int fd, const void *p, size_t n)
{
	const char *at = p;

	while (n) {
		ssize_t sent = send(fd, at, n, MSG_NOSIGNAL);

		if (sent < 0 && errno != EINTR)
			return -errno;
		if (sent > 0) {
			at += sent;
			n -= (size_t)sent;
		}
	}
	return 0;
}

int ovl_sock_recv_blocking(int fd, void *p, size_t n)
{
	char *at = p;

	while (n) {
		ssize_t got = recv(fd, at, n, 0);

		if (got == 0)
			return -ECONNRESET;
		if (got < 0 && errno != EINTR)
			return -errno;
		if (got > 0) {
			at += got;
			n -= (size_t)got;
		}
	}
	return 0;
}

int ovl_sock_info(int fd, struct ovl_sock_info *out)
{
	struct tcp_info ti = {0}; /* older kernels fill less of it */
	socklen_t len = sizeof(ti);

	if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &ti, &len))
		return -errno;
	*out = (struct ovl_sock_info){
		.acked_bytes = ti.tcpi_bytes_acked,
		.busy_us = ti.tcpi_busy_time,
		.rwnd_us = ti.tcpi_rwnd_limited,
		.sndbuf_us = ti.tcpi_sndbuf_limited,
		.retransmits = ti.tcpi_total_retrans,
		.rtt_us = ti.tcpi_rtt,
		.cwnd_segs = ti.tcpi_snd_cwnd,
		.mss_bytes = ti.tcpi_snd_mss,
		.unacked_segs = ti.tcpi_unacked,
		.unsent_bytes = ti.tcpi_notsent_bytes,
	};
	return 0;
}
