/*
 * Clients that go wrong in every way towards `ovltrace peer`: each is dropped in time, a whole
 * iperf3 test works right after, and memory stays bounded.
 */
#include "peer_kit.h"

#include "hostile_kit.h"
#include "load/iperf3_wire.h"
#include "load/jsonio.h"
#include "load/wire.h"

#define COOKIE "abcdefghijklmnopqrstuvwxyz2345677654" /* and NUL */
#define ONE    "{\"tcp\":true,\"parallel\":1,\"len\":1000,\"time\":1}"
#define RESULTS \
	"{\"cpu_util_total\":1,\"cpu_util_user\":1,\"cpu_util_system\":0," \
	"\"sender_has_retransmits\":0,\"streams\":[{\"id\":1,\"bytes\":8000,\"retransmits\":0," \
	"\"jitter\":0,\"errors\":0,\"packets\":0}]}"
/* A step of a handshake has 3 s; the peer looks ten times a second, a busy machine later. */
#define STEP_MS	     3000
#define STEP_MOST_MS 6000

static void say(int fd, const void *p, size_t n)
{
	ssize_t sent = send(fd, p, n, MSG_NOSIGNAL);

	(void)sent; /* the peer may have had enough: that is seen by what it answers */
}

static void say_text(int fd, const char *json, uint32_t n)
{
	static char text[16384]; /* in one piece: two would wait for an acknowledgement */

	ovl_be_put((uint8_t *)text, n, 4);
	memcpy(text + 4, json, strlen(json));
	say(fd, text, 4 + strlen(json));
}

/* The next byte, however busy the machine is; -1: none, -2: closed. */
static int hear(int fd)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};
	uint8_t byte;

	if (poll(&p, 1, PATIENCE_MS) <= 0)
		return -1;
	return recv(fd, &byte, 1, 0) == 1 ? byte : -2;
}

/* A cookie that was answered by the question for parameters; tried again while busy. */
static int greet(uint16_t port)
{
	for (int i = 0; i < 2000; i++) {
		int fd = dial(port);

		say(fd, COOKIE, 37);
		if (hear(fd) == OVL_IPERF3_PARAM_EXCHANGE)
			return fd;
		close(fd);
		sleep_ms(2);
	}
	return -1;
}

/* A test that runs; *stream gets its data connection. */
static int begin(uint16_t port, int *stream)
{
	int fd = greet(port);

	say_text(fd, ONE, strlen(ONE));
	if (hear(fd) != OVL_IPERF3_CREATE_STREAMS)
		printf("# no streams are wanted\n");
	*stream = dial(port);
	say(*stream, COOKIE, 37);
	hear(fd);
	hear(fd);
	return fd;
}

/* A whole test of 8000 bytes: does it count them? */
static bool works(uint16_t port)
{
	const uint8_t end = OVL_IPERF3_TEST_END, done = OVL_IPERF3_DONE;
	struct ovl_iperf3_results results = {0};
	char block[8000] = {0}, json[2048];
	int stream, control = begin(port, &stream);
	uint8_t head[4] = {0};
	uint32_t n;
	bool good;

	say(stream, block, sizeof(block));
	say(control, &end, 1);
	good = hear(control) == OVL_IPERF3_EXCHANGE_RESULTS;
	say_text(control, RESULTS, strlen(RESULTS));
	good = good && recv(control, head, 4, MSG_WAITALL) == 4;
	n = (uint32_t)ovl_be_get(head, 4);
	good = good && n < sizeof(json) && recv(control, json, n, MSG_WAITALL) == (ssize_t)n &&
	       !ovl_iperf3_results_parse(json, n, 1, &results) && results.stream[0].bytes == 8000;
	good = good && hear(control) == OVL_IPERF3_DISPLAY_RESULTS;
	say(control, &done, 1);
	close(stream);
	close(control);
	return good;
}

