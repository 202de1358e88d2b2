#include "load/sender.h"

#include <errno.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/str.h"
#include "load/mover.h"
#include "load/turns.h"

#define DRAIN_NS 300000000ull

static void set_state(struct ovl_sender *s, int state)
{
	pthread_mutex_lock(&s->lock);
	s->state = state;
	pthread_cond_broadcast(&s->changed);
	pthread_mutex_unlock(&s->lock);
}

static int open_stream(struct ovl_sender *s, struct ovl_client *client, uint32_t i,
		       struct ovl_err *err)
{
	struct ovl_far *far = &s->far[client->which];
	int fd = far->used ? ovl_client_open_stream(client, err) : ovl_client_open(client, i, err);

	if (fd >= 0 && s->spec.rx_trunc && !s->spec.reverse && client->far != OVL_CLIENT_OWN) {
		ovl_sock_abort(fd);
		return ovl_err_set(
			err, OVL_EXIT_PEER, -EOPNOTSUPP,
			"%s%s is no `ovltrace peer`: nobody knows whether it would "
			"leave out the copy that --rx trunc leaves out; start that there",
			client->addr.name, ovl_client_path(client));
	}
	if (fd < 0 || far->used || client->far != OVL_CLIENT_IPERF3)
		return fd;
	ovl_far_begin(far, fd);
	return ovl_client_open_stream(client, err);
}

/*
 * How many streams of a path have got to another server than the control connection: one that
 * takes their cookie for a new client's asks for parameters, or is busy. Payload of a reverse test
 * comes in more than single bytes.
 */
static uint32_t strayed(const struct ovl_sender *s, enum ovl_load_which which)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < s->spec.streams; i++) {
		uint8_t state[2];

		n += recv(s->stream[s->client[which].first + i].fd, state, sizeof(state),
			  MSG_PEEK | MSG_DONTWAIT) == 1 &&
		     (*state == OVL_WIRE_PARAM_EXCHANGE || *state == OVL_WIRE_DENIED);
	}
	return n;
}

static bool nobody_strayed(void *arg)
{
	const struct ovl_sender *s = arg;

	for (int which = 0; which < OVL_LOAD_PATHS; which++)
		if (s->far[which].used && strayed(s, (enum ovl_load_which)which))
			return false;
	return true;
}

