/*
 * Far ends that are no peer: foreign servers, silent ones, and those that turn out to talk
 * nonsense.
 */
#include "peer_kit.h"

#include <errno.h>

#include "load/wire.h"

/* A server that is not ours: sends `first` at once (or nothing), then `second` after some input. */
struct stranger {
	int listen_fd;
	const char *first, *second;
	size_t first_n, second_n;
	bool hang_up;
};

static void stranger_serve(const struct stranger *s, int fd)
{
	char buf[1024];

	if (s->first_n)
		send(fd, s->first, s->first_n, MSG_NOSIGNAL);
	/* the cookie and the parameters may come in one piece or in several */
	for (ssize_t n, got = 0; !s->hang_up && (n = recv(fd, buf, sizeof(buf), 0)) > 0; got += n) {
		if (got <= OVL_WIRE_COOKIE_BYTES && got + n > OVL_WIRE_COOKIE_BYTES && s->second_n)
			send(fd, s->second, s->second_n, MSG_NOSIGNAL);
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

static void meet(struct stranger s, const char *word)
{
	struct ovl_load_spec spec;
	pthread_t thread;
	uint16_t port;

	s.listen_fd = listen_loopback(&port);
	pthread_create(&thread, NULL, stranger_main, &s);
	spec = remote_spec(port, 1, false);
	refused(&spec, word);
	shutdown(s.listen_fd, SHUT_RDWR); /* ends accept */
	pthread_join(thread, NULL);
	close(s.listen_fd);
}

static void test_strangers(void)
{
	struct ovl_load_spec spec = remote_spec(free_port(), 1, false);
	struct stranger s = {0};

	refused(&spec, "ovltrace peer --port");
	strcpy(spec.path[1].addr, "no.such.name.invalid");
	refused(&spec, "cannot find the address");
	meet(s, "says nothing");
	s.hang_up = true;
	meet(s, "closed the connection");
	s = (struct stranger){.first = "HTTP/1.1 400 Bad Request\r\n", .first_n = 26};
	meet(s, "0x48");
	meet((struct stranger){.first = "\xff", .first_n = 1, .hang_up = true}, "busy");
	s = (struct stranger){.first = "\t", .first_n = 1, .second = "\n", .second_n = 1};
	meet(s, "iperf3 server");
	s.second = "\x40\xff\xff\xff\xff";
	s.second_n = 5;
	meet(s, "another protocol");
	s.second = "\x40\0\0\0\2{}";
	s.second_n = 7;
	meet(s, "another protocol");
	s.second = "\x40\0\0\0\x20{}";
	s.second_n = 7;
	meet(s, "says nothing");
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
	refused(&spec, "no answer within 700 ms");
	for (int i = 0; i < 3; i++)
		close(waiting[i]);
	close(fd);
}

static void *garbage_main(void *arg)
{
	static const char hello[] = "@\0\0\0\"{\"instance\":\"a\",\"version\":\"1.0.0\"}";
	int listen_fd = *(int *)arg, fd = accept(listen_fd, NULL, NULL);
	char buf[1024];

	if (recv(fd, buf, OVL_WIRE_COOKIE_BYTES, MSG_WAITALL) > 0)
		send(fd, hello, sizeof(hello) - 1, MSG_NOSIGNAL);
	sleep_ms(50);
	memset(buf, 'x', sizeof(buf));
	send(fd, buf, sizeof(buf), MSG_NOSIGNAL);
	sleep_ms(100);
	close(fd);
	return NULL;
}

static void test_garbage_reports(void)
{
	struct ovl_err err = OVL_ERR_INIT;
	struct ovl_load_counts counts;
	struct ovl_load_spec spec;
	struct ovl_load *load;
	pthread_t thread;
	uint16_t port;
	int fd = listen_loopback(&port);

	pthread_create(&thread, NULL, garbage_main, &fd);
	spec = remote_spec(port, 1, false);
	load = ovl_load_start(&spec, &err);
	ok(load != NULL, "a stranger that says hello well (%s)", err.text);
	sleep_ms(100);
	if (load) {
		is_int(ovl_load_read(load, OVL_LOAD_OVERLAY, &counts, &err), -EPIPE,
		       "but reports nonsense");
		ok(strstr(err.text, "not a report") != NULL, "%s", err.text);
	}
	ovl_load_stop(load);
	pthread_join(thread, NULL);
	close(fd);
}

int main(void)
{
	test_strangers();
	test_no_answer();
	test_garbage_reports();
	return tap_done();
}
