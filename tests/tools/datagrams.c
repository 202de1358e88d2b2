/*
 * For tests: exact numbers of UDP datagrams.
 *   datagrams send ADDRESS PORT COUNT SIZE…   COUNT datagrams of each size, one write each
 *   datagrams recv PORT COUNT SECONDS         read until COUNT have come; prints their sums
 * recv prints "ready" first. A size of 0 bytes is a datagram too.
 */
#include <arpa/inet.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define SIZE_MOST 65507

static char bytes[SIZE_MOST];

static int fail(const char *what)
{
	perror(what);
	return 1;
}

static int send_all(int argc, char **argv)
{
	struct sockaddr_in to = {.sin_family = AF_INET};
	const long count = strtol(argv[4], NULL, 10);
	const struct timespec pause = {.tv_nsec = 200000};
	int fd = socket(AF_INET, SOCK_DGRAM, 0);

	to.sin_port = htons((in_port_t)strtol(argv[3], NULL, 10));
	if (fd < 0 || inet_pton(AF_INET, argv[2], &to.sin_addr) != 1)
		return fail("socket or address");
	for (int arg = 5; arg < argc; arg++) {
		const size_t size = strtoul(argv[arg], NULL, 10);

		for (long i = 0; i < count && size <= SIZE_MOST; i++) {
			/* not connected: whether somebody listens does not matter */
			if (sendto(fd, bytes, size, 0, (struct sockaddr *)&to, sizeof(to)) !=
			    (ssize_t)size)
				return fail("sendto");
			nanosleep(&pause, NULL); /* no queue on the way may overflow */
		}
	}
	return 0;
}

static int recv_all(char **argv)
{
	struct sockaddr_in at = {.sin_family = AF_INET};
	const long count = strtol(argv[3], NULL, 10), seconds = strtol(argv[4], NULL, 10);
	const time_t end = time(NULL) + seconds;
	int fd = socket(AF_INET, SOCK_DGRAM, 0);
	/* room for all of them: a slow machine may not run us before the last has come */
	const int room = 16 << 20;
	unsigned long long sum = 0;
	long n = 0;

	at.sin_port = htons((in_port_t)strtol(argv[2], NULL, 10));
	if (fd < 0 || bind(fd, (struct sockaddr *)&at, sizeof(at)))
		return fail("bind");
	setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &room, sizeof(room));
	puts("ready");
	fflush(stdout);
	while (n < count && time(NULL) < end) {
		struct pollfd ready = {.fd = fd, .events = POLLIN};
		ssize_t got;

		if (poll(&ready, 1, 200) <= 0)
			continue;
		got = recv(fd, bytes, sizeof(bytes), 0);
		if (got < 0)
			return fail("recv");
		n++;
		sum += (unsigned long long)got;
	}
	printf("%ld %llu\n", n, sum);
	return n != count;
}

int main(int argc, char **argv)
{
	if (argc >= 6 && !strcmp(argv[1], "send"))
		return send_all(argc, argv);
	if (argc == 5 && !strcmp(argv[1], "recv"))
		return recv_all(argv);
	fprintf(stderr,
		"usage: datagrams send ADDRESS PORT COUNT SIZE… | recv PORT COUNT SECONDS\n");
	return 2;
}
