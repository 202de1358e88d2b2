/*
 * Counters the kernel keeps anyway: CPU clocks, device statistics, protocol counters, softnet. Read
 * from file descriptors and sockets opened once inside each namespace of the path.
 */
#ifndef OVL_COLLECT_COUNTERS_H
#define OVL_COLLECT_COUNTERS_H

#include "base/err.h"
#include "model/facts.h"
#include "model/sample.h"

struct ovl_counters;

/** Open everything for the namespaces in facts->ns (fds in the same order). NULL on failure. */
struct ovl_counters *ovl_counters_open(const struct ovl_facts *facts, const int *ns_fd,
				       struct ovl_err *err);
/** Read all counters: the interval begins now. */
int ovl_counters_begin(struct ovl_counters *c, struct ovl_err *err);
/**
 * Read all counters again and fill sample->{end_ts_ns, start_ts_ns, cpus, links, counters} with the
 * differences; what was read is the beginning of the next interval. Only counters that moved are
 * listed;
 * CPUs and links always.
 */
int ovl_counters_end(struct ovl_counters *c, const struct ovl_facts *facts,
		     struct ovl_sample *sample, struct ovl_err *err);
void ovl_counters_close(struct ovl_counters *c);

#endif
