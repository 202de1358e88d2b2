#include "base/units.h"
#include "tap.h"

#include <ctype.h>
#include <locale.h>
#include <math.h>

static char s[OVL_UNITS_MAX];

static void test_rates(void)
{
	is_str(ovl_units_text(s, 9.41e9, ovl_units_rate(9.41e9), true), "9.41 Gbit/s", "a rate");
	is_str(ovl_units_text(s, 12345e6, ovl_units_rate(12345e6), true), "12.35 Gbit/s",
	       "four digits");
	is_str(ovl_units_text(s, 941.2e6, ovl_units_rate(941.2e6), true), "941.2 Mbit/s",
	       "one decimal from a hundred on");
	is_str(ovl_units_text(s, 999.96e6, ovl_units_rate(999.96e6), true), "1.00 Gbit/s",
	       "the unit is chosen after rounding");
	is_str(ovl_units_text(s, 0, ovl_units_rate(0), true), "0.00 bit/s", "zero is a number");
	is_str(ovl_units_number(s, -0.33e9, ovl_units_rate(9.41e9), true), "-0.33",
	       "a column keeps its unit");
	is_str(ovl_units_number(s, 4e6, ovl_units_rate(9.41e9), true), "0.00", "small in a column");
	is_str(ovl_units_number(s, -4e6, ovl_units_rate(9.41e9), true), "0.00", "no minus zero");
	is_str(ovl_units_number(s, 123456e6, ovl_units_rate(9.41e9), true), "123.5",
	       "more than the column was made for: fewer decimals");
	is_str(ovl_units_number(s, 1e300, ovl_units_rate(1e300), true), ">1e6", "beyond all units");
	is_str(ovl_units_number(s, -1e300, ovl_units_rate(1), true), "<-1e6", "and below");
}

static void test_unknown(void)
{
	is_str(ovl_units_text(s, NAN, ovl_units_rate(NAN), false), "–", "unknown is a dash");
	is_str(ovl_units_text(s, NAN, ovl_units_share(), true), "-", "in ASCII too");
	is_str(ovl_units_text(s, INFINITY, ovl_units_time(INFINITY, true), true), "-",
	       "infinity is not a measurement");
	is_str(ovl_units_number(s, NAN, ovl_units_count(3), true), "-", "in a column");
}

static void test_others(void)
{
	is_str(ovl_units_text(s, 310000, ovl_units_time(310000, false), false), "310.0 µs",
	       "microseconds");
	is_str(ovl_units_text(s, 310000, ovl_units_time(310000, true), true), "310.0 us",
	       "in ASCII");
	is_str(ovl_units_text(s, 42e9, ovl_units_time(42e9, true), true), "42.00 s", "seconds");
	is_str(ovl_units_text(s, 402, ovl_units_count(402), true), "402", "a count is whole");
	is_str(ovl_units_text(s, 13.9, ovl_units_count(13.9), true), "13.9", "a mean is not");
	is_str(ovl_units_text(s, 0.02, ovl_units_count(0.02), true), "0.02", "small means");
	is_str(ovl_units_text(s, 12345, ovl_units_count(12345), true), "12.35k", "thousands");
	is_str(ovl_units_text(s, 0.541, ovl_units_share(), true), "54.1%", "a share");
	is_str(ovl_units_number(s, 205.14, ovl_units_plain(205.14), true), "205.1", "ns/KiB");
	is_str(ovl_units_number(s, 20514, ovl_units_plain(20514), true), "20514",
	       "a column without prefixes");
	is_str(ovl_units_fixed(s, 1e15, 1), "1000000000000000.0", "no exponents for machines");
	is_str(ovl_units_fixed(s, -0.5, 0), "-1", "rounded away from zero");
	is_str(ovl_units_fixed(s, 1.25, 99), "1.250000000", "at most nine decimals");
}

static int digits(const char *text)
{
	int n = 0;

	for (; *text; text++)
		n += isdigit((unsigned char)*text) && (n || *text != '0');
	return n;
}

/** Every size and unit keeps the promise of the header. */
static void test_four_digits(void)
{
	int bad = 0;

	for (double v = 1e-3; v < 1e17; v *= 1.0137) {
		const struct ovl_unit units[] = {ovl_units_rate(v), ovl_units_time(v, true),
						 ovl_units_count(v)};

		for (int i = 0; i < 3; i++) {
			ovl_units_number(s, v, units[i], true);
			if (i == 1 && v >= 1e13) /* durations have no unit above seconds */
				continue;
			if (digits(s) > 4 || strlen(s) > 6)
				printf("# %g became %s\n", v, s), bad++;
		}
	}
	is_int(bad, 0, "at most four significant digits from 1e-3 to 1e17");
}

static void test_locale(void)
{
	static const char *const names[] = {"de_DE.UTF-8", "fr_FR.UTF-8", "de_DE", "nl_NL.UTF-8"};
	bool set = false;

	for (int i = 0; i < 4 && !set; i++)
		set = setlocale(LC_NUMERIC, names[i]);
	if (!set) {
		tap_skip("no locale with a decimal comma is installed");
		return;
	}
	is_str(ovl_units_number(s, 9.41e9, ovl_units_rate(9.41e9), true), "9.41",
	       "a point in every locale");
	setlocale(LC_NUMERIC, "C");
}

int main(void)
{
	test_rates();
	test_unknown();
	test_others();
	test_four_digits();
	test_locale();
	return tap_done();
}
