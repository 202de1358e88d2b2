/*
 * What watching costs the load, measured: slices of the load with and without the instruments, in
 * quads (off, on, on, off).
 */
#ifndef OVL_MODEL_EFFECT_H
#define OVL_MODEL_EFFECT_H

#include <stdbool.h>
#include <stdint.h>

#define OVL_EFFECT_QUADS_LEAST 3 /* fewer say nothing of how they scatter */

/** As a sample carries it; n_quads 0: not measured. */
struct ovl_effect_delta {
	uint32_t n_quads;
	int64_t change_ppm;  /* goodput with the instruments over that without, minus one */
	uint64_t stderr_ppm; /* one standard error of it */
};

struct ovl_effect {
	bool valid;
	double change_ratio; /* below 0: the instruments cost goodput */
	double stderr_ratio;
	uint32_t n_quads;
};

/**
 * The effect by n ratios of goodput with over without, one a quad: their geometric mean. Ratios
 * that are not positive, or fewer than OVL_EFFECT_QUADS_LEAST: n_quads is 0.
 */
void ovl_effect_take(const double *ratios, uint32_t n, struct ovl_effect_delta *out);
/** Keep what the last sample that has one says. */
void ovl_effect_keep(struct ovl_effect *to, const struct ovl_effect_delta *delta);

#endif
