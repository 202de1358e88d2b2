/* iperf3's messages and its server's role: what peers send is understood, and nothing else is. */
#include "tap.h"

#include <errno.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>

#include "load/iperf3_server.h"
#include "load/jsonio.h"

/* as iperf3 3.12 -R -P 4 -O 1 -t 5 -M 1000 -w 256K -b 1G -C reno sends them */
#define PARAMS \
	"{\"tcp\":true,\"omit\":1,\"time\":5,\"num\":0,\"blockcount\":0,\"MSS\":1000," \
	"\"parallel\":4,\"reverse\":true,\"window\":262144,\"len\":131072,\"bandwidth\":" \
	"1000000000," \
	"\"pacing_timer\":1000,\"congestion\":\"reno\",\"client_version\":\"3.12\"}"
/* as 3.12 sends them: -1 is 2^64 - 1 */
#define RESULTS \
	"{\"cpu_util_total\":29.1,\"cpu_util_user\":0.3,\"cpu_util_system\":28.8," \
	"\"sender_has_retransmits\":18446744073709551615,\"congestion_used\":\"bbr\"," \
	"\"streams\":[{\"id\":1,\"bytes\":8589934592,\"retransmits\":18446744073709551615," \
	"\"jitter\":0,\"errors\":0,\"packets\":0,\"start_time\":0,\"end_time\":1.5},{\"id\":3," \
	"\"bytes\":7,\"retransmits\":-1,\"jitter\":0,\"errors\":0,\"packets\":0,\"start_time\":0," \
	"\"end_time\":1.5}]}"

static int parse(const char *json, struct ovl_iperf3_params *out, enum ovl_iperf3_error *error)
{
	return ovl_iperf3_params_parse(json, strlen(json), out, error);
}

static void test_params(void)
{
	struct ovl_iperf3_params p;
	enum ovl_iperf3_error error;
	size_t refused = 0;

	is_int(parse(PARAMS, &p, &error), 0, "parameters of 3.12");
	ok(p.omit_s == 1 && p.time_s == 5 && p.streams == 4 && p.block_bytes == 131072, "numbers");
	ok(p.mss_bytes == 1000 && p.window_bytes == 262144 && p.rate_bps == 1000000000, "optional");
	ok(p.reverse && !p.nodelay && !p.skip_rx_copy, "switches");
	is_str(p.congestion, "reno", "congestion control");
	for (size_t n = 0; n < sizeof(PARAMS) - 1; n++)
		refused += ovl_iperf3_params_parse(PARAMS, n, &p, &error) == -EPROTO;
	is_int(refused, sizeof(PARAMS) - 1, "cut off anywhere they are refused");
	is_int(parse("{\"tcp\":true,\"parallel\":1,\"len\":1,\"num\":9007199254740993}", &p,
		     &error),
	       0, "few will do");
	ok(p.total_bytes == 9007199254740993ull && p.time_s == 0, "bytes instead of time");
	is_int(parse("{\"tcp\":true,\"parallel\":1,\"len\":1,\"bandwidth\":1e10,\"fqrate\":5,"
		     "\"skip_rx_copy\":1,\"nodelay\":true,\"server_affinity\":-1}",
		     &p, &error),
	       0, "with later keys");
	ok(p.rate_bps == 5 && p.skip_rx_copy && p.nodelay, "the smaller rate counts");
}

#define BASE "\"parallel\":1,\"len\":1000"
#define TCP  "\"tcp\":true," BASE

