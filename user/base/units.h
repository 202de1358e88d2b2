/*
 * Numbers for human eyes: rates, durations, counts, sizes and shares. The only place that formats
 * them.
 *
 * At most four significant digits, '.' in every locale, one unit for a whole column: choose the
 * unit by the column's largest value, then write each value in it. Unknown (NAN, infinite) is a
 * dash, never 0.
 */
#ifndef OVL_BASE_UNITS_H
#define OVL_BASE_UNITS_H

#include <stdbool.h>

#define OVL_UNITS_MAX 32 /* bytes that every text made here fits in */

/** One unit and the number of decimals that its largest value needs. */
struct ovl_unit {
	double per;	  /* base units in one of this unit: 1e9 for Gbit/s */
	const char *name; /* "Gbit/s", "µs", "k", "" */
	int decimals;
};

/** Unit for rates up to max_bps (bit/s, decimal prefixes). */
struct ovl_unit ovl_units_rate(double max_bps);
/** Unit for durations up to max_ns; "us" instead of "µs" with ascii. */
struct ovl_unit ovl_units_time(double max_ns, bool ascii);
/**
 * Unit for counts up to max: "", "k", "M", …; whole below 1000 unless max itself has a fraction.
 */
struct ovl_unit ovl_units_count(double max);
/** No unit and no prefix, at most one decimal: for columns of ns/KiB up to max. */
struct ovl_unit ovl_units_plain(double max);
/** Percent with one decimal, for ratios 0…1. */
struct ovl_unit ovl_units_share(void);

/** The number alone: "6.35"; "–" (ascii: "-") when unknown. Returns s. */
const char *ovl_units_number(char s[OVL_UNITS_MAX], double v, struct ovl_unit unit, bool ascii);
/** Number and unit: "6.35 Gbit/s", "3.1%", "12k"; a dash alone when unknown. Returns s. */
const char *ovl_units_text(char s[OVL_UNITS_MAX], double v, struct ovl_unit unit, bool ascii);
/**
 * The number with exactly `decimals` (0…9) decimals, for machines: any locale, never an exponent.
 */
const char *ovl_units_fixed(char s[OVL_UNITS_MAX], double v, int decimals);

#endif
