#include "load/conn.h"

#include <errno.h>
#include <netinet/in.h>
#include <linux/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/str.h"
#include "load/mover.h"
#include "load/raw.h"
#include "load/rr_server.h"
#include "load/sniff.h"
#include "load/sock.h"
#include "load/turns.h"

#define MSS_UNKNOWN 536
#define LOOK_NS	    1000000000ull /* between two ticks: usually a tenth of it */

struct ovl_conn *ovl_conn_new(int fd, uint32_t listener, uint64_t now_ns)
{
	const int on = 1;
	struct ovl_conn *conn = calloc(1, sizeof(*conn));

	if (!conn) {
		close(fd);
		return NULL;
	}
	conn->fd = fd;
	conn->listener = listener;
	conn->want = OVL_WIRE_COOKIE_BYTES;
	conn->since_ns = now_ns;
	conn->deadline_ns = now_ns + OVL_CONN_STEP_NS;
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)); /* reports leave at once */
	ovl_sock_mortal(fd);
	if (ovl_addr_of_peer(fd, &conn->from)) /* it has left again */
		ovl_str_copy(conn->from.name, sizeof(conn->from.name), "?");
	return conn;
}

bool ovl_conn_busy(const struct ovl_conn_ctx *ctx)
{
	return ctx->session.open || ctx->run.control || ctx->earnest;
}

int ovl_conn_watch(const struct ovl_conn_ctx *ctx, struct ovl_conn *conn, uint32_t events)
{
	struct epoll_event ev = {.events = events, .data.ptr = conn};

	return epoll_ctl(ctx->epoll_fd, EPOLL_CTL_MOD, conn->fd, &ev) ? -errno : 0;
}

void ovl_conn_tell(const struct ovl_conn_ctx *ctx, const struct ovl_conn *conn,
		   struct ovl_peer_served *what)
{
	/* nothing to tell of a client that only looked whether we are there */
	if (!ctx->served || !what->bytes)
		return;
	what->from = conn->from.name;
	ctx->served(ctx->arg, what);
}

uint64_t ovl_conn_carried(const struct ovl_conn *conn, bool sent, uint64_t *retransmits)
{
	struct ovl_sock_info info;

	*retransmits = 0;
	if (!sent || ovl_sock_info(conn->fd, &info))
		return conn->bytes;
	*retransmits = info.retransmits;
	/* the handshake's answers are acknowledged, too */
	return info.acked_bytes < conn->bytes ? info.acked_bytes : conn->bytes;
}

static uint64_t received(const struct ovl_conn *conn)
{
	return conn->bytes + atomic_load_explicit(&conn->job.bytes, memory_order_relaxed);
}

bool ovl_session_has(const struct ovl_conn *conn, uint64_t *moved_bytes)
{
	if (conn->fd < 0 || (conn->state != OVL_CONN_STREAM && conn->state != OVL_CONN_SOURCE &&
			     conn->state != OVL_CONN_RR))
		return false;
	*moved_bytes += received(conn) + (conn->rr ? ovl_rr_server_bytes(conn->rr) : 0);
	return true;
}

bool ovl_session_silent(struct ovl_session *session, uint64_t moved_bytes, uint64_t limit_ns,
			uint64_t now_ns)
{
	if (moved_bytes != session->moved_bytes || now_ns - session->looked_ns > LOOK_NS)
		session->active_ns = now_ns;
	session->moved_bytes = moved_bytes;
	session->looked_ns = now_ns;
	return now_ns - session->active_ns >= limit_ns;
}

/* What a session's connection has carried; round trips beside what is sent are no part of that. */
static uint64_t of_session(const struct ovl_session *session, const struct ovl_conn *conn)
{
	uint64_t retransmits;

	if (!session->params.reverse)
		return received(conn);
	return conn->state == OVL_CONN_RR ? 0 : ovl_conn_carried(conn, true, &retransmits);
}

static void leave_session(struct ovl_conn_ctx *ctx, struct ovl_conn *conn, uint64_t now_ns)
{
	struct ovl_session *session = &ctx->session;
	struct ovl_peer_served what = {.kind = "ovltrace",
				       .streams = session->params.streams,
				       .reverse = session->params.reverse,
				       .complete = !session->silent};

	if (conn->state == OVL_CONN_RR)
		session->rr_joined[conn->cookie.stream - OVL_WIRE_RR_FIRST] = false;
	else
		session->joined[conn->cookie.stream] = false;
	session->bytes += of_session(session, conn);
	if (--session->open)
		return;
	ovl_turn_close(session);
	what.bytes = session->bytes;
	what.duration_s = (double)(now_ns - session->since_ns) / 1e9;
	ovl_conn_tell(ctx, conn, &what);
}

