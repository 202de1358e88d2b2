#include "view/rows.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "view/words.h"

/**
 * Is the row within two standard errors of nothing? Without an error estimate nobody can say: no.
 */
static bool below_noise(const struct ovl_term *t)
{
	return !t->bps || (!isnan(t->stderr_bps) && fabs((double)t->bps) < 2 * t->stderr_bps);
}

static char basis_letter(enum ovl_basis basis)
{
	switch (basis) {
	case OVL_BASIS_MEASURED: return 'M';
	case OVL_BASIS_RECORDED: return 'R';
	case OVL_BASIS_ESTIMATED: return 'E';
	case OVL_BASIS_ARITHMETIC: return 'A';
	}
	return '?';
}

static struct ovl_row *push(struct ovl_rows *out, enum ovl_row_kind kind, double bps, char sure)
{
	struct ovl_row *row = &out->v[out->n++];

	*row = (struct ovl_row){
		.kind = kind,
		.bps = bps,
		.stderr_bps = NAN,
		.loss_ratio = NAN,
		.ns_per_kib = NAN,
		.if_removed_bps = NAN,
		.sure = sure,
	};
	return row;
}

/** Smallest size that a term must have to get one of `room` rows of its own. */
static double threshold(const struct ovl_waterfall *w, int room)
{
	double least = 0;

	for (;;) {
		double next = INFINITY;
		int n = 0;

		ovl_vec_each(t, &w->terms) {
			double size = fabs((double)t->bps);

			if (below_noise(t) || size < least)
				continue;
			n++;
			next = fmin(next, size);
		}
		if (n <= room)
			return least;
		least = nextafter(next, INFINITY); /* the smallest one goes, and those like it */
	}
}

/** Terms of their own from `least` on; the others are summed in *rest. Returns how many others. */
static int push_terms(struct ovl_rows *out, const struct ovl_waterfall *w, double least,
		      struct ovl_row *rest, int *noise)
{
	double variance = 0;
	int gathered = 0;

	ovl_vec_each(t, &w->terms) {
		bool quiet = below_noise(t);
		struct ovl_row *row;

		if (!quiet && fabs((double)t->bps) >= least) {
			row = push(out, OVL_ROW_TERM, (double)t->bps, basis_letter(t->basis));
			snprintf(row->label, sizeof(row->label), "%s", t->label);
			snprintf(row->key, sizeof(row->key), "%s", t->key);
			row->stderr_bps = t->stderr_bps;
			row->ns_per_kib = t->ns_per_kib;
			row->if_removed_bps = t->if_removed_bps;
			continue;
		}
		gathered++;
		*noise += quiet;
		rest->bps += (double)t->bps;
		variance += t->stderr_bps * t->stderr_bps; /* NAN stays NAN: unknown */
		if (!isnan(t->ns_per_kib))
			rest->ns_per_kib =
				t->ns_per_kib + (isnan(rest->ns_per_kib) ? 0 : rest->ns_per_kib);
	}
	rest->stderr_bps = sqrt(variance);
	return gathered;
}

static void push_gathered(struct ovl_rows *out, const struct ovl_row *rest, int n, int noise)
{
	struct ovl_row *row = push(out, OVL_ROW_GATHERED, rest->bps, rest->sure);
	const char *what = noise == n ? "below noise" : noise ? "small or below noise" : "smaller";

	row->stderr_bps = rest->stderr_bps;
	row->ns_per_kib = rest->ns_per_kib;
	snprintf(row->key, sizeof(row->key), "%s", noise == n ? "below_noise" : "smaller");
	snprintf(row->label, sizeof(row->label), "%s (%d row%s)", what, n, n == 1 ? "" : "s");
}

/** Places on the axis: each row takes its loss from where the one before it ended. */
static void place(struct ovl_rows *out, double underlay_bps, double overlay_bps)
{
	double at = underlay_bps, ns = 0;

	out->axis_bps = fmax(underlay_bps, overlay_bps);
	for (int i = 0; i < out->n; i++) {
		struct ovl_row *row = &out->v[i];

		if (row->kind == OVL_ROW_UNDERLAY || row->kind == OVL_ROW_OVERLAY) {
			row->from_bps = 0;
			row->to_bps = row->bps;
		} else {
			row->to_bps = at;
			row->from_bps = at -= row->bps;
			row->loss_ratio = underlay_bps > 0 ? row->bps / underlay_bps : NAN;
		}
		out->axis_bps = fmax(out->axis_bps, fmax(row->from_bps, row->to_bps));
		if (!isnan(row->ns_per_kib))
			ns = fmax(ns, fabs(row->ns_per_kib));
	}
	out->unit = ovl_units_rate(fmax(underlay_bps, overlay_bps));
	out->ns_unit = ovl_units_plain(ns);
}

void ovl_rows_build(struct ovl_rows *out, const struct ovl_facts *f, const struct ovl_waterfall *w,
		    int max)
{
	const struct ovl_link *iface = ovl_facts_iface(f), *under = ovl_words_underlay(f);
	struct ovl_row rest = {.ns_per_kib = NAN, .sure = basis_letter(w->basis)};
	struct ovl_row *row;
	int room = (max > OVL_ROWS_MAX ? OVL_ROWS_MAX : max < 4 ? 4 : max) - 4;
	int gathered, noise = 0;
	double least = threshold(w, room);

	/* nothing to gather: its row is free for one more */
	if (least > 0 && threshold(w, room + 1) == 0) {
		bool quiet = false;

		ovl_vec_each(t, &w->terms)
			quiet |= below_noise(t);
		least = quiet ? least : 0;
	}
	out->n = 0;
	row = push(out, OVL_ROW_UNDERLAY, w->underlay_bps, basis_letter(w->basis));
	snprintf(row->label, sizeof(row->label), "underlay%s%s", under ? " " : "",
		 under ? under->name : "");
	gathered = push_terms(out, w, least, &rest, &noise);
	if (gathered)
		push_gathered(out, &rest, gathered, noise);
	row = push(out, OVL_ROW_UNEXPLAINED, (double)w->unexplained_bps, '-');
	snprintf(row->label, sizeof(row->label), "unexplained");
	snprintf(row->key, sizeof(row->key), "unexplained");
	row = push(out, OVL_ROW_OVERLAY, w->overlay_bps, 'M');
	snprintf(row->label, sizeof(row->label), "overlay%s%s", iface ? " " : "",
		 iface ? iface->name : "");
	if (w->underlay_bps > 0)
		row->loss_ratio = (w->underlay_bps - w->overlay_bps) / w->underlay_bps;
	place(out, w->underlay_bps, w->overlay_bps);
}
