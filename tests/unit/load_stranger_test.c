/*
 * Far ends that are no peer: foreign servers, silent ones, and those that turn out to talk
 * nonsense.
 */
#include "peer_kit.h"

#include <errno.h>

#include "load/wire.h"

/*
 * A server that is not ours: sends `first` at once (or nothing), then `second` after the cookie and
 * the parameters.
 */
struct stranger {
	int listen_fd;
	const char *first, *second;
	size_t first_n, second_n;
	bool hang_up;
};

/* Exactly n bytes, in however many segments they come. */
static bool take(int fd, void *p, size_t n)
{
	return recv(fd, p, n, MSG_WAITALL) == (ssize_t)n;
}

static void stranger_serve(const struct stranger *s, int fd)
{
	char buf[OVL_WIRE_JSON_MAX];
	uint8_t head[4];

	if (s->first_n)
		send(fd, s->first, s->first_n, MSG_NOSIGNAL);
	if (!s->hang_up && take(fd, buf, OVL_WIRE_COOKIE_BYTES) && take(fd, head, sizeof(head)) &&
	    take(fd, buf, ovl_wire_length_parse(head))) {
		if (s->second_n)
			send(fd, s->second, s->second_n, MSG_NOSIGNAL);
		while (recv(fd, buf, sizeof(buf), 0) > 0)
			; /* until the other side has had enough */
	}
	close(fd);
}

static void *stranger_main(void *arg)
{
	const struct stranger *s = arg;
	int fd;

	while ((fd = accept(s->listen_fd, NULL, NULL)) >= 0)
		stranger_serve(s, fd);
	return NULL;
}

static void meet_by(struct stranger s, const char *word,
		    void (*refusal)(const struct ovl_load_spec *, const char *))
{
	struct ovl_load_spec spec;
	pthread_t thread;
	uint16_t port;

	s.listen_fd = listen_loopback(&port);
	pthread_create(&thread, NULL, stranger_main, &s);
	spec = remote_spec(port, 1, false);
	refusal(&spec, word);
	shutdown(s.listen_fd, SHUT_RDWR); /* ends accept */
	pthread_join(thread, NULL);
	close(s.listen_fd);
}

static void meet(struct stranger s, const char *word)
{
	meet_by(s, word, refused);
}

static void test_strangers(void)
{
	struct stranger s = {0};
	uint16_t port;
	int fd = hold_port(&port);
	struct ovl_load_spec spec = remote_spec(port, 1, false);

	refused(&spec, "ovltrace peer --port");
	close(fd);
	/* an empty label: no resolver is asked, none can keep us waiting */
	strcpy(spec.path[1].addr, "no..such.name");
	refused(&spec, "cannot find the address");
	meet_by(s, "says nothing within 700 ms", given_up);
	s.hang_up = true;
	meet(s, "closed the connection");
	s = (struct stranger){.first = "HTTP/1.1 400 Bad Request\r\n", .first_n = 26};
	meet(s, "0x48");
	meet((struct stranger){.first = "\xff", .first_n = 1, .hang_up = true}, "busy");
	s = (struct stranger){.first = "\t", .first_n = 1, .second = "\n", .second_n = 1};
	meet_by(s, "iperf3 server", given_up);
	s.second = "\x40\xff\xff\xff\xff";
	s.second_n = 5;
	meet(s, "another protocol");
	s.second = "\x40\0\0\0\2{}";
	s.second_n = 7;
	meet(s, "another protocol");
	s.second = "\x40\0\0\0\x20{}";
	s.second_n = 7;
	meet_by(s, "says nothing within 700 ms", given_up);
}

/* Connections that are not answered at all: the queue of a server that does not accept is full. */
static void test_no_answer(void)
{
	uint16_t port;
	int fd = listen_loopback(&port), waiting[3];
	struct ovl_load_spec spec;

	listen(fd, 0);
	for (int i = 0; i < 3; i++) {
		const struct sockaddr_in sa = {.sin_family = AF_INET,
					       .sin_port = htons(port),
					       .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};

		waiting[i] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
		if (connect(waiting[i], (const struct sockaddr *)&sa, sizeof(sa)) &&
		    errno != EINPROGRESS)
			abort();
	}
	spec = remote_spec(port, 1, false);
	given_up(&spec, "no answer within 700 ms");
	for (int i = 0; i < 3; i++)
		close(waiting[i]);
	close(fd);
}

struct babbler {
	int listen_fd;
	pthread_barrier_t begun; /* the load has: nonsense before that would be a bad handshake */
};

static void *garbage_main(void *arg)
{
	static const char hello[] = "@\0\0\0\"{\"instance\":\"a\",\"version\":\"1.0.0\"}";
	struct babbler *b = arg;
	int fd = accept(b->listen_fd, NULL, NULL);
	char buf[1024];

	if (take(fd, buf, OVL_WIRE_COOKIE_BYTES))
		send(fd, hello, sizeof(hello) - 1, MSG_NOSIGNAL);
	pthread_barrier_wait(&b->begun);
	memset(buf, 'x', sizeof(buf));
	send(fd, buf, sizeof(buf), MSG_NOSIGNAL);
	while (recv(fd, buf, sizeof(buf), 0) > 0)
		;
	close(fd);
	return NULL;
}

static void test_garbage_reports(void)
{
	struct ovl_err err = OVL_ERR_INIT;
	struct ovl_load_spec spec;
	struct ovl_load *load;
	pthread_t thread;
	uint16_t port;
	struct babbler b = {.listen_fd = listen_loopback(&port)};

	pthread_barrier_init(&b.begun, NULL, 2);
	pthread_create(&thread, NULL, garbage_main, &b);
	spec = remote_spec(port, 1, false);
	load = ovl_load_start(&spec, &err);
	ok(load != NULL, "a stranger that says hello well (%s)", err.text);
	pthread_barrier_wait(&b.begun);
	if (load) {
		is_int(read_broken(load, &err), -EPIPE, "but reports nonsense");
		ok(strstr(err.text, "not a report") != NULL, "%s", err.text);
	}
	ovl_load_stop(load);
	pthread_join(thread, NULL);
	pthread_barrier_destroy(&b.begun);
	close(b.listen_fd);
}

int main(void)
{
	test_strangers();
	test_no_answer();
	test_garbage_reports();
	return tap_done();
}
