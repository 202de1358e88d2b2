#include "load/sender.h"

#include <errno.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/str.h"
#include "load/mover.h"

#define EVENTS_MAX   64
#define INFO_NS	     100000000ull
#define RTT_PER_TICK 3 /* OVL_LOAD_RTT_MAX readings last for a second */
#define TAG_WAKE     UINT32_MAX
#define TAG_FAR	     (UINT32_MAX - OVL_LOAD_PATHS) /* and that of each path after it */
#define DRAIN_NS     300000000ull

static void set_state(struct ovl_sender *s, int state)
{
	pthread_mutex_lock(&s->lock);
	s->state = state;
	pthread_cond_broadcast(&s->changed);
	pthread_mutex_unlock(&s->lock);
}

/* The run is broken; the first reason is kept. NULL err: none is new. */
static void broken(struct ovl_sender *s, const struct ovl_err *err)
{
	pthread_mutex_lock(&s->lock);
	if (!s->dead)
		s->err = *err;
	s->dead = true;
	pthread_cond_broadcast(&s->changed);
	pthread_mutex_unlock(&s->lock);
}

/* A connection has died: the others go on, the readers are told. */
static void stream_died(struct ovl_sender *s, struct ovl_sender_stream *stream, int rc)
{
	const struct ovl_client *client = &s->client[stream->which];
	struct ovl_err err = OVL_ERR_INIT;

	epoll_ctl(s->epoll_fd, EPOLL_CTL_DEL, stream->fd, NULL);
	ovl_err_set(&err, OVL_EXIT_PEER, rc,
		    "the load's connection to %s (%s) was lost during the run: %s; check that the "
		    "peer still runs",
		    client->addr.name, ovl_load_which_name(stream->which),
		    rc == -EPROTO ? "the peer sent something that is not a report" : strerror(-rc));
	pthread_mutex_lock(&s->lock);
	stream->dead = true;
	pthread_mutex_unlock(&s->lock);
	broken(s, &err);
}

/* An iperf3 server speaks during the test: it has ended it. */
static void far_spoke(struct ovl_sender *s, uint32_t which)
{
	struct ovl_err err = OVL_ERR_INIT;

	if (s->far[which].dead || !ovl_far_read(&s->far[which], &s->client[which], &err))
		return;
	epoll_ctl(s->epoll_fd, EPOLL_CTL_DEL, s->far[which].fd, NULL);
	broken(s, &err);
}

static int watch(struct ovl_sender *s, uint32_t i, int op)
{
	const struct ovl_sender_stream *stream = &s->stream[i];
	bool on = atomic_load(&s->which) == (int)stream->which && !s->spec.reverse;
	struct epoll_event ev = {.events = EPOLLIN | (on ? EPOLLOUT : 0), .data.u32 = i};

	return epoll_ctl(s->epoll_fd, op, stream->fd, &ev) ? -errno : 0;
}

static int open_stream(struct ovl_sender *s, struct ovl_client *client, uint32_t i,
		       struct ovl_err *err)
{
	struct ovl_far *far = &s->far[client->which];
	int fd = far->used ? ovl_client_open_stream(client, err) : ovl_client_open(client, i, err);

	if (fd >= 0 && s->spec.rx_trunc && client->far != OVL_CLIENT_OWN) {
		ovl_sock_abort(fd);
		return ovl_err_set(
			err, OVL_EXIT_PEER, -EOPNOTSUPP,
			"%s (%s) is no `ovltrace peer`: nobody knows whether it would "
			"leave out the copy that --rx trunc leaves out; start that there",
			client->addr.name, ovl_load_which_name(client->which));
	}
	if (fd < 0 || far->used || client->far != OVL_CLIENT_IPERF3)
		return fd;
	ovl_far_begin(far, fd);
	return ovl_client_open_stream(client, err);
}