static void test_refused(void)
{
	static const struct {
		const char *json;
		int rc;
		enum ovl_iperf3_error error;
	} bad[] = {
		{"{\"udp\":true," BASE "}", -EOPNOTSUPP, OVL_IPERF3_EUNIMP},
		{"{" BASE "}", -EOPNOTSUPP, OVL_IPERF3_EUNIMP},
		{"{\"tcp\":false," BASE "}", -EOPNOTSUPP, OVL_IPERF3_EUNIMP},
		{"{\"sctp\":true," BASE "}", -EOPNOTSUPP, OVL_IPERF3_ENOSCTP},
		{"{\"bidirectional\":1," TCP "}", -EOPNOTSUPP, OVL_IPERF3_EUNIMP},
		{"{\"reverse\":true,\"zerocopy\":1," TCP "}", -EOPNOTSUPP, OVL_IPERF3_EUNIMP},
		{"{\"authtoken\":\"x\"," TCP "}", -EOPNOTSUPP, OVL_IPERF3_EAUTHTEST},
		{"{\"server_affinity\":1," TCP "}", -EOPNOTSUPP, OVL_IPERF3_EAFFINITY},
		{"{\"time\":86401," TCP "}", -ERANGE, OVL_IPERF3_EDURATION},
		{"{\"time\":-1," TCP "}", -ERANGE, OVL_IPERF3_EDURATION},
		{"{\"time\":\"5\"," TCP "}", -ERANGE, OVL_IPERF3_EDURATION},
		{"{\"time\":18446744073709551615," TCP "}", -ERANGE, OVL_IPERF3_EDURATION},
		{"{\"omit\":601," TCP "}", -ERANGE, OVL_IPERF3_EOMIT},
		{"{\"tcp\":true,\"parallel\":0,\"len\":1}", -ERANGE, OVL_IPERF3_ENUMSTREAMS},
		{"{\"tcp\":true,\"parallel\":129,\"len\":1}", -ERANGE, OVL_IPERF3_ENUMSTREAMS},
		{"{\"tcp\":true,\"len\":1}", -ERANGE, OVL_IPERF3_ENUMSTREAMS},
		{"{\"tcp\":true,\"parallel\":1,\"len\":0}", -ERANGE, OVL_IPERF3_EBLOCKSIZE},
		{"{\"tcp\":true,\"parallel\":1,\"len\":1048577}", -ERANGE, OVL_IPERF3_EBLOCKSIZE},
		{"{\"MSS\":9217," TCP "}", -ERANGE, OVL_IPERF3_EMSS},
		{"{\"window\":-5," TCP "}", -EPROTO, OVL_IPERF3_ERECVPARAMS},
		{"{\"window\":4294967296," TCP "}", -EPROTO, OVL_IPERF3_ERECVPARAMS},
		{"{\"bandwidth\":-1," TCP "}", -EPROTO, OVL_IPERF3_ERECVPARAMS},
		{"{\"bandwidth\":1e300," TCP "}", -EPROTO, OVL_IPERF3_ERECVPARAMS},
		{"{\"num\":[]," TCP "}", -EPROTO, OVL_IPERF3_ERECVPARAMS},
		{"{\"TOS\":256," TCP "}", -EPROTO, OVL_IPERF3_ERECVPARAMS},
		{"{\"congestion\":7," TCP "}", -EPROTO, OVL_IPERF3_ERECVPARAMS},
		{"{\"congestion\":\"../x\"," TCP "}", -EPROTO, OVL_IPERF3_ERECVPARAMS},
		{"{\"congestion\":\"a\\u0000b\"," TCP "}", -EPROTO, OVL_IPERF3_ERECVPARAMS},
		{"{\"congestion\":\"aaaaaaaaaaaaaaaa\"," TCP "}", -EPROTO, OVL_IPERF3_ERECVPARAMS},
		{"[[[[[[[[[1]]]]]]]]]", -EPROTO, OVL_IPERF3_ERECVPARAMS},
		{"{\"a\":[[[[[[[[1]]]]]]]]," TCP "}", -EPROTO, OVL_IPERF3_ERECVPARAMS},
		{"{" TCP "}x", -EPROTO, OVL_IPERF3_ERECVPARAMS},
	};
	struct ovl_iperf3_params p;
	enum ovl_iperf3_error error;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		ok(parse(bad[i].json, &p, &error) == bad[i].rc && error == bad[i].error,
		   "refused: %.60s", bad[i].json);
}