void ovl_conn_close(struct ovl_conn_ctx *ctx, struct ovl_conn *conn, uint64_t now_ns)
{
	if (conn->fd < 0)
		return;
	ovl_crew_take(ctx->crew, &conn->job);
	if (conn->rr)
		conn->bytes = ovl_rr_server_stop(conn->rr);
	conn->rr = NULL;
	if (conn->state == OVL_CONN_STREAM || conn->state == OVL_CONN_SOURCE ||
	    conn->state == OVL_CONN_RR)
		leave_session(ctx, conn, now_ns);
	if (conn->state == OVL_CONN_RAW)
		ovl_raw_leave(ctx, conn, now_ns);
	ovl_iperf3_run_leave(ctx, conn, now_ns);
	close(conn->fd);
	conn->fd = -1;
	free(conn->text);
	conn->text = NULL;
	ctx->closed = true;
}

void ovl_conn_free(struct ovl_conn *conn)
{
	free(conn);
}

/*
 * Send a short answer on a connection that has room for it; a peer that blocks it is not one of
 * ours.
 */
static int answer(struct ovl_conn *conn, const void *p, size_t n)
{
	ssize_t sent = send(conn->fd, p, n, MSG_NOSIGNAL | MSG_DONTWAIT);

	return sent == (ssize_t)n ? 0 : -EPROTO;
}

static int deny(struct ovl_conn *conn)
{
	const uint8_t denied = OVL_WIRE_DENIED;

	answer(conn, &denied, 1);
	return -EBUSY;
}

/* A health probe, whatever else runs. */
static int got_http(struct ovl_conn *conn)
{
	struct ovl_buf out = {0};
	int rc = ovl_http_answer(conn->text, conn->got, &out);

	if (!rc)
		rc = answer(conn, out.s, out.n);
	ovl_buf_fini(&out);
	if (rc == -EAGAIN)
		return 0;
	return rc ? rc : -ESHUTDOWN; /* answered */
}

/*
 * Bound the window: the peer may not have more in flight than we offer, and we offer less than
 * rcvbuf.
 */
static void bound_window(const struct ovl_session *session, struct ovl_conn *conn)
{
	const struct ovl_wire_params *params = &session->params;
	struct ovl_sock_info info;
	uint64_t bytes = params->window_bytes;

	if (params->max_frames) {
		/*
		 * the path's segment size in our direction is that of the peer's, less at most
		 * options
		 */
		uint32_t mss = ovl_sock_info(conn->fd, &info) == 0 && info.mss_bytes
				       ? info.mss_bytes
				       : MSS_UNKNOWN;
		uint64_t most = (uint64_t)params->max_frames * mss / params->streams;

		bytes = bytes && bytes < most ? bytes : most;
	}
	if (bytes)
		ovl_sock_rcvbuf(conn->fd, bytes > INT32_MAX ? INT32_MAX : (uint32_t)bytes);
}

/* The streams of a path are shared out alike; the first of them stay with the engine's thread. */
static void share_out(struct ovl_conn_ctx *ctx, struct ovl_conn *conn)
{
	const struct ovl_session *session = &ctx->session;
	uint32_t member = conn->cookie.stream % session->params.streams % session->members;

	if (!member)
		return;
	conn->job.fd = conn->fd;
	conn->job.trunc = session->params.rx_trunc;
	conn->job.shared = ctx->bytes ? &ctx->bytes[conn->listener] : NULL;
	epoll_ctl(ctx->epoll_fd, EPOLL_CTL_DEL, conn->fd, NULL);
	if (ovl_crew_give(ctx->crew, member, &conn->job)) {
		struct epoll_event ev = {.events = EPOLLIN, .data.ptr = conn};

		epoll_ctl(ctx->epoll_fd, EPOLL_CTL_ADD, conn->fd, &ev);
	}
}

/* Round trips for the session that is there: from here on they are the business of a thread. */
static int join_rr(struct ovl_conn_ctx *ctx, struct ovl_conn *conn)
{
	bool *joined = &ctx->session.rr_joined[conn->cookie.stream - OVL_WIRE_RR_FIRST];

	if (*joined)
		return deny(conn);
	/* the thread reads; its end, or the client's, shows here as a hang-up */
	if (ovl_conn_watch(ctx, conn, EPOLLRDHUP))
		return -EPROTO;
	/* before the answer, after which the client's process may look for its threads */
	conn->rr = ovl_rr_server_start(conn->fd);
	if (!conn->rr || answer(conn, ovl_buf_str(&ctx->hello), ctx->hello.n))
		return -EPROTO;
	*joined = true;
	ctx->session.open++;
	conn->state = OVL_CONN_RR;
	conn->deadline_ns = UINT64_MAX;
	return 0;
}

