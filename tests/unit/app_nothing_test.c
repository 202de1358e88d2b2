/* A load in which nothing comes is a failure with a sentence, whoever the far end is. */
#include "peer_kit.h"

#include <fcntl.h>
#include <stdio.h>

#include "app/notrace.h"
#include "app/options.h"
#include "load/jsonio.h"
#include "load/iperf3_wire.h"

#define RESULTS \
	"{\"cpu_util_total\":1,\"cpu_util_user\":1,\"cpu_util_system\":0," \
	"\"sender_has_retransmits\":0,\"streams\":[{\"id\":1,\"bytes\":0,\"retransmits\":0," \
	"\"jitter\":0,\"errors\":0,\"packets\":0}]}"

/* Take a text: u32be length and JSON. */
static void take_text(int fd)
{
	char buf[4096];
	uint32_t n;

	if (recv(fd, buf, 4, MSG_WAITALL) != 4)
		return;
	n = (uint32_t)ovl_be_get((const uint8_t *)buf, 4);
	recv(fd, buf, n < sizeof(buf) ? n : sizeof(buf), MSG_WAITALL);
}

/* An iperf3 server that does all but send. */
static void *mute_main(void *arg)
{
	int control = accept(*(int *)arg, NULL, NULL), stream;
	uint8_t results[4 + sizeof(RESULTS)], byte;
	const size_t n = strlen(RESULTS);

	recv(control, results, 37, MSG_WAITALL);
	send(control, "\t", 1, MSG_NOSIGNAL);
	take_text(control);
	send(control, "\n", 1, MSG_NOSIGNAL);
	stream = accept(*(int *)arg, NULL, NULL);
	send(control, "\1\2", 2, MSG_NOSIGNAL);
	recv(control, &byte, 1, MSG_WAITALL);
	send(control, "\r", 1, MSG_NOSIGNAL);
	take_text(control);
	ovl_be_put(results, n, 4);
	memcpy(results + 4, RESULTS, n);
	results[4 + n] = OVL_IPERF3_DISPLAY_RESULTS;
	send(control, results, 5 + n, MSG_NOSIGNAL);
	recv(control, &byte, 1, MSG_WAITALL);
	close(stream);
	close(control);
	return NULL;
}

static int over_fd; /* readable: the load is over */

/* A sink that accepts and never reads. */
static void *deaf_main(void *arg)
{
	int fd = accept(*(int *)arg, NULL, NULL);
	eventfd_t n;

	eventfd_read(over_fd, &n);
	close(fd);
	return NULL;
}

static void nothing(void *(*far_main)(void *), const char *args, const char *word)
{
	char text[256], *argv[16] = {(char *)"ovltrace"};
	struct ovl_err err = OVL_ERR_INIT;
	struct ovl_options o;
	pthread_t thread;
	uint16_t port;
	int argc = 1, rc, listen_fd = listen_loopback(&port), out, null;

	pthread_create(&thread, NULL, far_main, &listen_fd);
	snprintf(text, sizeof(text), "--no-trace --peer 127.0.0.1:%u %s", port, args);
	for (char *at = strtok(text, " "); at && argc < 16; at = strtok(NULL, " "))
		argv[argc++] = at;
	rc = ovl_options_parse(OVL_CMD_RUN, argc, argv, &o, &err);
	/* its text is not this test's */
	fflush(stdout);
	out = dup(STDOUT_FILENO);
	null = open("/dev/null", O_WRONLY | O_CLOEXEC);
	dup2(null, STDOUT_FILENO);
	if (!rc)
		rc = ovl_notrace_peer(&o, &err);
	eventfd_write(over_fd, 1);
	dup2(out, STDOUT_FILENO);
	close(null);
	close(out);
	ok(rc < 0 && err.exit == OVL_EXIT_PEER && strstr(err.text, word), "%s: %s", args, err.text);
	pthread_join(thread, NULL);
	close(listen_fd);
}

int main(void)
{
	over_fd = eventfd(0, EFD_CLOEXEC);
	nothing(deaf_main, "--load iperf2 -t 3", "nothing was received by 127.0.0.1 in the last");
	nothing(mute_main, "--load iperf3 -R -t 1", "nothing came from 127.0.0.1 in 1.");
	close(over_fd);
	return tap_done();
}
