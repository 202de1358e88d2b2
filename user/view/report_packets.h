/* The plain report's section on packets at the devices of the path. */
#ifndef OVL_VIEW_REPORT_PACKETS_H
#define OVL_VIEW_REPORT_PACKETS_H

#include "base/buf.h"
#include "model/facts.h"
#include "model/model.h"

/** Write the section; nothing when packets were not to be counted. */
void ovl_report_packets(struct ovl_buf *b, const struct ovl_facts *f, const struct ovl_model *m);

#endif
