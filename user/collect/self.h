/* CPU time of ovltrace itself: all threads of this process but those that work for the load. */
#ifndef OVL_COLLECT_SELF_H
#define OVL_COLLECT_SELF_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/vec.h"
#include "model/sample.h"

struct ovl_self_thread {
	pid_t tid;
	uint64_t cpu_ns; /* at the last reading */
	bool foreign;	 /* works for the load, a daemon or a proxy */
	bool seen;
};

struct ovl_self {
	OVL_VEC(struct ovl_self_thread) threads;
	uint64_t *hits; /* samples of own threads by CPU, over the whole run */
	uint32_t n_hits;
};

/** 0 or -ENOMEM. cpus: possible CPUs. */
int ovl_self_init(struct ovl_self *s, uint32_t cpus);
void ovl_self_fini(struct ovl_self *s);
/** Own CPU time of this thread is (foreign) not, or is, ovltrace's. 0 or -ENOMEM. */
int ovl_self_mark(struct ovl_self *s, pid_t tid, bool foreign);
/**
 * Own CPU time since the last reading, from the clock of each thread in /proc/self/task. A thread
 * that ended in between is lost, at most one interval's worth of it.
 */
uint64_t ovl_self_read(struct ovl_self *s);
/**
 * Fill user_ns of sample->self (one entry per CPU, already there) by sharing out cpu_ns, which is
 * exact, over the CPUs as own threads were sampled there (sample->hits, the whole run so far:
 * single intervals see a handful). Nothing sampled yet: all of it on the CPU that runs the caller.
 */
void ovl_self_share(struct ovl_self *s, uint64_t cpu_ns, struct ovl_sample *sample);

#endif
