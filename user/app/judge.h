/* What decides a run's exit code besides its success: --fail-if and --compare. */
#ifndef OVL_APP_JUDGE_H
#define OVL_APP_JUDGE_H

#include "app/options.h"
#include "app/recorded.h"
#include "base/buf.h"
#include "base/err.h"

struct ovl_judge {
	const struct ovl_options *options;
	struct ovl_recorded baseline; /* with --compare */
};

/** Read the recording of --compare, before anything is started. ovl_judge_fini is due. */
int ovl_judge_open(struct ovl_judge *judge, const struct ovl_options *o, struct ovl_err *err);
/**
 * Judge a run. 0, or -ERANGE with OVL_EXIT_LIMIT and the reasons in *err: a bound is broken or its
 * metric was not measured, a figure is worse than the baseline's. The comparison is added to text.
 */
int ovl_judge_run(struct ovl_judge *judge, const struct ovl_facts *facts,
		  const struct ovl_model *model, struct ovl_buf *text, struct ovl_err *err);
void ovl_judge_fini(struct ovl_judge *judge);

#endif
