/* `ovltrace peer` and those that are not ovltrace: iperf3 clients, raw senders, health probes. */
#include "peer_kit.h"

#include <sys/resource.h>

#include "load/iperf3_wire.h"
#include "load/jsonio.h"

#define COOKIE "abcdefghijklmnopqrstuvwxyz2345677654" /* and NUL */
#define ONE    "{\"tcp\":true,\"parallel\":1,\"len\":1000,\"time\":1}"
#define RESULTS \
	"{\"cpu_util_total\":1,\"cpu_util_user\":1,\"cpu_util_system\":0," \
	"\"sender_has_retransmits\":0,\"streams\":[{\"id\":1,\"bytes\":8000,\"retransmits\":0," \
	"\"jitter\":0,\"errors\":0,\"packets\":0}]}"

static void say(int fd, const void *p, size_t n)
{
	if (send(fd, p, n, MSG_NOSIGNAL) != (ssize_t)n)
		printf("# could not send: %s\n", strerror(errno));
}

static void say_text(int fd, const char *json)
{
	uint8_t head[4];

	ovl_be_put(head, strlen(json), 4);
	say(fd, head, 4);
	say(fd, json, strlen(json));
}

/* The next byte within a second; -1: none, -2: closed. */
static int hear(int fd)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};
	uint8_t byte;

	if (poll(&p, 1, 1000) <= 0)
		return -1;
	return recv(fd, &byte, 1, 0) == 1 ? byte : -2;
}

static int greet(uint16_t port)
{
	int fd = dial(port);

	say(fd, COOKIE, 37);
	return fd;
}

/* A control connection that has been told to connect its streams; -1: it was not. */
static int begin(uint16_t port, const char *params)
{
	int fd = greet(port);

	if (hear(fd) == OVL_IPERF3_PARAM_EXCHANGE) {
		say_text(fd, params);
		if (hear(fd) == OVL_IPERF3_CREATE_STREAMS)
			return fd;
	}
	close(fd);
	return -1;
}

/* Is the server ready for a test? Asked as a client does that then changes its mind. */
static bool serves(uint16_t port)
{
	const uint8_t leave = OVL_IPERF3_CLIENT_TERMINATE;
	int fd = begin(port, ONE);

	/* it may not have noticed yet that the one before has left */
	for (int i = 0; fd < 0 && i < 5; i++) {
		sleep_ms(20);
		fd = begin(port, ONE);
	}
	if (fd < 0)
		return false;
	say(fd, &leave, 1);
	closed_within(fd, 1000);
	close(fd);
	return true;
}

static bool healthy(uint16_t port)
{
	static const char request[] = "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n";
	char answer[256] = "";
	int fd = dial(port);
	size_t n = 0;
	ssize_t got;

	for (size_t i = 0; i < sizeof(request) - 1; i += 9)
		say(fd, request + i, sizeof(request) - 1 - i < 9 ? sizeof(request) - 1 - i : 9);
	while (n < sizeof(answer) - 1 &&
	       (got = recv(fd, answer + n, sizeof(answer) - 1 - n, 0)) > 0)
		n += (size_t)got;
	close(fd);
	return strncmp(answer, "HTTP/1.1 200", 12) == 0 && n && answer[n - 1] == '\n';
}

/* A whole test by hand: 8000 bytes. */
static void test_whole(struct peer *p)
{
	const uint8_t end = OVL_IPERF3_TEST_END, done = OVL_IPERF3_DONE;
	char block[8000] = {0}, json[2048];
	int control = begin(p->port, ONE), stream, before = p->served;
	struct ovl_iperf3_results results;
	uint8_t head[4];
	uint32_t n;

	ok(control >= 0, "a client's parameters are taken");
	stream = greet(p->port);
	is_int(hear(control), OVL_IPERF3_TEST_START, "its stream starts the test");
	is_int(hear(control), OVL_IPERF3_TEST_RUNNING, "at once");
	say(stream, block, sizeof(block));
	say(control, &end, 1);
	is_int(hear(control), OVL_IPERF3_EXCHANGE_RESULTS, "its end is heard");
	say_text(control, RESULTS);
	recv(control, head, 4, MSG_WAITALL);
	n = (uint32_t)ovl_be_get(head, 4);
	ok(n < sizeof(json) && recv(control, json, n, MSG_WAITALL) == (ssize_t)n, "results come");
	is_int(ovl_iperf3_results_parse(json, n, 1, &results), 0, "that parse");
	ok(results.n == 1 && results.stream[0].id == 1 && results.stream[0].bytes == 8000,
	   "8000 bytes on stream 1");
	is_int(hear(control), OVL_IPERF3_DISPLAY_RESULTS, "then the last state");
	say(control, &done, 1);
	ok(closed_within(control, 1000), "and the server hangs up");
	ok(p->served == before + 1 && p->last.complete && p->last.bytes == 8000 &&
		   strcmp(p->last.kind, "iperf3") == 0,
	   "and tells what it has served");
	close(control);
	close(stream);
}

