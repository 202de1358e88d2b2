/* Far ends that cannot take turns, silent clients, and what a peer says that it has sent. */
#include "peer_kit.h"

#include <sched.h>

#include "load/conn.h"
#include "load/rr.h"

#define SILENCE_NS 400000000ull

/* An older `ovltrace peer` would report instead of sending. */
static void test_older(void)
{
	uint16_t port;
	int listen_fd = listen_loopback(&port);
	struct ovl_load_spec spec = remote_spec(port, 1, false);
	struct ovl_err err = OVL_ERR_INIT;
	pthread_t thread;
	struct ovl_load *load;

	pthread_create(&thread, NULL, older_peer, &listen_fd);
	spec.reverse = true;
	load = ovl_load_start(&spec, &err);
	ok(!load && err.exit == OVL_EXIT_PEER && strstr(err.text, "0.0.9, which does not send"),
	   "%s", err.text);
	ovl_load_stop(load);
	pthread_join(thread, NULL);
	close(listen_fd);
}

/* As much of an iperf3 server as it takes to begin one test. */
static void *iperf3_main(void *arg)
{
	const int listen_fd = *(int *)arg;
	int control = accept(listen_fd, NULL, NULL), stream;
	uint8_t bytes[OVL_WIRE_JSON_MAX];

	ovl_sock_recv_blocking(control, bytes, OVL_WIRE_COOKIE_BYTES);
	ovl_sock_send_blocking(control, "\t", 1);
	ovl_sock_recv_blocking(control, bytes, 4);
	ovl_sock_recv_blocking(control, bytes, ovl_wire_length_parse(bytes));
	ovl_sock_send_blocking(control, "\n", 1);
	stream = accept(listen_fd, NULL, NULL);
	ovl_sock_send_blocking(control, "\1\2", 2);
	while (recv(control, bytes, sizeof(bytes), 0) > 0)
		;
	close(stream);
	close(control);
	return NULL;
}

