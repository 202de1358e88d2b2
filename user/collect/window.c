#include "collect/window.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"

/*
 * Attaching patches the kernel's text, which interrupts every CPU: not more often than once a
 * second.
 */
#define APART_NS 1000000000ull
#define HELD_NS	 10000000 /* to look again while windows are held back */

static uint64_t own_cpu_ns(void)
{
	struct timespec ts;

	if (clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts))
		return 0;
	return (uint64_t)ts.tv_sec * 1000000000ull + (uint64_t)ts.tv_nsec;
}

/* Wait; true when the thread shall end. */
static bool told_to_stop(struct ovl_window *w, uint64_t ns)
{
	struct pollfd stop = {.fd = w->stop_fd, .events = POLLIN};
	struct timespec left = {(time_t)(ns / 1000000000ull), (long)(ns % 1000000000ull)};

	return ppoll(&stop, 1, &left, NULL) > 0;
}

static int open_window(struct ovl_window *w)
{
	int rc = w->ops.attach(w->ops.with);

	pthread_mutex_lock(&w->lock);
	if (rc) {
		w->failed++;
	} else {
		w->opened++;
		w->since_ts_ns = ovl_clock_ns();
		w->ops.set(w->ops.with, w->opened);
	}
	pthread_mutex_unlock(&w->lock);
	return rc;
}

static void close_window(struct ovl_window *w)
{
	pthread_mutex_lock(&w->lock);
	w->ops.set(w->ops.with, 0);
	w->open_ns += ovl_clock_ns() - w->since_ts_ns;
	w->since_ts_ns = 0;
	pthread_mutex_unlock(&w->lock);
	w->ops.detach(w->ops.with);
}

/*
 * Until the next window begins, after one that cost so much. Not in step with anything that has a
 * period: the golden ratio spreads the starts evenly.
 */
static uint64_t pause_ns(const struct ovl_window *w, uint64_t cost_ns)
{
	uint64_t ns = (uint64_t)((double)cost_ns / w->budget_ratio);
	double turn = (double)w->opened * 0.6180339887;

	if (ns < APART_NS)
		ns = APART_NS;
	return ns + (uint64_t)((double)APART_NS / 4 * (turn - (double)(uint64_t)turn));
}

static void *run(void *arg)
{
	struct ovl_window *w = arg;
	bool stop = false;

	while (!stop) {
		uint64_t cost;

		while (!stop && __atomic_load_n(&w->held, __ATOMIC_RELAXED))
			stop = told_to_stop(w, HELD_NS);
		if (stop)
			break;
		cost = own_cpu_ns() + w->ops.spent_ns(w->ops.with);

		if (!open_window(w)) {
			stop = told_to_stop(w, w->length_ns);
			close_window(w);
		}
		cost = own_cpu_ns() + w->ops.spent_ns(w->ops.with) - cost;
		stop = stop || told_to_stop(w, pause_ns(w, cost));
	}
	return NULL;
}

int ovl_window_start(struct ovl_window *w, const struct ovl_window_ops *ops, uint64_t length_ns,
		     double budget_ratio)
{
	sigset_t all, before;
	int rc;

	*w = (struct ovl_window){
		.ops = *ops, .length_ns = length_ns, .budget_ratio = budget_ratio, .held = w->held};
	w->stop_fd = eventfd(0, EFD_CLOEXEC);
	if (w->stop_fd < 0)
		return -errno;
	pthread_mutex_init(&w->lock, NULL);
	w->running = true;
	if (!length_ns) {
		open_window(w);
		return 0;
	}
	/* signals are the session's */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	rc = pthread_create(&w->thread, NULL, run, w);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (!rc)
		return 0;
	close(w->stop_fd);
	pthread_mutex_destroy(&w->lock);
	w->running = false;
	return -rc;
}

void ovl_window_hold(struct ovl_window *w, bool held)
{
	__atomic_store_n(&w->held, held, __ATOMIC_RELAXED);
}

void ovl_window_stop(struct ovl_window *w)
{
	if (!w->running)
		return;
	w->running = false;
	if (w->length_ns) {
		eventfd_write(w->stop_fd, 1);
		pthread_join(w->thread, NULL);
	} else if (w->since_ts_ns) {
		close_window(w);
	}
	close(w->stop_fd);
	pthread_mutex_destroy(&w->lock);
}

void ovl_window_read(struct ovl_window *w, struct ovl_window_count *out)
{
	if (!w->running) {
		memset(out, 0, sizeof(*out));
		return;
	}
	pthread_mutex_lock(&w->lock);
	out->open_ns = w->open_ns;
	if (w->since_ts_ns)
		out->open_ns += ovl_clock_ns() - w->since_ts_ns;
	out->opened = w->opened;
	out->failed = w->failed;
	pthread_mutex_unlock(&w->lock);
}
