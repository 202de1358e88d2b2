#include "load/sender.h"

#include <errno.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/clock.h"
#include "load/mover.h"

#define EVENTS_MAX   64
#define INFO_NS	     100000000ull
#define RTT_PER_TICK 3 /* OVL_LOAD_RTT_MAX readings last for a second */
#define TAG_WAKE     UINT32_MAX

static void set_state(struct ovl_sender *s, int state)
{
	pthread_mutex_lock(&s->lock);
	s->state = state;
	pthread_cond_broadcast(&s->changed);
	pthread_mutex_unlock(&s->lock);
}

/* A connection has died: the others go on, the readers are told. */
static void stream_died(struct ovl_sender *s, struct ovl_sender_stream *stream, int rc)
{
	const struct ovl_client *client = &s->client[stream->which];

	epoll_ctl(s->epoll_fd, EPOLL_CTL_DEL, stream->fd, NULL);
	pthread_mutex_lock(&s->lock);
	stream->dead = true;
	if (!s->dead)
		ovl_err_set(
			&s->err, OVL_EXIT_PEER, rc,
			"the load's connection to %s (%s) was lost during the run: %s; check that "
			"the peer still runs",
			client->addr.name, ovl_load_which_name(stream->which),
			rc == -EPROTO ? "the peer sent something that is not a report"
				      : strerror(-rc));
	s->dead = true;
	pthread_cond_broadcast(&s->changed);
	pthread_mutex_unlock(&s->lock);
}

static int watch(struct ovl_sender *s, uint32_t i, int op)
{
	const struct ovl_sender_stream *stream = &s->stream[i];
	bool on = atomic_load(&s->which) == (int)stream->which;
	struct epoll_event ev = {.events = EPOLLIN | (on ? EPOLLOUT : 0), .data.u32 = i};

	return epoll_ctl(s->epoll_fd, op, stream->fd, &ev) ? -errno : 0;
}

static int open_path(struct ovl_sender *s, enum ovl_load_which which, struct ovl_err *err)
{
	struct ovl_client *client = &s->client[which];
	struct ovl_sock_info info;

	for (uint32_t i = 0; i < s->spec.streams; i++) {
		struct ovl_sender_stream *stream = &s->stream[client->first + i];

		stream->which = which;
		stream->fd = ovl_client_open(client, i, err);
		if (stream->fd < 0)
			return stream->fd;
		if (ovl_sock_info(stream->fd, &info) == 0)
			stream->acked_base_bytes = info.acked_bytes;
		if (watch(s, client->first + i, EPOLL_CTL_ADD))
			return ovl_err_set(err, OVL_EXIT_FAILED, -errno,
					   "cannot watch the load's connections: %s",
					   strerror(errno));
		if (i == 0) {
			socklen_t len = sizeof(s->congestion) - 1;

			getsockopt(stream->fd, IPPROTO_TCP, TCP_CONGESTION, s->congestion, &len);
		}
	}
	return 0;
}

/* Connections of each path from its own namespace; the thread ends up back home. */
static int open_all(struct ovl_sender *s, int home_fd, struct ovl_err *err)
{
	for (int which = 0; which < OVL_LOAD_PATHS; which++) {
		const struct ovl_load_path_spec *path = &s->spec.path[which];
		int rc = 0;

		if (!path->used)
			continue;
		if (path->client_netns_fd >= 0)
			rc = ovl_netns_enter(path->client_netns_fd, "load's sender", err);
		if (!rc)
			rc = open_path(s, (enum ovl_load_which)which, err);
		if (!rc && path->client_netns_fd >= 0)
			rc = ovl_netns_enter(home_fd, "program itself", err);
		if (rc)
			return rc;
	}
	return 0;
}

static int start(struct ovl_sender *s, struct ovl_err *err)
{
	struct epoll_event ev = {.events = EPOLLIN, .data.u32 = TAG_WAKE};
	int home_fd = ovl_sock_netns(), rc;

	s->tid = gettid();
	pthread_setname_np(pthread_self(), "ovl-send");
	rc = ovl_cpu_pin(s->spec.cpu_sender, "load's sender", err);
	if (!rc) {
		s->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
		if (s->epoll_fd < 0 || epoll_ctl(s->epoll_fd, EPOLL_CTL_ADD, s->wake_fd, &ev))
			rc = ovl_err_set(err, OVL_EXIT_FAILED, -errno,
					 "cannot prepare the load's sender: %s", strerror(errno));
	}
	if (!rc)
		rc = open_all(s, home_fd, err);
	if (home_fd >= 0)
		close(home_fd);
	return rc;
}

