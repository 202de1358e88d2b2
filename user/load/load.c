#include "load/load.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/str.h"
#include "load/agree.h"
#include "load/local.h"
#include "load/sender.h"
#include "load/sock.h"
#include "load/spec.h"
#include "load/stream.h"
#include "load/thread.h"

#define CONNECT_TIMEOUT_MS 5000
#define REPORT_WAIT_NS	   (3 * OVL_WIRE_REPORT_NS)
#define SILENCE_NS	   (15 * OVL_WIRE_REPORT_NS) /* an older last report: the peer hangs */

struct ovl_load {
	struct ovl_sender sender;
	pthread_t thread;
	bool started;
	struct ovl_local receiver; /* used unless the peer is remote */
};

static void fill_defaults(struct ovl_load_spec *spec)
{
	if (!spec->port)
		spec->port = OVL_LOAD_PORT;
	if (!spec->streams)
		spec->streams = 1;
	spec->block_bytes = ovl_load_block_bytes(spec->block_bytes, spec->rate_bps);
	if (!spec->connect_timeout_ms)
		spec->connect_timeout_ms = CONNECT_TIMEOUT_MS;
}

/*
 * Threads of a side: more than streams have nothing to do, more than CPUs only take turns. In this
 * process both sides share the CPUs.
 */
static uint32_t threads(const struct ovl_load_spec *spec, int pinned)
{
	uint32_t cpus = ovl_thread_cpus(), most;

	if (!spec->remote && cpus > 1)
		cpus /= 2;
	most = spec->threads ? spec->threads : pinned >= 0 ? 1 : cpus;
	return most < spec->streams ? most : spec->streams;
}

/* Addresses, indices and the common session of the paths' connections. */
static int prepare_clients(struct ovl_sender *s, struct ovl_err *err)
{
	uint8_t random[OVL_WIRE_SESSION_CHARS];

	if (getrandom(random, sizeof(random), 0) != sizeof(random))
		return ovl_err_set(err, OVL_EXIT_FAILED, -EIO,
				   "cannot read random bytes for the load's session");
	for (int which = 0; which < OVL_LOAD_PATHS; which++) {
		struct ovl_client *client = &s->client[which];
		int rc;

		client->spec = &s->spec;
		client->which = (enum ovl_load_which)which;
		client->first = s->streams;
		client->far = s->spec.raw ? OVL_CLIENT_RAW : OVL_CLIENT_OWN;
		ovl_wire_session_format(random, client->session);
		if (!s->spec.path[which].used)
			continue;
		rc = ovl_addr_resolve(s->spec.path[which].addr, s->spec.port, s->spec.remote,
				      &client->addr, err);
		if (rc)
			return rc;
		s->streams += s->spec.streams;
	}
	for (int which = 0; which < OVL_LOAD_PATHS; which++)
		s->client[which].conns = s->streams;
	s->stream = calloc(s->streams, sizeof(*s->stream));
	if (!s->stream)
		return ovl_err_set(err, OVL_EXIT_FAILED, -ENOMEM, "no memory for the load");
	for (uint32_t i = 0; i < s->streams; i++)
		s->stream[i].fd = -1;
	return 0;
}

static void init_locks(struct ovl_load *load)
{
	pthread_condattr_t attr;

	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&load->sender.changed, &attr);
	pthread_condattr_destroy(&attr);
	pthread_mutex_init(&load->sender.lock, NULL);
}

static int start_sender(struct ovl_load *load, struct ovl_err *err)
{
	struct ovl_sender *s = &load->sender;
	int rc;

	rc = ovl_sender_init(s, threads(&s->spec, s->spec.cpu_sender), err);
	if (rc)
		return rc;
	rc = ovl_thread_make(&load->thread, ovl_sender_main, s, err);
	if (rc)
		return rc;
	load->started = true;
	/* ends by itself: each of its waits has a deadline */
	pthread_mutex_lock(&s->lock);
	while (s->state == OVL_SENDER_STARTING)
		pthread_cond_wait(&s->changed, &s->lock);
	if (s->state == OVL_SENDER_ENDED) {
		rc = -ENOTCONN;
		if (err)
			*err = s->err;
	}
	pthread_mutex_unlock(&s->lock);
	return rc;
}

struct ovl_load *ovl_load_start(const struct ovl_load_spec *spec, struct ovl_err *err)
{
	struct ovl_load *load = NULL;
	int rc;

