/* The parts of ovl_diff_make that look at names: devices, counters, drops. */
#ifndef OVL_MODEL_DIFF_PATH_H
#define OVL_MODEL_DIFF_PATH_H

#include "model/diff.h"

/** Devices of a and b, their properties and features. 0 or -ENOMEM. */
int ovl_diff_devices(const struct ovl_diff_side *a, const struct ovl_diff_side *b,
		     struct ovl_diff *out);
/** Counters and real drops, as rates. 0 or -ENOMEM. */
int ovl_diff_rates(const struct ovl_diff_side *a, const struct ovl_diff_side *b,
		   struct ovl_diff *out);

#endif
