/* The tables of stages and work kinds (bpf/stages.def, bpf/work.def) as C. */
#ifndef OVL_MODEL_STAGE_H
#define OVL_MODEL_STAGE_H

#include <stdbool.h>
#include <stddef.h>

enum ovl_stage {
#define STAGE(KEY, key, label, side) OVL_STAGE_##KEY,
#include "../../bpf/stages.def"
	OVL_STAGE_COUNT,
};

enum ovl_work {
#define WORK(KEY, key) OVL_WORK_##KEY,
#include "../../bpf/work.def"
	OVL_WORK_COUNT,
};

struct ovl_stage_info {
	const char *key;   /* as in JSON and recordings */
	const char *label; /* as on screens, ≤ 32 columns */
	const char *side;  /* "tx", "rx" or "both" */
};

/** One kernel function (or prefix, ending in '*') that proves a stage or a work kind. */
struct ovl_stage_fn {
	int id; /* enum ovl_stage or enum ovl_work */
	const char *pattern;
	bool weak; /* used only when no strong function of the stack matched */
};

const struct ovl_stage_info *ovl_stage_info(enum ovl_stage stage);
const char *ovl_work_key(enum ovl_work work);
/** Stage with this key, or -1. */
int ovl_stage_find(const char *key);
/** Work kind with this key, or -1. */
int ovl_work_find(const char *key);
const struct ovl_stage_fn *ovl_stage_fns(size_t *n);
const struct ovl_stage_fn *ovl_work_fns(size_t *n);

#endif
