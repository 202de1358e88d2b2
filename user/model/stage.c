#include "model/stage.h"

#include <string.h>

static const struct ovl_stage_info stages[] = {
#define STAGE(KEY, key, label, side) {#key, label, #side},
#include "../../bpf/stages.def"
};

static const char *const works[] = {
#define WORK(KEY, key) #key,
#include "../../bpf/work.def"
};

static const struct ovl_stage_fn stage_fns[] = {
#define FN(KEY, name)	{OVL_STAGE_##KEY, name, false},
#define WEAK(KEY, name) {OVL_STAGE_##KEY, name, true},
#include "../../bpf/stages.def"
};

static const struct ovl_stage_fn work_fns[] = {
#define WORK_FN(KEY, name) {OVL_WORK_##KEY, name, false},
#include "../../bpf/work.def"
};

const struct ovl_stage_info *ovl_stage_info(enum ovl_stage stage)
{
	return &stages[stage];
}

const char *ovl_work_key(enum ovl_work work)
{
	return works[work];
}

int ovl_stage_find(const char *key)
{
	for (int i = 0; i < OVL_STAGE_COUNT; i++)
		if (!strcmp(stages[i].key, key))
			return i;
	return -1;
}

int ovl_work_find(const char *key)
{
	for (int i = 0; i < OVL_WORK_COUNT; i++)
		if (!strcmp(works[i], key))
			return i;
	return -1;
}

const struct ovl_stage_fn *ovl_stage_fns(size_t *n)
{
	*n = sizeof(stage_fns) / sizeof(stage_fns[0]);
	return stage_fns;
}

const struct ovl_stage_fn *ovl_work_fns(size_t *n)
{
	*n = sizeof(work_fns) / sizeof(work_fns[0]);
	return work_fns;
}
