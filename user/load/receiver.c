#include "load/receiver.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/str.h"
#include "base/version.h"
#include "load/allow.h"
#include "load/conn.h"
#include "load/raw.h"
#include "load/sock.h"

#define PENDING_MAX	  64 /* connections that have not finished the handshake */
#define EVENTS_MAX	  64
#define TICK_NS		  OVL_WIRE_REPORT_NS
#define ACCEPTS_PER_EVENT 16
/* closed ones of a batch keep their place until its end */
#define CONNS_MAX (OVL_WIRE_CONNS_MAX + PENDING_MAX + OVL_RECEIVER_LISTENERS * ACCEPTS_PER_EVENT)

/* epoll data: a connection's address, or one of these small numbers */
enum { TAG_STOP = 1, TAG_CREW, TAG_LISTEN };

struct receiver {
	const struct ovl_receiver_spec *spec;
	struct ovl_conn_ctx ctx;
	struct ovl_conn *conn[CONNS_MAX]; /* oldest first, closed ones removed after each batch */
	uint32_t conns, pending;
	bool accepting;
	struct ovl_thread_use *use;
	uint64_t tick_ns; /* next */
	struct ovl_allow_log strangers;
};

static int add_event(struct receiver *r, int fd, uint64_t data)
{
	struct epoll_event ev = {.events = EPOLLIN, .data.u64 = data};

	return epoll_ctl(r->ctx.epoll_fd, EPOLL_CTL_ADD, fd, &ev) ? -errno : 0;
}

/*
 * Listening sockets are left alone for a tick when no connection can be taken: level triggers spin.
 */
static void set_accepting(struct receiver *r, bool on)
{
	if (on == r->accepting)
		return;
	r->accepting = on;
	for (uint32_t i = 0; i < OVL_RECEIVER_LISTENERS; i++) {
		struct epoll_event ev = {.events = on ? EPOLLIN : 0, .data.u64 = TAG_LISTEN + i};

		if (r->spec->listen_fd[i] >= 0)
			epoll_ctl(r->ctx.epoll_fd, EPOLL_CTL_MOD, r->spec->listen_fd[i], &ev);
	}
}

static bool pending(const struct ovl_conn *conn)
{
	return conn->fd >= 0 && conn->state < OVL_CONN_ADMITTED;
}

static void drop(struct receiver *r, struct ovl_conn *conn, uint64_t now_ns)
{
	r->pending -= pending(conn);
	ovl_conn_close(&r->ctx, conn, now_ns);
}

static void drop_oldest_pending(struct receiver *r, uint64_t now_ns)
{
	for (uint32_t i = 0; i < r->conns; i++) {
		if (pending(r->conn[i])) {
			drop(r, r->conn[i], now_ns);
			return;
		}
	}
}

/* Forget closed connections; only between batches, events of this batch may name them. */
static void sweep(struct receiver *r)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < r->conns; i++) {
		if (r->conn[i]->fd < 0)
			ovl_conn_free(r->conn[i]);
		else
			r->conn[kept++] = r->conn[i];
	}
	r->conns = kept;
	r->ctx.closed = false;
}

/* One that may not connect is hung up on, whatever it came for. */
static bool turn_away(struct receiver *r, int fd, const struct sockaddr_storage *sa,
		      uint64_t now_ns)
{
	char from[64];

	if (ovl_allow_has(r->spec->allow, sa))
		return false;
	ovl_sock_abort(fd);
	if (ovl_allow_note(&r->strangers, sa, now_ns, from) && r->spec->turned_away)
		r->spec->turned_away(r->spec->arg, from, r->strangers.turned_away);
	return true;
}

static void accept_some(struct receiver *r, uint32_t listener, uint64_t now_ns)
{
	for (int i = 0; i < ACCEPTS_PER_EVENT && r->conns < CONNS_MAX; i++) {
		struct sockaddr_storage sa = {0};
		socklen_t len = sizeof(sa);
		int fd = accept4(r->spec->listen_fd[listener], (struct sockaddr *)&sa, &len,
				 SOCK_NONBLOCK | SOCK_CLOEXEC);
		struct ovl_conn *conn;

		if (fd < 0) {
			/* others are errors of the one connection that was waiting */
			if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS ||
			    errno == ENOMEM)
				set_accepting(r, false);
			return;
		}
		if (turn_away(r, fd, &sa, now_ns))
			continue;
		if (r->pending >= PENDING_MAX)
			drop_oldest_pending(r, now_ns);
		conn = ovl_conn_new(fd, listener % OVL_LOAD_PATHS, now_ns);
		if (!conn)
			return;
		r->conn[r->conns++] = conn;
		r->pending++;
		if (add_event(r, fd, (uint64_t)(uintptr_t)conn))
			drop(r, conn, now_ns);
	}
}

