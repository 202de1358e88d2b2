/* The client's role in iperf3's protocol: what servers say is understood, and nothing else is. */
#include "peer_kit.h"

#include "load/iperf3_client.h"
#include "load/jsonio.h"
#include "load/wire.h"

#define RESULTS \
	"{\"cpu_util_total\":43.67,\"cpu_util_user\":8.73,\"cpu_util_system\":34.63," \
	"\"sender_has_retransmits\":18446744073709551615,\"congestion_used\":\"bbr\"," \
	"\"streams\":[{\"id\":1,\"bytes\":7000,\"retransmits\":18446744073709551615,\"jitter\":0," \
	"\"errors\":0,\"packets\":0,\"start_time\":0,\"end_time\":9.5e-05}]}"

static const struct ovl_iperf3_results ours = {
	.sender = true, .n = 1, .stream = {{.id = 1, .bytes = 7000}}};

/* All that a good server says after state 10. */
static size_t script(uint8_t *out)
{
	const size_t length = strlen(RESULTS);

	out[0] = OVL_IPERF3_TEST_START;
	out[1] = OVL_IPERF3_TEST_RUNNING;
	out[2] = OVL_IPERF3_EXCHANGE_RESULTS;
	ovl_be_put(out + 3, length, 4);
	memcpy(out + 7, RESULTS, length);
	out[7 + length] = OVL_IPERF3_DISPLAY_RESULTS;
	return 8 + length;
}

/* Feed in pieces; ends the test as soon as it runs. */
static int feed(struct ovl_iperf3_client *c, const uint8_t *p, size_t n, size_t piece)
{
	int rc = 0;

	for (size_t at = 0; at < n && !rc;) {
		/* a test that has to be ended first: no server says more before that */
		size_t room = c->phase == OVL_IPERF3_CLIENT_STREAMS ? 1 : piece;
		size_t take = n - at < room ? n - at : room;
		uint8_t *copy = malloc(take); /* so that the sanitizer sees a read past its end */

		memcpy(copy, p + at, take);
		rc = ovl_iperf3_client_input(c, copy, take);
		free(copy);
		at += take;
		if (c->phase == OVL_IPERF3_CLIENT_RUNNING)
			ovl_iperf3_client_end(c, &ours);
	}
	return rc;
}

static void test_good(void)
{
	struct ovl_iperf3_client c;
	uint8_t text[1024];
	const size_t n = script(text);

	for (size_t piece = 1; piece <= n; piece += piece < 8 ? 1 : n / 5) {
		ovl_iperf3_client_init(&c);
		is_int(feed(&c, text, n, piece), 0, "a test in pieces of %zu", piece);
		is_int(c.phase, OVL_IPERF3_CLIENT_OVER, "is over");
		ok(c.theirs.n == 1 && c.theirs.stream[0].bytes == 7000,
		   "the server's count is kept");
		ok(c.out.s[0] == OVL_IPERF3_TEST_END && c.out.s[c.out.n - 1] == OVL_IPERF3_DONE,
		   "it was told the end, and that all is done");
		ovl_iperf3_client_fini(&c);
	}
}

static void test_hostile(void)
{
	static const uint8_t error[] = {OVL_IPERF3_SERVER_ERROR, 0, 0, 0, 142};
	struct ovl_iperf3_client c;
	uint8_t text[1024], bad[1024];
	const size_t n = script(text);
	unsigned int seed = 3;
	size_t refused = 0, other = 0;

	for (size_t i = 0; i < 3 * n; i++) {
		memcpy(bad, text, n);
		bad[i / 3] = (uint8_t)rand_r(&seed);
		ovl_iperf3_client_init(&c);
		if (feed(&c, bad, n, 1 + i % 7) == -EPROTO && c.phase == OVL_IPERF3_CLIENT_FAILED)
			refused++;
		else
			other++;
		ovl_iperf3_client_fini(&c);
	}
	ok(refused > n / 10 && refused + other == 3 * n,
	   "one byte changed at each of %zu offsets: %zu of %zu are refused", n, refused, 3 * n);
	ovl_iperf3_client_init(&c);
	is_int(feed(&c, error, sizeof(error), 2), -EPROTO, "an error of the server");
	ok(c.phase == OVL_IPERF3_CLIENT_FAILED && c.error == 142, "is known by its number");
	ovl_iperf3_client_fini(&c);
	ovl_iperf3_client_init(&c);
	memcpy(bad, text, n);
	ovl_be_put(bad + 3, 256 * 1024 + 1, 4);
	is_int(feed(&c, bad, n, n), -EPROTO, "256 KiB + 1 of results are refused");
	ok(c.in.cap < 4096, "before any memory is taken");
	ovl_iperf3_client_fini(&c);
}