/* Make the connection a member of the session that is there. */
static int join(struct ovl_conn_ctx *ctx, struct ovl_conn *conn)
{
	struct ovl_session *session = &ctx->session;

	if (conn->cookie.stream >= OVL_WIRE_RR_FIRST &&
	    conn->cookie.stream < OVL_WIRE_RR_FIRST + OVL_WIRE_RR_CONNS)
		return join_rr(ctx, conn);
	if (conn->cookie.stream >= session->params.conns || session->joined[conn->cookie.stream])
		return deny(conn);
	if (session->params.reverse)
		ovl_iperf3_run_dress(conn, &session->stream);
	else
		bound_window(session, conn);
	if (answer(conn, ovl_buf_str(&ctx->hello), ctx->hello.n))
		return -EPROTO;
	session->joined[conn->cookie.stream] = true;
	session->open++;
	conn->state = session->params.reverse ? OVL_CONN_SOURCE : OVL_CONN_STREAM;
	conn->deadline_ns = UINT64_MAX;
	if (!session->params.reverse)
		share_out(ctx, conn);
	return 0;
}

static int got_own_cookie(struct ovl_conn_ctx *ctx, struct ovl_conn *conn, uint64_t now_ns)
{
	const uint8_t exchange = OVL_WIRE_PARAM_EXCHANGE;

	if (ovl_wire_cookie_parse(conn->head, conn->got, &conn->cookie))
		return -EPROTO;
	if (ctx->session.open && strcmp(ctx->session.id, conn->cookie.session) == 0)
		return join(ctx, conn);
	if (ovl_conn_busy(ctx))
		return deny(conn);
	conn->state = OVL_CONN_LENGTH;
	conn->want = 4;
	conn->got = 0;
	conn->deadline_ns = now_ns + OVL_CONN_STEP_NS;
	return answer(conn, &exchange, 1);
}

static int got_iperf3_cookie(struct ovl_conn_ctx *ctx, struct ovl_conn *conn, uint64_t now_ns)
{
	if (ctx->run.control && !memcmp(ctx->run.control->head, conn->head, OVL_WIRE_COOKIE_BYTES))
		return ovl_iperf3_run_join(ctx, conn, now_ns);
	return ovl_conn_busy(ctx) ? deny(conn) : ovl_iperf3_run_begin(ctx, conn, now_ns);
}

/* The first bytes have come, or some of them. */
static int sniffed(struct ovl_conn_ctx *ctx, struct ovl_conn *conn, uint64_t now_ns)
{
	enum ovl_guest guest = ovl_sniff(conn->head, conn->got);

	if (guest == OVL_GUEST_UNKNOWN)
		return 0;
	if (guest == OVL_GUEST_OWN)
		return got_own_cookie(ctx, conn, now_ns);
	if (!ctx->guests)
		return -EPROTO;
	if (guest == OVL_GUEST_IPERF3)
		return got_iperf3_cookie(ctx, conn, now_ns);
	if (guest == OVL_GUEST_RAW)
		return ovl_raw_begin(ctx, conn);
	conn->text = malloc(OVL_SNIFF_HTTP_MAX);
	if (!conn->text)
		return -ENOMEM;
	memcpy(conn->text, conn->head, conn->got);
	conn->want = OVL_SNIFF_HTTP_MAX;
	conn->state = OVL_CONN_HTTP;
	return got_http(conn);
}

static int got_length(struct ovl_conn *conn)
{
	conn->want = ovl_wire_length_parse((const uint8_t *)conn->head);
	conn->got = 0;
	conn->text = conn->want ? malloc(conn->want) : NULL;
	conn->state = OVL_CONN_PARAMS;
	return conn->text ? 0 : -EPROTO;
}

/* The congestion control that a reverse session asks for is not to be had here. */
static int refuse_congestion(struct ovl_conn *conn)
{
	uint8_t text[OVL_IPERF3_REFUSAL];

	ovl_iperf3_refusal_format(OVL_IPERF3_ESETCONGESTION, errno, text);
	answer(conn, text, sizeof(text));
	return -ESHUTDOWN;
}

