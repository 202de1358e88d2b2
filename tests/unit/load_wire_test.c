/* The load's protocol bytes: what is sent is understood, and nothing else is. */
#include "tap.h"

#include <errno.h>
#include <stdlib.h>

#include "load/wire.h"

static const struct ovl_wire_params good = {.conns = 8,
					    .streams = 4,
					    .block_bytes = 131072,
					    .window_bytes = 65536,
					    .max_frames = 800,
					    .rx_trunc = 1,
					    .report = 2};

static void test_cookie(void)
{
	struct ovl_wire_cookie in = {.stream = 255}, out = {0};
	uint8_t random[OVL_WIRE_SESSION_CHARS];
	char text[OVL_WIRE_COOKIE_BYTES];
	int partial = 0, spoilt = 0;

	for (int i = 0; i < OVL_WIRE_SESSION_CHARS; i++)
		random[i] = (uint8_t)(i * 37 + 201);
	ovl_wire_session_format(random, in.session);
	is_int(strlen(in.session), OVL_WIRE_SESSION_CHARS, "a session has 24 characters");
	ovl_wire_cookie_format(&in, text);
	is_int(strlen(text), 36, "a cookie is 36 characters and NUL");
	is_int(strspn(text, "abcdefghijklmnopqrstuvwxyz234567"), 36, "of iperf3's alphabet");
	ok(strncmp(text, "ovltrace2", 9) == 0, "and begins with ovltrace2");
	is_int(ovl_wire_cookie_parse(text, sizeof(text), &out), 0, "it parses");
	is_str(out.session, in.session, "to the same session");
	is_int(out.stream, 255, "and stream");
	for (size_t n = 0; n < sizeof(text); n++)
		partial += ovl_wire_cookie_parse(text, n, &out) == -EAGAIN;
	is_int(partial, 37, "each beginning of it wants more");
	for (size_t i = 0; i < sizeof(text); i++) {
		char bad[sizeof(text)];

		memcpy(bad, text, sizeof(bad));
		bad[i] = i == 36 ? 'a' : '\xff';
		spoilt += ovl_wire_cookie_parse(bad, sizeof(bad), &out) == -EPROTO;
	}
	is_int(spoilt, 37, "one wrong byte at any place is refused");
	is_int(ovl_wire_cookie_parse("GET / HT", 8, &out), -EPROTO, "HTTP is refused at once");
	is_int(ovl_wire_cookie_parse("k7abcdefg", 9, &out), -EPROTO, "so is a cookie of iperf3");
}

static void test_params(void)
{
	static const char older[] =
		"{\"parallel\":1,\"len\":4096,\"ovltrace\":{\"v\":1,\"conns\":1,"
		"\"window_bytes\":0,\"max_frames\":0,\"rx_trunc\":0}}";
	struct ovl_wire_params out = {0};
	struct ovl_buf buf = {0};
	size_t n, refused = 0;
	uint8_t head[4];

	is_int(ovl_wire_params_format(&good, &buf), 0, "parameters are formatted");
	memcpy(head, ovl_buf_str(&buf), 4);
	n = buf.n - 4;
	is_int(ovl_wire_length_parse(head), n, "with their length in front");
	is_int(ovl_wire_params_parse(buf.s + 4, n, &out), 0, "and parse");
	ok(memcmp(&out, &good, sizeof(out)) == 0, "to the same values");
	is_int(ovl_wire_params_parse(older, strlen(older), &out), 0, "an older client's parse");
	is_int(out.report, 1, "it understands the first version of a report");
	ok(strstr(buf.s + 4, "\"tcp\":true") && strstr(buf.s + 4, "\"parallel\":4"),
	   "they carry what an iperf3 server needs");
	for (size_t i = 0; i < n; i++)
		refused += ovl_wire_params_parse(buf.s + 4, i, &out) == -EPROTO;
	is_int(refused, n, "cut off anywhere they are refused");
	ovl_buf_fini(&buf);
}

