/*
 * `--no-trace`: the load alone, with iperf3's text and JSON. No BPF, no interface to look at and,
 * towards a peer, no rights.
 */
#ifndef OVL_APP_NOTRACE_H
#define OVL_APP_NOTRACE_H

#include "app/options.h"
#include "base/err.h"
#include "load/load.h"
#include "model/facts.h"

/** What an iperf3 server at the far end of a load that is made alone is told. */
void ovl_notrace_tell(const struct ovl_options *o, struct ovl_load_spec *spec);
/** `--no-trace --peer HOST`. */
int ovl_notrace_peer(const struct ovl_options *o, struct ovl_err *err);
/**
 * Run a load over its overlay path and write what was asked for. facts: host and config are filled
 * in, load.where and load.peer_kind may be. 0, or -errno with *err (what was measured until then
 * has been written).
 */
int ovl_notrace_run(const struct ovl_options *o, const struct ovl_load_spec *spec,
		    struct ovl_facts *facts, struct ovl_err *err);

#endif
