#include "base/units.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LIMIT 9e17 /* largest scaled value that is written out */

static const double powers[] = {1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9};

/**
 * Decimals that leave a value of this size with at most four significant digits, and at most two.
 */
static int decimals_for(double scaled)
{
	if (scaled < 99.995)
		return 2;
	return scaled < 999.95 ? 1 : 0;
}

/** First unit in which max stays below 1000 (after rounding), else the last one. */
static struct ovl_unit choose(double max, const char *const *names, int n)
{
	struct ovl_unit unit = {1, names[0], 2};
	double v = isfinite(max) ? fabs(max) : 0;

	for (int i = 1; i < n && v / unit.per >= 999.95; i++) {
		unit.per *= 1e3;
		unit.name = names[i];
	}
	unit.decimals = decimals_for(v / unit.per);
	return unit;
}

struct ovl_unit ovl_units_rate(double max_bps)
{
	static const char *const names[] = {"bit/s",  "kbit/s", "Mbit/s",
					    "Gbit/s", "Tbit/s", "Pbit/s"};

	return choose(max_bps, names, 6);
}

struct ovl_unit ovl_units_time(double max_ns, bool ascii)
{
	static const char *const names[] = {"ns", "µs", "ms", "s"};
	static const char *const plain[] = {"ns", "us", "ms", "s"};

	return choose(max_ns, ascii ? plain : names, 4);
}

struct ovl_unit ovl_units_count(double max)
{
	static const char *const names[] = {"", "k", "M", "G", "T", "P", "E"};
	struct ovl_unit unit = choose(max, names, 7);

	if (unit.per > 1)
		return unit;
	if (!isfinite(max) || max == floor(max) || fabs(max) >= 100)
		unit.decimals = 0;
	else if (fabs(max) >= 1)
		unit.decimals = 1;
	return unit;
}

struct ovl_unit ovl_units_plain(double max)
{
	return (struct ovl_unit){1, "", isfinite(max) && fabs(max) >= 999.95 ? 0 : 1};
}

struct ovl_unit ovl_units_share(void)
{
	return (struct ovl_unit){0.01, "%", 1};
}

/** Written by hand, not by printf, whose decimal point depends on the locale. */
static void write_fixed(char *s, double v, int decimals)
{
	double scaled = fabs(v) * powers[decimals];
	unsigned long long all, whole, part;
	const char *sign;

	if (scaled > LIMIT) {
		snprintf(s, OVL_UNITS_MAX, "%s%.0f", v < 0 ? "-" : "", fmin(fabs(v), 1e24));
		return;
	}
	all = (unsigned long long)llround(scaled);
	whole = all / (unsigned long long)powers[decimals];
	part = all % (unsigned long long)powers[decimals];
	sign = v < 0 && all ? "-" : ""; /* no "-0.00" */
	if (decimals)
		snprintf(s, OVL_UNITS_MAX, "%s%llu.%0*llu", sign, whole, decimals, part);
	else
		snprintf(s, OVL_UNITS_MAX, "%s%llu", sign, whole);
}

const char *ovl_units_fixed(char s[OVL_UNITS_MAX], double v, int decimals)
{
	write_fixed(s, isfinite(v) ? v : 0, decimals < 0 ? 0 : decimals > 9 ? 9 : decimals);
	return s;
}

const char *ovl_units_number(char s[OVL_UNITS_MAX], double v, struct ovl_unit unit, bool ascii)
{
	double scaled = v / unit.per;
	int decimals = unit.decimals;

	if (!isfinite(v)) {
		snprintf(s, OVL_UNITS_MAX, "%s", ascii ? "-" : "–");
		return s;
	}
	if (decimals > decimals_for(fabs(scaled)))
		decimals = decimals_for(fabs(scaled));
	if (fabs(scaled) >= 1e6) /* beyond the largest unit: say so instead of a row of digits */
		snprintf(s, OVL_UNITS_MAX, "%s", scaled < 0 ? "<-1e6" : ">1e6");
	else
		write_fixed(s, scaled, decimals);
	return s;
}

const char *ovl_units_text(char s[OVL_UNITS_MAX], double v, struct ovl_unit unit, bool ascii)
{
	size_t n;

	ovl_units_number(s, v, unit, ascii);
	if (!isfinite(v) || !*unit.name)
		return s;
	n = strlen(s);
	/* "12k" and "3.1%" stick together, words are set apart */
	snprintf(s + n, OVL_UNITS_MAX - n, "%s%s",
		 strlen(unit.name) > 1 || *unit.name == 's' || *unit.name == 'B' ? " " : "",
		 unit.name);
	return s;
}
