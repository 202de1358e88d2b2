#include "view/json_put.h"

#include <math.h>

#include "base/buf.h"
#include "base/units.h"
#include "view/utf8.h"

void ovl_json_text(ovl_json o, const char *key, const char *text)
{
	struct ovl_buf b = {0};
	uint32_t ch;

	while ((ch = ovl_utf8_next(&text)))
		ovl_utf8_put(&b, ch);
	json_object_object_add(o, key, json_object_new_string(ovl_buf_str(&b)));
	ovl_buf_fini(&b);
}

void ovl_json_text_or_null(ovl_json o, const char *key, const char *text)
{
	if (*text)
		ovl_json_text(o, key, text);
	else
		ovl_json_null(o, key);
}

void ovl_json_u64(ovl_json o, const char *key, uint64_t v)
{
	ovl_json_i64(o, key, v > INT64_MAX ? INT64_MAX : (int64_t)v);
}

void ovl_json_i64(ovl_json o, const char *key, int64_t v)
{
	json_object_object_add(o, key, json_object_new_int64(v));
}

/** Decimals that keep nine significant digits of v, at most nine of them. */
static int decimals_of(double v)
{
	int decimals = 9;

	for (double size = fabs(v); size >= 1 && decimals > 0; size /= 10)
		decimals--;
	return decimals;
}

void ovl_json_number(ovl_json o, const char *key, double v)
{
	char s[OVL_UNITS_MAX];
	size_t n = 0;
	bool point = false;

	if (!isfinite(v)) {
		ovl_json_null(o, key);
		return;
	}
	if (v == floor(v) && fabs(v) < 9e15) {
		ovl_json_i64(o, key, (int64_t)v);
		return;
	}
	ovl_units_fixed(s, v, decimals_of(v));
	for (; s[n]; n++)
		point |= s[n] == '.';
	while (point && n > 2 && s[n - 1] == '0' && s[n - 2] != '.')
		s[--n] = '\0';
	json_object_object_add(o, key, json_object_new_double_s(v, s));
}

void ovl_json_count(ovl_json o, const char *key, double n)
{
	if (isfinite(n) && fabs(n) < 9e18)
		ovl_json_i64(o, key, llround(n));
	else
		ovl_json_null(o, key);
}

void ovl_json_bps(ovl_json o, const char *key, double bps)
{
	ovl_json_count(o, key, bps);
}

void ovl_json_bool(ovl_json o, const char *key, bool v)
{
	json_object_object_add(o, key, json_object_new_boolean(v));
}

void ovl_json_null(ovl_json o, const char *key)
{
	json_object_object_add(o, key, NULL);
}

ovl_json ovl_json_object(ovl_json o, const char *key)
{
	ovl_json made = json_object_new_object();

	json_object_object_add(o, key, made);
	return made;
}

ovl_json ovl_json_array(ovl_json o, const char *key)
{
	ovl_json made = json_object_new_array();

	json_object_object_add(o, key, made);
	return made;
}

ovl_json ovl_json_element(ovl_json array)
{
	ovl_json made = json_object_new_object();

	json_object_array_add(array, made);
	return made;
}

void ovl_json_netns(ovl_json o, const struct ovl_facts *f, uint32_t ns)
{
	if (ns < f->ns.n)
		ovl_json_text(o, "netns", f->ns.v[ns].name);
	else
		ovl_json_null(o, "netns");
}
