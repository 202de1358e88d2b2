/* Is what a load is asked for possible? Pure. */
#ifndef OVL_LOAD_SPEC_H
#define OVL_LOAD_SPEC_H

#include "base/err.h"
#include "load/load.h"

/** Defaults are filled in. 0, or -EINVAL with OVL_EXIT_USAGE. */
int ovl_spec_check(const struct ovl_load_spec *spec, struct ovl_err *err);

#endif
