/* What changed between two runs, for people and for scripts. Pure. */
#ifndef OVL_VIEW_DIFF_H
#define OVL_VIEW_DIFF_H

#include "base/buf.h"
#include "base/units.h"
#include "model/diff.h"

/** Names of both runs as the user gave them (files), for the heading. */
struct ovl_diff_names {
	const char *a, *b;
};

/** 80 columns of text. */
void ovl_diff_text(struct ovl_buf *out, const struct ovl_diff_names *names,
		   const struct ovl_diff_side *a, const struct ovl_diff_side *b,
		   const struct ovl_diff *diff);
/** One document, schema "ovltrace-diff/1". */
void ovl_diff_json(struct ovl_buf *out, const struct ovl_diff_names *names,
		   const struct ovl_diff_side *a, const struct ovl_diff_side *b,
		   const struct ovl_diff *diff);
/** "6.35 Gbit/s", "31.0%", "120 us", "14/s", "340 ns/KiB"; a dash when unknown. Returns s. */
const char *ovl_diff_value(char s[OVL_UNITS_MAX + 8], enum ovl_metric metric, double v);

#endif