/* An iperf3 server that goes wrong after `good` bytes of its script. */
struct server {
	int listen_fd;
	size_t good;
	bool hang; /* then silent, else gone */
};

static void *server_main(void *arg)
{
	const struct server *s = arg;
	int control = accept(s->listen_fd, NULL, NULL), stream;
	uint8_t text[1024];
	char buf[4096];

	script(text);
	recv(control, buf, 37, MSG_WAITALL);
	send(control, "\t", 1, MSG_NOSIGNAL);
	recv(control, buf, 4, MSG_WAITALL);
	recv(control, buf, ovl_be_get((uint8_t *)buf, 4), MSG_WAITALL);
	send(control, "\n", 1, MSG_NOSIGNAL);
	stream = accept(s->listen_fd, NULL, NULL);
	/* running, then wait for the end of the test where it is due */
	send(control, text, s->good < 2 ? s->good : 2, MSG_NOSIGNAL);
	if (s->good > 2 && recv(control, buf, 1, MSG_WAITALL) == 1)
		send(control, text + 2, s->good - 2, MSG_NOSIGNAL);
	if (s->hang)
		while (recv(control, buf, sizeof(buf), 0) > 0)
			;
	close(stream);
	close(control);
	return NULL;
}

static void test_server(size_t good, bool hang, const char *word)
{
	struct server s = {.good = good, .hang = hang};
	struct ovl_err err = OVL_ERR_INIT;
	struct ovl_load_agreement both;
	struct ovl_load_spec spec;
	struct ovl_load *load;
	pthread_t thread;
	uint64_t t = ovl_clock_ns();
	uint16_t port;

	s.listen_fd = listen_loopback(&port);
	pthread_create(&thread, NULL, server_main, &s);
	spec = remote_spec(port, 1, false);
	if (hang)
		spec.connect_timeout_ms = BRIEF_MS;
	load = ovl_load_start(&spec, &err);
	if (good >= 2) {
		ok(load != NULL, "the test runs (%s)", err.text);
		is_str(load ? ovl_load_peer_kind(load, OVL_LOAD_OVERLAY) : "", "iperf3",
		       "by iperf3");
		sleep_ms(20);
		if (load && ovl_load_finish(load, &err) == 0)
			ok(ovl_load_agreement(load, OVL_LOAD_OVERLAY, &both) &&
				   both.received_bytes == 7000,
			   "the server's count has come");
	}
	ok(strstr(err.text, word) && (err.exit == OVL_EXIT_PEER || !*word), "%s", err.text);
	ovl_load_stop(load);
	ok(ovl_clock_ns() - t < 10000000000ull, "within a deadline");
	pthread_join(thread, NULL);
	close(s.listen_fd);
}

/* Results of other streams than the test's are no results. */
static void test_liar(void)
{
	struct ovl_iperf3_client c;
	uint8_t text[1024];
	size_t n = script(text);
	char *id = memchr(text, '[', n); /* of "streams" */

	id = strstr(id, "\"id\":1");
	id[5] = '3';
	ovl_iperf3_client_init(&c);
	is_int(feed(&c, text, n, n), -EPROTO, "results of a stream that the test does not have");
	is_int(c.phase, OVL_IPERF3_CLIENT_FAILED, "are not believed");
	ovl_iperf3_client_fini(&c);
}

int main(void)
{
	uint8_t text[1024];
	const size_t n = script(text);

	test_good();
	test_hostile();
	test_server(n, false, "");
	test_liar();
	test_server(0, true, "says nothing while its streams");
	test_server(1, false, "gone away while its streams");
	test_server(2, false, "lost");
	test_server(3, true, "says nothing while results");
	test_server(n - 1, true, "says nothing while results");
	test_server(n / 2, false, "gone away while results");
	return tap_done();
}
