#include "load/rr.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/str.h"
#include "load/client.h"
#include "load/local.h"
#include "load/sock.h"
#include "load/wire.h"

#define WARMUP	   16	       /* round trips */
#define WARMUP_NS  20000000ull /* no further one begins after it */
#define FLYING_MAX 4096	       /* paced: messages in flight, more than silence allows at 1 a ms */
#define LOOK_NS	   100000000ull
#define GAP_NS	   (OVL_RR_SILENCE_NS / 2) /* between two looks: they come more often */

enum state { OPENING, RESTING, RUNNING, ENDED };

struct ovl_rr {
	struct ovl_load_spec spec;
	struct ovl_client client;
	char name[160]; /* for sentences */
	int fd, netns_fd;
	uint32_t bytes;		   /* of a message */
	uint8_t *message, *answer; /* answer: OVL_WIRE_RR_BYTES_MAX and one */
	pthread_t thread;
	pid_t tid;

	uint64_t pace_ns;	   /* set while resting */
	_Atomic uint64_t until_ns; /* what is due from then on is not sent; UINT64_MAX: go on */
	_Atomic uint64_t sent_ns;  /* the oldest message on its way was due then; 0: none is */
	/* paced: of the thread; a ring of those in flight */
	uint64_t due_ns[FLYING_MAX];
	uint32_t oldest, flying;

	pthread_mutex_t lock; /* of those below */
	pthread_cond_t changed;
	enum state state;
	bool stop;
	/* when somebody last looked, and since when without a gap: this process may stand still */
	uint64_t looked_ns, watched_ns;
	struct ovl_hist hist; /* since the last reading */
	int rc;		      /* why it has ended, with err */
	struct ovl_err err;
};

static int died(const struct ovl_rr *rr, int rc, struct ovl_err *err)
{
	if (rc == -EPROTO)
		return ovl_err_set(err, OVL_EXIT_PEER, rc,
				   "%s answers a round trip with more than it was sent: it is no "
				   "`ovltrace peer` of a compatible version",
				   rr->name);
	if (rc == -ETIMEDOUT)
		return ovl_err_set(err, OVL_EXIT_PEER, rc,
				   "%s has not answered a round trip within %u s: check that the "
				   "peer still runs and that the path is up",
				   rr->name, (unsigned)(OVL_RR_SILENCE_NS / 1000000000));
	return ovl_err_set(err, OVL_EXIT_PEER, rc,
			   "the connection for round trips with %s was lost: %s; check that the "
			   "peer still runs",
			   rr->name, strerror(-rc));
}

/* A message there and one back. 0 or -errno. */
static int exchange(struct ovl_rr *rr, uint64_t now_ns)
{
	int rc;

	atomic_store_explicit(&rr->sent_ns, now_ns, memory_order_relaxed);
	rc = ovl_sock_send_blocking(rr->fd, rr->message, rr->bytes);
	for (uint32_t n = 0; !rc && n < rr->bytes;) {
		/* one byte more than there should be shows an answer that is too long */
		ssize_t got = recv(rr->fd, rr->answer, rr->bytes - n + 1, 0);

		if (got < 0 && errno != EINTR)
			rc = -errno;
		else if (got == 0)
			rc = -ECONNRESET;
		else if (got > (ssize_t)(rr->bytes - n))
			rc = -EPROTO;
		else if (got > 0)
			n += (uint32_t)got;
	}
	atomic_store_explicit(&rr->sent_ns, 0, memory_order_relaxed);
	return rc;
}

static void count(struct ovl_rr *rr, uint64_t ns)
{
	pthread_mutex_lock(&rr->lock);
	ovl_hist_add(&rr->hist, ns);
	pthread_mutex_unlock(&rr->lock);
}

static int run_unpaced(struct ovl_rr *rr)
{
	uint64_t from_ns = ovl_clock_ns();
	int rc = 0;

	while (!rc && from_ns < atomic_load_explicit(&rr->until_ns, memory_order_relaxed)) {
		uint64_t now_ns;

		rc = exchange(rr, from_ns);
		now_ns = ovl_clock_ns();
		if (!rc)
			count(rr, now_ns - from_ns);
		from_ns = now_ns;
	}
	return rc;
}

/* May another message follow those in flight? Never so many that both ends only send. */
static bool has_room(const struct ovl_rr *rr)
{
	return !rr->flying ||
	       (rr->flying < FLYING_MAX && (rr->flying + 1) * rr->bytes <= OVL_WIRE_RR_BYTES_MAX);
}

