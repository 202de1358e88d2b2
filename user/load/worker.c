#include "load/worker.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "load/mover.h"
#include "load/sender.h"
#include "load/turns.h"

#define EVENTS_MAX   64
#define INFO_NS	     100000000ull
#define RTT_PER_TICK 3 /* OVL_LOAD_RTT_MAX readings last for a second */
#define TAG_WAKE     UINT32_MAX
#define TAG_FAR	     (UINT32_MAX - OVL_LOAD_PATHS) /* and that of each path after it */

int ovl_worker_init(struct ovl_worker *w, struct ovl_sender *sender, uint32_t index)
{
	struct epoll_event ev = {.events = EPOLLIN, .data.u32 = TAG_WAKE};

	w->sender = sender;
	w->index = index;
	w->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	w->epoll_fd = w->wake_fd < 0 ? -1 : epoll_create1(EPOLL_CLOEXEC);
	if (w->epoll_fd < 0 || epoll_ctl(w->epoll_fd, EPOLL_CTL_ADD, w->wake_fd, &ev))
		return -errno;
	if (!sender->spec.reverse)
		return 0;
	w->block = malloc(OVL_WIRE_BLOCK_MAX);
	return w->block ? 0 : -ENOMEM;
}

void ovl_worker_fini(struct ovl_worker *w)
{
	if (w->epoll_fd >= 0)
		close(w->epoll_fd);
	if (w->wake_fd >= 0)
		close(w->wake_fd);
	free(w->block);
}

struct ovl_worker *ovl_worker_of(struct ovl_sender *s, uint32_t stream)
{
	/*
	 * An iperf3 server reads all streams with one thread (before 3.16): several that write
	 * leave it behind, with megabytes acknowledged that it never gets to read.
	 */
	if (s->client[s->stream[stream].which].far == OVL_CLIENT_IPERF3)
		return &s->worker[0];
	/* those of each path are shared out alike */
	return &s->worker[stream % s->spec.streams % s->workers];
}

void ovl_worker_wake(const struct ovl_worker *w)
{
	const uint64_t one = 1;

	while (write(w->wake_fd, &one, sizeof(one)) < 0 && errno == EINTR)
		;
}

void ovl_worker_broken(struct ovl_sender *s, const struct ovl_err *err)
{
	pthread_mutex_lock(&s->lock);
	if (!s->dead)
		s->err = *err;
	s->dead = true;
	pthread_cond_broadcast(&s->changed);
	pthread_mutex_unlock(&s->lock);
}

static bool dead(const struct ovl_sender_stream *stream)
{
	return atomic_load_explicit(&stream->dead, memory_order_relaxed);
}

/* A connection has died: the others go on, the readers are told. */
static void stream_died(struct ovl_worker *w, struct ovl_sender_stream *stream, int rc)
{
	struct ovl_sender *s = w->sender;
	const struct ovl_client *client = &s->client[stream->which];
	struct ovl_err err = OVL_ERR_INIT;

	epoll_ctl(w->epoll_fd, EPOLL_CTL_DEL, stream->fd, NULL);
	ovl_err_set(&err, OVL_EXIT_PEER, rc,
		    "the load's connection to %s%s was lost during the run: %s; check that the "
		    "peer still runs",
		    client->addr.name, ovl_client_path(client),
		    rc == -EPROTO ? "the peer sent something that is not a report" : strerror(-rc));
	pthread_mutex_lock(&s->lock);
	atomic_store(&stream->dead, true);
	pthread_mutex_unlock(&s->lock);
	ovl_worker_broken(s, &err);
}

/* An iperf3 server speaks during the test: it has ended it. */
static void far_spoke(struct ovl_sender *s, uint32_t which)
{
	struct ovl_err err = OVL_ERR_INIT;

	if (s->far[which].dead || !ovl_far_read(&s->far[which], &s->client[which], &err))
		return;
	epoll_ctl(s->worker[0].epoll_fd, EPOLL_CTL_DEL, s->far[which].fd, NULL);
	ovl_worker_broken(s, &err);
}

