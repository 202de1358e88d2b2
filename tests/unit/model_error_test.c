/* Standard errors of the waterfall's rows: the jackknife over ABBA pairs. */
#include <stdlib.h>

#include "model_run.h"
#include "tap.h"

static void test_errors(void)
{
	struct ovl_model m = {0};
	struct ovl_facts f;
	double six = 0;

	scene_facts(&f, true);
	for (uint32_t pairs = 2; pairs <= 200; pairs = pairs == 2 ? 6 : pairs * 33) {
		struct ovl_model_state *state = ovl_model_new();
		const struct ovl_term *t;

		run_pairs(state, &f, pairs, 40000000);
		ovl_model_build(state, &f, &m);
		t = scene_term(&m.waterfall, "gso");
		is_int(scene_identity(&m.waterfall), 0, "%u uneven pairs: the sum is exact", pairs);
		if (pairs == 2)
			ok(t && isnan(t->stderr_bps) && !m.waterfall.stderr_pairs,
			   "two pairs have no standard error");
		if (pairs == 6)
			ok(t && t->stderr_bps > 0, "six have (%.3g)", six = t ? t->stderr_bps : 0);
		if (pairs == 198) {
			is_int(m.waterfall.stderr_pairs, 64, "the last 64 are kept");
			ok(t && t->stderr_bps > six / 8 && t->stderr_bps < six / 4,
			   "the error shrinks with the root of all (%.3g)", t ? t->stderr_bps : 0);
			is_int(m.load.pairs, 198, "all are counted");
		}
		ovl_model_free(state);
	}
	ovl_facts_fini(&f);
	ovl_model_fini(&m);
}

/* The jackknife of a goodput that is a plain ratio, against its own arithmetic. */
static void test_jackknife(void)
{
	struct ovl_model_state *state = ovl_model_new();
	const uint64_t bytes[4] = {GB, GB * 11 / 10, GB * 9 / 10, GB * 12 / 10};
	struct ovl_sample s = {0};
	double x[4], mean = 0, se = 0;
	const struct ovl_term *t;
	struct ovl_model m = {0};
	struct ovl_facts f;

	/* overlay: all time is GSO's, underlay: TCP's; loss(gso) = T_u·T_o/8e9 · t/B */
	scene_facts(&f, true);
	for (uint32_t i = 0; i < 4; i++) {
		struct scene_slice u = run_underlay, o = run_overlay;

		u.bytes = bytes[i];
		u.cpu[0] = (struct scene_cpu){.task = 1000, .task_stage = OVL_STAGE_TCP_TX};
		o.cpu[0] = (struct scene_cpu){.softirq = 1000, .softirq_stage = OVL_STAGE_GSO};
		scene_slice(&s, OVL_PHASE_UNDERLAY, i, &u);
		ovl_model_add(state, &f, &s);
		scene_slice(&s, OVL_PHASE_OVERLAY, i, &o);
		ovl_model_add(state, &f, &s);
	}
	ovl_model_build(state, &f, &m);
	for (int j = 0; j < 4; j++) {
		double sum = 0;

		for (int i = 0; i < 4; i++)
			sum += i == j ? 0 : (double)bytes[i];
		x[j] = sum * 8 / 3; /* T_u without pair j */
		mean += x[j] / 4;
	}
	for (int j = 0; j < 4; j++)
		se += (x[j] - mean) * (x[j] - mean) * 3 / 4;
	t = scene_term(&m.waterfall, "gso");
	ok(t && fabs(t->stderr_bps - sqrt(se)) < 2, "leave-one-pair-out: %.0f, expected %.0f",
	   t ? t->stderr_bps : 0, sqrt(se));
	ovl_sample_fini(&s);
	ovl_facts_fini(&f);
	ovl_model_free(state);
	ovl_model_fini(&m);
}

/* Stage shares that differ from pair to pair: the lane's rows are left out with their pair. */
static void test_jackknife_rows(void)
{
	struct ovl_model_state *state = ovl_model_new();
	const uint32_t gso[4] = {300, 500, 400, 600};
	struct ovl_sample s = {0};
	double x[4], mean = 0, se = 0;
	const struct ovl_term *t;
	struct ovl_model m = {0};
	struct ovl_facts f;

	scene_facts(&f, true);
	for (uint32_t i = 0; i < 4; i++) {
		struct scene_slice u = run_underlay, o = run_overlay;

		u.cpu[0] = (struct scene_cpu){.task = 1000, .task_stage = OVL_STAGE_TCP_TX};
		o.cpu[0] = (struct scene_cpu){.task = 1000 - gso[i],
					      .task_stage = OVL_STAGE_TCP_TX,
					      .softirq = gso[i],
					      .softirq_stage = OVL_STAGE_GSO};
		scene_slice(&s, OVL_PHASE_UNDERLAY, i, &u);
		ovl_model_add(state, &f, &s);
		scene_slice(&s, OVL_PHASE_OVERLAY, i, &o);
		ovl_model_add(state, &f, &s);
	}
	ovl_model_build(state, &f, &m);
	for (int j = 0; j < 4; j++) {
		x[j] = 20e9 * (1800 - gso[j]) / 3000; /* T_u × share of GSO without pair j */
		mean += x[j] / 4;
	}
	for (int j = 0; j < 4; j++)
		se += (x[j] - mean) * (x[j] - mean) * 3 / 4;
	t = scene_term(&m.waterfall, "gso");
	ok(t && llabs(t->bps - 9000000000) <= 1, "the pooled term");
	ok(t && fabs(t->stderr_bps - sqrt(se)) < 2, "its error: %.0f, expected %.0f",
	   t ? t->stderr_bps : 0, sqrt(se));
	ovl_sample_fini(&s);
	ovl_facts_fini(&f);
	ovl_model_free(state);
	ovl_model_fini(&m);
}

int main(void)
{
	test_errors();
	test_jackknife();
	test_jackknife_rows();
	return tap_done();
}
