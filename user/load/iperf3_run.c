#include "load/iperf3_run.h"

#include <errno.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "load/conn.h"
#include "load/mover.h"
#include "load/sock.h"

#define SECOND_NS  1000000000ull
#define GRACE_NS   (10 * SECOND_NS) /* after the time that the client asked for */
#define SILENCE_NS (30 * SECOND_NS) /* of a test that ends by bytes or blocks */
#define DRAIN_NS   50000000ull	    /* to read what had come before the end */
#define LAST_NS	   (5 * SECOND_NS)  /* a stream is gone: for the client to say why */

static uint64_t timeval_ns(struct timeval t)
{
	return (uint64_t)t.tv_sec * SECOND_NS + (uint64_t)t.tv_usec * 1000;
}

/* CPU time of this thread. */
static void cpu(uint64_t *user_ns, uint64_t *system_ns)
{
	struct rusage usage = {0};

	getrusage(RUSAGE_THREAD, &usage);
	*user_ns = timeval_ns(usage.ru_utime);
	*system_ns = timeval_ns(usage.ru_stime);
}

/* The omitted time is over (or there was none). */
static void measure(struct ovl_conn_ctx *ctx)
{
	struct ovl_iperf3_run *run = &ctx->run;

	run->measure_ns = ovl_clock_ns(); /* that of the loop may be a whole batch old */
	cpu(&run->user_ns, &run->system_ns);
	for (uint32_t i = 0; i < run->control->server->params.streams; i++)
		if (run->stream[i])
			run->base_bytes[i] = ovl_conn_carried(run->stream[i],
							      run->control->server->params.reverse,
							      &run->base_retransmits[i]);
}

static uint64_t less(uint64_t a, uint64_t b)
{
	return a > b ? a - b : 0;
}

/* Read what has arrived, for a bounded time: the client's last bytes overtake no queue. */
static void drain(struct ovl_conn_ctx *ctx, struct ovl_conn *conn, uint64_t until_ns)
{
	uint64_t before;

	do {
		before = conn->bytes;
		if (ovl_mover_read(conn->fd, ctx->block, OVL_CONN_READ_BYTES,
				   ctx->run.control->server->params.skip_rx_copy, &conn->bytes,
				   NULL))
			return;
	} while (conn->bytes > before && ovl_clock_ns() < until_ns);
}

/* The client has ended the test: put down what it carried, let the streams go. */
static void end(struct ovl_conn_ctx *ctx)
{
	const uint64_t now_ns = ovl_clock_ns();
	struct ovl_iperf3_run *run = &ctx->run;
	const struct ovl_iperf3_params *params = &run->control->server->params;
	struct ovl_iperf3_results *ours = &run->ours;
	uint64_t user_ns, system_ns;
	double seconds;

	if (!run->measure_ns) /* ended before the omitted time had */
		measure(ctx);
	seconds = (double)less(now_ns, run->measure_ns) / 1e9;
	memset(ours, 0, sizeof(*ours));
	ours->sender = params->reverse;
	ours->n = params->streams;
	for (uint32_t i = 0; i < params->streams; i++) {
		struct ovl_iperf3_stream *out = &ours->stream[i];
		struct ovl_conn *conn = run->stream[i];
		uint64_t retransmits = 0;

		out->id = ovl_iperf3_stream_id(i);
		out->end_s = seconds;
		out->retransmits = -1;
		out->bytes = less(run->gone_bytes[i], run->base_bytes[i]);
		if (!conn)
			continue;
		if (!params->reverse)
			drain(ctx, conn, now_ns + DRAIN_NS);
		out->bytes = less(ovl_conn_carried(conn, params->reverse, &retransmits),
				  run->base_bytes[i]);
		if (params->reverse)
			out->retransmits = (int64_t)less(retransmits, run->base_retransmits[i]);
		if (!ours->congestion[0]) {
			socklen_t len = sizeof(ours->congestion) - 1;

			getsockopt(conn->fd, IPPROTO_TCP, TCP_CONGESTION, ours->congestion, &len);
		}
		ovl_conn_close(ctx, conn, now_ns);
	}
	cpu(&user_ns, &system_ns);
	if (seconds > 0) {
		ours->cpu_user = (double)(user_ns - run->user_ns) / 1e7 / seconds;
		ours->cpu_system = (double)(system_ns - run->system_ns) / 1e7 / seconds;
		ours->cpu_total = ours->cpu_user + ours->cpu_system;
	}
}

