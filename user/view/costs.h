/* The cost of stages over both paths, as the screen and the report set them side by side. Pure. */
#ifndef OVL_VIEW_COSTS_H
#define OVL_VIEW_COSTS_H

#include <stdbool.h>

#include "base/units.h"
#include "model/model.h"

/** Was the cost over the underlay measured, so that there is something to compare with? */
bool ovl_costs_compared(const struct ovl_cpu_model *cpu);
/** Overlay − underlay in ns per KiB of payload; NAN when either is unknown. */
double ovl_costs_change(const struct ovl_stage_time *t);
/** Unit for all columns of ns/KiB of the table. */
struct ovl_unit ovl_costs_unit(const struct ovl_cpu_model *cpu);
/**
 * Stages that are new over the overlay: the underlay has less than a tenth of their cost, and their
 * share is above two standard errors. Largest increase first, at most max; returns how many.
 * Unclassified time is no stage, and other tasks' user mode no work of the path: left out.
 */
unsigned ovl_costs_new(const struct ovl_cpu_model *cpu, const struct ovl_stage_time **out,
		       unsigned max);

#endif
