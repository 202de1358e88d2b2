#include "load/turns.h"

#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "load/conn.h"
#include "load/mover.h"

enum { SAYS_GO = 'g', SAYS_PAUSE = 'p' };

int ovl_turn_say(int fd, bool go)
{
	const uint8_t byte = go ? SAYS_GO : SAYS_PAUSE;

	/* nothing else is ever sent on it: there is room unless the peer is long gone */
	return send(fd, &byte, 1, MSG_NOSIGNAL | MSG_DONTWAIT) == 1 ? 0 : -errno;
}

int ovl_turn_open(struct ovl_session *session, const char *json, size_t n)
{
	enum ovl_iperf3_error error;
	int rc = ovl_iperf3_params_parse(json, n, &session->stream, &error);

	if (!rc)
		rc = ovl_mover_source_open(&session->source, session->params.block_bytes, 0x5a,
					   false);
	if (rc)
		ovl_turn_close(session);
	return rc;
}

void ovl_turn_close(struct ovl_session *session)
{
	if (session->source.block)
		ovl_mover_source_close(&session->source);
}

/* What the client says of this connection. */
static int hear(struct ovl_conn_ctx *ctx, struct ovl_conn *conn)
{
	uint8_t says[16];
	ssize_t n = recv(conn->fd, says, sizeof(says), MSG_DONTWAIT);

	if (n < 0)
		return errno == EAGAIN || errno == EINTR ? 0 : -errno;
	if (n == 0)
		return -ECONNRESET;
	for (ssize_t i = 0; i < n; i++)
		if (says[i] != SAYS_GO && says[i] != SAYS_PAUSE)
			return -EPROTO;
	conn->going = says[n - 1] == SAYS_GO;
	return ovl_conn_watch(ctx, conn, EPOLLIN | (conn->going ? EPOLLOUT : 0));
}

int ovl_turn_serve(struct ovl_conn_ctx *ctx, struct ovl_conn *conn)
{
	int rc = hear(ctx, conn);

	return rc || !conn->going
		       ? rc
		       : ovl_mover_write(conn->fd, &ctx->session.source, NULL, 0, &conn->bytes);
}