static int watch(struct ovl_sender *s, uint32_t i, int op)
{
	const struct ovl_sender_stream *stream = &s->stream[i];
	bool on = atomic_load(&s->which) == (int)stream->which && !s->spec.reverse;
	struct epoll_event ev = {.events = EPOLLIN | (on ? EPOLLOUT : 0), .data.u32 = i};

	return epoll_ctl(ovl_worker_of(s, i)->epoll_fd, op, stream->fd, &ev) ? -errno : 0;
}

int ovl_worker_watch(struct ovl_sender *s, uint32_t stream)
{
	return watch(s, stream, EPOLL_CTL_ADD);
}

int ovl_worker_watch_far(struct ovl_sender *s, uint32_t which)
{
	struct epoll_event ev = {.events = EPOLLIN, .data.u32 = TAG_FAR + which};

	return epoll_ctl(s->worker[0].epoll_fd, EPOLL_CTL_ADD, s->far[which].fd, &ev) ? -errno : 0;
}

/* What the far end sends in a reverse test. */
static int read_payload(const struct ovl_worker *w, struct ovl_sender_stream *stream)
{
	uint64_t n = 0;
	int rc = ovl_mover_read(stream->fd, w->block, OVL_WIRE_BLOCK_MAX, w->sender->spec.rx_trunc,
				&n, &stream->received_bytes);

	return rc > 0 ? -ECONNRESET : rc;
}

/* What comes back on a connection without reports means nothing; its end does. */
static int read_nothing(const struct ovl_sender_stream *stream)
{
	uint8_t bytes[4096];
	uint64_t n = 0;
	int rc = ovl_mover_read(stream->fd, bytes, sizeof(bytes), false, &n, NULL);

	return rc > 0 ? -ECONNRESET : rc;
}

/* A whole report is there. */
static int take_report(struct ovl_sender *s, struct ovl_sender_stream *stream, uint64_t now_ns)
{
	struct ovl_wire_report report;
	int rc = ovl_wire_report_parse(stream->rx, &report);

	stream->rx_n = 0;
	pthread_mutex_lock(&s->lock);
	if (!rc)
		rc = ovl_track_add(&stream->track, &report);
	if (!rc)
		ovl_track_clock_add(&s->clock[stream->which], report.ts_ns, now_ns);
	pthread_cond_broadcast(&s->changed);
	pthread_mutex_unlock(&s->lock);
	return rc;
}

/* Take reports from the receiver; 0, or -errno: the connection is dead. */
static int read_reports(struct ovl_sender *s, struct ovl_sender_stream *stream, uint64_t now_ns)
{
	for (;;) {
		/* the head first: it tells the length */
		int want = stream->rx_n < OVL_WIRE_REPORT_HEAD ? OVL_WIRE_REPORT_HEAD
							       : ovl_wire_report_length(stream->rx);
		ssize_t n;
		int rc;

		if (want < 0)
			return want;
		n = recv(stream->fd, stream->rx + stream->rx_n, (size_t)want - stream->rx_n,
			 MSG_DONTWAIT);
		if (n < 0)
			return errno == EAGAIN || errno == EINTR ? 0 : -errno;
		if (n == 0)
			return -ECONNRESET;
		stream->rx_n += (uint32_t)n;
		if (want == OVL_WIRE_REPORT_HEAD || stream->rx_n < (uint32_t)want)
			continue;
		rc = take_report(s, stream, now_ns);
		if (rc)
			return rc;
	}
}