/* An iperf3 server has all its streams: the test may begin. */
static int start_far(struct ovl_sender *s, enum ovl_load_which which, struct ovl_err *err)
{
	uint32_t astray;
	int rc;

	s->far[which].meanwhile = nobody_strayed;
	s->far[which].arg = s;
	rc = ovl_far_start(&s->far[which], &s->client[which], err);
	s->far[which].meanwhile = NULL;
	astray = rc ? strayed(s, which) : 0;
	if (astray)
		return ovl_err_set(
			err, OVL_EXIT_PEER, rc,
			"at least %u of %u streams to %s%s reached another iperf3 server than "
			"the control connection: the address stands for several (as a Kubernetes "
			"Service does), which iperf3 cannot use; give one endpoint's address, a "
			"Service with sessionAffinity: ClientIP, or a headless one",
			astray, s->spec.streams, s->client[which].addr.name,
			ovl_client_path(&s->client[which]));
	if (!rc && ovl_worker_watch_far(s, which))
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
		if (ovl_worker_watch(s, client->first + i))
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

/*
 * In reverse two paths take turns only if both far ends are told which is selected: one that is not
 * ours sends all the time.
 */
static int check_turns(const struct ovl_sender *s, struct ovl_err *err)
{
	if (!s->spec.reverse || !s->spec.path[OVL_LOAD_UNDERLAY].used ||
	    !s->spec.path[OVL_LOAD_OVERLAY].used)
		return 0;
	for (int which = 0; which < OVL_LOAD_PATHS; which++)
		if (s->client[which].far != OVL_CLIENT_OWN)
			return ovl_err_set(
				err, OVL_EXIT_PEER, -EOPNOTSUPP,
				"%s%s is an iperf3 server, which sends all the time: in reverse "
				"two paths take turns only with `ovltrace peer` at the end of "
				"both; start that there, or compare nothing (--baseline off)",
				s->client[which].addr.name, ovl_client_path(&s->client[which]));
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
	return check_turns(s, err);
}

static int start(struct ovl_sender *s, struct ovl_err *err)
{
	int home_fd = ovl_sock_netns(), rc;

	ovl_thread_begin(&s->worker[0].use, "ovl-send");
	rc = ovl_cpu_pin(s->spec.reverse ? s->spec.cpu_receiver : s->spec.cpu_sender,
			 s->spec.reverse ? "load's receiver" : "load's sender", err);
	if (!rc)
		rc = open_all(s, home_fd, err);
	if (home_fd >= 0)
		close(home_fd);
	return rc;
}

static void *helper_main(void *arg)
{
	struct ovl_worker *w = arg;
	struct ovl_sender *s = w->sender;

	ovl_thread_begin(&w->use, "ovl-send");
	pthread_mutex_lock(&s->lock);
	s->begun++;
	pthread_cond_broadcast(&s->changed);
	pthread_mutex_unlock(&s->lock);
	ovl_worker_loop(w);
	return NULL;
}

static void end_helpers(struct ovl_sender *s, uint32_t started)
{
	atomic_store(&s->stop, true);
	ovl_sender_wake(s);
	for (uint32_t i = 1; i <= started; i++)
		pthread_join(s->worker[i].thread, NULL);
}

/*
 * The other workers, until all of them wait: what is selected then starts on all connections at
 * the same time.
 */
static int start_helpers(struct ovl_sender *s, struct ovl_err *err)
{
	uint32_t started = 0;
	int rc = 0;

	while (!rc && started + 1 < s->workers) {
		struct ovl_worker *w = &s->worker[started + 1];

		rc = ovl_thread_make(&w->thread, helper_main, w, err);
		started += !rc;
	}
	pthread_mutex_lock(&s->lock);
	while (s->begun < started)
		pthread_cond_wait(&s->changed, &s->lock);
	pthread_mutex_unlock(&s->lock);
	if (rc)
		end_helpers(s, started);
	return rc;
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
static bool read_away(void *arg)
{
	struct ovl_sender *s = arg;
	uint64_t n = 0;

	for (uint32_t i = 0; i < s->streams; i++)
		if (!s->stream[i].dead)
			ovl_mover_read(s->stream[i].fd, s->worker[0].block, OVL_WIRE_BLOCK_MAX,
				       s->spec.rx_trunc, &n, NULL);
	return true;
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
			ovl_worker_broken(s, &err);
		}
	}
}

int ovl_sender_init(struct ovl_sender *s, uint32_t workers, struct ovl_err *err)
{
	int rc = 0;

	s->worker = calloc(workers, sizeof(*s->worker));
	if (!s->worker)
		return ovl_err_set(err, OVL_EXIT_FAILED, -ENOMEM, "no memory for the load");
	for (; s->workers < workers && !rc; s->workers++)
		rc = ovl_worker_init(&s->worker[s->workers], s, s->workers);
	if (rc)
		return ovl_err_set(err, OVL_EXIT_FAILED, rc, "cannot prepare the load's sender: %s",
				   strerror(-rc));
	return 0;
}

void ovl_sender_fini(struct ovl_sender *s)
{
	for (uint32_t i = 0; i < s->workers; i++)
		ovl_worker_fini(&s->worker[i]);
	free(s->worker);
}

void ovl_sender_wake(const struct ovl_sender *s)
{
	for (uint32_t i = 0; i < s->workers; i++)
		ovl_worker_wake(&s->worker[i]);
}

void *ovl_sender_main(void *arg)
{
	struct ovl_sender *s = arg;
	struct ovl_err err = OVL_ERR_INIT;
	int rc;

	/* a raw receiver takes what is not zero for options */
	rc = ovl_mover_source_open(&s->source, s->spec.block_bytes, s->spec.raw ? 0 : 0x5a,
				   s->spec.tx_zerocopy);
	rc = rc ? ovl_err_set(&err, OVL_EXIT_FAILED, rc, "cannot make the load's block: %s",
			      strerror(-rc))
		: start(s, &err);
	if (!rc)
		rc = start_helpers(s, &err);
	if (rc) {
		s->err = err; /* published by set_state's lock */
	} else {
		s->begun_ns = ovl_clock_ns();
		set_state(s, OVL_SENDER_RUNNING);
		ovl_worker_loop(&s->worker[0]);
		end_helpers(s, s->workers - 1);
		end_far(s);
	}
	ovl_mover_source_close(&s->source);
	set_state(s, OVL_SENDER_ENDED);
	return NULL;
}
