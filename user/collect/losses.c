#include "collect/losses.h"

#include <stdio.h>

int ovl_losses_link(const struct ovl_link *link, const struct rtnl_link_stats64 *before,
		    const struct rtnl_link_stats64 *now,
		    int (*put_one)(struct ovl_sample *s, uint32_t ns, const char *group,
				   const char *name, int64_t delta),
		    struct ovl_sample *sample)
{
#define LOSS(member) \
	{ \
#member, before->member, now->member \
	}
	const struct {
		const char *name;
		uint64_t before, now;
	} losses[] = {
		LOSS(rx_missed_errors),	 LOSS(rx_over_errors), LOSS(rx_fifo_errors),
		LOSS(rx_length_errors),	 LOSS(rx_crc_errors),  LOSS(rx_nohandler),
		LOSS(tx_carrier_errors),
	};
#undef LOSS
	char name[OVL_NAME_MAX];
	int rc = 0;

	for (size_t i = 0; !rc && i < sizeof(losses) / sizeof(*losses); i++) {
		if (losses[i].now <= losses[i].before)
			continue;
		snprintf(name, sizeof(name), "%s:%s", link->name, losses[i].name);
		rc = put_one(sample, link->ns, "link", name,
			     (int64_t)(losses[i].now - losses[i].before));
	}
	return rc;
}