	if (posix_memalign((void **)&load, 64, sizeof(*load))) {
		ovl_err_set(err, OVL_EXIT_FAILED, -ENOMEM, "no memory for the load");
		return NULL;
	}
	memset(load, 0, sizeof(*load));
	for (int which = 0; which < OVL_LOAD_PATHS; which++)
		ovl_far_init(&load->sender.far[which]);
	ovl_local_init(&load->receiver);
	load->sender.which = OVL_LOAD_PATHS;
	load->sender.err = OVL_ERR_INIT;
	load->sender.spec = *spec;
	fill_defaults(&load->sender.spec);
	init_locks(load);
	rc = ovl_spec_check(&load->sender.spec, err);
	if (!rc)
		rc = prepare_clients(&load->sender, err);
	if (!rc && !spec->remote)
		rc = ovl_local_start(&load->receiver, &load->sender.spec, load->sender.client,
				     !spec->port, threads(&load->sender.spec, spec->cpu_receiver),
				     err);
	if (!rc)
		rc = start_sender(load, err);
	if (!rc)
		return load;
	ovl_load_stop(load);
	return NULL;
}

void ovl_load_select(struct ovl_load *load, enum ovl_load_which which)
{
	atomic_store(&load->sender.which, (int)which);
	ovl_sender_wake(&load->sender);
}

/* Does every live remote connection of the path have a report at or after ts_ns? Under the lock. */
static bool reports_cover(const struct ovl_sender *s, enum ovl_load_which which, uint64_t ts_ns)
{
	const struct ovl_client *client = &s->client[which];

	if (s->state != OVL_SENDER_RUNNING)
		return true;
	for (uint32_t i = client->first; i < client->first + s->spec.streams; i++) {
		if (!s->stream[i].dead && !ovl_track_covers(&s->stream[i].track, ts_ns))
			return false;
	}
	return true;
}

/* Reports come ten times a second whether data flows or not: a long silence is no slow path. */
static void check_silence(struct ovl_sender *s, enum ovl_load_which which, uint64_t peer_ts_ns)
{
	const struct ovl_client *client = &s->client[which];

	for (uint32_t i = 0; i < s->spec.streams && !s->dead; i++) {
		const struct ovl_track *t = &s->stream[client->first + i].track;
		/* the first report comes at once; until then there is no peer's clock */
		const uint64_t silent_ns =
			t->n ? peer_ts_ns - t->point[t->n - 1].ts_ns : ovl_clock_ns() - s->begun_ns;

		/* a report may be younger than the instant that is read */
		if ((int64_t)silent_ns <= (int64_t)SILENCE_NS || s->stream[client->first + i].dead)
			continue;
		s->dead = true;
		ovl_err_set(&s->err, OVL_EXIT_PEER, -ETIMEDOUT,
			    "the peer %s%s has said nothing for %.1f s: look whether `ovltrace "
			    "peer` "
			    "still runs there and whether the path back works",
			    client->addr.name, ovl_client_path(client), (double)silent_ns / 1e9);
	}
}

/*
 * Wait (a report's interval, three at most) until the reports enclose the instant; then
 * interpolate.
 */
static void read_remote(struct ovl_sender *s, enum ovl_load_which which,
			struct ovl_load_counts *out)
{
	const uint64_t limit_ns = out->ts_ns + REPORT_WAIT_NS;
	const struct timespec limit = {.tv_sec = (time_t)(limit_ns / 1000000000),
				       .tv_nsec = (long)(limit_ns % 1000000000)};
	const struct ovl_client *client = &s->client[which];
	uint64_t ts_ns;
	int rc = 0;

	pthread_mutex_lock(&s->lock);
	while (rc != ETIMEDOUT &&
	       !reports_cover(s, which, ovl_track_clock_map(&s->clock[which], out->ts_ns)))
		rc = pthread_cond_timedwait(&s->changed, &s->lock, &limit);
	ts_ns = ovl_track_clock_map(&s->clock[which], out->ts_ns);
	for (uint32_t i = 0; i < s->spec.streams; i++) {
		const struct ovl_track *track = &s->stream[client->first + i].track;
		struct ovl_wire_report at = ovl_track_at(track, ts_ns);

		out->bytes += at.bytes;
		/* the same threads serve all connections: each reports the sum of them */
		if (at.cpu_ns < out->receiver_cpu_ns)
			continue;
		out->receiver_cpu_ns = at.cpu_ns;
		out->receiver_switches =
			(struct ovl_load_switches){at.switches, at.voluntary, at.involuntary};
	}
	check_silence(s, which, ts_ns);
	pthread_mutex_unlock(&s->lock);
}

/* What the sender's TCP says of the path's connections, now. */
static void read_sockets(const struct ovl_sender *s, enum ovl_load_which which,
			 struct ovl_load_counts *out)
{
	const struct ovl_client *client = &s->client[which];
	uint64_t cwnd = 0, mss = 0;

