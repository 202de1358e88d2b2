/*
 * Samples that a sleeping CPU's timer left on the entry of the interrupt that woke it
 * (OVL_CTX_WAKE): idle time, or the entry's own work. The idle clock decides how many of them were
 * busy, over all that was pooled: over one slice alone the samples' own noise would decide. Pure.
 */
#ifndef OVL_MODEL_WAKE_H
#define OVL_MODEL_WAKE_H

#include <stdint.h>

#include "model/acc.h"

/**
 * Wake samples that were busy, by stage: busy time × hz − certain samples, between 0 and all of
 * them, spread in proportion to the lane's wake samples by largest remainder. Without a clock or a
 * sampling rate all count. Returns their sum.
 */
uint64_t ovl_wake_settle(const struct ovl_lane_acc *a, uint32_t hz,
			 uint64_t taken[OVL_STAGE_COUNT]);

#endif
