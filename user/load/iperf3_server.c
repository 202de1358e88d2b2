#include "load/iperf3_server.h"

#include <errno.h>
#include <string.h>

#include "load/jsonio.h"

#define LENGTH_BYTES 4

static void say(struct ovl_iperf3_server *s, uint8_t state)
{
	ovl_buf_put(&s->out, (const char *)&state, 1);
}

void ovl_iperf3_server_init(struct ovl_iperf3_server *s)
{
	memset(s, 0, sizeof(*s));
	s->phase = OVL_IPERF3_PARAMS;
	say(s, OVL_IPERF3_PARAM_EXCHANGE);
}

void ovl_iperf3_server_fini(struct ovl_iperf3_server *s)
{
	ovl_buf_fini(&s->in);
	ovl_buf_fini(&s->out);
}

void ovl_iperf3_server_refuse(struct ovl_iperf3_server *s, enum ovl_iperf3_error error, int err_no)
{
	uint8_t text[OVL_IPERF3_REFUSAL];

	ovl_iperf3_refusal_format(error, err_no, text);
	ovl_buf_put(&s->out, (const char *)text, sizeof(text));
	s->phase = OVL_IPERF3_OVER;
}

void ovl_iperf3_server_deny(struct ovl_iperf3_server *s)
{
	say(s, OVL_IPERF3_ACCESS_DENIED);
	s->phase = OVL_IPERF3_OVER;
}

void ovl_iperf3_server_accept(struct ovl_iperf3_server *s)
{
	s->phase = OVL_IPERF3_STREAMS;
	say(s, OVL_IPERF3_CREATE_STREAMS);
}

void ovl_iperf3_server_join(struct ovl_iperf3_server *s)
{
	if (++s->joined < s->params.streams)
		return;
	s->phase = OVL_IPERF3_RUNNING;
	say(s, OVL_IPERF3_TEST_START);
	say(s, OVL_IPERF3_TEST_RUNNING);
}

int ovl_iperf3_server_answer(struct ovl_iperf3_server *s, const struct ovl_iperf3_results *ours)
{
	int rc = ovl_iperf3_results_format(ours, &s->out);

	say(s, OVL_IPERF3_DISPLAY_RESULTS);
	s->phase = OVL_IPERF3_SHOWN;
	return rc || s->out.failed ? -ENOMEM : 0;
}

/* A whole text has come: parameters or results. */
static int got_text(struct ovl_iperf3_server *s, const char *json, size_t n)
{
	enum ovl_iperf3_error error;
	int rc;

	if (s->phase == OVL_IPERF3_PARAMS) {
		rc = ovl_iperf3_params_parse(json, n, &s->params, &error);
		s->phase = OVL_IPERF3_ASKED;
	} else {
		error = OVL_IPERF3_ERECVRESULTS;
		rc = ovl_iperf3_results_parse(json, n, s->params.streams, &s->theirs);
		s->phase = OVL_IPERF3_RESULTS;
	}
	if (rc)
		ovl_iperf3_server_refuse(s, error, 0);
	return rc == -EPROTO ? rc : 0; /* a test that is not done here is no broken message */
}

/* Collect u32be length and text; one that is too long is refused at its length. */
static int take_text(struct ovl_iperf3_server *s, const uint8_t *p, size_t n, size_t *used)
{
	const bool params = s->phase == OVL_IPERF3_PARAMS;
	const size_t max = params ? OVL_IPERF3_PARAMS_MAX : OVL_IPERF3_RESULTS_MAX;
	size_t want = LENGTH_BYTES, take;
	int rc = 0;

	if (s->in.n >= LENGTH_BYTES)
		want += ovl_be_get((const uint8_t *)s->in.s, LENGTH_BYTES);
	take = n < want - s->in.n ? n : want - s->in.n;
	ovl_buf_put(&s->in, (const char *)p, take);
	*used = take;
	if (s->in.failed)
		return -ENOMEM;
	if (s->in.n < want)
		return 0;
	if (want == LENGTH_BYTES) {
		size_t length = ovl_be_get((const uint8_t *)s->in.s, LENGTH_BYTES);

		if (length >= 2 && length <= max)
			return 0;
		ovl_iperf3_server_refuse(
			s, params ? OVL_IPERF3_ERECVPARAMS : OVL_IPERF3_ERECVRESULTS, 0);
		return -EPROTO;
	}
	rc = got_text(s, s->in.s + LENGTH_BYTES, want - LENGTH_BYTES);
	ovl_buf_clear(&s->in);
	return rc;
}

static int take_state(struct ovl_iperf3_server *s, uint8_t state)
{
	if (state == OVL_IPERF3_TEST_END && s->phase == OVL_IPERF3_RUNNING) {
		s->phase = OVL_IPERF3_ENDED;
		say(s, OVL_IPERF3_EXCHANGE_RESULTS);
		return 0;
	}
	if (state == OVL_IPERF3_CLIENT_TERMINATE ||
	    (state == OVL_IPERF3_DONE && s->phase == OVL_IPERF3_SHOWN)) {
		s->phase = OVL_IPERF3_OVER;
		return 0;
	}
	ovl_iperf3_server_refuse(s, OVL_IPERF3_EMESSAGE, 0);
	return -EPROTO;
}

int ovl_iperf3_server_input(struct ovl_iperf3_server *s, const uint8_t *p, size_t n, size_t *used)
{
	const enum ovl_iperf3_phase phase = s->phase;
	size_t took = 0;
	int rc = 0;

	*used = 0;
	while (!rc && *used < n && s->phase == phase) {
		if (phase == OVL_IPERF3_PARAMS || phase == OVL_IPERF3_ENDED) {
			rc = take_text(s, p + *used, n - *used, &took);
		} else {
			took = 1;
			rc = take_state(s, p[*used]);
		}
		*used += took;
	}
	return rc;
}
