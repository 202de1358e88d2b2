/*
 * The stack sampler: perf events on all CPUs, and what was sampled as busy hits by stage and work.
 */
#ifndef OVL_COLLECT_SAMPLER_H
#define OVL_COLLECT_SAMPLER_H

#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "collect/instruments.h"
#include "collect/ksyms.h"
#include "model/sample.h"

struct ovl_sampler;

/**
 * Open the sampler for the loaded program without starting it; `in` and `ksyms` must outlive it.
 * NULL: no memory.
 */
struct ovl_sampler *ovl_sampler_open(struct ovl_instruments *in, struct ovl_ksyms *ksyms,
				     struct ovl_err *err);
/** Start one event of `hz` on each online CPU. 0, or -errno (*err names the right or the lack). */
int ovl_sampler_start(struct ovl_sampler *s, uint32_t hz, struct ovl_err *err);
void ovl_sampler_close(struct ovl_sampler *s);

/** Which OVL_ACTIVE_* bits to flip before the next ovl_sampler_drain. */
uint32_t ovl_sampler_flips(const struct ovl_sampler *s);
/**
 * Read and empty the maps that were active before the last flip (of `flipped` bits). Adds hits and
 * symbols to *sample; NULL: only forget them. 0 or -errno.
 */
int ovl_sampler_drain(struct ovl_sampler *s, uint32_t flipped, struct ovl_sample *sample,
		      struct ovl_err *err);

/**
 * One sampling event by cpu-clock: `pid` 0 is the calling thread on any CPU (cpu −1), `pid` −1 a
 * whole
 * CPU. The fd, or -errno.
 */
int ovl_sampler_event(uint32_t hz, pid_t pid, int cpu);

#endif