/*
 * How many streams of a path have got to another server than the control connection: one that
 * takes their cookie for a new client's asks for parameters, or is busy.
 */
static uint32_t strayed(const struct ovl_sender *s, enum ovl_load_which which)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < s->spec.streams; i++) {
		uint8_t state;

		n += recv(s->stream[s->client[which].first + i].fd, &state, 1,
			  MSG_PEEK | MSG_DONTWAIT) == 1;
	}
	return n;
}

/* An iperf3 server has all its streams: the test may begin. */
static int start_far(struct ovl_sender *s, enum ovl_load_which which, struct ovl_err *err)
{
	struct epoll_event ev = {.events = EPOLLIN, .data.u32 = TAG_FAR + which};
	int rc = ovl_far_start(&s->far[which], &s->client[which], err);
	uint32_t astray = rc == -ETIMEDOUT ? strayed(s, which) : 0;

	if (astray)
		return ovl_err_set(
			err, OVL_EXIT_PEER, rc,
			"at least %u of %u streams to %s (%s) reached another iperf3 server than "
			"the "
			"control connection: the address stands for several (as a Kubernetes "
			"Service does), which iperf3 cannot use; give the address of one of them",
			astray, s->spec.streams, s->client[which].addr.name,
			ovl_load_which_name(which));
	if (!rc && epoll_ctl(s->epoll_fd, EPOLL_CTL_ADD, s->far[which].fd, &ev))
		rc = ovl_err_set(err, OVL_EXIT_FAILED, -errno,
				 "cannot watch the load's connections: %s", strerror(errno));
	return rc;
}