static void test_params_hostile(void)
{
	static const char *const bad[] = {
		"[]",
		"{}",
		"null",
		"\"ovltrace\"",
		"{\"parallel\":4,\"len\":131072}",
		"{\"parallel\":4,\"len\":131072,\"ovltrace\":{\"v\":1,\"conns\":8,\"window_bytes\":"
		"0,\"max_frames\":0,\"rx_trunc\":2}}",
		"{\"parallel\":4,\"len\":131072,\"ovltrace\":1}",
		"{\"parallel\":4,\"len\":131072,\"ovltrace\":{\"v\":2,\"conns\":8,\"window_bytes\":"
		"0,\"max_frames\":0,\"rx_trunc\":0}}",
		"{\"parallel\":0,\"len\":131072,\"ovltrace\":{\"v\":1,\"conns\":8,\"window_bytes\":"
		"0,\"max_frames\":0,\"rx_trunc\":0}}",
		"{\"parallel\":-1,\"len\":131072,\"ovltrace\":{\"v\":1,\"conns\":8,\"window_"
		"bytes\":0,\"max_frames\":0,\"rx_trunc\":0}}",
		"{\"parallel\":4,\"len\":131072,\"ovltrace\":{\"v\":1,\"conns\":257,\"window_"
		"bytes\":0,\"max_frames\":0,\"rx_trunc\":0}}",
		"{\"parallel\":4,\"len\":1e99,\"ovltrace\":{\"v\":1,\"conns\":8,\"window_bytes\":0,"
		"\"max_frames\":0,\"rx_trunc\":0}}",
		"{\"parallel\":\"4\",\"len\":131072,\"ovltrace\":{\"v\":1,\"conns\":8,\"window_"
		"bytes\":0,\"max_frames\":0,\"rx_trunc\":0}}",
		"{\"parallel\":4,\"len\":131072,\"ovltrace\":{\"v\":1,\"conns\":8,\"window_bytes\":"
		"99999999999,\"max_frames\":0,\"rx_trunc\":0}}",
		"{\"parallel\":4,\"len\":131072,\"ovltrace\":{\"v\":1,\"conns\":8,\"window_bytes\":"
		"0,\"max_frames\":0,\"rx_trunc\":0}} x",
		"{\"parallel\":4,\"a\":[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]],\"len\":131072,\"ovltrace\":"
		"{\"v\":1,\"conns\":8,\"window_bytes\":0,\"max_frames\":0,\"rx_trunc\":0}}",
		"{\"parallel\":18446744073709551615,\"len\":131072,\"ovltrace\":{\"v\":1,\"conns\":"
		"8,\"window_bytes\":0,\"max_frames\":0,\"rx_trunc\":0}}",
	};
	struct ovl_wire_params out;
	char *big = malloc(OVL_WIRE_JSON_MAX + 1);
	const uint8_t lengths[][4] = {
		{0, 0, 0, 0}, {0, 0, 0, 1}, {0, 0, 0x20, 1}, {0xff, 255, 255, 255}};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		is_int(ovl_wire_params_parse(bad[i], strlen(bad[i]), &out), -EPROTO,
		       "refused: %.60s", bad[i]);
	for (size_t i = 0; i < 4; i++)
		is_int(ovl_wire_length_parse(lengths[i]), 0, "length %zu out of range", i);
	memset(big, ' ', OVL_WIRE_JSON_MAX + 1);
	is_int(ovl_wire_params_parse(big, OVL_WIRE_JSON_MAX + 1, &out), -EPROTO, "oversize");
	memset(big, '[', OVL_WIRE_JSON_MAX);
	is_int(ovl_wire_params_parse(big, OVL_WIRE_JSON_MAX, &out), -EPROTO, "8192 brackets");
	memset(big, 0, OVL_WIRE_JSON_MAX);
	is_int(ovl_wire_params_parse(big, OVL_WIRE_JSON_MAX, &out), -EPROTO, "8192 zeros");
	free(big);
}

