/* Kernel functions that are counted (FUNC rows of bpf/hooks.def) as C, and the tiers of probes. */
#ifndef OVL_MODEL_FUNC_H
#define OVL_MODEL_FUNC_H

#include <stdbool.h>
#include <stdint.h>

#include "bpf/abi.h"

/** What a call does to the packet's bytes. */
enum ovl_touch {
	OVL_TOUCH_NONE = 0,
	OVL_TOUCH_PAYLOAD, /* copies payload */
	OVL_TOUCH_HEADER,  /* copies headers */
	OVL_TOUCH_READ,	   /* reads all of it, for a checksum */
	OVL_TOUCH_COUNT,
};

struct ovl_func_info {
	const char *key;    /* as in JSON and recordings */
	const char *symbol; /* kernel function; "": calls are sorted in from another one's */
	const char *module; /* that holds it where it is not built in; "": always built in */
	enum ovl_touch touch;
	const char *side; /* "tx", "rx" or "both" */
	bool sleeps;	  /* counted, never timed */
	const char *lost; /* what is unknown without it */
};

/** By what a number was counted. */
enum ovl_tier {
	OVL_TIER_AUTO = 0, /* the best that is possible, for each function */
	OVL_TIER_TRACEPOINT,
	OVL_TIER_FENTRY,
	OVL_TIER_KPROBE,
	OVL_TIER_COUNT,
};

/** NULL for a number that is no function. */
const struct ovl_func_info *ovl_func_info(uint32_t func);
/** Function with this key, or -1. */
int ovl_func_find(const char *key);
/** "payload", "header", "read"; "none". */
const char *ovl_touch_name(enum ovl_touch touch);
/** "auto", "tracepoint", "fentry", "kprobe". */
const char *ovl_tier_name(uint32_t tier);
/** Tier of this name, or -1. */
int ovl_tier_find(const char *name);

#endif
