/* Round trips: what is counted, what a stall costs, and far ends that do not play by the rules. */
#include <netinet/tcp.h>
#include <stdatomic.h>

#include "load/client.h"
#include "load/rr.h"
#include "load/sock.h"
#include "load/wire.h"
#include "peer_kit.h"

#define MS 1000000ull

/* A far end made here: reads the head, then does as it is told. */
struct far {
	pthread_t thread;
	int fd;
	uint32_t bytes;	     /* of a message */
	int stall_ms;	     /* once, after `answers` of them */
	uint32_t answers;    /* so many right ones; then what follows */
	int break_at;	     /* reset after so many bytes of the next message; -1: never */
	uint32_t reply_with; /* bytes of the next answer, then silence; 0: go on */
};

static void *far_main(void *arg)
{
	struct far *f = arg;
	static uint8_t buf[OVL_WIRE_RR_BYTES_MAX + 16];
	uint8_t head[OVL_WIRE_RR_HEAD_BYTES];

	if (ovl_sock_recv_blocking(f->fd, head, sizeof(head)))
		return NULL;
	for (uint32_t n = 0;; n++) {
		if (n == f->answers && f->break_at >= 0) {
			if (!f->break_at ||
			    !ovl_sock_recv_blocking(f->fd, buf, (size_t)f->break_at))
				ovl_sock_abort(f->fd);
			f->fd = -1;
			return NULL;
		}
		if (ovl_sock_recv_blocking(f->fd, buf, f->bytes))
			return NULL;
		if (n == f->answers && f->stall_ms)
			sleep_ms(f->stall_ms);
		if (n == f->answers && f->reply_with) {
			ovl_sock_send_blocking(f->fd, buf, f->reply_with);
			ovl_sock_recv_blocking(f->fd, buf, 1); /* until the client leaves */
			return NULL;
		}
		if (ovl_sock_send_blocking(f->fd, buf, f->bytes))
			return NULL;
	}
}

/* Round trips with a far end made here; never fails. */
static struct ovl_rr *with_far(struct far *f)
{
	struct ovl_err err = OVL_ERR_INIT;
	const int on = 1;
	uint16_t port;
	int listen_fd = listen_loopback(&port), fd = dial(port);
	struct ovl_rr *rr;

