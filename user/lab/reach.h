/* Does one end of a lab reach another? By doing it: a TCP connection, opened and closed. */
#ifndef OVL_LAB_REACH_H
#define OVL_LAB_REACH_H

#include "base/err.h"
#include "lab/lab.h"

/**
 * Connect from one end to another on a free port and close. Moves the calling thread into `to`'s
 * namespace. Besides proving the path this leaves an entry in the TCP metrics of both ends: where
 * tcp_init_metrics() takes a locked congestion window only from there (as in 6.1), a first
 * connection would not be bound by its route (tried: 3200 instead of 20). -ETIMEDOUT and others
 * with err set.
 */
int ovl_reach_check(const struct ovl_lab *lab, uint8_t from, uint8_t to, struct ovl_err *err);

#endif
