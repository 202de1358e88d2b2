/*
 * Two relays between two network namespaces: TCP, UDP, hostile datagrams through them, with batch
 * on both, one or no side, and what happens when a device is missing, taken, down or deleted.
 * needs: root
 */
#include "lab/relay.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tap.h"

#define TUN	   "relayt"
#define WAIT_S	   5
#define BULK_BYTES (2 << 20)

struct side {
	int netns, stop, ready[2];
	pthread_t thread;
	struct ovl_relay_spec spec;
	struct ovl_relay_route routes[2];
	struct ovl_relay_counts counts;
	struct ovl_err err;
	int rc;
};

struct bench {
	struct side a, b;
};

static void enter(const struct side *s)
{
	if (setns(s->netns, CLONE_NEWNET))
		abort();
}

/* Run a command in a side's namespace. */
static bool run(const struct side *s, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static bool run(const struct side *s, const char *fmt, ...)
{
	char command[1024];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(command, sizeof(command), fmt, ap);
	va_end(ap);
	enter(s);
	return system(command) == 0;
}

static int new_netns(void)
{
	if (unshare(CLONE_NEWNET))
		return -1;
	return open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC);
}

/* Addresses of one side; the tun device has room for outer IPv6 and UDP headers. */
static bool equip(const struct side *s, int host)
{
	return run(s,
		   "ip link set lo up && ip link set relay0 up && ip tuntap add " TUN
		   " mode tun && "
		   "ip addr add 192.168.77.%d/24 dev relay0 && ip addr add 10.244.%d.1/16 dev " TUN
		   " && ip link set " TUN
		   " mtu 1452 up && ip addr add fd77::%d/64 dev relay0 nodad && "
		   "ip addr add fd00:244:%d::1/32 dev " TUN " nodad",
		   host, host, host, host);
}

/* NULL, or why there cannot be a bench. */
static const char *bench_open(struct bench *bench)
{
	if (access("/dev/net/tun", R_OK | W_OK))
		return "/dev/net/tun is missing or not permitted";
	bench->a.netns = new_netns();
	bench->b.netns = bench->a.netns < 0 ? -1 : new_netns();
	if (bench->b.netns < 0)
		return "network namespaces are not permitted";
	if (!run(&bench->a, "ip link add relay0 type veth peer name relay0 netns /proc/%d/fd/%d",
		 (int)getpid(), bench->b.netns))
		return "a veth pair cannot be made with ip";
	if (!equip(&bench->a, 1) || !equip(&bench->b, 2))
		return "tun devices and addresses cannot be made with ip";
	return NULL;
}

static void *relay_main(void *arg)
{
	struct side *s = arg;

	enter(s);
	s->rc = ovl_relay_run(&s->spec, &s->err);
	return NULL;
}

static void plan(struct side *s, int host, bool batch, bool v6)
{
	static const char *const inner[2][2] = {{"10.244.1.0/24", "fd00:244:1::/48"},
						{"10.244.2.0/24", "fd00:244:2::/48"}};
	static const char *const outer[2][2] = {{"192.168.77.1", "192.168.77.2"},
						{"fd77::1", "fd77::2"}};
	int far = 2 - host;

	s->routes[0] = (struct ovl_relay_route){inner[far][0], outer[v6][far]};
	s->routes[1] = (struct ovl_relay_route){inner[far][1], outer[v6][far]};
	s->spec = (struct ovl_relay_spec){.tun = TUN,
					  .local = outer[v6][host - 1],
					  .port = 8285,
					  .routes = s->routes,
					  .n_routes = 2,
					  .batch = batch,
					  .cpu = -1,
					  .counts = &s->counts};
	s->err = OVL_ERR_INIT;
}

/* Start a planned relay; true once it says that it forwards. */
static bool start(struct side *s)
{
	char word[8] = "";

	s->stop = eventfd(0, EFD_CLOEXEC);
	if (pipe2(s->ready, O_CLOEXEC))
		abort();
	s->spec.stop_fd = s->stop;
	s->spec.ready_fd = s->ready[1];
	if (pthread_create(&s->thread, NULL, relay_main, s))
		abort();
	return read(s->ready[0], word, sizeof(word) - 1) > 0 && strcmp(word, "0\n") == 0;
}

/* What the relay returned; asks it to end first unless it should have by itself. */
static int finish(struct side *s, bool ask)
{
	if (ask && eventfd_write(s->stop, 1))
		abort();
	pthread_join(s->thread, NULL);
	close(s->stop);
	close(s->ready[0]);
	close(s->ready[1]);
	return s->rc;
}

