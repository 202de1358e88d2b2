/*
 * The text of a load in iperf3's columns, which people and scripts know, plus RTT behind Cwnd:
 * Transfer and Cwnd in 1024-units, Bitrate in 1000-units, [SUM] for several connections. As in
 * iperf3 a side that receives has no Retr, Cwnd and RTT in its intervals. What is not known is a
 * dash. Pure.
 */
#ifndef OVL_VIEW_IPERF3_TEXT_H
#define OVL_VIEW_IPERF3_TEXT_H

#include "base/buf.h"
#include "view/transfer.h"

/** Who talks to whom, and the head of the columns. */
void ovl_iperf3_text_start(struct ovl_buf *out, const struct ovl_transfer *t);
/** One interval, `first` or a later one; of a transfer with several connections also their sum. */
void ovl_iperf3_text_interval(struct ovl_buf *out, const struct ovl_transfer *t,
			      const struct ovl_transfer_interval *interval, bool first);
/** The summary: what was sent and what was received in the measured time. */
void ovl_iperf3_text_end(struct ovl_buf *out, const struct ovl_transfer *t);

#endif
