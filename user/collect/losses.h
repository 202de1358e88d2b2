/*
 * Losses that the kernel counts without an event: drops of queueing disciplines, and what drivers
 * count apart (a veth's full ring, XDP, a NIC that found no buffer).
 */
#ifndef OVL_COLLECT_LOSSES_H
#define OVL_COLLECT_LOSSES_H

#include <stdbool.h>
#include <stdint.h>

#include "collect/links.h"
#include "collect/procnet.h"
#include "model/facts.h"
#include "model/sample.h"

struct ovl_losses;

/** The devices of one namespace (index ns of the facts, entered by ns_fd). NULL: no memory. */
struct ovl_losses *ovl_losses_open(const struct ovl_facts *facts, uint32_t ns, int ns_fd);
void ovl_losses_close(struct ovl_losses *l);
/**
 * Call `each` per counter: group "qdisc", name "eth0:tbf 8001: drops"; group "ethtool", name
 * "eth0:rx_queue_0_drops". A device or a discipline that has none is left out.
 */
void ovl_losses_read(struct ovl_losses *l, struct ovl_links *links, ovl_procnet_counter each,
		     void *arg);
/**
 * What a device's statistics count of losses apart from drops and errors: calls `put` (namespace,
 * group "link", name "eth0:rx_missed_errors", growth) for each that grew. 0 or what put returned.
 */
int ovl_losses_link(const struct ovl_link *link, const struct rtnl_link_stats64 *before,
		    const struct rtnl_link_stats64 *now,
		    int (*put)(struct ovl_sample *s, uint32_t ns, const char *group,
			       const char *name, int64_t delta),
		    struct ovl_sample *sample);
/** Is this a driver's counter of lost packets, by its name? */
bool ovl_losses_named(const char *counter);

#endif
