/*
 * Tables merged over the whole run: symbols, drops, counters. Bounded: what does not fit any more
 * is counted, not kept.
 */
#ifndef OVL_MODEL_MERGE_H
#define OVL_MODEL_MERGE_H

#include <stdint.h>

#include "base/vec.h"
#include "model/sample.h"

#define OVL_MERGE_MAX	2048 /* distinct entries of one table */
#define OVL_MERGE_SLOTS 4096 /* of its hash index: a power of two, twice as many */

struct ovl_merged_symbol {
	uint8_t stage;
	char name[OVL_NAME_MAX];
	uint64_t count;
};

/** Hash index: entry number + 1, 0: free. */
struct ovl_merge_index {
	uint16_t slot[OVL_MERGE_SLOTS];
};

struct ovl_merge {
	OVL_VEC(struct ovl_merged_symbol) symbols;
	OVL_VEC(struct ovl_drop) drops;
	OVL_VEC(struct ovl_counter) counters;
	struct ovl_merge_index symbol_index, drop_index, counter_index;
	uint64_t overflow; /* records that found their table full */
};

void ovl_merge_fini(struct ovl_merge *m);
/** Add what one record says to its entry. 0 or -ENOMEM; a full table counts in overflow. */
int ovl_merge_symbol(struct ovl_merge *m, const struct ovl_symbol_hit *hit);
int ovl_merge_drop(struct ovl_merge *m, const struct ovl_drop *drop);
int ovl_merge_counter(struct ovl_merge *m, const struct ovl_counter *counter);

#endif
