/* Which two CPUs a load is put on: one picker for labs, twins and runs. */
#ifndef OVL_BASE_CPUS_H
#define OVL_BASE_CPUS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "base/vec.h"

/* A CPU that this thread may use and that is online. */
struct ovl_cpu {
	int cpu;
	int core;	   /* lowest number among its thread siblings, its own if it has none */
	bool reserved;	   /* isolated or nohz_full: the administrator keeps it for other work */
	double idle_ratio; /* 0 to 1; NAN: not looked at */
};

struct ovl_cpus {
	OVL_VEC(struct ovl_cpu);
};

/** First CPU ≥ from in a kernel list such as "0-3,8", -1 if there is none. Pure. */
int ovl_cpus_next(const char *list, int from);
/**
 * Leave the reserved CPUs out, keeping the order, unless fewer than two others are there; the new
 * number of elements. Pure.
 */
size_t ovl_cpus_spare(struct ovl_cpu *cpus, size_t n);
/**
 * The two best of cpus[n], which may be in any order: not reserved before reserved, then the idler,
 * then the lower number; no thread siblings of each other if there are two cores. The receiver
 * (which usually limits) gets the lower number of the two; one CPU: both the same. -ENOENT if n is
 * 0. Pure.
 */
int ovl_cpus_pick(const struct ovl_cpu *cpus, size_t n, int *sender, int *receiver);

/**
 * The CPUs to pick from, by number, idle_ratio NAN: affinity (and so the cpuset) of the calling
 * thread ∩ online, through ovl_cpus_spare. From proc/thread-self/status and sys/devices/system/cpu
 * below root, "" for this machine. At least one, or -errno; release with ovl_vec_fini in either
 * case.
 */
int ovl_cpus_read(const char *root, struct ovl_cpus *cpus, struct ovl_err *err);

#endif
