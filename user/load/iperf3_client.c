#include "load/iperf3_client.h"

#include <errno.h>
#include <string.h>

#include "load/jsonio.h"

#define LENGTH_BYTES 4
#define ERROR_BYTES  4 /* errno follows, but not from an authenticating 3.12 */

static void say(struct ovl_iperf3_client *c, uint8_t state)
{
	ovl_buf_put(&c->out, (const char *)&state, 1);
}

static int fail(struct ovl_iperf3_client *c)
{
	c->phase = OVL_IPERF3_CLIENT_FAILED;
	return -EPROTO;
}

void ovl_iperf3_client_init(struct ovl_iperf3_client *c)
{
	memset(c, 0, sizeof(*c));
	c->state = OVL_IPERF3_CREATE_STREAMS;
}

void ovl_iperf3_client_fini(struct ovl_iperf3_client *c)
{
	ovl_buf_fini(&c->in);
	ovl_buf_fini(&c->out);
}

void ovl_iperf3_client_end(struct ovl_iperf3_client *c, const struct ovl_iperf3_results *ours)
{
	c->ours = *ours;
	c->phase = OVL_IPERF3_CLIENT_ENDING;
	say(c, OVL_IPERF3_TEST_END);
}

/* A new state of the server: each has one phase that it belongs to. */
static int take_state(struct ovl_iperf3_client *c, uint8_t state)
{
	int rc = 0;

	c->state = state;
	switch (state) {
	case OVL_IPERF3_TEST_START: return c->phase == OVL_IPERF3_CLIENT_STREAMS ? 0 : fail(c);
	case OVL_IPERF3_TEST_RUNNING:
		if (c->phase != OVL_IPERF3_CLIENT_STREAMS)
			return fail(c);
		c->phase = OVL_IPERF3_CLIENT_RUNNING;
		return 0;
	case OVL_IPERF3_EXCHANGE_RESULTS:
		if (c->phase != OVL_IPERF3_CLIENT_ENDING)
			return fail(c);
		rc = ovl_iperf3_results_format(&c->ours, &c->out);
		c->phase = OVL_IPERF3_CLIENT_RESULTS;
		return rc;
	case OVL_IPERF3_DISPLAY_RESULTS:
		if (c->phase != OVL_IPERF3_CLIENT_SHOWN)
			return fail(c);
		say(c, OVL_IPERF3_DONE);
		c->phase = OVL_IPERF3_CLIENT_OVER;
		return 0;
	case OVL_IPERF3_SERVER_ERROR: return 0; /* its number follows */
	}
	return fail(c);
}

/* How many bytes the message that is being collected has, as far as that is known; 0: too many. */
static size_t wanted(const struct ovl_iperf3_client *c)
{
	size_t length;

	if (c->state == OVL_IPERF3_SERVER_ERROR)
		return ERROR_BYTES;
	if (c->in.n < LENGTH_BYTES)
		return LENGTH_BYTES;
	length = ovl_be_get((const uint8_t *)c->in.s, LENGTH_BYTES);
	return length < 2 || length > OVL_IPERF3_RESULTS_MAX ? 0 : LENGTH_BYTES + length;
}

static int got_message(struct ovl_iperf3_client *c)
{
	int rc = 0;

	if (c->state == OVL_IPERF3_SERVER_ERROR) {
		c->error = (uint32_t)ovl_be_get((const uint8_t *)c->in.s, ERROR_BYTES);
		return fail(c);
	}
	rc = ovl_iperf3_results_parse(c->in.s + LENGTH_BYTES, c->in.n - LENGTH_BYTES, c->ours.n,
				      &c->theirs);
	c->phase = OVL_IPERF3_CLIENT_SHOWN;
	ovl_buf_clear(&c->in);
	return rc ? fail(c) : 0;
}

int ovl_iperf3_client_input(struct ovl_iperf3_client *c, const uint8_t *p, size_t n)
{
	int rc = 0;

	for (size_t at = 0; at < n && !rc && c->phase < OVL_IPERF3_CLIENT_OVER;) {
		size_t want, take;

		if (c->phase != OVL_IPERF3_CLIENT_RESULTS && c->state != OVL_IPERF3_SERVER_ERROR) {
			rc = take_state(c, p[at++]);
			continue;
		}
		want = wanted(c);
		take = n - at < want - c->in.n ? n - at : want - c->in.n;
		ovl_buf_put(&c->in, (const char *)p + at, take);
		at += take;
		if (c->in.failed)
			return -ENOMEM;
		want = wanted(c);
		if (!want)
			rc = fail(c);
		else if (c->in.n == want)
			rc = got_message(c);
	}
	return rc;
}
