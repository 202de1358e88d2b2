/* Round trips as text: a line an interval, and a table at the end. Pure. */
#ifndef OVL_VIEW_RR_TEXT_H
#define OVL_VIEW_RR_TEXT_H

#include <stdint.h>

#include "base/buf.h"
#include "base/hist.h"

/** Whom to, and the columns' names. */
void ovl_rr_text_start(struct ovl_buf *out, const char *host, uint32_t message_bytes);
/** One interval's round trips, one after the other. */
void ovl_rr_text_interval(struct ovl_buf *out, double start_s, double end_s,
			  const struct ovl_hist *rtt);
/** All of them: the round trip, and half of it. */
void ovl_rr_text_end(struct ovl_buf *out, const struct ovl_hist *rtt);

#endif
