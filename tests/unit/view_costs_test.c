/* Stages over both paths: what is compared, and which are new over the overlay. */
#include "view/costs.h"
#include "view/words.h"
#include "sample_free.h"
#include "tap.h"

static void test_sample(void)
{
	const struct ovl_stage_time *found[8];
	struct ovl_facts f;
	struct ovl_model m;

	sample_facts(&f, true);
	sample_model(&m, false);
	ok(!ovl_costs_compared(&m.cpu), "without an underlay there is nothing to compare");
	is_int(ovl_costs_new(&m.cpu, found, 8), 0, "and nothing is called new");
	ok(isnan(ovl_costs_change(&m.cpu.stages.v[0])), "nor changed");
	sample_free(&f, &m);
	sample_facts(&f, true);
	sample_model(&m, true);
	ok(ovl_costs_compared(&m.cpu), "with one there is");
	is_int(ovl_costs_new(&m.cpu, found, 8), 5, "five stages are new");
	is_int(found[0]->stage, OVL_STAGE_GSO, "the largest increase first");
	is_int(found[1]->stage, OVL_STAGE_GRO, "one with a twentieth over the underlay");
	is_int(found[4]->stage, OVL_STAGE_BRIDGE, "the smallest last");
	ok(fabs(ovl_costs_change(found[1]) - 249.8) < 0.01, "its increase");
	is_int(ovl_costs_unit(&m.cpu).decimals, 1, "below 1000 with a decimal");
	m.cpu.stages.v[2].underlay_ns_per_kib = 1201;
	is_int(ovl_costs_unit(&m.cpu).decimals, 0, "the underlay's costs count for the unit");
	sample_free(&f, &m);
}

/* Stages in any order: always the largest increases, whatever max is. */
static void test_order(void)
{
	static const double changes[] = {5, 90, 30, 90, 1, 70, 2, 300};
	const struct ovl_stage_time *found[9] = {0};
	struct ovl_model m = {0};
	int wrong = 0;

	for (int i = 0; i < 8; i++) {
		struct ovl_stage_time *t = ovl_vec_push(&m.cpu.stages);

		t->stage = (uint8_t)(OVL_STAGE_TCP_TX + i);
		t->ns_per_kib = changes[i];
		t->share_ratio = 0.1;
	}
	for (unsigned max = 0; max < 9; max++) {
		unsigned n = ovl_costs_new(&m.cpu, found, max);

		wrong += n != (max < 8 ? max : 8) || found[n] != NULL;
		for (unsigned i = 1; i < n; i++)
			wrong += found[i - 1]->ns_per_kib < found[i]->ns_per_kib;
		wrong += n && found[0]->ns_per_kib != 300;
		wrong += n > 3 && found[3]->ns_per_kib != 70;
	}
	is_int(wrong, 0, "the largest increases for every max");
	ovl_vec_fini(&m.cpu.stages);
}

static void test_new(void)
{
	static const struct {
		const char *words;
		int stage;
		double overlay, underlay, share, error;
		unsigned is_new;
	} cases[] = {
		{"nothing over the underlay", OVL_STAGE_GSO, 100, 0, 0.1, 0.01, 1},
		{"just under a tenth", OVL_STAGE_GSO, 100, 9.9, 0.1, 0.01, 1},
		{"a tenth", OVL_STAGE_GSO, 100, 10, 0.1, 0.01, 0},
		{"the same", OVL_STAGE_GSO, 100, 100, 0.1, 0.01, 0},
		{"nothing on both", OVL_STAGE_GSO, 0, 0, 0, 0, 0},
		{"the underlay alone", OVL_STAGE_GSO, 0, 5, 0, 0, 0},
		{"below two standard errors", OVL_STAGE_GSO, 1, 0, 0.001, 0.0006, 0},
		{"an unknown error", OVL_STAGE_GSO, 100, 0, 0.1, NAN, 0},
		{"an unknown underlay", OVL_STAGE_GSO, 100, NAN, 0.1, 0.01, 0},
		{"an unknown overlay", OVL_STAGE_GSO, NAN, 0, 0.1, 0.01, 0},
		{"unclassified time", OVL_STAGE_UNCLASSIFIED, 100, 0, 0.1, 0.01, 0},
		{"other tasks", OVL_STAGE_USER_OTHER, 100, 0, 0.1, 0.01, 0},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct ovl_stage_time one = {
			.stage = (uint8_t)cases[i].stage,
			.ns_per_kib = cases[i].overlay,
			.underlay_ns_per_kib = cases[i].underlay,
			.share_ratio = cases[i].share,
			.stderr_ratio = cases[i].error,
		};
		struct ovl_cpu_model cpu = {.stages = {.v = &one, .n = 1, .cap = 1}};
		const struct ovl_stage_time *found;

		is_int(ovl_costs_new(&cpu, &found, 1), cases[i].is_new, "%s", cases[i].words);
	}
}

static void test_change(void)
{
	static const struct {
		double v;
		const char *text;
	} cases[] = {
		{340.8, "+340.8"}, {-12, "-12.0"}, {0, "0.0"},	    {-0.0, "0.0"},
		{NAN, "-"},	   {2e6, "+>1e6"}, {-2e6, "<-1e6"},
	};
	char s[OVL_WORDS_CHANGE];

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		is_str(ovl_words_change(s, cases[i].v, ovl_units_plain(500), true), cases[i].text,
		       "change %g", cases[i].v);
}

int main(void)
{
	test_sample();
	test_order();
	test_new();
	test_change();
	return tap_done();
}