	for (uint32_t i = client->first; i < client->first + s->spec.streams; i++) {
		struct ovl_sock_info info;

		out->bytes += atomic_load(&s->stream[i].received_bytes);
		if (ovl_sock_info(s->stream[i].fd, &info))
			continue;
		out->retransmits += info.retransmits;
		out->busy_us += info.busy_us;
		out->rwnd_us += info.rwnd_us;
		out->sndbuf_us += info.sndbuf_us;
		out->acked_bytes += info.acked_bytes - s->stream[i].acked_base_bytes;
		cwnd += info.cwnd_segs;
		mss += info.mss_bytes;
	}
	out->busy_us /= s->spec.streams;
	out->rwnd_us /= s->spec.streams;
	out->sndbuf_us /= s->spec.streams;
	out->cwnd_segs = (uint32_t)(cwnd / s->spec.streams);
	out->mss_bytes = (uint32_t)(mss / s->spec.streams);
}

/* In reverse this end's sockets only acknowledge: they know nothing of the sender. */
static void forget_sender(struct ovl_load_counts *out)
{
	out->acked_bytes = out->bytes;
	out->retransmits = out->busy_us = out->rwnd_us = out->sndbuf_us = 0;
	out->cwnd_segs = 0;
}

static void take_rtt(struct ovl_sender *s, enum ovl_load_which which, struct ovl_load_counts *out)
{
	uint32_t n = s->rtt_n[which];
	uint32_t from = (s->rtt_at[which] + OVL_LOAD_RTT_MAX - n) % OVL_LOAD_RTT_MAX;

	for (uint32_t i = 0; i < n; i++)
		out->rtt_us[i] = s->rtt_us[which][(from + i) % OVL_LOAD_RTT_MAX];
	out->rtt_n = n;
	s->rtt_n[which] = 0;
}

static void take_sum(const struct ovl_thread_sum *sum, uint64_t *cpu_ns,
		     struct ovl_load_switches *switches)
{
	*cpu_ns = sum->cpu_ns;
	*switches = (struct ovl_load_switches){true, sum->voluntary, sum->involuntary};
}

/* What the threads of this process have used; those of a remote receiver are read elsewhere. */
static void read_threads(const struct ovl_load *load, struct ovl_load_counts *out)
{
	const struct ovl_sender *s = &load->sender;
	struct ovl_thread_sum sum = {0};

	for (uint32_t i = 0; i < s->workers; i++)
		ovl_thread_add(&s->worker[i].use, &sum);
	if (s->spec.reverse)
		take_sum(&sum, &out->receiver_cpu_ns, &out->receiver_switches);
	else
		take_sum(&sum, &out->sender_cpu_ns, &out->sender_switches);
	if (s->spec.remote)
		return;
	sum = ovl_local_use(&load->receiver);
	take_sum(&sum, &out->receiver_cpu_ns, &out->receiver_switches);
}

int ovl_load_read(struct ovl_load *load, enum ovl_load_which which, struct ovl_load_counts *out,
		  struct ovl_err *err)
{
	struct ovl_sender *s = &load->sender;
	bool dead, own;

	*out = (struct ovl_load_counts){0};
	if (which >= OVL_LOAD_PATHS || !s->spec.path[which].used)
		return ovl_err_set(err, OVL_EXIT_FAILED, -EINVAL, "the load has no %s path to read",
				   ovl_load_which_name(which));
	out->ts_ns = ovl_clock_ns();
	own = s->client[which].far == OVL_CLIENT_OWN;
	if (!s->spec.remote)
		out->bytes = ovl_local_bytes(&load->receiver, which);
	read_threads(load, out);
	read_sockets(s, which, out);
	if (s->spec.reverse)
		forget_sender(out);
	else if (!own)
		out->bytes = out->acked_bytes; /* the best that is known until the end */
	else if (s->spec.remote)
		read_remote(s, which, out);
	pthread_mutex_lock(&s->lock);
	take_rtt(s, which, out);
	dead = s->dead;
	if (dead && err)
		*err = s->err;
	pthread_mutex_unlock(&s->lock);
	return dead ? -EPIPE : 0;
}

int ovl_load_stream(struct ovl_load *load, enum ovl_load_which which, uint32_t i, uint64_t ts_ns,
		    struct ovl_load_stream *out)
{
	struct ovl_sender *s = &load->sender;

	*out = (struct ovl_load_stream){.fd = -1};
	if (which >= OVL_LOAD_PATHS || !s->spec.path[which].used || i >= s->spec.streams)
		return -EINVAL;
	return ovl_stream_look(s, &s->stream[s->client[which].first + i], ts_ns, out);
}

void ovl_load_mark(struct ovl_load *load, enum ovl_load_which which, uint32_t i,
		   const struct ovl_load_stream *at)
{
	struct ovl_sender *s = &load->sender;

	if (which < OVL_LOAD_PATHS && s->spec.path[which].used && i < s->spec.streams)
		ovl_stream_mark(s, &s->stream[s->client[which].first + i], at);
}

