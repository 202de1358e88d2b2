#include "load/rr_server.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "load/local.h"
#include "load/sock.h"
#include "load/wire.h"

struct ovl_rr_server {
	pthread_t thread;
	int fd;
	_Atomic uint64_t bytes;
	uint8_t message[OVL_WIRE_RR_BYTES_MAX];
};

static void *answer_all(void *arg)
{
	struct ovl_rr_server *s = arg;
	uint8_t head[OVL_WIRE_RR_HEAD_BYTES];
	uint32_t n = 0;

	if (!ovl_sock_blocking(s->fd) && !ovl_sock_recv_blocking(s->fd, head, sizeof(head)))
		n = ovl_wire_rr_parse(head);
	while (n && !ovl_sock_recv_blocking(s->fd, s->message, n)) {
		atomic_fetch_add_explicit(&s->bytes, n, memory_order_relaxed);
		if (ovl_sock_send_blocking(s->fd, s->message, n))
			break;
	}
	/* whoever watches the connection sees its end */
	shutdown(s->fd, SHUT_RDWR);
	return NULL;
}

struct ovl_rr_server *ovl_rr_server_start(int fd)
{
	struct ovl_rr_server *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->fd = fd;
	if (!ovl_thread_make(&s->thread, answer_all, s, NULL)) {
		pthread_setname_np(s->thread, OVL_RR_SERVER_THREAD);
		return s;
	}
	free(s);
	return NULL;
}

uint64_t ovl_rr_server_bytes(const struct ovl_rr_server *s)
{
	return atomic_load_explicit(&s->bytes, memory_order_relaxed);
}

uint64_t ovl_rr_server_stop(struct ovl_rr_server *s)
{
	uint64_t bytes;

	shutdown(s->fd, SHUT_RDWR); /* wakes the thread wherever it waits */
	pthread_join(s->thread, NULL);
	bytes = ovl_rr_server_bytes(s);
	free(s);
	return bytes;
}
