/* Whatever the room: the rows of the waterfall add up, and none is hidden. */
#include "view/rows.h"
#include "sample_free.h"
#include "tap.h"

static double sum_between(const struct ovl_rows *rows)
{
	double sum = 0;

	for (int i = 1; i < rows->n - 1; i++)
		sum += rows->v[i].bps;
	return sum;
}

static void test_room(const struct ovl_facts *f, const struct ovl_waterfall *w, const char *name)
{
	int bad_sum = 0, too_many = 0, no_unexplained = 0, outside = 0;

	for (int max = -3; max < 100; max++) {
		struct ovl_rows rows;
		double want = round(w->underlay_bps) - round(w->overlay_bps);

		ovl_rows_build(&rows, f, w, max);
		bad_sum += fabs(sum_between(&rows) - want) > 0.5;
		too_many += rows.n > (max < 4 ? 4 : max) || rows.n > OVL_ROWS_MAX;
		no_unexplained += rows.v[rows.n - 2].kind != OVL_ROW_UNEXPLAINED;
		for (int i = 0; i < rows.n; i++)
			outside += rows.v[i].to_bps > rows.axis_bps ||
				   rows.v[i].from_bps > rows.axis_bps;
	}
	is_int(bad_sum, 0, "%s: rows add up at every height", name);
	is_int(too_many, 0, "%s: never more rows than asked for", name);
	is_int(no_unexplained, 0, "%s: unexplained is always there", name);
	is_int(outside, 0, "%s: no bar beyond the axis", name);
}

/** Terms made by a fixed generator: gains, losses, zeroes, unknown errors. */
static void random_terms(struct ovl_model *m, unsigned seed, int n)
{
	struct ovl_waterfall *w = &m->waterfall;
	int64_t sum = 0;

	*w = (struct ovl_waterfall){.valid = true, .underlay_bps = 8e9};
	for (int i = 0; i < n; i++) {
		struct ovl_term *t = ovl_vec_push(&w->terms);

		seed = seed * 1103515245 + 12345;
		t->bps = seed % 7 ? (int64_t)(seed >> 4) - 60000000 : 0;
		t->stderr_bps = seed % 5 ? (seed >> 8) % 9000000 : NAN;
		t->ns_per_kib = seed % 3 ? 1 : NAN;
		t->if_removed_bps = NAN;
		sum += t->bps;
	}
	w->unexplained_bps = 12345;
	w->overlay_bps = w->underlay_bps - (double)sum - 12345;
}

static void test_gathering(const struct ovl_facts *f, const struct ovl_waterfall *w)
{
	struct ovl_rows rows;

	ovl_rows_build(&rows, f, w, 60);
	is_int(rows.n, 13, "9 of 12 terms are above noise");
	is_str(rows.v[10].label, "below noise (3 rows)", "three are gathered");
	is_str(rows.v[1].label, "segmentation in software (GSO)", "the largest is first");
	is_str(rows.v[9].label, "slack used up first", "a gain is last");
	ok(rows.v[9].to_bps < rows.v[9].from_bps, "and runs the other way");
	is_str(rows.v[0].label, "underlay eth0", "the underlay is named");
	ok(rows.v[0].sure == 'M' && rows.v[11].sure == '-', "letters");
	ovl_rows_build(&rows, f, w, 8);
	is_int(rows.n, 8, "eight rows");
	is_str(rows.v[5].label, "small or below noise (8 rows)",
	       "what did not fit is gathered too");
}

int main(void)
{
	struct ovl_facts f;
	struct ovl_model m;

	sample_facts(&f, true);
	sample_model(&m, true);
	test_gathering(&f, &m.waterfall);
	test_room(&f, &m.waterfall, "sample");
	for (unsigned seed = 1; seed <= 20; seed++) {
		char name[32];

		ovl_vec_fini(&m.waterfall.terms);
		random_terms(&m, seed * 7919, (int)(seed * 4 - 3));
		snprintf(name, sizeof(name), "random %u", seed);
		test_room(&f, &m.waterfall, name);
	}
	sample_free(&f, &m);
	return tap_done();
}
