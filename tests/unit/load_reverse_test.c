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
					       .time_s = 7,
					       .reverse = true,
					       .plain = true,
					       .rate_bps = 5000000,
					       .mss_bytes = 1000,
					       .congestion = "cubic"};
	const struct ovl_wire_cookie cookie = {.session = "abcdefghijklmnopqrstuvwx", .stream = 1};
	struct ovl_wire_cookie again;
	char text[OVL_WIRE_COOKIE_BYTES];
	struct ovl_iperf3_params got = {0};
	enum ovl_iperf3_error error = 0;
	struct ovl_buf b = {0};

	is_int(ovl_wire_params_format(&params, &b), 0, "parameters of a plain reverse test");
	ok(!strstr(b.s + 4, "ovltrace"), "nothing of ours is in them");
	is_int(ovl_iperf3_params_parse(b.s + 4, b.n - 4, &got, &error), 0, "iperf3 takes them");
	ok(got.reverse && got.omit_s == 3 && got.time_s == 7 && got.streams == 2 &&
		   got.rate_bps == 5000000 && got.mss_bytes == 1000 &&
		   !strcmp(got.congestion, "cubic"),
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

	spec.reverse = spec.plain = true;
	load = ovl_load_start(&spec, &err);
	ok(load != NULL, "%u streams in reverse (%s)", streams, err.text);
	if (!load)
		return;
	sleep_ms(100);
	is_int(ovl_load_read(load, OVL_LOAD_OVERLAY, &before, &err), 0, "it can be read");
	for (uint32_t i = 0; i < streams; i++) {
		ovl_load_stream(load, OVL_LOAD_OVERLAY, i, 0, &one);
		marked += one.bytes;
		ovl_load_mark(load, OVL_LOAD_OVERLAY, i, &one);
	}
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

static uint64_t received(struct ovl_load *load, enum ovl_load_which which)
{
	struct ovl_load_counts counts = {0};

	ovl_load_read(load, which, &counts, NULL);
	return counts.bytes;
}

/* Until what a path has received moves, or (moves false) stands still for 100 ms. */
static bool settles(struct ovl_load *load, enum ovl_load_which which, bool moves)
{
	const uint64_t end = ovl_clock_ns() + PATIENCE_MS * 1000000ull;
	uint64_t before;
	bool moved;

	do {
		before = received(load, which);
		sleep_ms(100);
		moved = received(load, which) > before;
	} while (moved != moves && ovl_clock_ns() < end);
	return moved == moves;
}

/* Our own peer in reverse: it sends where it is told to. */
static void test_turns(struct peer *p, uint32_t streams)
{
	struct ovl_load_spec spec = remote_spec(p->port, streams, true);
	struct ovl_err err = OVL_ERR_INIT;
	struct ovl_load_counts counts;
	struct ovl_load *load;
	const int served = p->served;
	pid_t tid;

	spec.reverse = true;
	load = ovl_load_start(&spec, &err);
	ok(load != NULL, "%u streams in reverse, on two paths in turns (%s)", streams, err.text);
	if (!load)
		return;
	is_str(ovl_load_peer_kind(load, OVL_LOAD_OVERLAY), "ovltrace", "from an ovltrace peer");
	sleep_ms(50);
	is_int(received(load, OVL_LOAD_OVERLAY), 0, "nothing comes before it is asked for");
	ovl_load_select(load, OVL_LOAD_OVERLAY);
	ok(settles(load, OVL_LOAD_OVERLAY, true), "the overlay carries when it is selected");
	is_int(received(load, OVL_LOAD_UNDERLAY), 0, "and the underlay does not");
	ovl_load_select(load, OVL_LOAD_UNDERLAY);
	ok(settles(load, OVL_LOAD_OVERLAY, false) && settles(load, OVL_LOAD_UNDERLAY, true),
	   "then the other way round");
	ovl_load_select(load, OVL_LOAD_PATHS);
	ok(settles(load, OVL_LOAD_OVERLAY, false) && settles(load, OVL_LOAD_UNDERLAY, false),
	   "both pause");
	is_int(ovl_load_read(load, OVL_LOAD_UNDERLAY, &counts, &err), 0, "all is well");
	ok(counts.receiver_cpu_ns && !counts.sender_cpu_ns && !counts.retransmits &&
		   !counts.busy_us && !counts.cwnd_segs && counts.acked_bytes == counts.bytes,
	   "the receiver's side is known, and nothing of the sender's is made up");
	ok(ovl_load_tids(load, false, &tid, 1) == 1 && !ovl_load_tids(load, true, &tid, 1),
	   "this process receives");
	ovl_load_stop(load);
	for (int i = 0; i < 200 && p->served == served; i++)
		sleep_ms(10);
	ok(p->served > served && p->last.reverse && p->last.bytes > 0 &&
		   !strcmp(p->last.kind, "ovltrace"),
	   "the peer knows that it has sent: %llu bytes", (unsigned long long)p->last.bytes);
}

/* One that says neither go nor pause, and a congestion control that nobody has. */
static void test_wrong_turn(struct peer *p)
{
	struct ovl_wire_params params = {
		.conns = 1, .streams = 1, .block_bytes = 1000, .reverse = true};
	struct ovl_wire_cookie cookie = {.session = "abcdefghijklmnopqrstuvwx"};
	struct ovl_load_spec spec = remote_spec(p->port, 1, false);
	struct ovl_err err = OVL_ERR_INIT;
	char text[OVL_WIRE_COOKIE_BYTES];
	struct ovl_load *load;
	struct ovl_buf b = {0};
	int fd = dial(p->port);

	ovl_wire_cookie_format(&cookie, text);
	ovl_wire_params_format(&params, &b);
	send(fd, text, sizeof(text), MSG_NOSIGNAL);
	send(fd, b.s, b.n, MSG_NOSIGNAL);
	send(fd, "gpgx", 4, MSG_NOSIGNAL);
	ok(closed_within(fd, PATIENCE_MS), "what is neither go nor pause ends the session");
	close(fd);
	ovl_buf_fini(&b);
	spec.reverse = true;
	strcpy(spec.congestion, "nosuch");
	load = ovl_load_start(&spec, &err);
	ok(!load && err.exit != OVL_EXIT_OK && strstr(err.text, "congestion control"), "%s",
	   err.text);
	ovl_load_stop(load);
	test_turns(p, 1);
}

/* A load that cannot be asked to turn round. */
static void test_refused(uint16_t port)
{
	struct ovl_load_spec spec = remote_spec(port, 1, false);
	struct ovl_err err = OVL_ERR_INIT;

	spec.reverse = spec.raw = true;
	ok(!ovl_load_start(&spec, &err) && err.exit == OVL_EXIT_USAGE && *err.text, "%s", err.text);
	spec.raw = false;
	spec.tx_zerocopy = true;
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
	test_turns(&p, 3);
	test_wrong_turn(&p);
	test_refused(p.port);
	test_streams(&p);
	peer_stop(&p);
	return tap_done();
}
