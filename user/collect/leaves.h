/* Which functions the CPU was in: leaf functions by stage over one interval, the top ones kept. */
#ifndef OVL_COLLECT_LEAVES_H
#define OVL_COLLECT_LEAVES_H

#include <stddef.h>
#include <stdint.h>

#include "collect/ksyms.h"
#include "model/sample.h"

#define OVL_LEAVES_PER_STAGE 8

struct ovl_leaf {
	int32_t symbol; /* index of the function, -1: free slot */
	uint32_t stage, count;
};

struct ovl_leaves {
	struct ovl_leaf *v; /* open addressing, cap a power of two */
	size_t cap, n;
};

/** 0 or -ENOMEM. */
int ovl_leaves_init(struct ovl_leaves *l);
void ovl_leaves_fini(struct ovl_leaves *l);
void ovl_leaves_clear(struct ovl_leaves *l);
/** Count samples of one leaf function in one stage; 0 or -ENOMEM. */
int ovl_leaves_add(struct ovl_leaves *l, int symbol, uint8_t stage, uint32_t count);
/**
 * Append the OVL_LEAVES_PER_STAGE most frequent functions of each stage to sample->symbols.
 * Functions of one name (static ones, or parts the compiler split off) are one. 0 or -ENOMEM. Sorts
 * in place: clear before adding again.
 */
int ovl_leaves_emit(struct ovl_leaves *l, const struct ovl_ksyms *k, struct ovl_sample *sample);

#endif