const struct ovl_iperf3_results *ovl_load_far_results(const struct ovl_load *load,
						      enum ovl_load_which which)
{
	const struct ovl_far *far = &load->sender.far[which];

	return far->used && !far->dead && far->proto.phase == OVL_IPERF3_CLIENT_OVER
		       ? &far->proto.theirs
		       : NULL;
}

uint32_t ovl_load_tids(const struct ovl_load *load, bool sender, pid_t *tids, uint32_t max)
{
	const struct ovl_sender *s = &load->sender;
	uint32_t n = 0;

	if (sender == s->spec.reverse) /* in reverse the threads of this end receive */
		return s->spec.reverse ? 0 : ovl_local_tids(&load->receiver, tids, max);
	for (uint32_t i = 0; i < s->workers && n < max; i++)
		if (atomic_load(&s->worker[i].use.begun))
			tids[n++] = s->worker[i].use.tid;
	return n;
}

const char *ovl_load_congestion(const struct ovl_load *load)
{
	return load->sender.congestion;
}

const char *ovl_load_peer_kind(const struct ovl_load *load, enum ovl_load_which which)
{
	static const char *const kinds[] = {[OVL_CLIENT_OWN] = "ovltrace",
					    [OVL_CLIENT_IPERF3] = "iperf3",
					    [OVL_CLIENT_RAW] = "sink"};

	return kinds[load->sender.client[which].far];
}

const struct ovl_client *ovl_load_client(const struct ovl_load *load, enum ovl_load_which which)
{
	return &load->sender.client[which];
}

/* End the sender. 0, or -EPIPE: an iperf3 server did not answer. */
static int end_sender(struct ovl_load *load, struct ovl_err *err)
{
	struct ovl_sender *s = &load->sender;
	int rc = 0;

	if (!load->started)
		return 0;
	/* bounded: the sender ends its loop at once and each of its waits has a deadline */
	atomic_store(&s->stop, true);
	ovl_sender_wake(s);
	pthread_join(load->thread, NULL);
	load->started = false;
	for (int which = 0; which < OVL_LOAD_PATHS; which++)
		if (s->far[which].used && s->far[which].dead)
			rc = -EPIPE;
	if (rc && err)
		*err = s->err;
	return rc;
}

int ovl_load_finish(struct ovl_load *load, struct ovl_err *err)
{
	if (load->started) {
		ovl_load_select(load, OVL_LOAD_PATHS);
		ovl_agree_settle(&load->sender, &load->receiver);
	}
	return end_sender(load, err);
}

bool ovl_load_agreement(const struct ovl_load *load, enum ovl_load_which which,
			struct ovl_load_agreement *out)
{
	const struct ovl_far *far = &load->sender.far[which];
	const struct ovl_iperf3_results *theirs = ovl_load_far_results(load, which);
	uint64_t own_bytes = 0, far_bytes = 0;

	*out = (struct ovl_load_agreement){0};
	if (!theirs && load->sender.agreed_valid[which])
		*out = load->sender.agreed[which];
	if (!theirs)
		return load->sender.agreed_valid[which];
	for (uint32_t i = 0; i < far->proto.ours.n; i++)
		own_bytes += far->proto.ours.stream[i].bytes;
	for (uint32_t i = 0; i < theirs->n; i++)
		far_bytes += theirs->stream[i].bytes;
	out->acked_bytes = load->sender.spec.reverse ? far_bytes : own_bytes;
	out->received_bytes = load->sender.spec.reverse ? own_bytes : far_bytes;
	out->receiver_cpu_ratio = load->sender.spec.reverse ? NAN : theirs->cpu_total / 100;
	out->compare = ovl_agree_compare(load->sender.marked, &load->sender.spec);
	return true;
}

/* With a reset, unless that would look like an error at the far end. */
static void end_stream(const struct ovl_sender *s, const struct ovl_sender_stream *stream)
{
	if (s->client[stream->which].far == OVL_CLIENT_RAW && stream->fd >= 0)
		close(stream->fd);
	else
		ovl_sock_abort(stream->fd);
}

void ovl_load_stop(struct ovl_load *load)
{
	struct ovl_sender *s;

	if (!load)
		return;
	s = &load->sender;
	end_sender(load, NULL);
	for (uint32_t i = 0; s->stream && i < s->streams; i++)
		end_stream(s, &s->stream[i]);
	for (int which = 0; which < OVL_LOAD_PATHS; which++)
		ovl_far_fini(&s->far[which]);
	ovl_local_stop(&load->receiver);
	ovl_sender_fini(s);
	pthread_cond_destroy(&s->changed);
	pthread_mutex_destroy(&s->lock);
	free(s->stream);
	free(load);
}