static void test_results(void)
{
	static const char *const bad[] = {
		"{}",
		"{\"cpu_util_total\":1,\"cpu_util_user\":1,\"cpu_util_system\":1,"
		"\"sender_has_retransmits\":1}",
		"{\"cpu_util_total\":1,\"cpu_util_user\":1,\"cpu_util_system\":1,"
		"\"sender_has_retransmits\":1,\"streams\":[1]}",
		"{\"cpu_util_total\":1,\"cpu_util_user\":1,\"cpu_util_system\":1,"
		"\"sender_has_retransmits\":1,\"streams\":[{\"id\":1,\"bytes\":-1,\"retransmits\":"
		"0,"
		"\"jitter\":0,\"errors\":0,\"packets\":0}]}",
		"{\"cpu_util_total\":\"1\",\"cpu_util_user\":1,\"cpu_util_system\":1,"
		"\"sender_has_retransmits\":1,\"streams\":[]}",
		"{\"cpu_util_total\":1e9,\"cpu_util_user\":1,\"cpu_util_system\":1,"
		"\"sender_has_retransmits\":1,\"streams\":[]}",
	};
	struct ovl_iperf3_results in = {.cpu_total = 12.5,
					.cpu_user = 2.5,
					.cpu_system = 10,
					.sender = true,
					.n = OVL_IPERF3_STREAMS_MAX},
				  *out;
	struct ovl_buf buf = {0};
	size_t refused = 0;

	out = malloc(sizeof(*out));
	is_int(ovl_iperf3_results_parse(RESULTS, sizeof(RESULTS) - 1, 2, out), 0,
	       "results of 3.12");
	ok(out->n == 2 && out->stream[0].id == 1 && out->stream[1].id == 3, "streams 1 and 3");
	ok(out->stream[0].bytes == 8589934592ull && out->stream[0].end_s == 1.5, "numbers");
	ok(!out->sender && out->stream[0].retransmits == -1 && out->stream[1].retransmits == -1,
	   "2^64 - 1 is -1");
	for (size_t n = 0; n < sizeof(RESULTS) - 1; n++)
		refused += ovl_iperf3_results_parse(RESULTS, n, 2, out) == -EPROTO;
	is_int(refused, sizeof(RESULTS) - 1, "cut off anywhere they are refused");
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		is_int(ovl_iperf3_results_parse(bad[i], strlen(bad[i]), 1, out), -EPROTO,
		       "refused: %.120s", bad[i]);
	for (uint32_t i = 0; i < in.n; i++)
		in.stream[i] = (struct ovl_iperf3_stream){.id = ovl_iperf3_stream_id(i),
							  .bytes = OVL_IPERF3_COUNT_MAX,
							  .retransmits = i,
							  .end_s = 86400.123456};
	is_int(ovl_iperf3_results_format(&in, &buf), 0, "128 streams are formatted");
	ok(buf.n < 32768, "to %zu bytes", buf.n);
	is_int(ovl_iperf3_results_parse(buf.s + 4, buf.n - 4, in.n, out), 0, "and parse");
	ok(out->n == 128 && out->stream[127].id == 129 && out->stream[127].retransmits == 127 &&
		   out->stream[5].bytes == OVL_IPERF3_COUNT_MAX && out->sender &&
		   out->cpu_total == 12.5 && fabs(out->stream[9].end_s - 86400.123456) < 1e-6,
	   "to the same values");
	free(out);
	ovl_buf_fini(&buf);
}

