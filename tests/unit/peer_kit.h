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
#include "load/sock.h"
#include "load/wire.h"
#include "tap.h"

/* What must come to pass has this long to do so, however busy the machine is. */
#define PATIENCE_MS 20000
/* What is to be given up has this long to answer. */
#define BRIEF_MS 700

struct peer {
	pthread_t thread;
	int stop_fd, rc, port_fd;
	uint16_t port;
	const char *bind;
	pthread_barrier_t ready;
	struct ovl_err err;
	uint64_t silence_ns; /* 0: as usual */
	_Atomic int served;  /* tests */
	struct ovl_peer_served last;
};

static inline void sleep_ms(long ms)
{
	const struct timespec ts = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};

	nanosleep(&ts, NULL);
}

/*
 * A free loopback port, *port, on which nobody listens: as long as the socket is open no other
 * program is given it, but one that sets SO_REUSEADDR (the peer) can listen there.
 */
static inline int hold_port(uint16_t *port)
{
	struct sockaddr_in sa = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t len = sizeof(sa);
	const int on = 1;
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) ||
	    bind(fd, (struct sockaddr *)&sa, len) || getsockname(fd, (struct sockaddr *)&sa, &len))
		abort();
	*port = ntohs(sa.sin_port);
	return fd;
}

/* A listening socket on a free loopback port; *port gets it. */
static inline int listen_loopback(uint16_t *port)
{
	int fd = hold_port(port);

	if (listen(fd, 16))
		abort();
	return fd;
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
					   .silence_ns = p->silence_ns,
					   .ready = peer_ready,
					   .served = peer_served,
					   .arg = p};

	p->rc = ovl_peer_serve(&spec, &p->err);
	return NULL;
}

static inline void peer_start(struct peer *p)
{
	p->port_fd = hold_port(&p->port);
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
	close(p->port_fd);
}

/* One session with a peer whose hello says nothing but who it is; *arg: a listening socket. */
static inline void *older_peer(void *arg)
{
	struct ovl_wire_hello hello = {.instance = "1", .version = "0.0.9"};
	struct ovl_buf out = {0};
	uint8_t bytes[512], state = OVL_WIRE_PARAM_EXCHANGE;
	int fd = accept(*(int *)arg, NULL, NULL);

	ovl_sock_recv_blocking(fd, bytes, OVL_WIRE_COOKIE_BYTES);
	ovl_sock_send_blocking(fd, &state, 1);
	ovl_sock_recv_blocking(fd, bytes, 4);
	ovl_sock_recv_blocking(fd, bytes, ovl_wire_length_parse(bytes));
	ovl_wire_hello_format(&hello, &out);
	ovl_sock_send_blocking(fd, out.s, out.n);
	ovl_buf_fini(&out);
	while (recv(fd, bytes, sizeof(bytes), 0) > 0)
		;
	close(fd);
	return NULL;
}

static inline struct ovl_load_spec remote_spec(uint16_t port, uint32_t streams, bool both)
{
	struct ovl_load_spec spec = {.remote = true,
				     .port = port,
				     .streams = streams,
				     .cpu_sender = -1,
				     .cpu_receiver = -1,
				     .connect_timeout_ms = PATIENCE_MS};

	for (int i = both ? 0 : 1; i < OVL_LOAD_PATHS; i++) {
		spec.path[i] = (struct ovl_load_path_spec){
			.used = true, .client_netns_fd = -1, .server_netns_fd = -1};
		strcpy(spec.path[i].addr, "127.0.0.1");
	}
	return spec;
}

static inline void refused_after(const struct ovl_load_spec *spec, const char *word, uint64_t ms)
{
	struct ovl_err err = OVL_ERR_INIT;
	uint64_t t = ovl_clock_ns();
	struct ovl_load *load = ovl_load_start(spec, &err);

	t = (ovl_clock_ns() - t) / 1000000;
	ok(!load && err.exit == OVL_EXIT_PEER && strstr(err.text, word), "%s", err.text);
	if (!strstr(err.text, word))
		printf("# want: %s\n", word);
	/* less than its patience: it did not wait for what does not come */
	ok(t >= ms && t < PATIENCE_MS / 2, "said after %llu ms", (unsigned long long)t);
	ovl_load_stop(load);
}

/* The far end says what it is: known at once. */
static inline void refused(const struct ovl_load_spec *spec, const char *word)
{
	refused_after(spec, word, 0);
}

/* It says nothing: given up when the time is over that it has to answer. */
static inline void given_up(const struct ovl_load_spec *spec, const char *word)
{
	struct ovl_load_spec brief = *spec;

	brief.connect_timeout_ms = BRIEF_MS;
	refused_after(&brief, word, BRIEF_MS);
}

/* Read until the connection is known to be broken; the reading's result. */
static inline int read_broken(struct ovl_load *load, struct ovl_err *err)
{
	uint64_t end = ovl_clock_ns() + PATIENCE_MS * 1000000ull;
	struct ovl_load_counts counts;
	int rc;

	do
		rc = ovl_load_read(load, OVL_LOAD_OVERLAY, &counts, err);
	while (!rc && ovl_clock_ns() < end);
	return rc;
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
	struct pollfd p = {.fd = fd, .events = POLLIN};
	char buf[256];

	do {
		if (poll(&p, 1, ms < 50 ? ms : 50) > 0 && recv(fd, buf, sizeof(buf), 0) <= 0)
			return true;
	} while (ovl_clock_ns() < end);
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