/* Those in flight are answered in turn: the oldest has waited longest. */
static void note_oldest(struct ovl_rr *rr)
{
	atomic_store_explicit(&rr->sent_ns, rr->flying ? rr->due_ns[rr->oldest] : 0,
			      memory_order_relaxed);
}

static int send_due(struct ovl_rr *rr, uint64_t due_ns)
{
	rr->due_ns[(rr->oldest + rr->flying++) % FLYING_MAX] = due_ns;
	note_oldest(rr);
	return ovl_sock_send_blocking(rr->fd, rr->message, rr->bytes);
}

/* Take what has come of the answers; *part is how much of the oldest has. */
static int take_answers(struct ovl_rr *rr, uint32_t *part)
{
	const uint32_t most = rr->flying * rr->bytes - *part;
	ssize_t got = recv(rr->fd, rr->answer, most + 1, MSG_DONTWAIT);
	const uint64_t now_ns = ovl_clock_ns();

	if (got < 0)
		return errno == EAGAIN || errno == EINTR ? 0 : -errno;
	if (got == 0)
		return -ECONNRESET;
	if (got > (ssize_t)most)
		return -EPROTO;
	for (*part += (uint32_t)got; *part >= rr->bytes; *part -= rr->bytes) {
		count(rr, now_ns - rr->due_ns[rr->oldest]);
		rr->oldest = (rr->oldest + 1) % FLYING_MAX;
		rr->flying--;
	}
	note_oldest(rr);
	return 0;
}

/*
 * Wait for an answer, or until the next message is due. A bound: the end may be asked for
 * meanwhile.
 */
static int wait_paced(const struct ovl_rr *rr, uint64_t due_ns)
{
	const uint64_t now_ns = ovl_clock_ns();
	uint64_t left_ns = has_room(rr) ? due_ns > now_ns ? due_ns - now_ns : 0 : LOOK_NS;
	struct pollfd p = {.fd = rr->fd, .events = POLLIN};
	struct timespec ts = {.tv_nsec = (long)(left_ns < LOOK_NS ? left_ns : LOOK_NS)};
	int n = ppoll(&p, 1, &ts, NULL);

	return n < 0 && errno != EINTR ? -errno : n > 0;
}

static int run_paced(struct ovl_rr *rr)
{
	uint64_t due_ns = ovl_clock_ns() + rr->pace_ns;
	uint32_t part = 0;
	int rc = 0;

	rr->flying = 0;
	while (rc >= 0) {
		const bool more = due_ns < atomic_load(&rr->until_ns);

		if (!more && !rr->flying)
			return 0;
		if (more && has_room(rr) && ovl_clock_ns() >= due_ns) {
			rc = send_due(rr, due_ns);
			due_ns += rr->pace_ns;
			continue;
		}
		rc = wait_paced(rr, more ? due_ns : UINT64_MAX);
		if (rc > 0)
			rc = take_answers(rr, &part);
	}
	return rc;
}

static int run(struct ovl_rr *rr)
{
	const uint64_t start_ns = ovl_clock_ns();
	uint8_t extra;
	int rc = 0;

	for (int i = 0; i < WARMUP && !rc && (!i || ovl_clock_ns() - start_ns < WARMUP_NS); i++)
		rc = exchange(rr, ovl_clock_ns());
	if (!rc)
		rc = rr->pace_ns ? run_paced(rr) : run_unpaced(rr);
	if (!rc && recv(rr->fd, &extra, 1, MSG_DONTWAIT | MSG_PEEK) > 0)
		rc = -EPROTO;
	return rc;
}

/* Open the connection where the path's client is: this thread stays in that namespace. */
static int open_here(struct ovl_rr *rr, struct ovl_err *err)
{
	uint8_t head[OVL_WIRE_RR_HEAD_BYTES];
	int rc = 0;

	if (rr->fd < 0) {
		/* beside the bulk's threads of this end */
		rc = ovl_cpu_pin(rr->spec.reverse ? rr->spec.cpu_receiver : rr->spec.cpu_sender,
				 "load's round trips", err);
		if (!rc && rr->netns_fd >= 0)
			rc = ovl_netns_enter(rr->netns_fd, "load's round trips", err);
		if (!rc)
			rr->fd = ovl_client_open(&rr->client, 1, err);
		if (rc || rr->fd < 0)
			return rc ? rc : rr->fd;
	}
	ovl_wire_rr_format(rr->bytes, head);
	rc = ovl_sock_blocking(rr->fd);
	if (!rc)
		rc = ovl_sock_send_blocking(rr->fd, head, sizeof(head));
	return rc ? died(rr, rc, err) : 0;
}

