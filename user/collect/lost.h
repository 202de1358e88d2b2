/* Events that programs could not keep: counted in each loaded object, told in one place. */
#ifndef OVL_COLLECT_LOST_H
#define OVL_COLLECT_LOST_H

#include <stddef.h>
#include <stdint.h>

#include "bpf/abi.h"
#include "model/sample.h"

/** What one object had lost at the last reading, by enum ovl_lost. */
struct ovl_lost_seen {
	uint64_t n[OVL_LOST_COUNT];
};

/**
 * Add what the object lost since the last call to sample->lost; NULL: only remember it. fd: its map
 * of losses; scratch: room for as many numbers as there are possible CPUs.
 */
void ovl_lost_drain(struct ovl_lost_seen *seen, int fd, size_t cpus, uint64_t *scratch,
		    struct ovl_sample *sample);

#endif
