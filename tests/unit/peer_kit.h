/*
 * A peer in a thread, and specs to reach one on the loopback, for the tests of the load's far ends.
 */
#ifndef OVL_TESTS_PEER_KIT_H
#define OVL_TESTS_PEER_KIT_H

#include <arpa/inet.h>
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

static inline void *peer_main(void *arg)
{
	struct peer *p = arg;
	const struct ovl_peer_spec spec = {.bind = p->bind,
					   .port = p->port,
					   .stop_fd = p->stop_fd,
					   .ready = peer_ready,
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

#endif