/* What comes first, if it is no handshake of ours or iperf3's. */
static void test_strangers(uint16_t port)
{
	static char much[1 << 20];
	static const uint8_t tls[] = {0x16, 3, 1, 2, 0, 1, 0, 1, 0xfc, 3, 3};
	static const struct {
		const char *name;
		const void *text;
		size_t n, more; /* bytes of `much` behind it */
		int by_ms;	/* hung up on by then, without more from it */
	} rows[] = {
		{"a port scanner", "", 0, 0, STEP_MOST_MS},
		{"a TLS hello", tls, sizeof(tls), 506, STEP_MOST_MS},
		{"an HTTP request with a header of 1 MB", "GET /healthz HTTP/1.1\r\nX: ", 26,
		 sizeof(much), 2500},
		{"a request without an end", "HEAD / HTTP/1.1\r\n", 17, 0, STEP_MOST_MS},
		{"an SSH client", "SSH-2.0-OpenSSH_9.2\r\n", 21, 0, STEP_MOST_MS},
		{"a cookie that is too long", COOKIE "zzzz", 40, 0, STEP_MOST_MS},
		{"a cookie and nothing", COOKIE, 37, 0, STEP_MOST_MS},
		{"a cookie of ours and nothing", "ovltrace2klmnopqrstuvwxyz23456777654", 37, 0,
		 STEP_MOST_MS},
	};
	enum { ROWS = sizeof(rows) / sizeof(rows[0]) };
	int fd[ROWS];

	memset(much, 'x', sizeof(much));
	for (int i = 0; i < ROWS; i++) {
		fd[i] = dial(port);
		say(fd[i], rows[i].text, rows[i].n);
		say(fd[i], much, rows[i].more);
	}
	ok(works(port), "a test works while %d strangers hold on", ROWS);
	for (int i = 0; i < ROWS; i++) {
		ok(closed_within(fd[i], rows[i].by_ms), "%s: dropped", rows[i].name);
		close(fd[i]);
	}
	ok(works(port), "a test works after them");
}

/* One byte at a time, faster than a step's time and slower than all of them need. */
static void test_drips(uint16_t port)
{
	enum { COOKIE_OF, PARAMS, HTTP, OWN, DRIPS };
	const char *const names[DRIPS] = {"a cookie", "parameters", "a request",
					  "parameters of ours"};
	char text[DRIPS][128] = {"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"};
	bool dropped[DRIPS] = {false};
	uint64_t since = ovl_clock_ns(), at[DRIPS] = {0};
	int fd[DRIPS], left = DRIPS;

	memset(text[PARAMS] + 4, '{', 90);
	text[PARAMS][3] = text[OWN][3] = 90;
	memset(text[OWN] + 4, '{', 90);
	snprintf(text[HTTP], sizeof(text[HTTP]), "GET /%090d", 0);
	for (int i = 0; i < DRIPS; i++)
		fd[i] = dial(port);
	say(fd[PARAMS], COOKIE, 37);
	hear(fd[PARAMS]);
	say(fd[OWN], "ovltrace2klmnopqrstuvwxyz23456777654", 37);
	hear(fd[OWN]);
	for (int k = 0; left && k < 90; k++) {
		for (int i = 0; i < DRIPS; i++) {
			if (dropped[i])
				continue;
			say(fd[i], text[i] + k % 40, 1);
			dropped[i] = closed_within(fd[i], 30); /* 25 of its 37 bytes in 3 s */
			left -= dropped[i];
			at[i] = (ovl_clock_ns() - since) / 1000000;
		}
	}
	for (int i = 0; i < DRIPS; i++) {
		ok(dropped[i] && at[i] < STEP_MOST_MS, "%s by single bytes: dropped after %llu ms",
		   names[i], (unsigned long long)at[i]);
		close(fd[i]);
	}
	ok(works(port), "a test works after them");
}

/* Texts that are no parameters, and no results. */
static void test_texts(uint16_t port)
{
	static char deep[8000], wide[8190];
	static const struct {
		const char *text;
		uint32_t n; /* the length that is said; 0: its own */
	} rows[] = {
		{"{}", 0},
		{"[]", 0},
		{"", 1},
		{"", 0xffffffff},
		{"", 0x7fffffff},
		{"{", 300000},
		{deep, 0},
		{wide, 0},
		{"{\"tcp\":true,\"parallel\":-1,\"len\":1000}", 0},
		{"{\"tcp\":true,\"parallel\":1e300,\"len\":1000}", 0},
		{"{\"tcp\":true,\"parallel\":1,\"len\":18446744073709551615}", 0},
		{"{\"tcp\":true,\"parallel\":1,\"len\":1000,\"omit\":-5}", 0},
		{"{\"tcp\":true,\"parallel\":1,\"len\":1000,\"time\":99999999999}", 0},
		{"{\"tcp\":true,\"parallel\":1,\"len\":1000,\"MSS\":-1}", 0},
		{"{\"tcp\":true,\"parallel\":1,\"len\":1000,\"window\":99999999999999}", 0},
		{"{\"tcp\":true,\"parallel\":1,\"len\":1000,\"congestion\":\"\\u001b[31m\"}", 0},
		{"{\"tcp\":true,\"parallel\":1,\"len\":1000,\"bandwidth\":-1}", 0},
		{"{\"tcp\":true,\"a\":\"\xff\"}", 0},
	};
	const uint8_t end = OVL_IPERF3_TEST_END;
	size_t refused = 0, ended = 0;

	memset(deep, '[', sizeof(deep) - 1);
	memset(wide, ' ', sizeof(wide) - 1);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		uint32_t n = rows[i].n ? rows[i].n : (uint32_t)strlen(rows[i].text);
		int stream, fd = greet(port), said;

		say_text(fd, rows[i].text, n);
		said = hear(fd);
		refused += said == OVL_IPERF3_SERVER_ERROR;
		if (said != OVL_IPERF3_SERVER_ERROR)
			printf("# %.60s: %d\n", rows[i].text, said);
		close(fd);
		fd = begin(port, &stream);
		say(fd, &end, 1);
		if (hear(fd) != OVL_IPERF3_EXCHANGE_RESULTS)
			printf("# %.60s: no results wanted\n", rows[i].text);
		say_text(fd, rows[i].text, n);
		ended += closed_within(fd, STEP_MOST_MS);
		close(fd);
		close(stream);
	}
	is_int(refused, sizeof(rows) / sizeof(rows[0]),
	       "bad parameters are refused by the protocol");
	is_int(ended, sizeof(rows) / sizeof(rows[0]), "bad results end the test");
	ok(works(port), "a test works after them");
}

