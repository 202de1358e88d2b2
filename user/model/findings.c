#include "model/findings.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "model/diag.h"

#define COST_DEAD    1.0  /* of a finding that stops traffic: the whole */
#define COST_UNKNOWN 0.10 /* what a warning without a cost is ranked with */

static const struct ovl_rule_info infos[OVL_RULE_COUNT] = {
#define RULE(KEY, key, kind, level, wrong, needs) \
	{#key, OVL_RULE_##kind, OVL_LEVEL_##level, wrong, needs},
#include "model/rules.def"
};

const struct ovl_rule_info *ovl_rule_info(enum ovl_rule rule)
{
	return &infos[(unsigned)rule < OVL_RULE_COUNT ? rule : 0];
}

const char *ovl_level_name(enum ovl_level level)
{
	static const char *const names[] = {"info", "warning", "critical"};

	return (unsigned)level < 3 ? names[level] : "?";
}

static void price(const struct ovl_diag *d, struct ovl_finding *f)
{
	double cost = COST_UNKNOWN;

	if (isfinite(f->cost_low_ratio))
		cost = (f->cost_low_ratio + f->cost_high_ratio) / 2;
	else if (f->level == OVL_LEVEL_CRITICAL)
		cost = COST_DEAD;
	f->score = cost * f->confidence_ratio;
	f->gain_low_bps = f->gain_high_bps = NAN;
	if (!isfinite(f->cost_low_ratio) || !(d->rate_bps > 0))
		return;
	/* rate = possible × (1 − cost) */
	f->gain_low_bps = d->rate_bps * f->cost_low_ratio / (1 - f->cost_low_ratio);
	f->gain_high_bps = d->rate_bps * f->cost_high_ratio / (1 - f->cost_high_ratio);
}

/* Problems first, general ones after specific ones, then by score, then in the rules' order. */
static int by_value(const void *a, const void *b)
{
	const struct ovl_finding *x = a, *y = b;
	const bool problem_x = x->level > OVL_LEVEL_INFO, problem_y = y->level > OVL_LEVEL_INFO;
	const bool general_x = ovl_rule_info(x->rule)->kind == OVL_RULE_GENERAL,
		   general_y = ovl_rule_info(y->rule)->kind == OVL_RULE_GENERAL;

	if (problem_x != problem_y)
		return problem_x ? -1 : 1;
	if (general_x != general_y)
		return general_x ? 1 : -1;
	if (x->score != y->score)
		return x->score > y->score ? -1 : 1;
	if (x->rule != y->rule)
		return x->rule < y->rule ? -1 : 1;
	return x->ns < y->ns ? -1 : x->ns > y->ns;
}

int ovl_findings_build(const struct ovl_model *m, const struct ovl_facts *facts, ovl_findings *out)
{
	static void (*const rules[])(struct ovl_diag * d) = {
		ovl_rule_service, ovl_rule_filter, ovl_rule_drop,    ovl_rule_tunnel,
		ovl_rule_queue,	  ovl_rule_mtu,	   ovl_rule_offload, ovl_rule_limit,
		ovl_rule_cpu,	  ovl_rule_window, ovl_rule_silence, ovl_rule_stuck,
		ovl_rule_loss,	  ovl_rule_rest,   ovl_rule_stage,
	};
	struct ovl_diag d;

	ovl_vec_clear(out);
	ovl_diag_init(&d, m, facts, out);
	if (!m->intervals)
		return 0;
	for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++)
		rules[i](&d);
	ovl_vec_each(f, out)
		price(&d, f);
	if (out->n)
		qsort(out->v, out->n, sizeof(*out->v), by_value);
	return d.failed ? -ENOMEM : 0;
}

bool ovl_findings_looked(const struct ovl_model *m)
{
	return m->intervals && (m->flows_valid || m->attempts_valid || m->readings.n);
}
