/*
 * A relay with segmentation offload on both of its ends, as modern user-space tunnels have it: a
 * super-packet from the tun device leaves as one UDP_SEGMENT send, what UDP_GRO brings goes back
 * into the tun device as super-packets.
 */
#ifndef OVL_LAB_RELAY_BATCH_H
#define OVL_LAB_RELAY_BATCH_H

#include "lab/relay_ends.h"

struct ovl_relay_batch;

/** All buffers for ends opened with batch; NULL without memory. */
struct ovl_relay_batch *ovl_relay_batch_new(struct ovl_relay_ends *ends);
void ovl_relay_batch_free(struct ovl_relay_batch *b);
/** Move one read's worth: 1 done, 0 nothing there, -errno with err set. */
int ovl_relay_batch_to_wire(struct ovl_relay_batch *b, struct ovl_err *err);
/** Move what one receive brings: 1 done, 0 nothing there, -errno with err set. */
int ovl_relay_batch_to_tun(struct ovl_relay_batch *b, struct ovl_err *err);

#endif
