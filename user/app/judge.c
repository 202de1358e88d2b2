#include "app/judge.h"

#include <errno.h>

#include "model/bound.h"
#include "model/diff.h"
#include "view/diff.h"

int ovl_judge_open(struct ovl_judge *judge, const struct ovl_options *o, struct ovl_err *err)
{
	*judge = (struct ovl_judge){.options = o};
	return o->compare ? ovl_recorded_read(&judge->baseline, o->compare, NULL, NULL, err) : 0;
}

void ovl_judge_fini(struct ovl_judge *judge)
{
	ovl_recorded_fini(&judge->baseline);
}

static void check_bounds(const struct ovl_options *o, const struct ovl_model *m,
			 struct ovl_buf *why)
{
	char v[OVL_UNITS_MAX + 8];

	for (uint32_t i = 0; i < o->n_bounds; i++) {
		const struct ovl_bound *b = &o->bounds[i];
		const char *name = ovl_metric_info(b->metric)->name;
		const int rc = ovl_bound_check(b, m);

		if (!rc)
			continue;
		ovl_buf_printf(why, "%s--fail-if '%s': ", why->n ? "; " : "", b->text);
		if (rc < 0)
			ovl_buf_printf(why, "%s was not measured", name);
		else
			ovl_buf_printf(why, "%s is %s", name,
				       ovl_diff_value(v, b->metric, ovl_metric_get(m, b->metric)));
	}
}

static int compare(struct ovl_judge *judge, const struct ovl_facts *facts,
		   const struct ovl_model *model, struct ovl_buf *text, struct ovl_buf *why)
{
	const struct ovl_diff_names names = {judge->options->compare, "this run"};
	const struct ovl_diff_side a = {&judge->baseline.facts, &judge->baseline.model};
	const struct ovl_diff_side b = {facts, model};
	struct ovl_diff diff = {0};
	char va[OVL_UNITS_MAX + 8], vb[OVL_UNITS_MAX + 8];
	int rc = ovl_diff_make(&a, &b, &diff);

	for (int i = 0; !rc && i < OVL_METRIC_COUNT; i++) {
		const struct ovl_diff_metric *m = &diff.metric[i];

		if (m->judged < 0)
			ovl_buf_printf(why, "%s%s is %s, was %s", why->n ? "; " : "",
				       ovl_metric_info(m->metric)->name,
				       ovl_diff_value(vb, m->metric, m->b),
				       ovl_diff_value(va, m->metric, m->a));
	}
	if (!rc) {
		ovl_buf_puts(text, "\nCOMPARED WITH THE BASELINE\n");
		ovl_diff_text(text, &names, &a, &b, &diff);
	}
	ovl_diff_fini(&diff);
	return rc;
}

int ovl_judge_run(struct ovl_judge *judge, const struct ovl_facts *facts,
		  const struct ovl_model *model, struct ovl_buf *text, struct ovl_err *err)
{
	struct ovl_buf why = {0};
	int rc = 0;

	check_bounds(judge->options, model, &why);
	if (judge->options->compare)
		rc = compare(judge, facts, model, text, &why);
	if (rc)
		rc = ovl_err_set(err, OVL_EXIT_FAILED, rc, "out of memory");
	else if (why.n)
		rc = ovl_err_set(err, OVL_EXIT_LIMIT, -ERANGE, "a limit was exceeded: %s",
				 ovl_buf_str(&why));
	ovl_buf_fini(&why);
	return rc;
}
