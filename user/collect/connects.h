/* Attempts to connect, as the BPF program counts them by address and port. */
#ifndef OVL_COLLECT_CONNECTS_H
#define OVL_COLLECT_CONNECTS_H

#include "collect/instruments.h"
#include "model/sample.h"

struct ovl_connects;

/** NULL without memory. */
struct ovl_connects *ovl_connects_open(struct ovl_instruments *in);
void ovl_connects_close(struct ovl_connects *c);
/**
 * Add what has changed since the last call to sample->attempts; NULL: only remember it. 0 or
 * -errno.
 */
int ovl_connects_read(struct ovl_connects *c, const struct ovl_facts *facts,
		      struct ovl_sample *sample);

#endif
