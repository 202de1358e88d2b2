#include "model/func.h"

#include <stddef.h>
#include <string.h>

#define SLEEPS OVL_FUNC_SLEEPS
#define TX     "tx"
#define RX     "rx"
#define BOTH   "both"
static const struct ovl_func_info funcs[OVL_FUNC_COUNT] = {
#define FUNC(KEY, key, symbol, module, place, p, skb, bytes, b, touch, side, flags, lost) \
	{#key, symbol, module, OVL_TOUCH_##touch, side, ((flags)&OVL_FUNC_SLEEPS) != 0, lost},
#include "../../bpf/hooks.def"
};
#undef SLEEPS
#undef TX
#undef RX
#undef BOTH

static const char *const touches[OVL_TOUCH_COUNT] = {"none", "payload", "header", "read"};
static const char *const tiers[OVL_TIER_COUNT] = {"auto", "tracepoint", "fentry", "kprobe"};

const struct ovl_func_info *ovl_func_info(uint32_t func)
{
	return func < OVL_FUNC_COUNT ? &funcs[func] : NULL;
}

int ovl_func_find(const char *key)
{
	for (int i = 0; i < OVL_FUNC_COUNT; i++)
		if (!strcmp(funcs[i].key, key))
			return i;
	return -1;
}

const char *ovl_touch_name(enum ovl_touch touch)
{
	return (unsigned)touch < OVL_TOUCH_COUNT ? touches[touch] : "?";
}

const char *ovl_tier_name(uint32_t tier)
{
	return tier < OVL_TIER_COUNT ? tiers[tier] : "?";
}

int ovl_tier_find(const char *name)
{
	for (int i = 0; i < OVL_TIER_COUNT; i++)
		if (!strcmp(tiers[i], name))
			return i;
	return -1;
}
