/*
 * What the kernel's own counters say was lost: devices, queueing disciplines, drivers, protocols.
 * It stands beside the drops that events tell of (ovl_model.drops): some are in both, and some
 * losses have no event at all.
 */
#ifndef OVL_MODEL_LOSSES_H
#define OVL_MODEL_LOSSES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"
#include "model/facts.h"
#include "model/sample.h"

struct ovl_model;

/** One counter that grew. */
struct ovl_loss {
	uint32_t ns;		   /* index into the facts; OVL_NS_MACHINE */
	const char *source;	   /* "device", "link", "qdisc", "nic", "protocol", "backlog" */
	char object[OVL_NAME_MAX]; /* "eth0", "eth0 tbf 7:0", "Udp" */
	char name[OVL_NAME_MAX];   /* the counter, as its source calls it */
	uint64_t pkts;		   /* over the run */
};
typedef OVL_VEC(struct ovl_loss) ovl_losses;

/** Fill out->losses, most first, from its devices, counters and readings. 0 or -ENOMEM. */
int ovl_losses_build(const struct ovl_facts *facts, struct ovl_model *out);
/** Does this counter of /proc count lost packets? */
bool ovl_losses_counter(const struct ovl_counter *c);

#endif