static int got_params(struct ovl_conn_ctx *ctx, struct ovl_conn *conn, uint64_t now_ns)
{
	struct ovl_wire_params params;
	int rc = ovl_wire_params_parse(conn->text, conn->want, &params);

	/* several may have been asked for parameters; the first to give them is served */
	if (rc || ovl_conn_busy(ctx))
		return rc ? rc : deny(conn);
	memset(&ctx->session, 0, sizeof(ctx->session));
	ctx->session.params = params;
	ctx->session.since_ns = ctx->session.active_ns = ctx->session.looked_ns = now_ns;
	ctx->session.members = ovl_crew_grow(ctx->crew, params.streams);
	memcpy(ctx->session.id, conn->cookie.session, sizeof(ctx->session.id));
	if (params.reverse)
		rc = ovl_turn_open(&ctx->session, conn->text, conn->want);
	free(conn->text);
	conn->text = NULL;
	if (!rc && params.reverse && !ovl_iperf3_run_congestion(conn, &ctx->session.stream))
		rc = refuse_congestion(conn);
	if (!rc)
		rc = join(ctx, conn);
	if (rc && !ctx->session.open)
		ovl_turn_close(&ctx->session);
	return rc;
}

/* One step of what comes before a test, with what is there. */
static int read_step(struct ovl_conn_ctx *ctx, struct ovl_conn *conn, uint64_t now_ns)
{
	char *to = conn->text ? conn->text : conn->head;
	ssize_t n = recv(conn->fd, to + conn->got, conn->want - conn->got, MSG_DONTWAIT);

	if (n < 0)
		return errno == EAGAIN || errno == EINTR ? 0 : -errno;
	if (n == 0)
		return -ECONNRESET;
	conn->got += (uint32_t)n;
	if (conn->state == OVL_CONN_SNIFF)
		return sniffed(ctx, conn, now_ns);
	if (conn->state == OVL_CONN_HTTP)
		return got_http(conn);
	if (conn->got < conn->want)
		return 0;
	return conn->state == OVL_CONN_LENGTH ? got_length(conn) : got_params(ctx, conn, now_ns);
}

static int read_bulk(struct ovl_conn_ctx *ctx, struct ovl_conn *conn, uint64_t now_ns)
{
	int rc = ovl_mover_read(conn->fd, ctx->block, OVL_CONN_READ_BYTES,
				conn->state == OVL_CONN_STREAM && ctx->session.params.rx_trunc,
				&conn->bytes, ctx->bytes ? &ctx->bytes[conn->listener] : NULL);

	if (conn->state == OVL_CONN_RAW && ovl_raw_moved(ctx, conn, now_ns))
		return -EBUSY;
	return rc > 0 ? -ECONNRESET : rc;
}

int ovl_conn_serve(struct ovl_conn_ctx *ctx, struct ovl_conn *conn, uint64_t now_ns)
{
	switch (conn->state) {
	case OVL_CONN_STREAM:
	case OVL_CONN_RAW: return read_bulk(ctx, conn, now_ns);
	case OVL_CONN_SOURCE: return ovl_turn_serve(ctx, conn);
	case OVL_CONN_CONTROL_NEW:
	case OVL_CONN_CONTROL: return ovl_iperf3_run_control(ctx, conn, now_ns);
	case OVL_CONN_DATA: return ovl_iperf3_run_data(ctx, conn);
	case OVL_CONN_RR: return -ECONNRESET;
	default: return read_step(ctx, conn, now_ns);
	}
}

int ovl_conn_report(const struct ovl_conn_ctx *ctx, struct ovl_conn *conn,
		    const struct ovl_thread_sum *use, uint64_t now_ns)
{
	const struct ovl_wire_report report = {.bytes = received(conn),
					       .cpu_ns = use->cpu_ns,
					       .ts_ns = now_ns,
					       .switches = ctx->session.params.report > 1,
					       .voluntary = use->voluntary,
					       .involuntary = use->involuntary};
	bool fresh = !conn->tx_left;
	ssize_t n;

	/*
	 * never tear a report: the rest of the last one goes first, the next tick brings a new one
	 */
	if (fresh)
		conn->tx_n = conn->tx_left = ovl_wire_report_format(&report, conn->tx);
	n = send(conn->fd, conn->tx + conn->tx_n - conn->tx_left, conn->tx_left,
		 MSG_NOSIGNAL | MSG_DONTWAIT);
	if (n > 0)
		conn->tx_left -= (uint32_t)n;
	if (n < 0 && errno != EAGAIN && errno != EINTR)
		return -errno;
	if (n < 0 && fresh)
		conn->tx_left = 0;
	return 0;
}