/* A socket of a side that never waits for long. */
static int sock(const struct side *s, int family, int type)
{
	struct timeval wait = {.tv_sec = WAIT_S};
	int fd;

	enter(s);
	fd = socket(family, type | SOCK_CLOEXEC, 0);
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof(wait));
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &wait, sizeof(wait));
	return fd;
}

/* Address of a side within the overlay. */
static socklen_t overlay(int host, bool v6, struct sockaddr_storage *to)
{
	struct sockaddr_in *in4 = (struct sockaddr_in *)to;
	struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)to;
	char text[32];

	memset(to, 0, sizeof(*to));
	snprintf(text, sizeof(text), v6 ? "fd00:244:%d::1" : "10.244.%d.1", host);
	to->ss_family = v6 ? AF_INET6 : AF_INET;
	in4->sin_port = htons(7777); /* at the same place in both */
	inet_pton(to->ss_family, text, v6 ? (void *)&in6->sin6_addr : (void *)&in4->sin_addr);
	return v6 ? sizeof(*in6) : sizeof(*in4);
}

static uint8_t pattern(size_t at)
{
	return (uint8_t)(at * 31 + at / 4099);
}

static void *send_bulk(void *arg)
{
	static const int chunk = 64 << 10;
	uint8_t *data = malloc(chunk);
	int fd = *(int *)arg;

	for (size_t at = 0; at < BULK_BYTES; at += (size_t)chunk) {
		for (int i = 0; i < chunk; i++)
			data[i] = pattern(at + (size_t)i);
		for (ssize_t n, done = 0; done < chunk; done += n) {
			n = send(fd, data + done, (size_t)(chunk - done), MSG_NOSIGNAL);
			if (n <= 0)
				goto out;
		}
	}
out:
	shutdown(fd, SHUT_WR);
	free(data);
	return NULL;
}

/* Bytes that came as they were sent, until the end or the first wrong one. */
static size_t receive_bulk(int fd)
{
	static uint8_t data[64 << 10];
	size_t at = 0;
	ssize_t n;

	while ((n = recv(fd, data, sizeof(data), 0)) > 0) {
		for (ssize_t i = 0; i < n; i++, at++) {
			if (data[i] != pattern(at))
				return at;
		}
	}
	return n == 0 ? at : 0;
}

/* A TCP connection from a to b, with data one way; bytes that arrived in order and unchanged. */
static size_t tcp_bulk(struct bench *bench, bool v6, bool reverse)
{
	struct sockaddr_storage to;
	socklen_t len = overlay(2, v6, &to);
	int listener = sock(&bench->b, to.ss_family, SOCK_STREAM);
	int fd = sock(&bench->a, to.ss_family, SOCK_STREAM), on = 1, far = -1;
	size_t n = 0;
	pthread_t thread;

	setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (!bind(listener, (struct sockaddr *)&to, len) && !listen(listener, 1) &&
	    !connect(fd, (struct sockaddr *)&to, len))
		far = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	if (far >= 0 && !pthread_create(&thread, NULL, send_bulk, reverse ? &far : &fd)) {
		n = receive_bulk(reverse ? fd : far);
		pthread_join(thread, NULL);
	}
	if (far >= 0)
		close(far);
	close(fd);
	close(listener);
	return n;
}

/* Datagrams of all kinds of sizes, also in fragments; how many arrived unchanged. */
static int udp_some(struct bench *bench, bool v6)
{
	static const size_t sizes[] = {0, 1, 2, 17, 1000, 1380, 4000};
	static uint8_t out[4000], in[4001];
	struct sockaddr_storage to;
	socklen_t len = overlay(2, v6, &to);
	int server = sock(&bench->b, to.ss_family, SOCK_DGRAM);
	int fd = sock(&bench->a, to.ss_family, SOCK_DGRAM), good = 0;
	bool bound = !bind(server, (struct sockaddr *)&to, len);

	for (size_t i = 0; i < sizeof(out); i++)
		out[i] = pattern(i);
	for (size_t i = 0; bound && i < sizeof(sizes) / sizeof(*sizes); i++) {
		sendto(fd, out, sizes[i], 0, (struct sockaddr *)&to, len);
		good += recv(server, in, sizeof(in), 0) == (ssize_t)sizes[i] &&
			memcmp(in, out, sizes[i]) == 0;
	}
	close(fd);
	close(server);
	return good;
}

