/* Settings and counters of a namespace that /proc has beyond snmp and netstat. */
#ifndef OVL_COLLECT_PROCSTATE_H
#define OVL_COLLECT_PROCSTATE_H

#include "collect/sheet.h"
#include "model/facts.h"

/**
 * Put "sysctl" (forwarding, reverse-path filters, buffers, bridge netfilter), "conntrack"
 * (counters, entries and their limit) and "udp" (drops and buffer of bound sockets by port). Call
 * it inside the namespace; devices: those of facts that are in namespace ns.
 */
void ovl_procstate_read(struct ovl_sheet *s, const struct ovl_facts *facts, uint32_t ns);
#endif