static void test_hello(void)
{
	static const char *const bad[] = {
		"{\"instance\":\"\",\"version\":\"1\"}",
		"{\"instance\":\"a\"}",
		"{\"instance\":\"A\\u001b[2J\",\"version\":\"1\"}",
		"{\"instance\":\"a\",\"version\":\"1\\n2\"}",
		"{\"instance\":\"a\",\"version\":7}",
		"{\"instance\":\"a\\u0000b\",\"version\":\"1\"}",
		"{\"instance\":\"0123456789012345678901234567890123\",\"version\":\"1\"}",
	};
	static const char *const unable[] = {
		"{\"instance\":\"a\",\"version\":\"1\"}",
		"{\"instance\":\"a\",\"version\":\"1\",\"rr\":2}",
		"{\"instance\":\"a\",\"version\":\"1\",\"rr\":true}",
		"{\"instance\":\"a\",\"version\":\"1\",\"rr\":\"1\"}",
		"{\"instance\":\"a\",\"version\":\"1\",\"reverse\":2}",
		"{\"instance\":\"a\",\"version\":\"1\",\"reverse\":true}",
	};
	struct ovl_wire_hello in = {.instance = "00ff12", .version = "0.1.0"}, out;
	struct ovl_buf buf = {0};

	is_int(ovl_wire_hello_format(&in, &buf), 0, "hello is formatted");
	is_int(buf.s[0], OVL_WIRE_HELLO, "state byte first");
	is_int(ovl_wire_hello_parse(buf.s + 5, buf.n - 5, &out), 0, "and parses");
	is_str(out.instance, "00ff12", "instance");
	is_str(out.version, "0.1.0", "version");
	ok(!out.rr && !out.reverse, "no round trips, and it does not send");
	ovl_buf_clear(&buf);
	in.rr = true;
	ovl_wire_hello_format(&in, &buf);
	ok(!ovl_wire_hello_parse(buf.s + 5, buf.n - 5, &out) && out.rr && !out.reverse,
	   "round trips");
	ovl_buf_clear(&buf);
	in = (struct ovl_wire_hello){.instance = "1", .version = "1", .reverse = true};
	ovl_wire_hello_format(&in, &buf);
	ok(!ovl_wire_hello_parse(buf.s + 5, buf.n - 5, &out) && !out.rr && out.reverse, "reverse");
	for (size_t i = 0; i < sizeof(unable) / sizeof(unable[0]); i++)
		ok(!ovl_wire_hello_parse(unable[i], strlen(unable[i]), &out) && !out.rr &&
			   !out.reverse,
		   "neither: %s", unable[i]);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		is_int(ovl_wire_hello_parse(bad[i], strlen(bad[i]), &out), -EPROTO, "refused: %s",
		       bad[i]);
	ovl_buf_fini(&buf);
}

static void test_rr(void)
{
	static const uint32_t right[] = {1, 100, OVL_WIRE_RR_BYTES_MAX};
	static const uint32_t wrong[] = {0, OVL_WIRE_RR_BYTES_MAX + 1, UINT32_MAX};
	uint8_t head[OVL_WIRE_RR_HEAD_BYTES];

	for (int i = 0; i < 3; i++) {
		ovl_wire_rr_format(right[i], head);
		is_int(ovl_wire_rr_parse(head), right[i], "messages of %u bytes", right[i]);
		ovl_wire_rr_format(wrong[i], head);
		is_int(ovl_wire_rr_parse(head), 0, "not of %u", wrong[i]);
	}
	for (int i = 0; i < 4; i++) {
		ovl_wire_rr_format(1, head);
		head[i] ^= 0x20;
		is_int(ovl_wire_rr_parse(head), 0, "another word than OVLQ: byte %d", i);
	}
}

static bool same_report(const struct ovl_wire_report *a, const struct ovl_wire_report *b)
{
	return a->bytes == b->bytes && a->cpu_ns == b->cpu_ns && a->ts_ns == b->ts_ns &&
	       a->switches == b->switches && a->voluntary == b->voluntary &&
	       a->involuntary == b->involuntary;
}

static void test_report(bool switches)
{
	struct ovl_wire_report in = {
		.bytes = 0x0102030405060708, .cpu_ns = 99, .ts_ns = (uint64_t)INT64_MAX};
	struct ovl_wire_report out = {.voluntary = 1};
	uint8_t raw[OVL_WIRE_REPORT_BYTES] = {0}, bad[OVL_WIRE_REPORT_BYTES];
	int n = switches ? 48 : 32;

	if (switches) {
		in.switches = true;
		in.voluntary = 7;
		in.involuntary = 1ull << 40;
	}
	is_int(ovl_wire_report_format(&in, raw), n, "a report of version %d has its length",
	       switches ? 2 : 1);
	is_int(ovl_wire_report_length(raw), n, "which its head tells");
	is_int(ovl_wire_report_parse(raw, &out), 0, "it parses");
	ok(same_report(&in, &out), "to the same values");
	ok(memcmp(raw, switches ? "OVLR\0\0\0\2" : "OVLR\0\0\0\1", 8) == 0 &&
		   memcmp(raw + 8, "\1\2\3\4\5\6\7\10", 8) == 0,
	   "big-endian, magic, version");
	for (int i = 0; i < 8; i++) {
		memcpy(bad, raw, sizeof(bad));
		bad[i] ^= 0x40;
		is_int(ovl_wire_report_parse(bad, &out), -EPROTO, "wrong head byte %d", i);
	}
	for (int i = 8; i < n; i += 8) {
		memcpy(bad, raw, sizeof(bad));
		bad[i] = 0x80;
		is_int(ovl_wire_report_parse(bad, &out), -EPROTO, "impossible value at %d", i);
	}
}

int main(void)
{
	test_cookie();
	test_params();
	test_params_hostile();
	test_hello();
	test_rr();
	test_report(false);
	test_report(true);
	return tap_done();
}