/* Streams that are not those of the test, and counts that no test has. */
static void test_streams(void)
{
#define HEAD \
	"{\"cpu_util_total\":1,\"cpu_util_user\":1,\"cpu_util_system\":0," \
	"\"sender_has_retransmits\":1,\"streams\":["
#define STREAM(id, bytes, retransmits) \
	"{\"id\":" id ",\"bytes\":" bytes ",\"retransmits\":" retransmits \
	",\"jitter\":0,\"errors\":0,\"packets\":0}"
	static const struct {
		const char *name, *json;
		int rc;
	} rows[] = {
		{"1 and 3", HEAD STREAM("1", "5", "0") "," STREAM("3", "7", "0") "]}", 0},
		{"3 and 1", HEAD STREAM("3", "7", "0") "," STREAM("1", "5", "0") "]}", 0},
		{"none", HEAD "]}", -EPROTO},
		{"one of two", HEAD STREAM("1", "5", "0") "]}", -EPROTO},
		{"three of two",
		 HEAD STREAM("1", "5", "0") "," STREAM("3", "7", "0") "," STREAM("4", "7",
										 "0") "]}",
		 -EPROTO},
		{"the same twice", HEAD STREAM("1", "5", "0") "," STREAM("1", "7", "0") "]}",
		 -EPROTO},
		{"a strange id", HEAD STREAM("1", "5", "0") "," STREAM("2", "7", "0") "]}",
		 -EPROTO},
		{"one of a larger test", HEAD STREAM("1", "5", "0") "," STREAM("4", "7", "0") "]}",
		 -EPROTO},
		{"2^62 bytes",
		 HEAD STREAM("1", "4611686018427387904", "0") "," STREAM("3", "7", "0") "]}",
		 -EPROTO},
		{"2^62 retransmits",
		 HEAD STREAM("1", "5", "4611686018427387904") "," STREAM("3", "7", "0") "]}",
		 -EPROTO},
	};
	struct ovl_iperf3_results *out = malloc(sizeof(*out));

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		is_int(ovl_iperf3_results_parse(rows[i].json, strlen(rows[i].json), 2, out),
		       rows[i].rc, "of a test with two streams: %s", rows[i].name);
		if (!rows[i].rc)
			ok(out->n == 2 && out->stream[0].id == 1 && out->stream[0].bytes == 5 &&
				   out->stream[1].id == 3 && out->stream[1].bytes == 7,
			   "in order");
	}
	free(out);
}

/* Everything that a good client says to a server of two streams, in order. */
static size_t script(uint8_t *out, size_t size)
{
	const char *texts[] = {"{\"tcp\":true,\"parallel\":2,\"len\":1000,\"time\":1}", RESULTS};
	size_t n = 0;

	for (int i = 0; i < 2; i++) {
		size_t length = strlen(texts[i]);

		if (n + length + 8 > size)
			abort();
		ovl_be_put(out + n, length, 4);
		memcpy(out + n + 4, texts[i], length);
		n += 4 + length;
		out[n++] = i ? OVL_IPERF3_DONE : OVL_IPERF3_TEST_END;
	}
	return n;
}

/* Feed bytes in pieces and do what a server's user does; the phase at the end. */
static enum ovl_iperf3_phase feed(struct ovl_iperf3_server *s, const uint8_t *p, size_t n,
				  size_t piece)
{
	static const struct ovl_iperf3_results ours = {.n = 1, .stream = {{.id = 1}}};
	size_t at = 0, used = 0;

	while (at < n && s->phase != OVL_IPERF3_OVER) {
		size_t take = n - at < piece ? n - at : piece;
		/* an own copy, so that the sanitizer sees a read past its end */
		uint8_t *copy = malloc(take);

		memcpy(copy, p + at, take);
		if (ovl_iperf3_server_input(s, copy, take, &used) && s->phase != OVL_IPERF3_OVER)
			abort();
		free(copy);
		at += used;
		if (s->phase == OVL_IPERF3_ASKED) {
			ovl_iperf3_server_accept(s);
			for (uint32_t i = 0; i < s->params.streams; i++)
				ovl_iperf3_server_join(s);
		}
		if (s->phase == OVL_IPERF3_RESULTS)
			ovl_iperf3_server_answer(s, &ours);
	}
	return s->phase;
}

