#include "model/effect.h"

#include <math.h>
#include <string.h>

#define PPM	1e6
#define PPM_MAX 1000000000 /* a thousandfold change: a damaged record */

void ovl_effect_take(const double *ratios, uint32_t n, struct ovl_effect_delta *out)
{
	double mean = 0, square = 0, ratio;

	memset(out, 0, sizeof(*out));
	for (uint32_t i = 0; i < n; i++) {
		if (!(ratios[i] > 0) || !isfinite(ratios[i]))
			return;
		mean += log(ratios[i]) / n;
	}
	if (n < OVL_EFFECT_QUADS_LEAST)
		return;
	for (uint32_t i = 0; i < n; i++)
		square += (log(ratios[i]) - mean) * (log(ratios[i]) - mean);
	ratio = exp(mean);
	*out = (struct ovl_effect_delta){
		.n_quads = n,
		.change_ppm = llround((ratio - 1) * PPM),
		.stderr_ppm = (uint64_t)llround(ratio * sqrt(square / (n - 1) / n) * PPM),
	};
}

void ovl_effect_keep(struct ovl_effect *to, const struct ovl_effect_delta *delta)
{
	if (!delta->n_quads || delta->change_ppm < -(int64_t)PPM || delta->change_ppm > PPM_MAX ||
	    delta->stderr_ppm > PPM_MAX)
		return;
	*to = (struct ovl_effect){
		.valid = true,
		.change_ratio = (double)delta->change_ppm / PPM,
		.stderr_ratio = (double)delta->stderr_ppm / PPM,
		.n_quads = delta->n_quads,
	};
}
