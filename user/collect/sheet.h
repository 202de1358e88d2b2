/*
 * A sheet of evidence: what was read of every object, so that the next reading can say what is new
 * and by how much counters have grown.
 */
#ifndef OVL_COLLECT_SHEET_H
#define OVL_COLLECT_SHEET_H

#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"
#include "model/sample.h"

#define OVL_SHEET_MAX 8192 /* entries: what does not fit is counted in left_out */

struct ovl_sheet_item {
	struct ovl_reading r;
	uint32_t hash; /* of kind, object and name */
	int64_t before;
	bool counter, seen, known, changed;
};

struct ovl_sheet {
	OVL_VEC(struct ovl_sheet_item) items;
	size_t cursor;	   /* where the next one is expected: the order hardly ever changes */
	uint32_t ns;	   /* what is put next is of this namespace */
	uint64_t left_out; /* entries that found no room, and objects that were not looked at */
	uint32_t readings; /* that were completed */
	bool failed;	   /* out of memory */
};

void ovl_sheet_fini(struct ovl_sheet *s);
/** A reading begins. */
void ovl_sheet_open(struct ovl_sheet *s);
/** A counter of an object; a setting or gauge; a word about it. */
void ovl_sheet_count(struct ovl_sheet *s, const char *kind, const char *object, const char *name,
		     uint64_t value);
/** The same of a counter that is only put once it is not 0: its first value in a later reading is
 * all growth. */
void ovl_sheet_rise(struct ovl_sheet *s, const char *kind, const char *object, const char *name,
		    uint64_t value);
void ovl_sheet_set(struct ovl_sheet *s, const char *kind, const char *object, const char *name,
		   int64_t value);
void ovl_sheet_say(struct ovl_sheet *s, const char *kind, const char *object, const char *name,
		   const char *text);
/**
 * The reading ends: add counters that grew, and what is new or changed, to sample->readings (NULL:
 * only remember them). 0 or -ENOMEM.
 */
int ovl_sheet_close(struct ovl_sheet *s, struct ovl_sample *sample);

#endif
