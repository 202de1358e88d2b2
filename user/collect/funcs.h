/*
 * Calls of kernel functions, counted by fentry/fexit or kprobe/kretprobe programs; payload copies
 * by tracepoints where neither is possible. They run all the time that they are open.
 */
#ifndef OVL_COLLECT_FUNCS_H
#define OVL_COLLECT_FUNCS_H

#include <stdint.h>

#include "base/err.h"
#include "model/facts.h"
#include "model/func.h"
#include "model/sample.h"

struct ovl_funcs;

/**
 * Attach to every function of the table that this kernel lets probe, by the best tier
 * (OVL_TIER_AUTO) or by one only. Fills facts->funcs, and facts->missing with what is refused. A
 * tier that was asked for and is not possible at all: NULL with OVL_EXIT_KERNEL. devices_fd: the
 * map of the path's devices, filled by ovl_drops_open.
 */
struct ovl_funcs *ovl_funcs_open(enum ovl_tier tier, int devices_fd, struct ovl_facts *facts,
				 struct ovl_err *err);
void ovl_funcs_close(struct ovl_funcs *f);
/** Attach to functions of modules that were loaded since. Cheap as long as none was. */
void ovl_funcs_poll(struct ovl_funcs *f, struct ovl_facts *facts);
/** End an interval now: what is counted from here on belongs to the next one. */
void ovl_funcs_flip(struct ovl_funcs *f);
/**
 * Fill sample->{funcs, funcs_valid} with what was counted between the last two flips, the runs in
 * sample->self and the losses; NULL: only forget it. 0 or -errno.
 */
int ovl_funcs_drain(struct ovl_funcs *f, const struct ovl_facts *facts, struct ovl_sample *sample,
		    struct ovl_err *err);
/** Mean time of a run without what surrounds it, by the kernel's statistics; 0: none yet. */
uint64_t ovl_funcs_body_ns(const struct ovl_funcs *f);

#endif