static bool refusal(const struct ovl_iperf3_server *s, enum ovl_iperf3_error error)
{
	uint8_t want[OVL_IPERF3_REFUSAL];

	ovl_iperf3_refusal_format(error, 0, want);
	return s->phase == OVL_IPERF3_OVER && s->out.n >= sizeof(want) &&
	       memcmp(s->out.s + s->out.n - sizeof(want), want, sizeof(want)) == 0;
}

static void test_server(void)
{
	struct ovl_iperf3_server s;
	uint8_t text[2048];
	const size_t n = script(text, sizeof(text));

	for (size_t piece = 1; piece <= n; piece += piece < 8 ? 1 : n / 5) {
		ovl_iperf3_server_init(&s);
		is_int(feed(&s, text, n, piece), OVL_IPERF3_OVER, "a test in pieces of %zu", piece);
		ok(s.out.n > 20 && memcmp(s.out.s, "\x09\x0a\x01\x02\x0d\0\0", 7) == 0 &&
			   s.out.s[s.out.n - 1] == OVL_IPERF3_DISPLAY_RESULTS,
		   "states in order, results, and the last state");
		ok(s.theirs.stream[0].bytes == 8589934592ull, "the client's results are kept");
		ovl_iperf3_server_fini(&s);
	}
}

/* One byte changed at each offset: any end is good that is an end or a wait. */
static void test_server_hostile(void)
{
	struct ovl_iperf3_server s;
	uint8_t text[2048], bad[2048];
	const size_t n = script(text, sizeof(text));
	unsigned int seed = 7;
	size_t over = 0, waits = 0;

	for (size_t i = 0; i < n; i++) {
		for (int k = 0; k < 3; k++) {
			memcpy(bad, text, n);
			bad[i] = k ? (uint8_t)rand_r(&seed) : bad[i] ^ 0xff;
			ovl_iperf3_server_init(&s);
			if (feed(&s, bad, n, 1 + i % 7) == OVL_IPERF3_OVER)
				over++;
			else
				waits++;
			ovl_iperf3_server_fini(&s);
		}
	}
	ok(over + waits == 3 * n && over > waits, "one byte changed at each of %zu offsets", n);
	for (uint8_t state = 0; state < 255; state++) {
		ovl_iperf3_server_init(&s);
		feed(&s, text, 4 + ovl_be_get(text, 4), 4096);
		if (state != OVL_IPERF3_TEST_END && state != OVL_IPERF3_CLIENT_TERMINATE) {
			feed(&s, &state, 1, 1);
			over += refusal(&s, OVL_IPERF3_EMESSAGE) ? 0 : 100000;
		}
		ovl_iperf3_server_fini(&s);
	}
	ok(over < 100000, "any other state while the test runs is refused");
	for (size_t i = 0; i < 4; i++) {
		static const uint8_t lengths[][4] = {
			{0, 0, 0, 0}, {0, 0, 0, 1}, {0, 0, 0x20, 1}, {0xff, 0xff, 0xff, 0xff}};

		ovl_iperf3_server_init(&s);
		feed(&s, lengths[i], 4, 4);
		ok(refusal(&s, OVL_IPERF3_ERECVPARAMS) && s.in.cap < 1024,
		   "length %zu out of range is refused before any memory is taken", i);
		ovl_iperf3_server_fini(&s);
	}
	ovl_iperf3_server_init(&s);
	feed(&s, text, 4 + ovl_be_get(text, 4), 4096);
	feed(&s, (const uint8_t[]){OVL_IPERF3_TEST_END, 0, 4, 0, 1}, 5, 5);
	ok(refusal(&s, OVL_IPERF3_ERECVRESULTS), "256 KiB + 1 of results are refused");
	ovl_iperf3_server_fini(&s);
}

int main(void)
{
	const uint32_t want[] = {1, 3, 4, 5};

	for (uint32_t i = 0; i < 4; i++)
		is_int(ovl_iperf3_stream_id(i), want[i], "id of stream %u", i);
	test_params();
	test_refused();
	test_results();
	test_streams();
	test_server();
	test_server_hostile();
	return tap_done();
}
