/*
 * What rules ask for beyond counters: settings, queues, packet filter rules, tables and connections
 * of every namespace of the path. Only reads; what cannot be read is left out and makes rules less
 * sure, never an error.
 */
#ifndef OVL_COLLECT_EVIDENCE_H
#define OVL_COLLECT_EVIDENCE_H

#include <stdbool.h>

#include "model/facts.h"
#include "model/sample.h"

struct ovl_evidence_reader;

/** For the namespaces in facts->ns (fds in the same order, kept open by the caller). NULL: no
 * memory, or the thread could not go back to its network namespace. */
struct ovl_evidence_reader *ovl_evidence_open(const struct ovl_facts *facts, const int *ns_fd);
void ovl_evidence_close(struct ovl_evidence_reader *e);
/**
 * Read everything: what has changed since the last reading goes to sample->{readings, flows}; NULL:
 * it is only remembered. A call too soon after a costly reading reads nothing and leaves the sample
 * alone, unless it is the last of the run; the next one covers its time. 0, -ENOMEM, or
 * -ENOTRECOVERABLE: the thread could not go back to its network namespace, which ends the run.
 */
int ovl_evidence_read(struct ovl_evidence_reader *e, const struct ovl_facts *facts,
		      struct ovl_sample *sample, bool last);

#endif
