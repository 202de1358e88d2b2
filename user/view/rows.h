/* The waterfall as rows of a table that fits a given height and still adds up. Pure. */
#ifndef OVL_VIEW_ROWS_H
#define OVL_VIEW_ROWS_H

#include "base/units.h"
#include "model/facts.h"
#include "model/model.h"

#define OVL_ROWS_MAX 64

enum ovl_row_kind {
	OVL_ROW_UNDERLAY = 0,
	OVL_ROW_TERM,
	OVL_ROW_GATHERED, /* rows below two standard errors, or that did not fit, in one */
	OVL_ROW_UNEXPLAINED,
	OVL_ROW_OVERLAY,
};

struct ovl_row {
	enum ovl_row_kind kind;
	char key[32]; /* "gso", "unexplained", "below_noise"; "" for the totals */
	char label[64];
	double bps; /* loss (negative: gain) of a term, goodput of underlay and overlay */
	double from_bps, to_bps; /* place on the axis 0…axis_bps */
	double stderr_bps;	 /* NAN: unknown */
	double loss_ratio; /* of the underlay's goodput; overlay: the whole loss; underlay: NAN */
	double ns_per_kib; /* NAN: none */
	double if_removed_bps; /* NAN: none */
	char sure;	       /* 'M' measured, 'A' arithmetic, 'E' estimated, 'R' recorded, '-' */
};

struct ovl_rows {
	int n;
	struct ovl_row v[OVL_ROWS_MAX];
	double axis_bps;	 /* the axis ends here */
	struct ovl_unit unit;	 /* of the rate column */
	struct ovl_unit ns_unit; /* of the ns/KiB column */
};

/**
 * Rows of a valid waterfall, at most max (≥ 4; more than OVL_ROWS_MAX counts as that): underlay,
 * terms by size, gathered rows, unexplained, overlay. Whatever max is: underlay − Σ rows between
 * = overlay.
 */
void ovl_rows_build(struct ovl_rows *out, const struct ovl_facts *f, const struct ovl_waterfall *w,
		    int max);

#endif