static void test_forwards(struct bench *bench, bool batch_a, bool batch_b, bool outer_v6)
{
	char what[64];
	struct ovl_relay_counts *a = &bench->a.counts, *b = &bench->b.counts;

	snprintf(what, sizeof(what), "%s to %s over IPv%d", batch_a ? "batch" : "single",
		 batch_b ? "batch" : "single", outer_v6 ? 6 : 4);
	plan(&bench->a, 1, batch_a, outer_v6);
	plan(&bench->b, 2, batch_b, outer_v6);
	ok(start(&bench->a) && start(&bench->b), "%s: both are ready", what);
	is_int(tcp_bulk(bench, false, false), BULK_BYTES, "%s: TCP over IPv4", what);
	is_int(tcp_bulk(bench, true, true), BULK_BYTES, "%s: TCP over IPv6, other way", what);
	is_int(udp_some(bench, false), 7, "%s: UDP over IPv4", what);
	is_int(udp_some(bench, true), 7, "%s: UDP over IPv6", what);
	ok(!finish(&bench->a, true) && !finish(&bench->b, true), "%s: both end when asked", what);
	ok(b->to_tun_bytes > BULK_BYTES && a->to_tun_bytes > BULK_BYTES, "%s: bytes counted", what);
	is_int(a->malformed + a->expired + a->send_failed + a->tun_refused + b->malformed +
		       b->expired + b->send_failed + b->tun_refused,
	       0, "%s: nothing lost by the relays", what);
	/* per datagram one system call, unless it is batched */
	if (!batch_a)
		is_int(a->udp_sends, a->to_wire_pkts, "%s: one packet a send", what);
	else if (batch_b && !a->no_gso) /* else it has many small ACKs to send as well */
		ok(a->udp_sends * 3 < a->to_wire_pkts, "%s: %.1f packets a send", what,
		   (double)a->to_wire_pkts / (double)a->udp_sends);
	if (!batch_b)
		is_int(b->tun_writes, b->to_tun_pkts, "%s: one packet a write", what);
	else if (batch_a && !b->no_gro)
		ok(b->tun_writes * 3 < b->to_tun_pkts, "%s: %.1f packets a write", what,
		   (double)b->to_tun_pkts / (double)b->tun_writes);
}

/* What a relay that runs has counted so far. */
static uint64_t refused(const struct side *s)
{
	return __atomic_load_n(&s->counts.tun_refused, __ATOMIC_RELAXED);
}

static uint64_t relayed(const struct side *s)
{
	return __atomic_load_n(&s->counts.to_wire_pkts, __ATOMIC_RELAXED);
}

/* Send small datagrams from a to b's overlay address, which nobody waits for. */
static void knock(struct bench *bench, int n)
{
	struct sockaddr_storage to;
	socklen_t len = overlay(2, false, &to);
	int fd = sock(&bench->a, AF_INET, SOCK_DGRAM);

	while (n--)
		sendto(fd, "x", 1, 0, (struct sockaddr *)&to, len);
	close(fd);
}

/* Anybody can send to the port: nothing of it may stop the relay, all of it is counted. */
static void test_hostile(struct bench *bench, bool batch)
{
	struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(8285)};
	const struct ovl_relay_counts *b = &bench->b.counts;
	uint8_t junk[1400];
	int fd = sock(&bench->a, AF_INET, SOCK_DGRAM);

	inet_pton(AF_INET, "192.168.77.2", &to.sin_addr);
	plan(&bench->b, 2, batch, false);
	ok(start(&bench->b), "ready for hostile datagrams, batch %d", batch);
	srandom(2);
	for (int i = 0; i < 2000; i++) {
		for (size_t k = 0; k < sizeof(junk); k++)
			junk[k] = (uint8_t)random();
		junk[0] = (uint8_t)((i % 3 ? 0x45 : 0x60) + (i % 7 ? 0 : i));
		junk[2] = junk[4] = 0;
		junk[9] = junk[6] = i % 2 ? IPPROTO_TCP : junk[9];
		sendto(fd, junk, (size_t)random() % sizeof(junk), 0, (struct sockaddr *)&to,
		       sizeof(to));
	}
	plan(&bench->a, 1, batch, false);
	ok(start(&bench->a), "then an honest peer");
	/* the flood may still fill the socket when the first of these come */
	ok(udp_some(bench, false) == 7 || udp_some(bench, false) == 7, "still forwards, batch %d",
	   batch);
	ok(!finish(&bench->b, true) && b->malformed > 100, "%d counted as malformed",
	   (int)b->malformed);
	ok(!finish(&bench->a, true), "the peer ends too");
	is_int(b->malformed + b->expired + b->to_tun_pkts + b->overflowed,
	       2000 + bench->a.counts.to_wire_pkts, "every datagram is accounted for");
	close(fd);
}