/* Only one of two far ends waits until it is told to send. */
static void test_mixed(const struct peer *p, enum ovl_load_which theirs)
{
	struct sockaddr_in sa = {.sin_family = AF_INET,
				 .sin_port = htons(p->port),
				 .sin_addr.s_addr = htonl(INADDR_LOOPBACK + 1)};
	struct ovl_load_spec spec = remote_spec(p->port, 1, true);
	int listen_fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct ovl_err err = OVL_ERR_INIT;
	struct ovl_load *load;
	const int on = 1;
	pthread_t thread;

	setsockopt(listen_fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (bind(listen_fd, (struct sockaddr *)&sa, sizeof(sa)) || listen(listen_fd, 4))
		abort();
	pthread_create(&thread, NULL, iperf3_main, &listen_fd);
	strcpy(spec.path[theirs].addr, "127.0.0.2");
	spec.reverse = true;
	load = ovl_load_start(&spec, &err);
	ok(!load && err.exit == OVL_EXIT_PEER && strstr(err.text, "sends all the time") &&
		   strstr(err.text, "127.0.0.2"),
	   "%s", err.text);
	ovl_load_stop(load);
	pthread_join(thread, NULL);
	close(listen_fd);
}

/* A peer that has told of `before` tests: does it tell of another? */
static bool tells(struct peer *p, int before)
{
	const uint64_t end = ovl_clock_ns() + PATIENCE_MS * 1000000ull;

	while (p->served == before && ovl_clock_ns() < end)
		sleep_ms(10);
	return p->served > before;
}

/* In reverse: who asked for nothing has been sent nothing, and round trips are nothing sent. */
static void test_nothing_sent(struct peer *p)
{
	struct ovl_load_spec spec = remote_spec(p->port, 2, false);
	struct ovl_err err = OVL_ERR_INIT;
	const int before = p->served;
	struct ovl_load_counts counts = {0};
	struct ovl_hist rtt = {0};
	struct ovl_load *load;
	struct ovl_rr *rr;

	spec.reverse = true;
	ovl_load_stop(ovl_load_start(&spec, &err));
	load = ovl_load_start(&spec, &err);
	rr = load ? ovl_rr_open(load, OVL_LOAD_OVERLAY, 60000, &err) : NULL;
	ok(rr != NULL, "round trips of a reverse load %s", err.text);
	if (rr) {
		ovl_rr_start(rr, 0);
		sleep_ms(50);
		is_int(ovl_rr_pause(rr, &rtt, &err), 0, "are made");
		ovl_rr_close(rr);
	}
	ovl_load_stop(load);
	/* one that is told of, after those that are not */
	load = ovl_load_start(&spec, &err);
	ok(load != NULL, "a load (%s)", err.text);
	if (!load)
		return;
	ovl_load_select(load, OVL_LOAD_OVERLAY);
	while (!counts.bytes && !ovl_load_read(load, OVL_LOAD_OVERLAY, &counts, &err))
		sleep_ms(5);
	ovl_load_stop(load);
	ok(tells(p, before) && p->served == before + 1 && p->last.reverse &&
		   p->last.bytes >= counts.bytes,
	   "only what was sent is told of: %llu, of which %llu were seen here",
	   (unsigned long long)p->last.bytes, (unsigned long long)counts.bytes);
}

static bool pinned(pid_t tid, int cpu)
{
	cpu_set_t set;

	return !sched_getaffinity(tid, sizeof(set), &set) && CPU_COUNT(&set) == 1 &&
	       CPU_ISSET(cpu, &set);
}

/* What is asked of a receiver is done at this end, which is one. */
static void test_receiver(struct peer *p)
{
	struct ovl_load_spec spec = remote_spec(p->port, 1, false);
	struct ovl_err err = OVL_ERR_INIT;
	struct ovl_load_stream one = {0};
	struct ovl_load *load;
	struct ovl_rr *rr;
	cpu_set_t set;
	int cpu = 0;

	if (sched_getaffinity(0, sizeof(set), &set))
		abort();
	while (!CPU_ISSET(cpu, &set))
		cpu++;
	spec.reverse = true;
	spec.window_bytes = 65536;
	spec.cpu_receiver = cpu;
	load = ovl_load_start(&spec, &err);
	rr = load ? ovl_rr_open(load, OVL_LOAD_OVERLAY, 1, &err) : NULL;
	ok(rr && pinned(ovl_rr_tid(rr), cpu), "round trips run where the receiver does %s",
	   err.text);
	if (load)
		ovl_load_stream(load, OVL_LOAD_OVERLAY, 0, 0, &one);
	is_int(one.rcvbuf_bytes, 65536, "-w: the receive buffer is as asked for");
	is_int(one.sndbuf_bytes, 65536, "so is the send buffer");
	ovl_rr_close(rr);
	ovl_load_stop(load);
}

/* The clock of silence. */
static void test_clock(void)
{
	const uint64_t s = 1000000000ull, tick = s / 10;
	struct ovl_session session = {.active_ns = s, .looked_ns = s};
	uint64_t now = s;

	while (now < 120 * s && !ovl_session_silent(&session, 0, 120 * s, now))
		now += tick;
	ok(now >= 120 * s, "119 s without a byte are no silence");
	ok(!ovl_session_silent(&session, 1, 120 * s, now += tick), "a byte is life");
	for (int i = 1; i < 1200; i++)
		if (ovl_session_silent(&session, 1, 120 * s, now += tick))
			is_int(i, 1200, "not before 120 s");
	ok(ovl_session_silent(&session, 1, 120 * s, now += tick), "120 s are");
	ok(!ovl_session_silent(&session, 1, 120 * s, now += 500 * s),
	   "but a peer that was stopped has not looked");
}

static void test_silence(bool reverse)
{
	struct peer p = {.bind = "127.0.0.1", .silence_ns = SILENCE_NS};
	struct ovl_err err = OVL_ERR_INIT;
	struct ovl_load_counts counts = {0};
	struct ovl_hist rtt = {0};
	struct ovl_load_spec spec;
	struct ovl_load *load;
	struct ovl_rr *rr;
	int rc = 0;

	peer_start(&p);
	spec = remote_spec(p.port, 2, false);
	spec.reverse = reverse;
	load = ovl_load_start(&spec, &err);
	is_int(load ? read_broken(load, &err) : 0, -EPIPE, "a client that never begins: %s",
	       err.text);
	ovl_load_stop(load);
	is_int(p.served, 0, "has carried nothing");

	load = ovl_load_start(&spec, &err);
	rr = load ? ovl_rr_open(load, OVL_LOAD_OVERLAY, 1, &err) : NULL;
	ok(rr != NULL, "the next one is served (%s)", err.text);
	if (!rr)
		return;
	ovl_rr_start(rr, 20000000);
	for (int i = 0; i < 12 && !rc; i++) {
		sleep_ms(100);
		rc = ovl_load_read(load, OVL_LOAD_OVERLAY, &counts, &err);
		ovl_rr_read(rr, &rtt, NULL);
	}
	is_int(rc, 0, "round trips are life enough");
	ovl_rr_pause(rr, &rtt, NULL);
	ovl_load_select(load, OVL_LOAD_OVERLAY);
	for (int i = 0; i < 8 && !rc; i++) {
		sleep_ms(100);
		rc = ovl_load_read(load, OVL_LOAD_OVERLAY, &counts, &err);
	}
	is_int(rc, 0, "so is a load");
	ovl_load_select(load, OVL_LOAD_PATHS);
	is_int(read_broken(load, &err), -EPIPE, "which then stands still");
	ok(tells(&p, 0) && !p.last.complete && p.last.bytes > 0, "and has not ended well");
	ovl_rr_close(rr);
	ovl_load_stop(load);
	peer_stop(&p);
}

int main(void)
{
	struct peer p = {.bind = "127.0.0.1"};

	test_clock();
	test_older();
	peer_start(&p);
	test_mixed(&p, OVL_LOAD_UNDERLAY);
	test_mixed(&p, OVL_LOAD_OVERLAY);
	test_nothing_sent(&p);
	test_receiver(&p);
	peer_stop(&p);
	test_silence(false);
	test_silence(true);
	return tap_done();
}
