/* --self-cost: what the instruments cost the load, measured after the run. */
#ifndef OVL_APP_EFFECT_H
#define OVL_APP_EFFECT_H

#include "app/session.h"

#define OVL_EFFECT_QUADS    10
#define OVL_EFFECT_SLICE_NS 500000000ull

/**
 * The run is over and the load still stands: load the overlay in quads of slices, with instruments
 * as in `spec` in the two middle ones and without any in the others, and let the outputs and the
 * model have what came of it. Closes the session's own instruments first. A user who ends the
 * session gets what there is so far. 0 or -errno with *err.
 */
int ovl_effect_run(struct ovl_session *s, const struct ovl_collect_spec *spec, struct ovl_err *err);

#endif