/* Round-trip times of the path that carries the load; of many streams a few each time, in turn. */
static void sample_rtt(struct ovl_sender *s, uint32_t turn)
{
	int which = s->spec.reverse ? OVL_LOAD_PATHS : atomic_load(&s->which);
	uint32_t n = s->spec.streams < RTT_PER_TICK ? s->spec.streams : RTT_PER_TICK;

	if (which >= OVL_LOAD_PATHS || !s->spec.path[which].used)
		return;
	for (uint32_t k = 0; k < n; k++) {
		uint32_t i = s->client[which].first + (turn * n + k) % s->spec.streams;
		struct ovl_sock_info info;

		if (dead(&s->stream[i]) || ovl_sock_info(s->stream[i].fd, &info) || !info.rtt_us)
			continue;
		pthread_mutex_lock(&s->lock);
		s->rtt_us[which][s->rtt_at[which]] = info.rtt_us;
		s->rtt_at[which] = (s->rtt_at[which] + 1) % OVL_LOAD_RTT_MAX;
		if (s->rtt_n[which] < OVL_LOAD_RTT_MAX)
			s->rtt_n[which]++;
		pthread_mutex_unlock(&s->lock);
	}
}

static void serve(struct ovl_worker *w, const struct epoll_event *ev, uint64_t now_ns)
{
	struct ovl_sender *s = w->sender;
	struct ovl_sender_stream *stream = &s->stream[ev->data.u32];
	uint64_t sent_bytes = 0; /* counted where TCP sees them acknowledged */
	int rc = 0;

	if (dead(stream))
		return;
	if (ev->events & (EPOLLIN | EPOLLHUP | EPOLLERR)) {
		if (s->spec.reverse)
			rc = read_payload(w, stream);
		else
			rc = s->client[stream->which].far == OVL_CLIENT_OWN
				     ? read_reports(s, stream, now_ns)
				     : read_nothing(stream);
	}
	if (!rc && ev->events & EPOLLOUT)
		rc = ovl_mover_write(stream->fd, &s->source, &s->which, (int)stream->which,
				     &sent_bytes);
	if (rc)
		stream_died(w, stream, rc);
}

static void drain_wake(const struct ovl_worker *w)
{
	uint64_t n;

	if (read(w->wake_fd, &n, sizeof(n)) < 0)
		return; /* nothing there: another turn took it */
}

/* In reverse the peer is told which path is selected; one that is no peer of ours cannot be. */
static void tell(const struct ovl_sender *s, struct ovl_sender_stream *stream)
{
	bool on = atomic_load(&s->which) == (int)stream->which;

	if (!s->spec.reverse || s->client[stream->which].far != OVL_CLIENT_OWN ||
	    on == stream->going || ovl_turn_say(stream->fd, on))
		return; /* a connection that cannot be written to shows it by itself */
	stream->going = on;
}

/* Write to the connections of the path that is selected now, and to no others. */
static void arm(struct ovl_worker *w)
{
	struct ovl_sender *s = w->sender;

	for (uint32_t i = 0; i < s->streams; i++)
		if (ovl_worker_of(s, i) == w && !dead(&s->stream[i])) {
			watch(s, i, EPOLL_CTL_MOD);
			tell(s, &s->stream[i]);
		}
}

void ovl_worker_loop(struct ovl_worker *w)
{
	struct ovl_sender *s = w->sender;
	uint64_t now = ovl_clock_ns(), tick_ns = now + INFO_NS;
	int armed = OVL_LOAD_PATHS;
	uint32_t turn = 0;

	while (!atomic_load(&s->stop)) {
		struct epoll_event ev[EVENTS_MAX];
		int ms = now >= tick_ns ? 0 : (int)((tick_ns - now) / 1000000 + 1);
		/* the clock of the readings is the first worker's */
		int n = epoll_wait(w->epoll_fd, ev, EVENTS_MAX, w->index ? -1 : ms);

		now = ovl_clock_ns();
		for (int i = 0; i < n; i++) {
			if (ev[i].data.u32 == TAG_WAKE)
				drain_wake(w);
			else if (ev[i].data.u32 >= TAG_FAR)
				far_spoke(s, ev[i].data.u32 - TAG_FAR);
			else
				serve(w, &ev[i], now);
		}
		if (armed != atomic_load(&s->which)) {
			armed = atomic_load(&s->which);
			arm(w);
		}
		ovl_thread_note(&w->use, now);
		if (!w->index && now >= tick_ns) {
			sample_rtt(s, turn++);
			tick_ns = now + INFO_NS;
		}
	}
}