	f->fd = accept(listen_fd, NULL, NULL);
	close(listen_fd);
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	setsockopt(f->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	pthread_create(&f->thread, NULL, far_main, f);
	rr = ovl_rr_take_socket(fd, "the far end", f->bytes, &err);
	if (!rr)
		abort();
	return rr;
}

static void end_far(struct far *f, struct ovl_rr *rr)
{
	ovl_rr_close(rr);
	pthread_join(f->thread, NULL);
	if (f->fd >= 0)
		close(f->fd);
}

static uint64_t at_least(const struct ovl_hist *h, uint64_t ns)
{
	uint64_t upper, count, n = 0;
	uint32_t at = 0;

	while (ovl_hist_next(h, &at, &upper, &count))
		if (upper >= ns)
			n += count;
	return n;
}

static void check_hist(const struct ovl_hist *h, const char *what)
{
	uint64_t p50 = 0, p99 = 0;

	ovl_hist_quantile(h, 0.5, &p50);
	ovl_hist_quantile(h, 0.99, &p99);
	ok(h->count && ovl_hist_sane(h), "%s: %llu counted, and they agree", what,
	   (unsigned long long)h->count);
	ok(h->min_ns && h->min_ns <= p50 && p50 <= p99 && p99 <= h->max_ns, "%s: in order", what);
}

/* One path of a load: one after the other, again, and paced. */
static void exchange(struct ovl_load *load, enum ovl_load_which which, uint32_t bytes)
{
	struct ovl_err err = OVL_ERR_INIT;
	struct ovl_rr *rr = ovl_rr_open(load, which, bytes, &err);
	struct ovl_hist first = {0}, again = {0}, paced = {0};
	uint64_t from_ns, took_ns;

	ok(rr != NULL, "%s, %u bytes: open %s", ovl_load_which_name(which), bytes, err.text);
	if (!rr)
		return;
	from_ns = ovl_clock_ns();
	ovl_rr_start(rr, 0);
	sleep_ms(50);
	is_int(ovl_rr_read(rr, &first, &err), 0, "read meanwhile");
	sleep_ms(20);
	is_int(ovl_rr_pause(rr, &first, &err), 0, "and at the end");
	took_ns = ovl_clock_ns() - from_ns;
	check_hist(&first, "one after the other");
	ok(first.sum_ns <= took_ns && first.sum_ns > took_ns / 20,
	   "their sum is the time they took: %llu of %llu us",
	   (unsigned long long)first.sum_ns / 1000, (unsigned long long)took_ns / 1000);
	is_int(ovl_rr_pause(rr, &again, &err), 0, "nothing runs: nothing to end");
	is_int(again.count, 0, "and nothing was counted");
	from_ns = ovl_clock_ns();
	ovl_rr_start(rr, 5 * MS);
	sleep_ms(100);
	is_int(ovl_rr_pause(rr, &paced, &err), 0, "paced");
	took_ns = ovl_clock_ns() - from_ns;
	check_hist(&paced, "paced");
	/* each 5 ms of the time in between, however late they were answered */
	ok(paced.count >= 5 && paced.count <= took_ns / (5 * MS), "one each 5 ms: %llu in %llu ms",
	   (unsigned long long)paced.count, (unsigned long long)(took_ns / MS));
	ovl_rr_close(rr);
}

static void test_peer(void)
{
	struct peer peer = {.bind = "127.0.0.1"};
	struct ovl_load_spec spec;
	struct ovl_load *load;
	struct ovl_err err = OVL_ERR_INIT;

	peer_start(&peer);
	spec = remote_spec(peer.port, 2, true);
	load = ovl_load_start(&spec, &err);
	ok(load != NULL, "a load with a peer %s", err.text);
	exchange(load, OVL_LOAD_OVERLAY, 1);
	exchange(load, OVL_LOAD_UNDERLAY, 1);
	exchange(load, OVL_LOAD_OVERLAY, OVL_WIRE_RR_BYTES_MAX);
	ovl_load_select(load, OVL_LOAD_OVERLAY); /* beside bulk */
	exchange(load, OVL_LOAD_OVERLAY, 100);
	ovl_load_stop(load);
	peer_stop(&peer);

	spec.remote = false;
	spec.port = 0;
	load = ovl_load_start(&spec, &err);
	ok(load != NULL, "a load in this process %s", err.text);
	exchange(load, OVL_LOAD_UNDERLAY, 1);
	ovl_load_stop(load);
}

/* The far end stops for 400 ms: what was due meanwhile is late, sent or not. */
static void test_stall(void)
{
	struct far f = {.bytes = 1, .stall_ms = 400, .answers = 30, .break_at = -1};
	struct ovl_rr *rr = with_far(&f);
	struct ovl_hist h = {0};
	struct ovl_err err = OVL_ERR_INIT;
	const uint64_t from_ns = ovl_clock_ns();
	uint64_t scheduled;

	ovl_rr_start(rr, 4 * MS);
	sleep_ms(1000);
	is_int(ovl_rr_pause(rr, &h, &err), 0, "a far end that stalls once, paced");
	scheduled = (ovl_clock_ns() - from_ns) / (4 * MS);
	check_hist(&h, "a stall");
	ok(h.max_ns >= 390 * MS, "the one that met it: %llu ms",
	   (unsigned long long)(h.max_ns / MS));
	/* a hundred were due while it lasted, evenly */
	ok(at_least(&h, 200 * MS) >= 40,
	   "each that was due in its first half was 200 ms late: %llu",
	   (unsigned long long)at_least(&h, 200 * MS));
	ok(at_least(&h, 100 * MS) >= 65, "and so on");
	ok(h.count <= scheduled && h.count >= 200, "none is left out: %llu of %llu",
	   (unsigned long long)h.count, (unsigned long long)scheduled);
	end_far(&f, rr);

	f = (struct far){.bytes = 1, .stall_ms = 400, .answers = 30, .break_at = -1};
	rr = with_far(&f);
	memset(&h, 0, sizeof(h));
	ovl_rr_start(rr, 0);
	sleep_ms(500);
	is_int(ovl_rr_pause(rr, &h, &err), 0, "the same, one after the other");
	ok(h.max_ns >= 400 * MS && at_least(&h, 395 * MS) == 1, "costs one of them");
	end_far(&f, rr);
}

/* A far end that stalls while the end is asked for: what was due before that is waited for. */
static void test_late_end(void)
{
	struct far f = {.bytes = 1, .stall_ms = 600, .answers = 40, .break_at = -1};
	struct ovl_rr *rr = with_far(&f);
	struct ovl_hist h = {0};
	struct ovl_err err = OVL_ERR_INIT;

	ovl_rr_start(rr, 4 * MS);
	sleep_ms(300);
	is_int(ovl_rr_pause(rr, &h, &err), 0, "an end within a stall");
	ok(h.count >= 40 && h.max_ns > 250 * MS, "nothing that was due is left out: %llu",
	   (unsigned long long)h.count);
	end_far(&f, rr);
}

/*
 * Nobody looks for longer than silence is allowed (as when this process is stopped): that is not
 * held against a far end which has not answered meanwhile.
 */
static void test_no_look(void)
{
	struct far f = {.bytes = 1, .stall_ms = 3700, .answers = 3, .break_at = -1};
	struct ovl_rr *rr = with_far(&f);
	struct ovl_hist h = {0};
	struct ovl_err err = OVL_ERR_INIT;

	ovl_rr_start(rr, 0);
	sleep_ms(3300);
	is_int(ovl_rr_read(rr, &h, &err), 0, "the first look after 3.3 s %s", err.text);
	is_int(ovl_rr_pause(rr, &h, &err), 0, "and the answer comes %s", err.text);
	end_far(&f, rr);
}

/* How it ends with this far end: the sentence has the word, within the time that silence has. */
static void breaks(struct far f, uint64_t pace_ns, const char *word, const char *what)
{
	struct ovl_rr *rr = with_far(&f);
	struct ovl_hist h = {0};
	struct ovl_err err = OVL_ERR_INIT;
	uint64_t from_ns = ovl_clock_ns();
	int rc = 0;

	ovl_rr_start(rr, pace_ns);
	while (!rc && ovl_clock_ns() < from_ns + PATIENCE_MS * MS) {
		sleep_ms(5);
		rc = ovl_rr_read(rr, &h, &err);
	}
	ok(rc < 0 && err.exit == OVL_EXIT_PEER && strstr(err.text, word), "%s: %s", what, err.text);
	ok(ovl_rr_pause(rr, &h, &err) == rc && ovl_rr_read(rr, &h, &err) == rc, "and stays so");
	from_ns = ovl_clock_ns();
	end_far(&f, rr);
	ok(ovl_clock_ns() - from_ns < PATIENCE_MS * MS / 4, "it can be closed at once");
}

static void test_hostile_servers(void)
{
	const struct far good = {.bytes = 6, .answers = 20, .break_at = -1};
	struct far f;

	for (int at = 0; at <= 6; at++) {
		f = good;
		f.break_at = at;
		breaks(f, at % 2 ? 2 * MS : 0, "was lost", "a reset");
	}
	f = good;
	f.answers = 0;
	f.break_at = 0;
	breaks(f, 0, "was lost", "a reset at once");
	f = good;
	f.reply_with = 7;
	breaks(f, 0, "more than it was sent", "an answer too long");
	breaks(f, 2 * MS, "more than it was sent", "an answer too long, paced");
	f.reply_with = 5;
	breaks(f, 0, "within 3 s", "an answer too short, then silence");
	breaks(f, 100 * MS, "within 3 s", "the same, paced");
}

/* Connections of strangers to a peer that serves a session; each must leave it unharmed. */
static void test_hostile_clients(void)
{
	struct peer peer = {.bind = "127.0.0.1"};
	struct ovl_load_spec spec;
	struct ovl_load *load;
	struct ovl_err err = OVL_ERR_INIT;
	struct ovl_wire_cookie cookie = {.stream = OVL_WIRE_RR_FIRST};
	uint8_t hello[512], talk[OVL_WIRE_COOKIE_BYTES + OVL_WIRE_RR_HEAD_BYTES + 8];
	char text[40];

	peer_start(&peer);
	spec = remote_spec(peer.port, 1, false);
	load = ovl_load_start(&spec, &err);
	ok(load != NULL, "a load to disturb %s", err.text);
	ovl_load_cookie(load, OVL_LOAD_OVERLAY, text);
	memcpy(cookie.session, text + 9, OVL_WIRE_SESSION_CHARS);
	ovl_wire_cookie_format(&cookie, (char *)talk);
	ovl_wire_rr_format(8, talk + OVL_WIRE_COOKIE_BYTES);
	for (size_t n = 0; n <= sizeof(talk); n++)
		send_and_leave(peer.port, talk, n, n % 2);
	for (int i = 0; i < 4; i++) {
		static const uint32_t sizes[] = {0, OVL_WIRE_RR_BYTES_MAX + 1, UINT32_MAX, 1};
		int fd = dial(peer.port);

		ovl_wire_rr_format(sizes[i], talk + OVL_WIRE_COOKIE_BYTES);
		if (i == 3)
			talk[OVL_WIRE_COOKIE_BYTES] ^= 1; /* another magic */
		send(fd, talk, OVL_WIRE_COOKIE_BYTES + OVL_WIRE_RR_HEAD_BYTES, MSG_NOSIGNAL);
		ok(closed_within(fd, PATIENCE_MS), "a head that is none: closed (%d)", i);
		close(fd);
	}
	cookie.stream = OVL_WIRE_RR_FIRST + OVL_WIRE_RR_CONNS;
	ovl_wire_cookie_format(&cookie, (char *)talk);
	{
		int fd = dial(peer.port);

		send(fd, talk, OVL_WIRE_COOKIE_BYTES, MSG_NOSIGNAL);
		ok(recv(fd, hello, 1, 0) == 1 && hello[0] == OVL_WIRE_DENIED,
		   "a third path's round trips are denied");
		close(fd);
	}
	exchange(load, OVL_LOAD_OVERLAY, 1);
	ovl_load_stop(load);
	peer_stop(&peer);
}

/* Who answers no round trips says so at once. */
static void test_unable(void)
{
	struct ovl_err err = OVL_ERR_INIT;
	pthread_t thread;
	uint16_t port;
	int listen_fd = listen_loopback(&port);
	struct ovl_load_spec spec = remote_spec(port, 1, false);
	struct ovl_load *load;

	pthread_create(&thread, NULL, older_peer, &listen_fd);
	load = ovl_load_start(&spec, &err);
	ok(load && !ovl_rr_open(load, OVL_LOAD_OVERLAY, 1, &err) && err.exit == OVL_EXIT_PEER &&
		   strstr(err.text, "0.0.9"),
	   "an older peer: %s", err.text);
	ovl_load_stop(load);
	pthread_join(thread, NULL);

	spec.raw = true;
	load = ovl_load_start(&spec, &err);
	ok(load && !ovl_rr_open(load, OVL_LOAD_OVERLAY, 1, &err) && strstr(err.text, "a sink"),
	   "a sink: %s", err.text);
	ovl_load_stop(load);
	close(listen_fd);
}

int main(void)
{
	test_peer();
	test_stall();
	test_late_end();
	test_no_look();
	test_hostile_servers();
	test_hostile_clients();
	test_unable();
	return tap_done();
}
