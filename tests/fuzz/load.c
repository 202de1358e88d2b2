/*
 * libFuzzer's entrance to what strangers send to the load: the first bytes of a connection, HTTP,
 * both roles of iperf3's protocol, and our own dialect. The first byte of an input chooses; the
 * corpus is text, so framing (lengths, state bytes) is put around it here as well.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "load/iperf3_client.h"
#include "load/iperf3_server.h"
#include "load/jsonio.h"
#include "load/sniff.h"
#include "load/track.h"
#include "load/wire.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

/* u32be length and the text. */
static void framed(const uint8_t *text, size_t n, struct ovl_buf *out)
{
	uint8_t head[4];

	ovl_be_put(head, n, 4);
	ovl_buf_put(out, (const char *)head, 4);
	ovl_buf_put(out, (const char *)text, n);
}

static void serve(const struct ovl_buf *in, size_t piece)
{
	static const struct ovl_iperf3_results ours = {.n = 1, .stream = {{.id = 1}}};
	struct ovl_iperf3_server s;
	size_t at = 0, used = 0;

	ovl_iperf3_server_init(&s);
	while (at < in->n && s.phase != OVL_IPERF3_OVER) {
		size_t take = in->n - at < piece ? in->n - at : piece;

		ovl_iperf3_server_input(&s, (const uint8_t *)in->s + at, take, &used);
		at += used;
		if (s.phase == OVL_IPERF3_ASKED) {
			ovl_iperf3_server_accept(&s);
			for (uint32_t i = 0; i < s.params.streams; i++)
				ovl_iperf3_server_join(&s);
		}
		if (s.phase == OVL_IPERF3_RESULTS)
			ovl_iperf3_server_answer(&s, &ours);
	}
	ovl_iperf3_server_fini(&s);
}

static void follow(const struct ovl_buf *in, size_t piece)
{
	static const struct ovl_iperf3_results ours = {.sender = true, .n = 1};
	struct ovl_iperf3_client c;
	int rc = 0;

	ovl_iperf3_client_init(&c);
	for (size_t at = 0; at < in->n && !rc; at += piece) {
		rc = ovl_iperf3_client_input(&c, (const uint8_t *)in->s + at,
					     in->n - at < piece ? in->n - at : piece);
		if (c.phase == OVL_IPERF3_CLIENT_RUNNING)
			ovl_iperf3_client_end(&c, &ours);
	}
	ovl_iperf3_client_fini(&c);
}

/* A test of a server's client up to its results, which are the input. */
static void results(const uint8_t *text, size_t n, bool server)
{
	static const char params[] = "{\"tcp\":true,\"parallel\":1,\"len\":1000}";
	struct ovl_buf b = {0};

	if (server) {
		framed((const uint8_t *)params, sizeof(params) - 1, &b);
		ovl_buf_put(&b, "\x04", 1);
		framed(text, n, &b);
		ovl_buf_put(&b, "\x10", 1);
		serve(&b, 1 + n % 61);
	} else {
		ovl_buf_put(&b, "\x01\x02\x0d", 3);
		framed(text, n, &b);
		ovl_buf_put(&b, "\x0e", 1);
		follow(&b, 1);
	}
	ovl_buf_fini(&b);
}

static void own(const uint8_t *text, size_t n)
{
	struct ovl_wire_params params;
	struct ovl_wire_hello hello;
	struct ovl_wire_cookie cookie;

	if (n >= 4)
		ovl_wire_length_parse(text);
	ovl_wire_params_parse((const char *)text, n, &params);
	ovl_wire_hello_parse((const char *)text, n, &hello);
	ovl_wire_cookie_parse((const char *)text, n, &cookie);
}

/*
 * Reports as the sender takes them: one after the other, as long as they make sense. The input is
 * their three numbers; what is before those is in every report, and wrong in the odd input.
 */
static void reports(const uint8_t *text, size_t n)
{
	enum { NUMBERS = 24 };
	struct ovl_track_clock clock = {0};
	struct ovl_track track = {0};
	struct ovl_wire_report report = {0};
	uint8_t bytes[OVL_WIRE_REPORT_BYTES];

	ovl_wire_report_format(&report, bytes);
	bytes[n % 8] ^= n % 7 == 6;
	for (size_t at = 0; at + NUMBERS <= n; at += NUMBERS) {
		memcpy(bytes + sizeof(bytes) - NUMBERS, text + at, NUMBERS);
		if (ovl_wire_report_parse(bytes, &report) || ovl_track_add(&track, &report))
			return;
		ovl_track_clock_add(&clock, report.ts_ns, at * 1000);
		ovl_track_at(&track, ovl_track_clock_map(&clock, at * 1000));
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	/* an own copy without a byte more, so that the sanitizer sees a read past its end */
	size_t text_n = n ? n - 1 - (n > 1 && data[n - 1] == '\n') : 0; /* as files end */
	uint8_t *text = malloc(text_n ? text_n : 1);
	struct ovl_buf b = {0};

	if (text_n)
		memcpy(text, data + 1, text_n);
	switch (n ? data[0] : 0) {
	case 'p':
		framed(text, text_n, &b);
		serve(&b, 1 + text_n % 7);
		break;
	case 'r': results(text, text_n, true); break;
	case 'c': results(text, text_n, false); break;
	case 'o': own(text, text_n); break;
	case 'w': reports(text, text_n); break;
	case 'h':
		if (text_n >= 5 && ovl_sniff((const char *)text, 5) == OVL_GUEST_HTTP)
			ovl_http_answer((const char *)text, text_n, &b);
		break;
	case 's':
		ovl_sniff((const char *)text, text_n < 37 ? text_n : 37);
		ovl_buf_put(&b, (const char *)text, text_n);
		serve(&b, 3);
		follow(&b, 3);
		break;
	}
	ovl_buf_fini(&b);
	free(text);
	return 0;
}
