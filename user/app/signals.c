#include "app/signals.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/exit.h"

#define SECOND_NS 1000000000ull

static void end_quietly(int number)
{
	(void)number;
	_exit(OVL_EXIT_OK);
}

void ovl_signals_early(void)
{
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN); /* a file size limit is an error of that write */
	signal(SIGINT, end_quietly);
	signal(SIGTERM, end_quietly);
	signal(SIGHUP, end_quietly);
}

int ovl_signals_open(void)
{
	sigset_t set;
	int fd;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGHUP);
	if (sigprocmask(SIG_BLOCK, &set, NULL))
		return -errno;
	fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	return fd < 0 ? -errno : fd;
}

bool ovl_signals_wait(int signal_fd, uint64_t until_ts_ns)
{
	struct pollfd p = {.fd = signal_fd, .events = POLLIN};
	uint64_t now = ovl_clock_ns();

	for (; now < until_ts_ns; now = ovl_clock_ns()) {
		const struct timespec left = {.tv_sec = (time_t)((until_ts_ns - now) / SECOND_NS),
					      .tv_nsec = (long)((until_ts_ns - now) % SECOND_NS)};

		if (ppoll(&p, 1, &left, NULL) > 0)
			return true;
	}
	return false;
}
