#include "model/diff.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "model/diff_path.h"
#include "model/rows.h"

static const struct ovl_stage_time *stage_of(const struct ovl_model *m, int stage)
{
	ovl_vec_each(t, &m->cpu.stages)
		if (t->stage == stage)
			return t;
	return NULL;
}

static double term_bps(const struct ovl_model *m, const char *key)
{
	if (!m->waterfall.valid)
		return NAN;
	ovl_vec_each(t, &m->waterfall.terms)
		if (!strcmp(t->key, key))
			return (double)t->bps;
	return 0;
}

/* The cost of a stage that a run was measured for; without a sample of it 0. */
static double cost(const struct ovl_model *m, const struct ovl_stage_time *t, bool priced)
{
	if (!m->cpu.valid || !priced)
		return NAN;
	return t ? t->ns_per_kib : 0;
}

/* One standard error of a stage's cost: that of its share, in the same proportion. */
static double cost_error(const struct ovl_stage_time *t)
{
	if (!t)
		return 0;
	return t->share_ratio > 0 ? t->ns_per_kib * t->stderr_ratio / t->share_ratio : NAN;
}

static bool priced(const struct ovl_model *m)
{
	ovl_vec_each(t, &m->cpu.stages)
		if (!isnan(t->ns_per_kib))
			return true;
	return false;
}

bool ovl_diff_stands_out(const struct ovl_diff_stage *s)
{
	return fabs(s->b_ns_per_kib - s->a_ns_per_kib) > s->noise_ns_per_kib;
}

static double weight(const struct ovl_diff_stage *s)
{
	const double change = fabs(s->b_ns_per_kib - s->a_ns_per_kib);

	return isnan(change) ? -1 : ovl_diff_stands_out(s) ? 1e12 + change : change;
}

static int by_weight(const void *a, const void *b)
{
	const double x = weight(a), y = weight(b);

	return (x < y) - (x > y);
}

static int stages(const struct ovl_diff_side *a, const struct ovl_diff_side *b,
		  struct ovl_diff *out)
{
	const bool priced_a = priced(a->model), priced_b = priced(b->model);

	for (int stage = 0; stage < OVL_STAGE_COUNT; stage++) {
		const struct ovl_stage_time *ta = stage_of(a->model, stage);
		const struct ovl_stage_time *tb = stage_of(b->model, stage);
		const char *key = ovl_row_key(stage);
		struct ovl_diff_stage *s;

		if (!ta && !tb)
			continue;
		s = ovl_vec_push(&out->stages);
		if (!s)
			return -ENOMEM;
		*s = (struct ovl_diff_stage){
			.stage = (uint8_t)stage,
			.a_ns_per_kib = cost(a->model, ta, priced_a),
			.b_ns_per_kib = cost(b->model, tb, priced_b),
			.noise_ns_per_kib = 2 * hypot(cost_error(ta), cost_error(tb)),
			.bps = term_bps(b->model, key) - term_bps(a->model, key),
		};
	}
	if (out->stages.n)
		qsort(out->stages.v, out->stages.n, sizeof(*out->stages.v), by_weight);
	return 0;
}

int ovl_diff_make(const struct ovl_diff_side *a, const struct ovl_diff_side *b,
		  struct ovl_diff *out)
{
	ovl_vec_clear(&out->stages);
	ovl_vec_clear(&out->devices);
	ovl_vec_clear(&out->drops);
	ovl_vec_clear(&out->counters);
	for (int i = 0; i < OVL_METRIC_COUNT; i++) {
		const enum ovl_metric metric = (enum ovl_metric)i;
		const double va = ovl_metric_get(a->model, metric);
		const double vb = ovl_metric_get(b->model, metric);

		out->metric[i] =
			(struct ovl_diff_metric){metric, va, vb, ovl_metric_judge(metric, va, vb)};
	}
	if (stages(a, b, out) || ovl_diff_devices(a, b, out) || ovl_diff_rates(a, b, out))
		return -ENOMEM;
	return 0;
}

unsigned ovl_diff_worse(const struct ovl_diff *diff)
{
	unsigned n = 0;

	for (int i = 0; i < OVL_METRIC_COUNT; i++)
		n += diff->metric[i].judged < 0;
	return n;
}

void ovl_diff_fini(struct ovl_diff *diff)
{
	ovl_vec_fini(&diff->stages);
	ovl_vec_fini(&diff->devices);
	ovl_vec_fini(&diff->drops);
	ovl_vec_fini(&diff->counters);
}