/* Take reports from the receiver; 0, or -errno: the connection is dead. */
static int read_reports(struct ovl_sender *s, struct ovl_sender_stream *stream, uint64_t now_ns)
{
	for (;;) {
		struct ovl_wire_report report;
		ssize_t n = recv(stream->fd, stream->rx + stream->rx_n,
				 sizeof(stream->rx) - stream->rx_n, MSG_DONTWAIT);
		int rc;

		if (n < 0)
			return errno == EAGAIN || errno == EINTR ? 0 : -errno;
		if (n == 0)
			return -ECONNRESET;
		stream->rx_n += (uint32_t)n;
		if (stream->rx_n < sizeof(stream->rx))
			continue;
		stream->rx_n = 0;
		rc = ovl_wire_report_parse(stream->rx, &report);
		pthread_mutex_lock(&s->lock);
		if (!rc)
			rc = ovl_track_add(&stream->track, &report);
		if (!rc)
			ovl_track_clock_add(&s->clock[stream->which], report.ts_ns, now_ns);
		pthread_cond_broadcast(&s->changed);
		pthread_mutex_unlock(&s->lock);
		if (rc)
			return rc;
	}
}

/* Round-trip times of the path that carries the load; of many streams a few each time, in turn. */
static void sample_rtt(struct ovl_sender *s, uint32_t turn)
{
	int which = atomic_load(&s->which);
	uint32_t n = s->spec.streams < RTT_PER_TICK ? s->spec.streams : RTT_PER_TICK;

	if (which >= OVL_LOAD_PATHS || !s->spec.path[which].used)
		return;
	for (uint32_t k = 0; k < n; k++) {
		uint32_t i = s->client[which].first + (turn * n + k) % s->spec.streams;
		struct ovl_sock_info info;

		if (s->stream[i].dead || ovl_sock_info(s->stream[i].fd, &info) || !info.rtt_us)
			continue;
		pthread_mutex_lock(&s->lock);
		s->rtt_us[which][s->rtt_at[which]] = info.rtt_us;
		s->rtt_at[which] = (s->rtt_at[which] + 1) % OVL_LOAD_RTT_MAX;
		if (s->rtt_n[which] < OVL_LOAD_RTT_MAX)
			s->rtt_n[which]++;
		pthread_mutex_unlock(&s->lock);
	}
}

static void serve(struct ovl_sender *s, const struct epoll_event *ev, const void *block,
		  uint64_t now_ns)
{
	struct ovl_sender_stream *stream = &s->stream[ev->data.u32];
	int rc = 0;

	if (stream->dead)
		return;
	if (ev->events & (EPOLLIN | EPOLLHUP | EPOLLERR))
		rc = read_reports(s, stream, now_ns);
	if (!rc && ev->events & EPOLLOUT)
		rc = ovl_mover_write(stream->fd, block, s->spec.block_bytes, &s->which,
				     (int)stream->which, &stream->sent_bytes);
	if (rc)
		stream_died(s, stream, rc);
}

static void drain_wake(struct ovl_sender *s)
{
	uint64_t n;

	if (read(s->wake_fd, &n, sizeof(n)) < 0)
		return; /* nothing there: another turn took it */
}

static void loop(struct ovl_sender *s, const void *block)
{
	uint64_t now = ovl_clock_ns(), tick_ns = now + INFO_NS;
	int armed = OVL_LOAD_PATHS;
	uint32_t turn = 0;

	while (!atomic_load(&s->stop)) {
		struct epoll_event ev[EVENTS_MAX];
		int ms = now >= tick_ns ? 0 : (int)((tick_ns - now) / 1000000 + 1);
		int n = epoll_wait(s->epoll_fd, ev, EVENTS_MAX, ms);

		now = ovl_clock_ns();
		for (int i = 0; i < n; i++) {
			if (ev[i].data.u32 == TAG_WAKE)
				drain_wake(s);
			else
				serve(s, &ev[i], block, now);
		}
		if (armed != atomic_load(&s->which)) {
			armed = atomic_load(&s->which);
			for (uint32_t i = 0; i < s->streams; i++) {
				if (!s->stream[i].dead)
					watch(s, i, EPOLL_CTL_MOD);
			}
		}
		if (now >= tick_ns) {
			sample_rtt(s, turn++);
			tick_ns = now + INFO_NS;
		}
	}
}

void *ovl_sender_main(void *arg)
{
	struct ovl_sender *s = arg;
	struct ovl_err err = OVL_ERR_INIT;
	void *block = NULL;
	int rc;

	if (posix_memalign(&block, 4096, s->spec.block_bytes)) {
		rc = ovl_err_set(&err, OVL_EXIT_FAILED, -ENOMEM, "no memory for the load's block");
	} else {
		memset(block, 0x5a, s->spec.block_bytes);
		rc = start(s, &err);
	}
	if (rc) {
		s->err = err; /* published by set_state's lock */
	} else {
		set_state(s, OVL_SENDER_RUNNING);
		loop(s, block);
	}
	free(block);
	set_state(s, OVL_SENDER_ENDED);
	return NULL;
}
