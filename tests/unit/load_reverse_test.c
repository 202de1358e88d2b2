/* Reverse loads: the far end sends; single connections, the mark and the results at the end. */
#include "peer_kit.h"

#include "load/iperf3_wire.h"
#include "load/wire.h"

/* What is sent to a server for a reverse test has nothing of ours in it. */
static void test_params(void)
{
	const struct ovl_wire_params params = {.conns = 2,
					       .streams = 2,
					       .block_bytes = 4096,
					       .omit_s = 3,
					       .reverse = true,
					       .rate_bps = 5000000,
					       .mss_bytes = 1000,
					       .congestion = "cubic"};
	const struct ovl_wire_cookie cookie = {.session = "abcdefghijklmnopqrstuvwx", .stream = 1};
	struct ovl_wire_cookie again;
	char text[OVL_WIRE_COOKIE_BYTES];
	struct ovl_iperf3_params got = {0};
	enum ovl_iperf3_error error = 0;
	struct ovl_buf b = {0};

	is_int(ovl_wire_params_format(&params, &b), 0, "parameters of a reverse test");
	ok(!strstr(b.s + 4, "ovltrace"), "nothing of ours is in them");
	is_int(ovl_iperf3_params_parse(b.s + 4, b.n - 4, &got, &error), 0, "iperf3 takes them");
	ok(got.reverse && got.omit_s == 3 && got.streams == 2 && got.rate_bps == 5000000 &&
		   got.mss_bytes == 1000 && !strcmp(got.congestion, "cubic"),
	   "and reads what was meant");
	ovl_buf_fini(&b);
	ovl_wire_cookie_plain(&cookie, text);
	is_int(strlen(text), 36, "a plain cookie is as long as iperf3's");
	is_int(strspn(text, "abcdefghijklmnopqrstuvwxyz234567"), 36, "of its alphabet");
	ok(ovl_wire_cookie_parse(text, sizeof(text), &again) < 0, "and not one of ours");
}

static void test_reverse(struct peer *p, uint32_t streams)
{
	struct ovl_load_spec spec = remote_spec(p->port, streams, false);
	struct ovl_err err = OVL_ERR_INIT;
	struct ovl_load_agreement agreed;
	const struct ovl_iperf3_results *theirs;
	struct ovl_load_counts before = {0}, after = {0};
	struct ovl_load_stream one = {0};
	struct ovl_load *load;
	uint64_t marked = 0, seen = 0;

	spec.reverse = true;
	load = ovl_load_start(&spec, &err);
	ok(load != NULL, "%u streams in reverse (%s)", streams, err.text);
	if (!load)
		return;
	sleep_ms(100);
	is_int(ovl_load_read(load, OVL_LOAD_OVERLAY, &before, &err), 0, "it can be read");
	for (uint32_t i = 0; i < streams; i++) {
		ovl_load_stream(load, OVL_LOAD_OVERLAY, i, 0, &one);
		marked += one.bytes;
	}
	ovl_load_mark(load);
	sleep_ms(300);
	ovl_load_read(load, OVL_LOAD_OVERLAY, &after, &err);
	ok(before.bytes && after.bytes > before.bytes && after.receiver_cpu_ns > 0 &&
		   !after.sender_cpu_ns,
	   "bytes come, this side's CPU time is a receiver's");
	ok(one.bytes && one.received_bytes == UINT64_MAX && one.remote_port == p->port &&
		   !strcmp(one.remote, "127.0.0.1"),
	   "a stream has its bytes and ends");
	is_int(ovl_load_finish(load, &err), 0, "it ends well (%s)", err.text);
	ok(ovl_load_agreement(load, OVL_LOAD_OVERLAY, &agreed), "with results");
	theirs = ovl_load_far_results(load, OVL_LOAD_OVERLAY);
	ok(theirs && theirs->sender && theirs->n == streams, "of a sender, for each stream");
	for (uint32_t i = 0; i < streams; i++) {
		ovl_load_stream(load, OVL_LOAD_OVERLAY, i, 0, &one);
		seen += one.bytes;
	}
	/* what comes between the mark and the bytes read before it is little */
	ok(agreed.received_bytes <= seen - marked && agreed.received_bytes > (seen - marked) / 2,
	   "since the mark: %llu of %llu", (unsigned long long)agreed.received_bytes,
	   (unsigned long long)seen);
	ovl_load_stop(load);
}

/* A load that cannot be asked to turn round. */
static void test_refused(uint16_t port)
{
	struct ovl_load_spec spec = remote_spec(port, 1, false);
	struct ovl_err err = OVL_ERR_INIT;

	spec.reverse = spec.raw = true;
	ok(!ovl_load_start(&spec, &err) && err.exit == OVL_EXIT_USAGE && *err.text, "%s", err.text);
}

/* Forward, to our own peer: what the receiver has got is known stream by stream. */
static void test_streams(struct peer *p)
{
	const struct ovl_load_spec spec = remote_spec(p->port, 3, false);
	struct ovl_err err = OVL_ERR_INIT;
	struct ovl_load *load = ovl_load_start(&spec, &err);
	struct ovl_load_counts counts = {0};
	struct ovl_load_stream one;
	uint64_t received = 0, acked = 0;
	char cookie[40];

	ok(load != NULL, "three streams (%s)", err.text);
	if (!load)
		return;
	ovl_load_cookie(load, OVL_LOAD_OVERLAY, cookie);
	ok(strlen(cookie) == 36 && !strncmp(cookie, "ovltrace2", 9), "the cookie: %s", cookie);
	ovl_load_select(load, OVL_LOAD_OVERLAY);
	sleep_ms(300);
	ovl_load_read(load, OVL_LOAD_OVERLAY, &counts, &err);
	for (uint32_t i = 0; i < 3; i++) {
		is_int(ovl_load_stream(load, OVL_LOAD_OVERLAY, i, counts.ts_ns, &one), 0,
		       "stream %u", i);
		received += one.received_bytes;
		acked += one.bytes;
		ok(one.bytes && one.rtt_us && one.cwnd_bytes && one.mss_bytes && one.pmtu_bytes &&
			   one.sndbuf_bytes && one.local_port && one.fd >= 0,
		   "has its numbers");
	}
	ok(received == counts.bytes, "streams add up to the path: %llu, %llu",
	   (unsigned long long)received, (unsigned long long)counts.bytes);
	ok(acked >= counts.acked_bytes, "and so do acknowledged bytes");
	ok(ovl_load_stream(load, OVL_LOAD_UNDERLAY, 0, 0, &one) < 0 &&
		   ovl_load_stream(load, OVL_LOAD_OVERLAY, 3, 0, &one) < 0,
	   "there are no others");
	ovl_load_stop(load);
}

int main(void)
{
	struct peer p = {.bind = "127.0.0.1"};

	test_params();
	peer_start(&p);
	test_reverse(&p, 1);
	test_reverse(&p, 4);
	test_refused(p.port);
	test_streams(&p);
	peer_stop(&p);
	return tap_done();
}
