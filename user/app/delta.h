/* What a path of the load did between two readings, for a sample. */
#ifndef OVL_APP_DELTA_H
#define OVL_APP_DELTA_H

#include "load/load.h"
#include "model/sample.h"

/** The difference of two readings of one path; of the state (windows, round trips) the later. */
void ovl_delta_take(const struct ovl_load_counts *before, const struct ovl_load_counts *after,
		    struct ovl_load_delta *delta);
/** Add a later one to a sum, which is all zeros at first; state is that of the later. */
void ovl_delta_add(struct ovl_load_delta *sum, const struct ovl_load_delta *delta);

#endif