/* Under the lock: the thread is over. */
static void end(struct ovl_rr *rr, int rc, const struct ovl_err *err)
{
	if (rc && !rr->rc) {
		rr->rc = rc;
		rr->err = *err;
	}
	rr->state = ENDED;
	pthread_cond_broadcast(&rr->changed);
}

static void *main_of(void *arg)
{
	struct ovl_rr *rr = arg;
	struct ovl_err err = OVL_ERR_INIT;
	int rc;

	rr->tid = gettid();
	pthread_setname_np(pthread_self(), OVL_RR_THREAD);
	prctl(PR_SET_TIMERSLACK, 1); /* what is due is sent then, not 50 µs later */
	rc = open_here(rr, &err);
	pthread_mutex_lock(&rr->lock);
	while (!rc && !rr->stop) {
		rr->state = RESTING;
		pthread_cond_broadcast(&rr->changed);
		while (rr->state == RESTING && !rr->stop)
			pthread_cond_wait(&rr->changed, &rr->lock);
		if (rr->stop)
			break;
		pthread_mutex_unlock(&rr->lock);
		rc = run(rr);
		if (rc)
			died(rr, rc, &err);
		pthread_mutex_lock(&rr->lock);
	}
	end(rr, rc, &err);
	pthread_mutex_unlock(&rr->lock);
	return NULL;
}

static void init_locks(struct ovl_rr *rr)
{
	pthread_condattr_t attr;

	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&rr->changed, &attr);
	pthread_condattr_destroy(&attr);
	pthread_mutex_init(&rr->lock, NULL);
}

/* All memory that it will ever use, touched. fd stays the caller's when this fails. */
static struct ovl_rr *make(int fd, uint32_t message_bytes, struct ovl_err *err)
{
	const size_t size = (size_t)message_bytes + OVL_WIRE_RR_BYTES_MAX + 1;
	struct ovl_rr *rr = calloc(1, sizeof(*rr));

	if (rr)
		rr->message = malloc(size);
	if (!rr || !rr->message) {
		free(rr);
		ovl_err_set(err, OVL_EXIT_FAILED, -ENOMEM, "no memory for round trips");
		return NULL;
	}
	rr->answer = rr->message + message_bytes;
	memset(rr->message, 0x5a, size);
	rr->fd = fd;
	rr->netns_fd = -1;
	rr->bytes = message_bytes;
	rr->spec.cpu_sender = rr->spec.cpu_receiver = -1;
	init_locks(rr);
	return rr;
}

static void destroy(struct ovl_rr *rr)
{
	pthread_cond_destroy(&rr->changed);
	pthread_mutex_destroy(&rr->lock);
	free(rr->message);
	free(rr);
}

/* Start the thread and wait until it has opened its connection; each of its waits has an end. */
static struct ovl_rr *begin(struct ovl_rr *rr, struct ovl_err *err)
{
	const int fd = rr->fd;
	int rc = ovl_thread_make(&rr->thread, main_of, rr, err);

	if (rc) {
		destroy(rr);
		return NULL;
	}
	pthread_mutex_lock(&rr->lock);
	while (rr->state == OPENING)
		pthread_cond_wait(&rr->changed, &rr->lock);
	rc = rr->rc;
	if (rc && err)
		*err = rr->err;
	pthread_mutex_unlock(&rr->lock);
	if (!rc)
		return rr;
	if (fd >= 0)
		rr->fd = -1; /* the caller's */
	ovl_rr_close(rr);
	return NULL;
}

/* Only an `ovltrace peer` that says so answers round trips. */
static int able(const struct ovl_client *client, struct ovl_err *err)
{
	const char *name = client->addr.name, *path = ovl_client_path(client);

	if (client->far == OVL_CLIENT_OWN && client->hello.rr)
		return 0;
	if (client->far == OVL_CLIENT_OWN)
		return ovl_client_older(client, "answers no round trips", err);
	return ovl_err_set(err, OVL_EXIT_PEER, -EOPNOTSUPP,
			   "%s%s is %s, which answers no round trips: start `ovltrace peer` "
			   "there",
			   name, path,
			   client->far == OVL_CLIENT_IPERF3 ? "an iperf3 server" : "a sink");
}