static void test_busy(struct peer *p)
{
	int control = begin(p->port, "{\"tcp\":true,\"parallel\":2,\"len\":1000,\"time\":1}"), fd;
	struct ovl_load_spec spec = remote_spec(p->port, 1, false);
	uint64_t t = ovl_clock_ns();

	fd = dial(p->port);
	say(fd, "zzzzefghijklmnopqrstuvwxyz2345677654", 37);
	is_int(hear(fd), OVL_IPERF3_ACCESS_DENIED, "another client is told that it is busy");
	is_int(hear(fd), -2, "and disconnected");
	ok(ovl_clock_ns() - t < 500000000, "at once");
	close(fd);
	refused(&spec, "busy");
	fd = dial(p->port);
	say(fd, "\x40\x01\0\x78 raw", 8);
	ok(closed_within(fd, 500), "a raw sender is turned away");
	close(fd);
	ok(healthy(p->port), "a health probe is answered all the same");
	fd = greet(p->port);
	is_int(hear(control), -1, "the test still waits for its second stream");
	ok(closed_within(control, 4000), "not for ever");
	close(control);
	ok(closed_within(fd, 1000), "then its stream goes with it");
	close(fd);
	ok(serves(p->port), "and the next client is served");
}

static void test_refused(struct peer *p)
{
	static const struct {
		const char *params;
		int error;
	} bad[] = {
		{"{\"udp\":true,\"parallel\":1,\"len\":1000}", OVL_IPERF3_EUNIMP},
		{"{\"tcp\":true,\"parallel\":1,\"len\":1,\"congestion\":\"nosuch\"}",
		 OVL_IPERF3_ESETCONGESTION},
		{"{}}", OVL_IPERF3_ERECVPARAMS},
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		uint8_t answer[OVL_IPERF3_REFUSAL] = {0};
		int fd = greet(p->port);

		hear(fd);
		say_text(fd, bad[i].params);
		ok(recv(fd, answer, sizeof(answer), MSG_WAITALL) == sizeof(answer) &&
			   answer[0] == OVL_IPERF3_SERVER_ERROR &&
			   ovl_be_get(answer + 1, 4) == (uint64_t)bad[i].error,
		   "refused by error %d: %s", bad[i].error, bad[i].params);
		ok(closed_within(fd, 500), "and disconnected");
		close(fd);
	}
	ok(serves(p->port), "the next client is served");
}

/* What a client says, cut off at each byte. */
static void test_cut(struct peer *p)
{
	static const uint8_t end = OVL_IPERF3_TEST_END;
	char text[512];
	size_t n = 37, served = 0;
	int fd, stream;

	memcpy(text, COOKIE, 37);
	ovl_be_put((uint8_t *)text + n, strlen(ONE), 4);
	memcpy(text + n + 4, ONE, strlen(ONE));
	n += 4 + strlen(ONE);
	for (size_t i = 0; i <= n; i++)
		send_and_leave(p->port, text, i, i & 1);
	ok(serves(p->port), "a client that leaves after any of %zu bytes: still serving", n);
	for (size_t i = 0; i <= strlen(RESULTS) + 4; i += 9) {
		fd = begin(p->port, ONE);
		stream = greet(p->port);
		hear(fd);
		hear(fd);
		say(fd, &end, 1);
		hear(fd);
		ovl_be_put((uint8_t *)text, strlen(RESULTS), 4);
		memcpy(text + 4, RESULTS, strlen(RESULTS));
		say(fd, text, i);
		close(i & 1 ? stream : fd);
		close(i & 1 ? fd : stream);
		served += serves(p->port);
	}
	is_int(served, (strlen(RESULTS) + 4) / 9 + 1, "also one that leaves within its results");
}

