/* Which options go together. */
#ifndef OVL_APP_OPTIONS_CHECK_H
#define OVL_APP_OPTIONS_CHECK_H

#include "app/options.h"
#include "base/err.h"

/** 0, or -EINVAL with *err (OVL_EXIT_USAGE): options that contradict each other. */
int ovl_options_check(const struct ovl_options *o, struct ovl_err *err);

/** A letter that iperf3 knows and ovltrace does not: -EINVAL with what to type instead; or 0. */
int ovl_options_habit(int letter, struct ovl_err *err);

#endif
