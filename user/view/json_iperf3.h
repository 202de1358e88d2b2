/*
 * The document of `--json-iperf3`: the tree of `iperf3 -J` with its names and units (seconds,
 * bytes, bit/s, round trips in microseconds, CPU in percent). Members not known are null. Pure.
 *
 * Two things are ours: bytes of a sender are those that its TCP saw acknowledged (iperf3: written
 * to the socket), and `start.ovltrace` says so.
 */
#ifndef OVL_VIEW_JSON_IPERF3_H
#define OVL_VIEW_JSON_IPERF3_H

#include "base/buf.h"
#include "view/transfer.h"

/** The document. Without memory out->failed is set. */
void ovl_json_iperf3(struct ovl_buf *out, const struct ovl_transfer *t);

#endif
