#include "view/costs.h"

#include <math.h>

#define NEW_RATIO 0.1 /* of the overlay's cost: below it the underlay hardly has the stage */

bool ovl_costs_compared(const struct ovl_cpu_model *cpu)
{
	ovl_vec_each(t, &cpu->stages)
		if (!isnan(t->underlay_ns_per_kib))
			return true;
	return false;
}

double ovl_costs_change(const struct ovl_stage_time *t)
{
	return t->ns_per_kib - t->underlay_ns_per_kib;
}

struct ovl_unit ovl_costs_unit(const struct ovl_cpu_model *cpu)
{
	double most = 0;

	/* fmax passes over what is unknown; no change is larger than both of its ends */
	ovl_vec_each(t, &cpu->stages)
		most = fmax(most, fmax(t->ns_per_kib, t->underlay_ns_per_kib));
	return ovl_units_plain(most);
}

static bool is_new(const struct ovl_stage_time *t)
{
	switch (t->stage) {
	case OVL_STAGE_USER_OTHER:
	case OVL_STAGE_OTHER_TASKS:
	case OVL_STAGE_OVLTRACE:
	case OVL_STAGE_UNCLASSIFIED: return false;
	}
	return t->ns_per_kib > 0 && t->underlay_ns_per_kib < NEW_RATIO * t->ns_per_kib &&
	       t->share_ratio > 2 * t->stderr_ratio;
}

unsigned ovl_costs_new(const struct ovl_cpu_model *cpu, const struct ovl_stage_time **out,
		       unsigned max)
{
	unsigned n = 0;

	ovl_vec_each(t, &cpu->stages) {
		unsigned at;

		if (!is_new(t))
			continue;
		for (at = n < max ? n++ : max;
		     at > 0 && ovl_costs_change(out[at - 1]) < ovl_costs_change(t); at--)
			if (at < max)
				out[at] = out[at - 1];
		if (at < max)
			out[at] = t;
	}
	return n;
}
