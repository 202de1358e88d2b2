/*
 * A peer in a thread, and specs to reach one on the loopback, for the tests of the load's far ends.
 */
#ifndef OVL_TESTS_PEER_KIT_H
#define OVL_TESTS_PEER_KIT_H

#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "load/load.h"
#include "tap.h"

struct peer {
	pthread_t thread;
	int stop_fd, rc;
	uint16_t port;
	const char *bind;
	pthread_barrier_t ready;
	struct ovl_err err;
	_Atomic int served; /* tests */
	struct ovl_peer_served last;
};

static inline void sleep_ms(long ms)
{
	const struct timespec ts = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};

	nanosleep(&ts, NULL);
}

/* A listening socket on a free loopback port; *port gets it. */
static inline int listen_loopback(uint16_t *port)
{
	struct sockaddr_in sa = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t len = sizeof(sa);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (bind(fd, (struct sockaddr *)&sa, len) || listen(fd, 16) ||
	    getsockname(fd, (struct sockaddr *)&sa, &len))
		abort();
	*port = ntohs(sa.sin_port);
	return fd;
}

static inline uint16_t free_port(void)
{
	uint16_t port;

	close(listen_loopback(&port));
	return port;
}

static inline void peer_ready(void *arg, uint16_t port)
{
	struct peer *p = arg;

	if (port != p->port)
		abort();
	pthread_barrier_wait(&p->ready);
}

static inline void peer_served(void *arg, const struct ovl_peer_served *what)
{
	struct peer *p = arg;

	p->last = *what;
	p->served++;
}

static inline void *peer_main(void *arg)
{
	struct peer *p = arg;
	const struct ovl_peer_spec spec = {.bind = p->bind,
					   .port = p->port,
					   .stop_fd = p->stop_fd,
					   .ready = peer_ready,
					   .served = peer_served,
					   .arg = p};

	p->rc = ovl_peer_serve(&spec, &p->err);
	return NULL;
}

static inline void peer_start(struct peer *p)
{
	p->port = free_port();
	p->stop_fd = eventfd(0, EFD_CLOEXEC);
	p->err = OVL_ERR_INIT;
	pthread_barrier_init(&p->ready, NULL, 2);
	pthread_create(&p->thread, NULL, peer_main, p);
	pthread_barrier_wait(&p->ready);
}

static inline void peer_stop(struct peer *p)
{
	eventfd_write(p->stop_fd, 1);
	pthread_join(p->thread, NULL);
	pthread_barrier_destroy(&p->ready);
	close(p->stop_fd);
}

static inline struct ovl_load_spec remote_spec(uint16_t port, uint32_t streams, bool both)
{
	struct ovl_load_spec spec = {.remote = true,
				     .port = port,
				     .streams = streams,
				     .cpu_sender = -1,
				     .cpu_receiver = -1,
				     .connect_timeout_ms = 700};

	for (int i = both ? 0 : 1; i < OVL_LOAD_PATHS; i++) {
		spec.path[i] = (struct ovl_load_path_spec){
			.used = true, .client_netns_fd = -1, .server_netns_fd = -1};
		strcpy(spec.path[i].addr, "127.0.0.1");
	}
	return spec;
}

static inline void refused(const struct ovl_load_spec *spec, const char *word)
{
	struct ovl_err err = OVL_ERR_INIT;
	uint64_t t = ovl_clock_ns();
	struct ovl_load *load = ovl_load_start(spec, &err);

	t = ovl_clock_ns() - t;
	ok(!load && err.exit == OVL_EXIT_PEER && strstr(err.text, word) && t < 1500000000ull, "%s",
	   err.text);
	ovl_load_stop(load);
}

static inline int dial(uint16_t port)
{
	struct sockaddr_in sa = {.sin_family = AF_INET,
				 .sin_port = htons(port),
				 .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (connect(fd, (struct sockaddr *)&sa, sizeof(sa)))
		abort();
	return fd;
}

/* Is fd closed by the other side within ms? What it sends meanwhile is read away. */
static inline bool closed_within(int fd, int ms)
{
	uint64_t end = ovl_clock_ns() + (uint64_t)ms * 1000000;
	char buf[256];

	while (ovl_clock_ns() < end) {
		struct pollfd p = {.fd = fd, .events = POLLIN};

		if (poll(&p, 1, 50) > 0 && recv(fd, buf, sizeof(buf), 0) <= 0)
			return true;
	}
	return false;
}

static inline void send_and_leave(uint16_t port, const void *p, size_t n, bool reset)
{
	const struct linger hard = {.l_onoff = 1};
	int fd = dial(port);

	if (n && send(fd, p, n, MSG_NOSIGNAL) < 0)
		printf("# the peer was faster: %s\n", strerror(errno));
	if (reset)
		setsockopt(fd, SOL_SOCKET, SO_LINGER, &hard, sizeof(hard));
	close(fd);
}

#endif
