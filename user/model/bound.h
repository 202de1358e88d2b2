/* Bounds on a run's figures, as --fail-if takes them: "loss>20%", "goodput<5G". Pure. */
#ifndef OVL_MODEL_BOUND_H
#define OVL_MODEL_BOUND_H

#include "model/metrics.h"

#define OVL_BOUND_TEXT 64

enum ovl_bound_op { OVL_BOUND_BELOW = 0, OVL_BOUND_AT_MOST, OVL_BOUND_ABOVE, OVL_BOUND_AT_LEAST };

/** The run fails when the metric compares so to the value. */
struct ovl_bound {
	enum ovl_metric metric;
	enum ovl_bound_op op;
	double value;		   /* in the metric's unit */
	char text[OVL_BOUND_TEXT]; /* as the user wrote it */
};

/**
 * NAME OP VALUE, blanks allowed: a metric's name; < <= > >=; a number with a unit that fits the
 * metric: K M G (bit/s, a second), % (shares), ns us ms s (durations). 0, or -EINVAL with what is
 * wrong in why.
 */
int ovl_bound_parse(const char *s, struct ovl_bound *out, char why[OVL_TEXT_MAX]);
/** 1: broken (the run fails); 0: not; -ENODATA: the metric was not measured. */
int ovl_bound_check(const struct ovl_bound *bound, const struct ovl_model *m);

#endif
