#include "load/raw.h"

#include <errno.h>

#define RAW_MAX 128
/* more than a port scanner or a TLS client sends before it waits for an answer */
#define EARNEST_BYTES 4096

int ovl_raw_begin(struct ovl_conn_ctx *ctx, struct ovl_conn *conn)
{
	if (ctx->session.open || ctx->run.control || ctx->raw >= RAW_MAX)
		return -EBUSY;
	ctx->raw++;
	conn->bytes = conn->got;
	conn->state = OVL_CONN_RAW;
	return 0;
}

int ovl_raw_moved(struct ovl_conn_ctx *ctx, struct ovl_conn *conn, uint64_t now_ns)
{
	/* not for any byte: single ones would keep tests out for ever */
	if (conn->bytes - conn->paid_bytes >= OVL_RAW_LEAST_BYTES) {
		conn->paid_bytes = conn->bytes;
		conn->deadline_ns = now_ns + OVL_CONN_STEP_NS;
	}
	if (conn->going || conn->bytes < EARNEST_BYTES)
		return 0;
	if (ctx->session.open || ctx->run.control)
		return -EBUSY;
	conn->going = true;
	ctx->earnest++;
	return 0;
}

/*
 * Those that were no test are told of as rarely as those that --allow leaves out; of tests as many
 * in ten seconds as there can be at a time.
 */
static bool to_be_told(struct ovl_conn_ctx *ctx, const struct ovl_conn *conn, uint64_t now_ns)
{
	char from[64];

	return conn->going ? ovl_allow_due(&ctx->raw_tests, RAW_MAX, now_ns)
			   : ovl_allow_note(&ctx->strangers, &conn->from.sa, now_ns, from);
}

void ovl_raw_leave(struct ovl_conn_ctx *ctx, struct ovl_conn *conn, uint64_t now_ns)
{
	struct ovl_peer_served what = {.kind = "raw",
				       .streams = 1,
				       /* one that was no test cannot end badly */
				       .complete = !conn->going || now_ns < conn->deadline_ns,
				       .bytes = conn->bytes,
				       .untold = ctx->untold,
				       .duration_s = (double)(now_ns - conn->since_ns) / 1e9};

	ctx->raw--;
	ctx->earnest -= conn->going;
	if (!to_be_told(ctx, conn, now_ns)) {
		ctx->untold++;
		return;
	}
	ctx->untold = 0;
	ovl_conn_tell(ctx, conn, &what);
}

void ovl_raw_finish(struct ovl_conn_ctx *ctx)
{
	const struct ovl_peer_served what = {.kind = "raw", .untold = ctx->untold};

	if (ctx->untold && ctx->served)
		ctx->served(ctx->arg, &what);
	ctx->untold = 0;
}
