/* The figures that a run is judged by (metrics.def), by name. Pure. */
#ifndef OVL_MODEL_METRICS_H
#define OVL_MODEL_METRICS_H

#include "model/facts.h"
#include "model/model.h"

enum ovl_metric {
#define METRIC(KEY, name, unit, better, tolerance, floor, text) OVL_METRIC_##KEY,
#include "model/metrics.def"
	OVL_METRIC_COUNT,
};

enum ovl_metric_unit {
	OVL_METRIC_BPS = 0,
	OVL_METRIC_SHARE, /* 0…1 */
	OVL_METRIC_NS,
	OVL_METRIC_PER_S,
	OVL_METRIC_NS_PER_KIB,
	OVL_METRIC_NUMBER,
};

enum ovl_metric_better { OVL_METRIC_NEITHER = 0, OVL_METRIC_UP, OVL_METRIC_DOWN };

struct ovl_metric_info {
	const char *name;
	enum ovl_metric_unit unit;
	enum ovl_metric_better better;
	double tolerance_ratio, floor;
	const char *text;
};

const struct ovl_metric_info *ovl_metric_info(enum ovl_metric metric);
/** The metric of this name, or -1. */
int ovl_metric_find(const char *name);
/** Its value in a run; NAN: not measured. */
double ovl_metric_get(const struct ovl_model *m, enum ovl_metric metric);
/** -1: b is worse than a by more than the tolerance; 1: better; 0: neither, or unknown. */
int ovl_metric_judge(enum ovl_metric metric, double a, double b);

#endif
