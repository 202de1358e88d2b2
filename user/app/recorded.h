/* A recording as a model: what replay, diff and --compare look at. */
#ifndef OVL_APP_RECORDED_H
#define OVL_APP_RECORDED_H

#include "base/err.h"
#include "model/model.h"

struct ovl_recorded {
	struct ovl_facts facts;
	struct ovl_model model;
	struct ovl_model_state *state;
	bool truncated; /* its end was missing: what is whole was read */
};

/** Called when the facts are known (sample NULL) and after each sample; not 0 ends the reading. */
typedef int ovl_recorded_each(void *arg, const struct ovl_recorded *r,
			      const struct ovl_sample *sample, struct ovl_err *err);

/**
 * Read FILE and build its model; each may be NULL. 0, or -errno with *err (OVL_EXIT_INPUT: missing,
 * foreign, damaged), or what `each` returned. ovl_recorded_fini is due in every case.
 */
int ovl_recorded_read(struct ovl_recorded *r, const char *path, ovl_recorded_each *each, void *arg,
		      struct ovl_err *err);
void ovl_recorded_fini(struct ovl_recorded *r);

#endif