bool ovl_iperf3_run_congestion(const struct ovl_conn *conn, const struct ovl_iperf3_params *params)
{
	socklen_t n = (socklen_t)strlen(params->congestion);

	return !n || !setsockopt(conn->fd, IPPROTO_TCP, TCP_CONGESTION, params->congestion, n);
}

/* The test that this client asked for, if it can be run now. */
static void admit(struct ovl_conn_ctx *ctx, struct ovl_conn *conn)
{
	struct ovl_iperf3_server *server = conn->server;
	const struct ovl_iperf3_params *params = &server->params;

	if (ovl_conn_busy(ctx)) {
		ovl_iperf3_server_deny(server);
		return;
	}
	/* tried on the control connection: it need not be fast */
	if (!ovl_iperf3_run_congestion(conn, params)) {
		ovl_iperf3_server_refuse(server, OVL_IPERF3_ESETCONGESTION, errno);
		return;
	}
	memset(&ctx->run, 0, sizeof(ctx->run));
	ctx->run.source.file = -1;
	if (params->reverse &&
	    ovl_mover_source_open(&ctx->run.source, params->block_bytes, 0x5a, false)) {
		ovl_mover_source_close(&ctx->run.source);
		ovl_iperf3_server_refuse(server, OVL_IPERF3_ERECVPARAMS, ENOMEM);
		return;
	}
	ctx->run.control = conn;
	conn->state = OVL_CONN_CONTROL;
	ovl_iperf3_server_accept(server);
}

int ovl_iperf3_run_begin(struct ovl_conn_ctx *ctx, struct ovl_conn *conn, uint64_t now_ns)
{
	conn->server = malloc(sizeof(*conn->server));
	if (!conn->server)
		return -ENOMEM;
	ovl_iperf3_server_init(conn->server);
	conn->state = OVL_CONN_CONTROL_NEW;
	conn->deadline_ns = now_ns + OVL_CONN_STEP_NS;
	return ovl_iperf3_run_control(ctx, conn, now_ns);
}

/* Send what is due; the rest when there is room again. */
static int flush(const struct ovl_conn_ctx *ctx, struct ovl_conn *conn)
{
	struct ovl_buf *out = &conn->server->out;
	ssize_t n;

	if (out->failed)
		return -ENOMEM;
	if (out->n) {
		n = send(conn->fd, out->s, out->n, MSG_NOSIGNAL | MSG_DONTWAIT);
		if (n < 0 && errno != EAGAIN && errno != EINTR)
			return -errno;
		if (n > 0) {
			memmove(out->s, out->s + n, out->n - (size_t)n);
			out->n -= (size_t)n;
		}
	}
	if (!out->n && conn->server->phase == OVL_IPERF3_OVER)
		return -ESHUTDOWN;
	return ovl_conn_watch(ctx, conn, EPOLLIN | (out->n ? EPOLLOUT : 0));
}

/* What the test's new phase asks of us. */
static int phase_changed(struct ovl_conn_ctx *ctx, struct ovl_conn *conn, uint64_t now_ns)
{
	struct ovl_iperf3_server *server = conn->server;

	conn->deadline_ns = now_ns + OVL_CONN_STEP_NS;
	if (server->phase == OVL_IPERF3_ASKED)
		admit(ctx, conn);
	else if (server->phase == OVL_IPERF3_ENDED)
		end(ctx);
	else if (server->phase == OVL_IPERF3_RESULTS)
		return ovl_iperf3_server_answer(server, &ctx->run.ours);
	return 0;
}