/* Nobody listens at the other end: ICMP errors come back. */
static void test_alone(struct bench *bench, bool batch)
{
	plan(&bench->a, 1, batch, false);
	ok(start(&bench->a), "ready alone, batch %d", batch);
	knock(bench, 20);
	for (int i = 0; i < WAIT_S * 100 && relayed(&bench->a) < 20; i++)
		usleep(10000);
	ok(!finish(&bench->a, true), "runs on without a peer");
	is_int(bench->a.counts.to_wire_pkts, 20, "and sends all that it is given");
}

static void test_devices(struct bench *bench)
{
	struct side *a = &bench->a;
	char said[600] = "";

	plan(a, 1, true, false);
	a->spec.tun = "absent0";
	ok(!start(a), "without its device it says so");
	ok(finish(a, false) == -ENODEV && strstr(a->err.text, "absent0"), "%s", a->err.text);
	a->spec.tun = "lo";
	start(a);
	ok(finish(a, false) == -EINVAL && strstr(a->err.text, "lo "), "%s", a->err.text);
	plan(a, 1, false, false);
	a->spec.local = "192.168.99.1";
	start(a);
	is_int(finish(a, false), -EADDRNOTAVAIL, "%s", a->err.text);
	plan(a, 1, false, false);
	a->spec.cpu = 100000;
	start(a);
	is_int(finish(a, false), -EINVAL, "%s", a->err.text);

	plan(a, 1, false, false);
	ok(start(a), "runs");
	bench->b.spec = a->spec;
	enter(a);
	ok(pipe2(bench->b.ready, O_CLOEXEC) == 0, "a pipe");
	bench->b.spec.ready_fd = bench->b.ready[1];
	ok(ovl_relay_run(&bench->b.spec, &bench->b.err) == -EBUSY, "%s", bench->b.err.text);
	ok(read(bench->b.ready[0], said, sizeof(said) - 1) > 3 && strncmp(said, "1\n", 2) == 0 &&
		   strncmp(said + 2, bench->b.err.text, strlen(bench->b.err.text)) == 0,
	   "who waits for it is told the same");
	close(bench->b.ready[0]);
	close(bench->b.ready[1]);
	ok(!finish(a, true), "ends when asked");
}

/* Down is a state that passes, deleted is the end. */
static void test_down_and_gone(struct bench *bench, bool batch)
{
	plan(&bench->a, 1, batch, false);
	plan(&bench->b, 2, batch, false);
	ok(start(&bench->a) && start(&bench->b), "both run, batch %d", batch);
	ok(run(&bench->b, "ip link set " TUN " down"), "one device down");
	for (int i = 0; i < WAIT_S * 100 && !refused(&bench->b); i++) {
		knock(bench, 1);
		usleep(10000);
	}
	ok(run(&bench->b, "ip link set " TUN " up"), "and up");
	is_int(udp_some(bench, false), 7, "forwards again");
	ok(run(&bench->b, "ip link del " TUN), "the device is deleted");
	ok(finish(&bench->b, false) == -ENODEV && strstr(bench->b.err.text, TUN), "%s",
	   bench->b.err.text);
	ok(bench->b.counts.tun_refused > 0, "what came while it was down is counted");
	ok(!finish(&bench->a, true), "the other runs on");
	ok(run(&bench->b, "ip tuntap add " TUN " mode tun && ip addr add 10.244.2.1/16 dev " TUN
			  " && ip link set " TUN
			  " mtu 1452 up && ip addr add fd00:244:2::1/32 dev " TUN " nodad"),
	   "the device is back");
}

int main(void)
{
	static struct bench bench;
	const char *why;

	alarm(100); /* a relay that does not end would be waited for */
	why = bench_open(&bench);
	if (why) {
		tap_skip("%s", why);
		return tap_done();
	}
	test_forwards(&bench, false, false, false);
	test_forwards(&bench, true, true, false);
	test_forwards(&bench, true, false, false);
	test_forwards(&bench, false, true, true);
	test_forwards(&bench, true, true, true);
	test_hostile(&bench, false);
	test_hostile(&bench, true);
	test_alone(&bench, false);
	test_alone(&bench, true);
	test_devices(&bench);
	test_down_and_gone(&bench, false);
	test_down_and_gone(&bench, true);
	return tap_done();
}
