/* From a plan to namespaces, devices, addresses, routes, rules, daemons: the one code path. */
#ifndef OVL_LAB_BUILD_H
#define OVL_LAB_BUILD_H

#include <stdbool.h>

#include "base/err.h"
#include "lab/lab.h"
#include "lab/plan.h"
#include "lab/topology.h"

/** A lab in the making. */
struct ovl_build {
	const struct ovl_topo *topo;
	struct ovl_lab_spec spec; /* complete */
	struct ovl_plan *plan;
	struct ovl_lab *lab;
	bool named;	  /* a lab; else a twin */
	const char *mark; /* of its daemons, see program.h; NULL: a twin, which has none */
	uint32_t n_made;  /* ends whose place is made, in the plan's order */
};

/**
 * Check and complete a spec, plan it, fill in lab but for its handles. -EINVAL for what cannot be
 * built. ovl_build_fini is due after success.
 */
int ovl_build_init(struct ovl_build *b, const struct ovl_lab_spec *spec, bool named,
		   struct ovl_lab *lab, struct ovl_err *err);
void ovl_build_fini(struct ovl_build *b);
/**
 * Build it in a thread of its own, so that the caller's network namespace never changes. On failure
 * what was made is left to the caller: handles in lab->ends, names when named, daemons.
 */
int ovl_build_run(struct ovl_build *b, struct ovl_err *err);

#endif
