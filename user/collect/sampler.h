/* The stack sampler: perf events on all CPUs, and what was sampled as busy hits by stage and work. */
#ifndef OVL_COLLECT_SAMPLER_H
#define OVL_COLLECT_SAMPLER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "collect/instruments.h"
#include "collect/ksyms.h"
#include "model/sample.h"

struct ovl_sampler;

/** One distinct stack of a drain, for those who complete or check the tables. */
struct ovl_sampler_stack {
	struct ovl_sample_mode mode;
	struct ovl_class class;
	uint64_t count;
	const char *const *frames; /* names, leaf first; "?" unknown */
	uint32_t n;
};
typedef void (*ovl_sampler_seen)(void *arg, const struct ovl_sampler_stack *stack);

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
/** Report every stack of the following drains to fn (NULL: none). */
void ovl_sampler_watch(struct ovl_sampler *s, ovl_sampler_seen fn, void *arg);

/**
 * One sampling event: `pid` 0 is the calling thread on any CPU (cpu −1), `pid` −1 a whole CPU.
 * Hardware cycles when `hardware`, else cpu-clock. The fd, or -errno.
 */
int ovl_sampler_event(bool hardware, uint32_t hz, pid_t pid, int cpu);
/** Does this machine's PMU count cycles (opened, and seen to advance)? */
bool ovl_sampler_hardware(void);

#endif