/* Gone by a reset after each byte, of parameters and of results. */
static void test_resets(uint16_t port)
{
	const struct linger hard = {.l_onoff = 1};
	const uint8_t end = OVL_IPERF3_TEST_END;
	char text[512];
	size_t n = 4 + strlen(RESULTS);

	memcpy(text, COOKIE, 37);
	ovl_be_put((uint8_t *)text + 37, strlen(ONE), 4);
	memcpy(text + 41, ONE, strlen(ONE));
	for (size_t i = 0; i <= 41 + strlen(ONE); i++)
		send_and_leave(port, text, i, true);
	ok(works(port), "a reset after each of %zu bytes: a test works", 41 + strlen(ONE));
	ovl_be_put((uint8_t *)text, strlen(RESULTS), 4);
	memcpy(text + 4, RESULTS, strlen(RESULTS));
	for (size_t i = 0; i <= n; i++) {
		int stream, fd = begin(port, &stream);

		say(fd, &end, 1);
		hear(fd);
		say(fd, text, i);
		setsockopt(fd, SOL_SOCKET, SO_LINGER, &hard, sizeof(hard));
		setsockopt(stream, SOL_SOCKET, SO_LINGER, &hard, sizeof(hard));
		close(i & 1 ? fd : stream);
		close(i & 1 ? stream : fd);
	}
	ok(works(port), "after each of %zu bytes of results: a test works", n);
}

/* Each byte where a state is due: while a test runs, and when all is said. */
static void test_states(uint16_t port)
{
	int stream, fd, ended = 0;

	for (int v = 0; v < 256; v++) {
		const uint8_t state = (uint8_t)v;

		if (state == OVL_IPERF3_TEST_END) /* the one that goes on */
			continue;
		fd = begin(port, &stream);
		say(fd, &state, 1);
		ended += closed_within(fd, STEP_MOST_MS);
		close(fd);
		close(stream);
	}
	is_int(ended, 255, "each wrong state ends the test");
	ok(works(port), "a test works after them");
}

/* Very many at once that want nothing but an answer. */
static void test_crowd(uint16_t port)
{
	enum { CROWD = 1000 };
	static const char *const words[] = {"\x16\3\1", "GET / HTTP/1.1\r\nX: ", COOKIE, ""};
	static int fd[CROWD];

	for (int i = 0; i < CROWD; i++) {
		fd[i] = dial(port);
		say(fd[i], words[i % 4], strlen(words[i % 4]) + (words[i % 4] == words[2]));
		if (i >= 500) /* this process, too, has its limit of open files */
			close(fd[i - 500]);
	}
	ok(works(port), "a test works among %d strangers", CROWD);
	for (int i = CROWD - 500; i < CROWD; i++)
		close(fd[i]);
}

int main(void)
{
	struct peer p = {.bind = "127.0.0.1"};
	size_t before;

	peer_start(&p);
	ok(works(p.port), "a whole test by hand");
	before = rss_bytes();
	test_strangers(p.port);
	test_drips(p.port);
	test_texts(p.port);
	test_resets(p.port);
	test_states(p.port);
	test_crowd(p.port);
	rss_bounded(before);
	peer_stop(&p);
	is_int(p.rc, 0, "the peer ends when it is told to");
	return tap_done();
}
