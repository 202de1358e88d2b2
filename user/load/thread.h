/*
 * Threads of the load: starting them, and what each has used, for whoever asks from another thread.
 */
#ifndef OVL_LOAD_THREAD_H
#define OVL_LOAD_THREAD_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

#include "base/err.h"

/** One thread's use; zero-initialised before it begins. */
struct ovl_thread_use {
	_Atomic bool begun; /* tid and clock are valid */
	pid_t tid;
	clockid_t clock; /* of its CPU time */
	/* context switches, getrusage(RUSAGE_THREAD), at most 100 ms old while it runs */
	_Atomic uint64_t voluntary, involuntary;
	uint64_t noted_ns; /* of the thread itself */
};

/** Of several threads together. */
struct ovl_thread_sum {
	uint64_t cpu_ns, voluntary, involuntary;
};

/** Start a thread that takes no signals. 0, or -errno with *err. */
int ovl_thread_make(pthread_t *thread, void *(*run)(void *), void *arg, struct ovl_err *err);
/** The calling thread is the one whose use this is; it gets this name (NULL: keeps its own). */
void ovl_thread_begin(struct ovl_thread_use *use, const char *name);
/** Of that thread, each time around its loop: put down its context switches if they are due. */
void ovl_thread_note(struct ovl_thread_use *use, uint64_t now_ns);
/** Add what a thread has used until now (nothing before it has begun, or after its end). */
void ovl_thread_add(const struct ovl_thread_use *use, struct ovl_thread_sum *sum);
/** CPUs that the calling thread may run on; at least 1. */
uint32_t ovl_thread_cpus(void);

#endif
