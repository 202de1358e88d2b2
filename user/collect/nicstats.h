/* What a driver counts by itself (`ethtool -S`). */
#ifndef OVL_COLLECT_NICSTATS_H
#define OVL_COLLECT_NICSTATS_H

#include "collect/sheet.h"
#include "model/facts.h"

/**
 * Put "nic" readings: the driver's own counters of drops, errors and allowances of the devices of
 * facts that are in namespace ns. Call it inside the namespace.
 */
void ovl_nicstats_read(struct ovl_sheet *s, const struct ovl_facts *facts, uint32_t ns);

#endif
