#include "model/rows.h"

#include "bpf/abi.h"

static const struct {
	const char *key, *label;
} others[OVL_ROW_COUNT - OVL_STAGE_COUNT] = {
	{"other_tasks", "other tasks on this CPU"}, {"ovltrace", "ovltrace itself"},
	{"steal", "stolen by the hypervisor"},	    {"slack", "slack (idle CPU)"},
	{"app", "waiting for the application"},	    {"rwnd", "waiting for the receive window"},
	{"sndbuf", "waiting for the send buffer"},  {"net", "in flight (network and window)"},
};

int ovl_row_of(const struct ovl_hit *hit)
{
	if (hit->stage >= OVL_STAGE_COUNT || hit->ctx >= OVL_CTX_COUNT ||
	    hit->task_class >= OVL_TASK_CLASSES)
		return -1;
	if (hit->ctx != OVL_CTX_TASK && hit->ctx != OVL_CTX_USER)
		return hit->stage;
	if (hit->task_class == OVL_TASK_SELF)
		return OVL_ROW_OVLTRACE;
	return hit->task_class == OVL_TASK_OTHER ? OVL_ROW_OTHER_TASKS : hit->stage;
}

bool ovl_row_exogenous(int row)
{
	return row >= OVL_ROW_OTHER_TASKS && row <= OVL_ROW_STEAL;
}

const char *ovl_row_key(int row)
{
	if (row < OVL_STAGE_COUNT)
		return ovl_stage_info((enum ovl_stage)row)->key;
	return others[row - OVL_STAGE_COUNT].key;
}

const char *ovl_row_label(int row)
{
	if (row < OVL_STAGE_COUNT)
		return ovl_stage_info((enum ovl_stage)row)->label;
	return others[row - OVL_STAGE_COUNT].label;
}
