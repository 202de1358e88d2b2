/*
 * What ovltrace's own programs cost on this machine, measured when it starts: nothing is assumed.
 *
 * A cost is the body of the program (the kernel's own statistics, BPF_ENABLE_STATS) plus what
 * surrounds it (interrupt, dispatch), which those statistics cannot see and which is measured from
 * outside.
 */
#ifndef OVL_COLLECT_CALIBRATE_H
#define OVL_COLLECT_CALIBRATE_H

#include <pthread.h>
#include <stdint.h>

#include "collect/instruments.h"
#include "model/facts.h"

/** A program's run count and time, as the kernel's statistics have them. */
struct ovl_calibrate_runs {
	uint64_t ns, n;
};

#define OVL_CALIBRATE_GAPS 64

struct ovl_calibration {
	/* around the body; 0: not measured */
	uint64_t interrupt_ns;		    /* of a sample: interrupt, perf event, dispatch */
	uint64_t dispatch_ns;		    /* of a tracepoint program */
	uint64_t body_ns[OVL_PROG_COUNT];   /* by enum ovl_prog, 0: not measured */
	int64_t gap_ns[OVL_CALIBRATE_GAPS]; /* what single interrupts took, over all tries */
	size_t n_gaps;
	int stats_fd; /* while the statistics are on, else -1 */
	int wake_fd;  /* of the watcher, which switches them off in time, else -1 */
	pthread_t watcher;
	struct ovl_calibrate_runs since[OVL_PROG_COUNT];
};

/**
 * Measure for at most about budget_ns, before anything is attached. Sends UDP datagrams within a
 * network namespace made for it. What cannot be measured stays 0 (unknown).
 */
void ovl_calibrate_run(struct ovl_calibration *c, struct ovl_instruments *in, uint64_t budget_ns);
/**
 * Go on measuring the interrupt for at most budget_ns, if it is still unknown: the machine may have
 * been too busy before. Adds nothing to the sampler's counts.
 */
void ovl_calibrate_again(struct ovl_calibration *c, uint64_t budget_ns);
/**
 * Switch the kernel's statistics on, to measure bodies under the real load, for a second at most.
 * *c must stay where it is until unwatch.
 */
void ovl_calibrate_watch(struct ovl_calibration *c, const struct ovl_instruments *in);
/**
 * Switch them off if they are still on; bodies that ran often enough replace those of the start.
 */
void ovl_calibrate_unwatch(struct ovl_calibration *c, const struct ovl_instruments *in);
/** Write the costs as far as they are known. */
void ovl_calibrate_facts(const struct ovl_calibration *c, struct ovl_facts *facts);

#endif
