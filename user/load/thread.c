#include "load/thread.h"

#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "load/sock.h"

#define NOTE_NS 100000000ull

int ovl_thread_make(pthread_t *thread, void *(*run)(void *), void *arg, struct ovl_err *err)
{
	sigset_t old;
	int rc;

	/* signals are the program's business: its own thread takes them */
	ovl_signals_block(&old);
	rc = -pthread_create(thread, NULL, run, arg);
	ovl_signals_restore(&old);
	return rc ? ovl_err_set(err, OVL_EXIT_FAILED, rc, "cannot start a thread for the load: %s",
				strerror(-rc))
		  : 0;
}

void ovl_thread_begin(struct ovl_thread_use *use, const char *name)
{
	if (name)
		pthread_setname_np(pthread_self(), name);
	use->tid = gettid();
	pthread_getcpuclockid(pthread_self(), &use->clock);
	atomic_store(&use->begun, true);
}

void ovl_thread_note(struct ovl_thread_use *use, uint64_t now_ns)
{
	struct rusage usage;

	if (now_ns - use->noted_ns < NOTE_NS || getrusage(RUSAGE_THREAD, &usage))
		return;
	use->noted_ns = now_ns;
	atomic_store_explicit(&use->voluntary, (uint64_t)usage.ru_nvcsw, memory_order_relaxed);
	atomic_store_explicit(&use->involuntary, (uint64_t)usage.ru_nivcsw, memory_order_relaxed);
}

void ovl_thread_add(const struct ovl_thread_use *use, struct ovl_thread_sum *sum)
{
	struct timespec ts;

	if (!atomic_load(&use->begun))
		return;
	if (clock_gettime(use->clock, &ts) == 0)
		sum->cpu_ns += (uint64_t)ts.tv_sec * 1000000000ull + (uint64_t)ts.tv_nsec;
	sum->voluntary += atomic_load_explicit(&use->voluntary, memory_order_relaxed);
	sum->involuntary += atomic_load_explicit(&use->involuntary, memory_order_relaxed);
}

uint32_t ovl_thread_cpus(void)
{
	cpu_set_t set;
	long online;

	if (sched_getaffinity(0, sizeof(set), &set) == 0)
		return (uint32_t)CPU_COUNT(&set);
	/* more CPUs than the set has room for */
	online = sysconf(_SC_NPROCESSORS_ONLN);
	return online > 0 ? (uint32_t)online : 1;
}