/* Many at once, each with as much of its parameters as the server will hold. */
static void test_crowd(struct peer *p)
{
	enum { CROWD = 1000 };
	static int fd[CROWD];
	struct rlimit files = {.rlim_cur = 4096, .rlim_max = 4096}, old;
	static char half[8000];
	uint8_t head[4];

	getrlimit(RLIMIT_NOFILE, &old);
	if (old.rlim_cur < 4096 && (old.rlim_max < 4096 || setrlimit(RLIMIT_NOFILE, &files))) {
		tap_skip("1000 clients: the limit of open files is %llu",
			 (unsigned long long)old.rlim_cur);
		return;
	}
	ovl_be_put(head, 8192, 4);
	memset(half, '[', sizeof(half));
	for (int i = 0; i < CROWD; i++) {
		fd[i] = greet(p->port);
		/* older ones make room: no matter that it has hung up on this one */
		send(fd[i], head, 4, MSG_NOSIGNAL);
		send(fd[i], half, sizeof(half), MSG_NOSIGNAL);
	}
	ok(serves(p->port), "%d clients that stop in their parameters: the next is served", CROWD);
	ok(closed_within(fd[0], 1000), "the oldest made room");
	for (int i = 0; i < CROWD; i++)
		close(fd[i]);
	ok(healthy(p->port), "and it is healthy");
}

static void test_raw(struct peer *p)
{
	char block[5000] = "\x40\x01\0\x78";
	int fd = dial(p->port), other, before = p->served;

	say(fd, block, sizeof(block));
	sleep_ms(50);
	other = greet(p->port);
	is_int(hear(other), OVL_IPERF3_ACCESS_DENIED, "while a raw sender sends, it is busy");
	close(other);
	close(fd);
	for (int i = 0; i < 50 && p->served == before; i++)
		sleep_ms(10);
	ok(p->served == before + 1 && p->last.bytes == 5000 && strcmp(p->last.kind, "raw") == 0,
	   "what it sent is counted: %llu bytes", (unsigned long long)p->last.bytes);
	fd = dial(p->port);
	say(fd, "\n", 1);
	ok(closed_within(fd, 4500), "a silent one is dropped");
	close(fd);
	ok(serves(p->port), "and the next client is served");
}

/* Much at once and then single bytes are no test; a slow one that goes on is. */
static void test_drip(struct peer *p)
{
	static char block[50000];
	const uint64_t since = ovl_clock_ns(), most_ns = 20000000000ull;
	int drip = dial(p->port), slow = dial(p->port);
	bool ended = false, alive = true;

	memcpy(block, "\x40\x01\0\x78", 4);
	say(drip, block, sizeof(block));
	say(slow, block, 5000);
	while (!ended && ovl_clock_ns() < since + most_ns) {
		send(drip, block, 1, MSG_NOSIGNAL);
		send(slow, block, 100, MSG_NOSIGNAL);
		ended = closed_within(drip, 60);
		alive = !closed_within(slow, 40); /* 1 kB a second, as the slowest -b */
	}
	ok(ended, "one byte at a time: ended after %llu ms",
	   (unsigned long long)((ovl_clock_ns() - since) / 1000000));
	ok(alive, "1 kB a second goes on");
	close(drip);
	close(slow);
	ok(serves(p->port), "and the next client is served");
}

/* Many that bring little: a line each would fill a disk. */
static void test_lines(struct peer *p)
{
	enum { STRANGERS = 50 };
	const int before = p->served;

	for (int i = 0; i < STRANGERS; i++)
		send_and_leave(p->port, "SSH-2.0-x\r\n", 11, false);
	ok(serves(p->port), "after %d strangers the next client is served", STRANGERS);
	ok(p->served <= before + 1, "of whom at most one is told of: %d", p->served - before);
}

int main(void)
{
	struct peer p = {.bind = "127.0.0.1"};

	peer_start(&p);
	ok(healthy(p.port), "a health probe is answered");
	test_whole(&p);
	test_refused(&p);
	test_busy(&p);
	test_cut(&p);
	test_crowd(&p);
	test_raw(&p);
	test_drip(&p);
	test_lines(&p);
	peer_stop(&p);
	ok(!p.last.from && p.last.untold >= 40, "the others are counted in the end: %llu",
	   (unsigned long long)p.last.untold);
	is_int(p.rc, 0, "the peer ends when it is told to");
	return tap_done();
}
