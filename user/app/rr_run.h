/*
 * `--load rr --no-trace`: round trips alone, as text and JSON. No BPF and, towards a peer, no
 * rights.
 */
#ifndef OVL_APP_RR_RUN_H
#define OVL_APP_RR_RUN_H

#include "app/options.h"
#include "base/err.h"
#include "load/load.h"
#include "model/facts.h"

/** As ovl_notrace_run. */
int ovl_rr_run(const struct ovl_options *o, const struct ovl_load_spec *spec,
	       struct ovl_facts *facts, struct ovl_err *err);

#endif
