/*
 * Samples that a sleeping CPU's timer left on the entry of the interrupt that woke it (OVL_CTX_WAKE):
 * idle time, or the entry's own work. The idle clock decides how many of them were busy. Pure.
 */
#ifndef OVL_MODEL_WAKE_H
#define OVL_MODEL_WAKE_H

#include <stdint.h>

#include "model/sample.h"

/** How many of one CPU's wake samples of an interval still may count as busy. */
struct ovl_wake {
	uint32_t cpu;
	uint64_t left;
};

/**
 * For each CPU of the sample: busy time × hz − its certain busy samples, between 0 and its wake samples.
 * Without a clock or a sampling rate all wake samples count. Returns how many entries of out[0…max) were
 * filled; CPUs without wake samples have none.
 */
uint32_t ovl_wake_budget(const struct ovl_sample *sample, uint32_t hz, struct ovl_wake *out,
			 uint32_t max);

/** How many of a hit's samples are busy; takes them off the CPU's budget. */
uint32_t ovl_wake_take(struct ovl_wake *wake, uint32_t n, const struct ovl_hit *hit);

#endif
