/* Evidence gathered over a run: readings, connections and attempts merged by what they are of. */
#ifndef OVL_MODEL_GATHER_H
#define OVL_MODEL_GATHER_H

#include <stdint.h>

#include "base/vec.h"
#include "model/sample.h"

#define OVL_GATHER_MAX 8192 /* entries of one table; what does not fit is counted */

/** A connection over the run: deltas are summed, gauges are the last ones. */
struct ovl_flow_sum {
	struct ovl_flow f;
	uint64_t wall_ns;     /* of the intervals it was seen in */
	uint32_t intervals;   /* it was seen in */
	uint32_t stuck;	      /* of these: timed out, with data that nobody acknowledged */
	uint32_t closed;      /* of these: against a closed window */
	uint32_t app_limited; /* of these: the application gave it too little */
	uint32_t hungry; /* of these: nothing unsent, and less than half the window in flight */
	uint32_t most_rtt_us, least_wnd_bytes;
};

struct ovl_gather {
	OVL_VEC(uint32_t) hashes[3]; /* of the entries below */
	OVL_VEC(struct ovl_reading) readings;
	OVL_VEC(struct ovl_flow_sum) flows;
	OVL_VEC(struct ovl_attempt) attempts;
	bool flows_valid, attempts_valid;
	uint64_t unread_ns; /* since connections were last read */
	uint64_t overflow;  /* records that found their table full */
};

void ovl_gather_fini(struct ovl_gather *g);
/** Take a sample in. 0 or -ENOMEM. */
int ovl_gather_add(struct ovl_gather *g, const struct ovl_sample *sample, uint64_t length_ns);

#endif