static int open_path(struct ovl_sender *s, enum ovl_load_which which, struct ovl_err *err)
{
	struct ovl_client *client = &s->client[which];
	struct ovl_sock_info info;

	for (uint32_t i = 0; i < s->spec.streams; i++) {
		struct ovl_sender_stream *stream = &s->stream[client->first + i];

		stream->which = which;
		stream->fd = open_stream(s, client, i, err);
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
	return s->far[which].used ? start_far(s, which, err) : 0;
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

/* What the far end sends in a reverse test. */
static int read_payload(const struct ovl_sender *s, struct ovl_sender_stream *stream)
{
	uint64_t n = 0;
	int rc = ovl_mover_read(stream->fd, s->block, OVL_WIRE_BLOCK_MAX, s->spec.rx_trunc, &n,
				&stream->received_bytes);

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
	int which = s->spec.reverse ? OVL_LOAD_PATHS : atomic_load(&s->which);
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

static void serve(struct ovl_sender *s, const struct epoll_event *ev,
		  const struct ovl_mover_source *source, uint64_t now_ns)
{
	struct ovl_sender_stream *stream = &s->stream[ev->data.u32];
	int rc = 0;

	if (stream->dead)
		return;
	if (ev->events & (EPOLLIN | EPOLLHUP | EPOLLERR)) {
		if (s->spec.reverse)
			rc = read_payload(s, stream);
		else
			rc = s->client[stream->which].far == OVL_CLIENT_OWN
				     ? read_reports(s, stream, now_ns)
				     : read_nothing(stream);
	}
	if (!rc && ev->events & EPOLLOUT)
		rc = ovl_mover_write(stream->fd, source, &s->which, (int)stream->which,
				     &stream->sent_bytes);
	if (rc)
		stream_died(s, stream, rc);
}

static void drain_wake(struct ovl_sender *s)
{
	uint64_t n;

	if (read(s->wake_fd, &n, sizeof(n)) < 0)
		return; /* nothing there: another turn took it */
}

static void loop(struct ovl_sender *s, const struct ovl_mover_source *source)
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
			else if (ev[i].data.u32 >= TAG_FAR)
				far_spoke(s, ev[i].data.u32 - TAG_FAR);
			else
				serve(s, &ev[i], source, now);
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

/* What the sender's TCP knows of a path at the end, for the server's report. */
static void own_results(struct ovl_sender *s, uint32_t which, struct ovl_iperf3_results *out)
{
	const uint64_t until_ns = ovl_clock_ns() + DRAIN_NS;
	const struct timespec pause = {.tv_nsec = 1000000};

	*out = (struct ovl_iperf3_results){.sender = !s->spec.reverse, .n = s->spec.streams};
	ovl_str_copy(out->congestion, sizeof(out->congestion), s->congestion);
	for (uint32_t i = 0; i < out->n; i++) {
		const struct ovl_sender_stream *stream = &s->stream[s->client[which].first + i];
		struct ovl_sock_info info;
		int rc;

		/* what is on its way arrives before the server is told to stop counting */
		while (!(rc = ovl_sock_info(stream->fd, &info)) && info.unacked_segs &&
		       ovl_clock_ns() < until_ns)
			nanosleep(&pause, NULL);
		out->stream[i] = (struct ovl_iperf3_stream){.id = ovl_iperf3_stream_id(i)};
		out->stream[i].end_s = (double)(ovl_clock_ns() - s->begun_ns) / 1e9;
		if (s->spec.reverse) {
			out->stream[i].bytes =
				atomic_load(&stream->received_bytes) - stream->mark_bytes;
			out->stream[i].retransmits = -1;
		} else if (!rc) {
			out->stream[i].bytes =
				info.acked_bytes - stream->acked_base_bytes - stream->mark_bytes;
			out->stream[i].retransmits =
				(int64_t)(info.retransmits - stream->mark_retransmits);
		}
	}
}

/* What the far ends of reverse tests still send is read and not counted. */
static void read_away(void *arg)
{
	struct ovl_sender *s = arg;
	uint64_t n = 0;

	for (uint32_t i = 0; i < s->streams; i++)
		if (!s->stream[i].dead)
			ovl_mover_read(s->stream[i].fd, s->block, OVL_WIRE_BLOCK_MAX,
				       s->spec.rx_trunc, &n, NULL);
}

/* iperf3 servers are told that the test is over, and asked what they got. */
static void end_far(struct ovl_sender *s)
{
	for (uint32_t which = 0; which < OVL_LOAD_PATHS; which++) {
		struct ovl_iperf3_results ours;
		struct ovl_err err = OVL_ERR_INIT;

		if (!s->far[which].used || s->far[which].dead)
			continue;
		own_results(s, which, &ours);
		if (s->spec.reverse) {
			s->far[which].meanwhile = read_away;
			s->far[which].arg = s;
		}
		if (ovl_far_end(&s->far[which], &s->client[which], &ours, &err)) {
			s->far[which].dead = true;
			broken(s, &err);
		}
	}
}

void *ovl_sender_main(void *arg)
{
	struct ovl_sender *s = arg;
	struct ovl_err err = OVL_ERR_INIT;
	struct ovl_mover_source source;
	int rc;

	/* a raw receiver takes what is not zero for options */
	rc = ovl_mover_source_open(&source, s->spec.block_bytes, s->spec.raw ? 0 : 0x5a,
				   s->spec.tx_zerocopy);
	s->block = s->spec.reverse && !rc ? malloc(OVL_WIRE_BLOCK_MAX) : NULL;
	if (s->spec.reverse && !rc && !s->block)
		rc = -ENOMEM;
	rc = rc ? ovl_err_set(&err, OVL_EXIT_FAILED, rc, "cannot make the load's block: %s",
			      strerror(-rc))
		: start(s, &err);
	if (rc) {
		s->err = err; /* published by set_state's lock */
	} else {
		s->begun_ns = ovl_clock_ns();
		set_state(s, OVL_SENDER_RUNNING);
		loop(s, &source);
		end_far(s);
	}
	ovl_mover_source_close(&source);
	free(s->block);
	s->block = NULL;
	set_state(s, OVL_SENDER_ENDED);
	return NULL;
}