static int report(const struct receiver *r, struct ovl_conn *conn, uint64_t now_ns)
{
	const struct ovl_thread_sum use = ovl_crew_use(r->ctx.crew);

	return ovl_conn_report(&r->ctx, conn, &use, now_ns);
}

static void serve(struct receiver *r, struct ovl_conn *conn, uint64_t now_ns)
{
	bool was_pending = pending(conn);
	int rc;

	if (conn->fd < 0)
		return;
	rc = ovl_conn_serve(&r->ctx, conn, now_ns);
	if (was_pending && !pending(conn)) {
		r->pending--;
		/* the first report at once: it ties the clocks together */
		if (!rc && conn->state == OVL_CONN_STREAM && r->spec->reports)
			rc = report(r, conn, now_ns);
	}
	if (rc)
		drop(r, conn, now_ns);
}

/* A client that stands still, its connections alive, must not keep others out for ever. */
static void end_silent(struct receiver *r, uint64_t now_ns)
{
	struct ovl_session *session = &r->ctx.session;
	uint64_t moved = 0;

	for (uint32_t i = 0; i < r->conns; i++)
		ovl_session_has(r->conn[i], &moved);
	if (!ovl_session_silent(session, moved, r->spec->silence_ns, now_ns))
		return;
	session->silent = true;
	for (uint32_t i = 0; i < r->conns; i++)
		if (ovl_session_has(r->conn[i], &moved))
			drop(r, r->conn[i], now_ns);
}

/* Each 100 ms: reports out, late ones dropped. */
static void tick(struct receiver *r, uint64_t now_ns)
{
	const struct ovl_thread_sum use = ovl_crew_use(r->ctx.crew);

	for (uint32_t i = 0; i < r->conns; i++) {
		struct ovl_conn *conn = r->conn[i];

		if (conn->fd < 0)
			continue;
		if (now_ns >= conn->deadline_ns ||
		    (conn->state == OVL_CONN_STREAM && r->spec->reports &&
		     ovl_conn_report(&r->ctx, conn, &use, now_ns)))
			drop(r, conn, now_ns);
	}
	if (r->spec->reports && r->ctx.session.open)
		end_silent(r, now_ns);
	set_accepting(r, true);
	r->tick_ns = now_ns + TICK_NS;
}

/* Connections in the helpers' hands have ended. */
static void drop_over(struct receiver *r, uint64_t now_ns)
{
	ovl_crew_told(r->ctx.crew);
	for (uint32_t i = 0; i < r->conns; i++)
		if (atomic_load(&r->conn[i]->job.over))
			drop(r, r->conn[i], now_ns);
}

/* Milliseconds to sleep: for ever when nothing is due at any tick. */
static int sleep_ms(const struct receiver *r, uint64_t now_ns)
{
	const uint64_t due_ns = ovl_iperf3_run_due_ns(&r->ctx);
	const uint64_t until_ns = due_ns < r->tick_ns ? due_ns : r->tick_ns;

	if (r->accepting && !r->pending && !r->ctx.raw && !r->ctx.run.control &&
	    !(r->spec->reports && r->ctx.session.open))
		return -1;
	return now_ns >= until_ns ? 0 : (int)((until_ns - now_ns) / 1000000 + 1);
}

static bool is_control(const struct receiver *r, uint64_t tag)
{
	return r->ctx.run.control && tag == (uint64_t)(uintptr_t)r->ctx.run.control;
}