struct ovl_rr *ovl_rr_open(const struct ovl_load *load, enum ovl_load_which which,
			   uint32_t message_bytes, struct ovl_err *err)
{
	const struct ovl_client *client = ovl_load_client(load, which);
	struct ovl_rr *rr;

	if (able(client, err))
		return NULL;
	rr = make(-1, message_bytes, err);
	if (!rr)
		return NULL;
	rr->spec = *client->spec;
	rr->spec.rate_bps = 0; /* of bulk */
	rr->netns_fd = rr->spec.path[which].client_netns_fd;
	rr->client = *client;
	rr->client.spec = &rr->spec;
	/* any but the first of a path joins the session that is there, at the same server */
	rr->client.first = OVL_WIRE_RR_FIRST + (uint32_t)which - 1;
	snprintf(rr->name, sizeof(rr->name), "%s%s", client->addr.name, ovl_client_path(client));
	return begin(rr, err);
}

struct ovl_rr *ovl_rr_take_socket(int fd, const char *name, uint32_t message_bytes,
				  struct ovl_err *err)
{
	struct ovl_rr *rr = make(fd, message_bytes, err);

	if (!rr)
		return NULL;
	ovl_str_copy(rr->name, sizeof(rr->name), name);
	return begin(rr, err);
}

void ovl_rr_start(struct ovl_rr *rr, uint64_t pace_ns)
{
	pthread_mutex_lock(&rr->lock);
	if (rr->state == RESTING) {
		rr->pace_ns = pace_ns;
		atomic_store(&rr->until_ns, UINT64_MAX);
		rr->looked_ns = ovl_clock_ns();
		rr->state = RUNNING;
		pthread_cond_broadcast(&rr->changed);
	}
	pthread_mutex_unlock(&rr->lock);
}

/* Under the lock: a far end that is silent too long has failed, whatever it says later. */
static void check_silence(struct ovl_rr *rr)
{
	const uint64_t sent_ns = atomic_load(&rr->sent_ns), now_ns = ovl_clock_ns();

	/* stopped meanwhile (SIGSTOP, suspend): an answer may be here that nobody could take */
	if (now_ns - rr->looked_ns > GAP_NS)
		rr->watched_ns = now_ns;
	rr->looked_ns = now_ns;
	if (rr->rc || !sent_ns || now_ns < sent_ns + OVL_RR_SILENCE_NS ||
	    now_ns < rr->watched_ns + OVL_RR_SILENCE_NS)
		return;
	rr->rc = died(rr, -ETIMEDOUT, &rr->err);
	shutdown(rr->fd, SHUT_RDWR); /* wakes the thread */
}

/* Under the lock. */
static int read_out(struct ovl_rr *rr, struct ovl_hist *out, struct ovl_err *err)
{
	ovl_hist_merge(out, &rr->hist);
	memset(&rr->hist, 0, sizeof(rr->hist));
	if (rr->rc && err)
		*err = rr->err;
	return rr->rc;
}

int ovl_rr_read(struct ovl_rr *rr, struct ovl_hist *out, struct ovl_err *err)
{
	int rc;

	pthread_mutex_lock(&rr->lock);
	check_silence(rr);
	rc = read_out(rr, out, err);
	pthread_mutex_unlock(&rr->lock);
	return rc;
}

int ovl_rr_pause(struct ovl_rr *rr, struct ovl_hist *out, struct ovl_err *err)
{
	int rc;

	atomic_store(&rr->until_ns, ovl_clock_ns());
	pthread_mutex_lock(&rr->lock);
	while (rr->state == RUNNING) {
		const uint64_t look_ns = ovl_clock_ns() + OVL_RR_SILENCE_NS / 30;
		const struct timespec ts = {.tv_sec = (time_t)(look_ns / 1000000000),
					    .tv_nsec = (long)(look_ns % 1000000000)};

		pthread_cond_timedwait(&rr->changed, &rr->lock, &ts);
		check_silence(rr);
	}
	rc = read_out(rr, out, err);
	pthread_mutex_unlock(&rr->lock);
	return rc;
}

pid_t ovl_rr_tid(const struct ovl_rr *rr)
{
	return rr->tid;
}

void ovl_rr_close(struct ovl_rr *rr)
{
	if (!rr)
		return;
	pthread_mutex_lock(&rr->lock);
	rr->stop = true;
	atomic_store(&rr->until_ns, 0);
	if (rr->fd >= 0)
		shutdown(rr->fd, SHUT_RDWR);
	pthread_cond_broadcast(&rr->changed);
	pthread_mutex_unlock(&rr->lock);
	pthread_join(rr->thread, NULL);
	ovl_sock_abort(rr->fd);
	destroy(rr);
}
