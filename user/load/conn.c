#include "load/conn.h"

#include <errno.h>
#include <netinet/in.h>
#include <linux/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "load/sock.h"

#define HANDSHAKE_NS	3000000000ull
#define READS_PER_EVENT 16 /* then others get their turn */
#define MSS_UNKNOWN	536

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
	conn->deadline_ns = now_ns + HANDSHAKE_NS;
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)); /* reports leave at once */
	ovl_sock_mortal(fd);
	return conn;
}

void ovl_conn_close(struct ovl_conn_ctx *ctx, struct ovl_conn *conn)
{
	if (conn->fd < 0)
		return;
	if (conn->state == OVL_CONN_STREAM) {
		ctx->session.joined[conn->cookie.stream] = false;
		ctx->session.open--;
	}
	close(conn->fd);
	conn->fd = -1;
	free(conn->json);
	conn->json = NULL;
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

/* Make the connection a member of the session that is there. */
static int join(struct ovl_conn_ctx *ctx, struct ovl_conn *conn)
{
	struct ovl_session *session = &ctx->session;

	if (conn->cookie.stream >= session->params.conns || session->joined[conn->cookie.stream])
		return deny(conn);
	bound_window(session, conn);
	if (answer(conn, ovl_buf_str(&ctx->hello), ctx->hello.n))
		return -EPROTO;
	session->joined[conn->cookie.stream] = true;
	session->open++;
	conn->state = OVL_CONN_STREAM;
	return 0;
}

static int got_cookie(struct ovl_conn_ctx *ctx, struct ovl_conn *conn, uint64_t now_ns)
{
	const uint8_t exchange = OVL_WIRE_PARAM_EXCHANGE;

	if (ctx->session.open)
		return strcmp(ctx->session.id, conn->cookie.session) == 0 ? join(ctx, conn)
									  : deny(conn);
	conn->state = OVL_CONN_LENGTH;
	conn->want = 4;
	conn->got = 0;
	conn->deadline_ns = now_ns + HANDSHAKE_NS;
	return answer(conn, &exchange, 1);
}

static int got_length(struct ovl_conn *conn)
{
	conn->want = ovl_wire_length_parse((const uint8_t *)conn->head);
	conn->got = 0;
	conn->json = conn->want ? malloc(conn->want) : NULL;
	conn->state = OVL_CONN_PARAMS;
	return conn->json ? 0 : -EPROTO;
}

static int got_params(struct ovl_conn_ctx *ctx, struct ovl_conn *conn)
{
	struct ovl_wire_params params;
	int rc = ovl_wire_params_parse(conn->json, conn->want, &params);

	free(conn->json);
	conn->json = NULL;
	if (rc)
		return rc;
	/* several may have been asked for parameters; the first to give them is served */
	if (ctx->session.open)
		return deny(conn);
	memset(&ctx->session, 0, sizeof(ctx->session));
	ctx->session.params = params;
	memcpy(ctx->session.id, conn->cookie.session, sizeof(ctx->session.id));
	return join(ctx, conn);
}

/* One step of the handshake with what is there. */
static int read_handshake(struct ovl_conn_ctx *ctx, struct ovl_conn *conn, uint64_t now_ns)
{
	char *to = conn->json ? conn->json : conn->head;
	ssize_t n = recv(conn->fd, to + conn->got, conn->want - conn->got, MSG_DONTWAIT);
	int rc;

	if (n < 0)
		return errno == EAGAIN || errno == EINTR ? 0 : -errno;
	if (n == 0)
		return -ECONNRESET;
	conn->got += (uint32_t)n;
	if (conn->state == OVL_CONN_COOKIE) {
		rc = ovl_wire_cookie_parse(conn->head, conn->got, &conn->cookie);
		if (rc)
			return rc == -EAGAIN ? 0 : rc;
		return got_cookie(ctx, conn, now_ns);
	}
	if (conn->got < conn->want)
		return 0;
	return conn->state == OVL_CONN_LENGTH ? got_length(conn) : got_params(ctx, conn);
}

static int read_bulk(struct ovl_conn_ctx *ctx, struct ovl_conn *conn)
{
	for (int i = 0; i < READS_PER_EVENT; i++) {
		ssize_t n = recv(conn->fd, ctx->block, OVL_CONN_READ_BYTES, MSG_DONTWAIT);

		if (n < 0)
			return errno == EAGAIN || errno == EINTR ? 0 : -errno;
		if (n == 0)
			return -ECONNRESET;
		conn->bytes += (uint64_t)n;
		if (ctx->bytes)
			atomic_fetch_add_explicit(&ctx->bytes[conn->listener], (uint64_t)n,
						  memory_order_relaxed);
		/* a short read has emptied the queue: no second call to be told so */
		if (n < OVL_CONN_READ_BYTES)
			return 0;
	}
	return 0;
}

int ovl_conn_read(struct ovl_conn_ctx *ctx, struct ovl_conn *conn, uint64_t now_ns)
{
	return conn->state == OVL_CONN_STREAM ? read_bulk(ctx, conn)
					      : read_handshake(ctx, conn, now_ns);
}

int ovl_conn_report(struct ovl_conn *conn, uint64_t cpu_ns, uint64_t now_ns)
{
	const struct ovl_wire_report report = {
		.bytes = conn->bytes, .cpu_ns = cpu_ns, .ts_ns = now_ns};
	bool fresh = !conn->tx_left;
	ssize_t n;

	/*
	 * never tear a report: the rest of the last one goes first, the next tick brings a new one
	 */
	if (fresh) {
		ovl_wire_report_format(&report, conn->tx);
		conn->tx_left = sizeof(conn->tx);
	}
	n = send(conn->fd, conn->tx + sizeof(conn->tx) - conn->tx_left, conn->tx_left,
		 MSG_NOSIGNAL | MSG_DONTWAIT);
	if (n > 0)
		conn->tx_left -= (uint32_t)n;
	if (n < 0 && errno != EAGAIN && errno != EINTR)
		return -errno;
	if (n < 0 && fresh)
		conn->tx_left = 0;
	return 0;
}