static int loop(struct receiver *r, struct ovl_err *err)
{
	struct epoll_event ev[EVENTS_MAX];
	uint64_t now = ovl_clock_ns();

	r->tick_ns = now + TICK_NS;
	for (;;) {
		int n = epoll_wait(r->ctx.epoll_fd, ev, EVENTS_MAX, sleep_ms(r, now));

		if (n < 0 && errno != EINTR)
			return ovl_err_set(err, OVL_EXIT_FAILED, -errno,
					   "waiting for the load's connections failed: %s",
					   strerror(errno));
		now = ovl_clock_ns();
		/* an end that waits behind a batch of payload would make the test longer */
		for (int i = 0; i < n; i++)
			if (is_control(r, ev[i].data.u64))
				serve(r, r->ctx.run.control, now);
		for (int i = 0; i < n; i++) {
			uint64_t tag = ev[i].data.u64;

			if (tag == TAG_STOP)
				return 0;
			if (tag == TAG_CREW) {
				drop_over(r, now);
				continue;
			}
			if (tag < TAG_LISTEN + OVL_RECEIVER_LISTENERS)
				accept_some(r, (uint32_t)(tag - TAG_LISTEN), now);
			else
				serve(r, (struct ovl_conn *)(uintptr_t)tag, now);
		}
		if (now >= r->tick_ns || now >= ovl_iperf3_run_due_ns(&r->ctx))
			ovl_iperf3_run_tick(&r->ctx, now);
		if (now >= r->tick_ns)
			tick(r, now);
		if (r->ctx.closed)
			sweep(r);
		ovl_thread_note(r->use, now);
	}
}

static int init(struct receiver *r, struct ovl_err *err)
{
	struct ovl_wire_hello hello;
	uint64_t id;
	int rc = 0;

	if (getrandom(&id, sizeof(id), 0) != sizeof(id))
		id = ovl_clock_ns() ^ (uint64_t)getpid() << 40;
	snprintf(hello.instance, sizeof(hello.instance), "%016llx", (unsigned long long)id);
	ovl_str_copy(hello.version, sizeof(hello.version), OVL_VERSION);
	hello.rr = hello.reverse = true;
	if (ovl_wire_hello_format(&hello, &r->ctx.hello) ||
	    posix_memalign(&r->ctx.block, 4096, OVL_CONN_READ_BYTES))
		rc = -ENOMEM;
	if (!rc && (r->ctx.epoll_fd = epoll_create1(EPOLL_CLOEXEC)) < 0)
		rc = -errno;
	if (!rc && r->spec->stop_fd >= 0)
		rc = add_event(r, r->spec->stop_fd, TAG_STOP);
	if (!rc)
		rc = add_event(r, ovl_crew_fd(r->ctx.crew), TAG_CREW);
	for (uint32_t i = 0; !rc && i < OVL_RECEIVER_LISTENERS; i++) {
		if (r->spec->listen_fd[i] >= 0)
			rc = add_event(r, r->spec->listen_fd[i], TAG_LISTEN + i);
	}
	if (!rc)
		return 0;
	return ovl_err_set(err, OVL_EXIT_FAILED, rc, "cannot prepare the receiver: %s",
			   strerror(-rc));
}

int ovl_receiver_run(const struct ovl_receiver_spec *spec, struct ovl_err *err)
{
	struct receiver *r = calloc(1, sizeof(*r));
	int rc;

	if (!r)
		return ovl_err_set(err, OVL_EXIT_FAILED, -ENOMEM, "no memory for the receiver");
	r->spec = spec;
	r->ctx.epoll_fd = -1;
	r->ctx.crew = spec->crew;
	r->use = ovl_crew_begin(spec->crew);
	r->accepting = true;
	r->ctx.bytes = spec->bytes;
	r->ctx.guests = spec->guests;
	r->ctx.served = spec->served;
	r->ctx.arg = spec->arg;
	rc = init(r, err);
	if (!rc)
		rc = loop(r, err);
	if (r->strangers.turned_away && spec->turned_away)
		spec->turned_away(spec->arg, NULL, r->strangers.turned_away);
	for (uint32_t i = 0; i < r->conns; i++)
		drop(r, r->conn[i], ovl_clock_ns());
	ovl_raw_finish(&r->ctx);
	for (uint32_t i = 0; i < r->conns; i++)
		ovl_conn_free(r->conn[i]);
	if (r->ctx.epoll_fd >= 0)
		close(r->ctx.epoll_fd);
	ovl_buf_fini(&r->ctx.hello);
	free(r->ctx.block);
	free(r);
	return rc;
}
