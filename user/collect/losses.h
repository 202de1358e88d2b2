/* Losses that a device's statistics count apart from drops and errors. */
#ifndef OVL_COLLECT_LOSSES_H
#define OVL_COLLECT_LOSSES_H

#include <linux/if_link.h>

#include "model/facts.h"
#include "model/sample.h"

/**
 * Calls `put` (namespace, group "link", name "eth0:rx_missed_errors", growth) for each counter that
 * grew. 0 or what put returned.
 */
int ovl_losses_link(const struct ovl_link *link, const struct rtnl_link_stats64 *before,
		    const struct rtnl_link_stats64 *now,
		    int (*put)(struct ovl_sample *s, uint32_t ns, const char *group,
			       const char *name, int64_t delta),
		    struct ovl_sample *sample);

#endif
