/*
 * Do sender and receiver of a path agree on what was carried? With our own receivers, which count
 * while the load runs; iperf3 servers are asked in the end (far.h).
 */
#ifndef OVL_LOAD_AGREE_H
#define OVL_LOAD_AGREE_H

#include <stdbool.h>

#include "load/local.h"
#include "load/sender.h"

/**
 * Nothing is selected any more: wait, at most half a second for all paths, until what was sent is
 * acknowledged and counted. Fills in s->agreed.
 */
void ovl_agree_settle(struct ovl_sender *s, const struct ovl_local *local);
/** How our count and an iperf3 server's can be compared; marked: by ovl_load_mark. Pure. */
enum ovl_load_compare ovl_agree_compare(bool marked, const struct ovl_load_spec *spec);

#endif