int ovl_iperf3_run_control(struct ovl_conn_ctx *ctx, struct ovl_conn *conn, uint64_t now_ns)
{
	struct ovl_iperf3_server *server = conn->server;
	uint8_t bytes[4096];
	ssize_t n = recv(conn->fd, bytes, sizeof(bytes), MSG_DONTWAIT);
	size_t at = 0, used;
	int rc = 0;

	if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
		return n ? -errno : -ECONNRESET;
	while (n > 0 && at < (size_t)n && !rc && server->phase != OVL_IPERF3_OVER) {
		enum ovl_iperf3_phase phase = server->phase;

		rc = ovl_iperf3_server_input(server, bytes + at, (size_t)n - at, &used);
		at += used;
		if (!rc && server->phase != phase)
			rc = phase_changed(ctx, conn, now_ns);
	}
	if (rc == -ENOMEM)
		return rc;
	return flush(ctx, conn);
}

void ovl_iperf3_run_dress(const struct ovl_conn *conn, const struct ovl_iperf3_params *params)
{
	const int on = 1, window = (int)params->window_bytes, mss = (int)params->mss_bytes;
	const int tos = params->tos, unsent = (int)params->block_bytes;

	if (window) {
		setsockopt(conn->fd, SOL_SOCKET, SO_RCVBUF, &window, sizeof(window));
		setsockopt(conn->fd, SOL_SOCKET, SO_SNDBUF, &window, sizeof(window));
	}
	if (mss)
		setsockopt(conn->fd, IPPROTO_TCP, TCP_MAXSEG, &mss, sizeof(mss));
	if (tos && setsockopt(conn->fd, IPPROTO_IP, IP_TOS, &tos, sizeof(tos)))
		setsockopt(conn->fd, IPPROTO_IPV6, IPV6_TCLASS, &tos, sizeof(tos));
	if (params->nodelay)
		setsockopt(conn->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	ovl_iperf3_run_congestion(conn, params);
	if (!params->reverse)
		return;
	/* a slow stream must not run seconds ahead in its own buffer */
	setsockopt(conn->fd, IPPROTO_TCP, TCP_NOTSENT_LOWAT, &unsent, sizeof(unsent));
	ovl_mover_pace(conn->fd, params->rate_bps);
}

static int start(struct ovl_conn_ctx *ctx, uint64_t now_ns)
{
	struct ovl_iperf3_run *run = &ctx->run;
	const struct ovl_iperf3_params *params = &run->control->server->params;
	int rc = 0;

	run->start_ns = run->active_ns = now_ns;
	run->control->deadline_ns =
		params->time_s ? now_ns + (params->time_s + (uint64_t)params->omit_s) * SECOND_NS +
					 GRACE_NS
			       : UINT64_MAX;
	if (!params->omit_s)
		measure(ctx);
	for (uint32_t i = 0; i < params->streams && !rc; i++)
		if (run->stream[i])
			rc = ovl_conn_watch(ctx, run->stream[i],
					    params->reverse ? EPOLLOUT : EPOLLIN);
	return rc;
}

int ovl_iperf3_run_join(struct ovl_conn_ctx *ctx, struct ovl_conn *conn, uint64_t now_ns)
{
	struct ovl_iperf3_run *run = &ctx->run;
	struct ovl_iperf3_server *server = run->control->server;
	int rc;

	if (server->phase != OVL_IPERF3_STREAMS)
		return -EPROTO;
	ovl_iperf3_run_dress(conn, &server->params);
	conn->state = OVL_CONN_DATA;
	conn->deadline_ns = UINT64_MAX;
	conn->index = server->joined;
	run->stream[conn->index] = conn;
	rc = ovl_conn_watch(ctx, conn, 0); /* nothing before the start */
	if (rc)
		return rc;
	run->control->deadline_ns = now_ns + OVL_CONN_STEP_NS;
	ovl_iperf3_server_join(server);
	if (server->phase == OVL_IPERF3_RUNNING)
		rc = start(ctx, now_ns);
	/* a control connection that cannot be written to shows it by itself */
	flush(ctx, run->control);
	return rc;
}

int ovl_iperf3_run_data(struct ovl_conn_ctx *ctx, struct ovl_conn *conn)
{
	const struct ovl_iperf3_params *params = &ctx->run.control->server->params;
	int rc;

	if (params->reverse)
		rc = ovl_mover_write(conn->fd, &ctx->run.source, NULL, 0, &conn->bytes);
	else
		rc = ovl_mover_read(conn->fd, ctx->block, OVL_CONN_READ_BYTES, params->skip_rx_copy,
				    &conn->bytes, ctx->bytes ? &ctx->bytes[conn->listener] : NULL);
	if (rc <= 0)
		return rc;
	/* the stream's end; its count is kept until the client says what that means, but a later
	 * reset would wake us for ever */
	ctx->run.control->deadline_ns = ovl_clock_ns() + LAST_NS;
	epoll_ctl(ctx->epoll_fd, EPOLL_CTL_DEL, conn->fd, NULL);
	return 0;
}

/* A test in which nothing moves any more ends here, so that its client cannot keep others out. */
static void check_silence(struct ovl_conn_ctx *ctx, uint64_t now_ns)
{
	struct ovl_iperf3_run *run = &ctx->run;
	uint64_t moved = 0;

	for (uint32_t i = 0; i < run->control->server->params.streams; i++)
		moved += run->stream[i] ? run->stream[i]->bytes : 0;
	if (moved != run->moved_bytes)
		run->active_ns = now_ns;
	run->moved_bytes = moved;
	if (now_ns < run->active_ns + (run->control->server->params.time_s ? OVL_CONN_SILENCE_NS
									   : SILENCE_NS))
		return;
	ovl_iperf3_server_refuse(run->control->server, OVL_IPERF3_ENOMSG, 0);
	flush(ctx, run->control);
	run->control->deadline_ns = now_ns;
}

void ovl_iperf3_run_tick(struct ovl_conn_ctx *ctx, uint64_t now_ns)
{
	const struct ovl_conn *control = ctx->run.control;

	if (!control || control->server->phase != OVL_IPERF3_RUNNING)
		return;
	if (now_ns >= ovl_iperf3_run_due_ns(ctx))
		measure(ctx);
	check_silence(ctx, now_ns);
}

uint64_t ovl_iperf3_run_due_ns(const struct ovl_conn_ctx *ctx)
{
	const struct ovl_iperf3_run *run = &ctx->run;

	if (!run->control || !run->start_ns || run->measure_ns)
		return UINT64_MAX;
	return run->start_ns + run->control->server->params.omit_s * SECOND_NS;
}

/* The test is over, well or not. */
static void finish(struct ovl_conn_ctx *ctx, struct ovl_conn *control, uint64_t now_ns)
{
	struct ovl_iperf3_run *run = &ctx->run;
	const struct ovl_iperf3_server *server = control->server;
	struct ovl_peer_served what = {.kind = "iperf3",
				       .streams = server->params.streams,
				       .reverse = server->params.reverse};

	if (run->start_ns && !run->ours.n) /* left in the middle: what it carried until then */
		end(ctx);
	for (uint32_t i = 0; i < run->ours.n; i++)
		what.bytes += run->ours.stream[i].bytes;
	if (run->ours.n)
		what.duration_s = run->ours.stream[0].end_s;
	what.complete = server->theirs.n && server->phase == OVL_IPERF3_OVER;
	if (run->start_ns)
		ovl_conn_tell(ctx, control, &what);
	run->control = NULL;
	for (uint32_t i = 0; i < OVL_IPERF3_STREAMS_MAX; i++)
		if (run->stream[i])
			ovl_conn_close(ctx, run->stream[i], now_ns);
	ovl_mover_source_close(&run->source);
}

void ovl_iperf3_run_leave(struct ovl_conn_ctx *ctx, struct ovl_conn *conn, uint64_t now_ns)
{
	struct ovl_iperf3_run *run = &ctx->run;
	uint64_t retransmits;

	if (run->control == conn)
		finish(ctx, conn, now_ns);
	if (conn->state == OVL_CONN_DATA) {
		run->stream[conn->index] = NULL;
		if (run->control)
			run->gone_bytes[conn->index] = ovl_conn_carried(
				conn, run->control->server->params.reverse, &retransmits);
		/* the test cannot be whole any more unless it has just been ended */
		if (run->control && run->control->server->phase < OVL_IPERF3_ENDED)
			run->control->deadline_ns = ovl_clock_ns() + LAST_NS;
	}
	if (conn->server) {
		ovl_iperf3_server_fini(conn->server);
		free(conn->server);
		conn->server = NULL;
	}
}
