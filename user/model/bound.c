#include "model/bound.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"

static const struct {
	enum ovl_metric_unit unit;
	const char *suffix;
	double per;
} suffixes[] = {
	{OVL_METRIC_BPS, "", 1},      {OVL_METRIC_BPS, "K", 1e3},     {OVL_METRIC_BPS, "M", 1e6},
	{OVL_METRIC_BPS, "G", 1e9},   {OVL_METRIC_SHARE, "", 1},      {OVL_METRIC_SHARE, "%", 0.01},
	{OVL_METRIC_NS, "ns", 1},     {OVL_METRIC_NS, "us", 1e3},     {OVL_METRIC_NS, "ms", 1e6},
	{OVL_METRIC_NS, "s", 1e9},    {OVL_METRIC_PER_S, "", 1},      {OVL_METRIC_PER_S, "K", 1e3},
	{OVL_METRIC_PER_S, "M", 1e6}, {OVL_METRIC_NS_PER_KIB, "", 1}, {OVL_METRIC_NUMBER, "", 1},
};

static const char *const wants[] = {
	[OVL_METRIC_BPS] = "bit/s, such as 500M or 5G",
	[OVL_METRIC_SHARE] = "a share, such as 20% or 0.2",
	[OVL_METRIC_NS] = "a duration, such as 250us or 2ms",
	[OVL_METRIC_PER_S] = "events a second, such as 10 or 2K",
	[OVL_METRIC_NS_PER_KIB] = "ns for each KiB, such as 400",
	[OVL_METRIC_NUMBER] = "a number",
};

static const char *blanks(const char *s)
{
	return s + strspn(s, " \t");
}

static int parse_op(const char **s, enum ovl_bound_op *op)
{
	static const char *const ops[] = {[OVL_BOUND_AT_MOST] = "<=",
					  [OVL_BOUND_AT_LEAST] = ">=",
					  [OVL_BOUND_BELOW] = "<",
					  [OVL_BOUND_ABOVE] = ">"};
	static const enum ovl_bound_op order[] = {OVL_BOUND_AT_MOST, OVL_BOUND_AT_LEAST,
						  OVL_BOUND_BELOW, OVL_BOUND_ABOVE};

	for (size_t i = 0; i < sizeof(order) / sizeof(order[0]); i++) {
		if (!ovl_str_starts(*s, ops[order[i]]))
			continue;
		*op = order[i];
		*s += strlen(ops[order[i]]);
		return 0;
	}
	return -EINVAL;
}

/* A number and its unit, and nothing after them. */
static int parse_value(const char *s, enum ovl_metric_unit unit, double *out)
{
	const size_t digits = strspn(s, "0123456789.");
	char number[32], *end;
	double v;

	if (!digits || digits >= sizeof(number))
		return -EINVAL;
	memcpy(number, s, digits);
	number[digits] = '\0';
	v = strtod(number, &end);
	if (*end || !isfinite(v))
		return -EINVAL;
	s = blanks(s + digits);
	for (size_t i = 0; i < sizeof(suffixes) / sizeof(suffixes[0]); i++) {
		const size_t n = strlen(suffixes[i].suffix);

		if (suffixes[i].unit != unit || !ovl_str_starts(s, suffixes[i].suffix) ||
		    *blanks(s + n))
			continue;
		*out = v * suffixes[i].per;
		return 0;
	}
	return -EINVAL;
}

static void name_all(char why[OVL_TEXT_MAX])
{
	size_t n = (size_t)snprintf(why, OVL_TEXT_MAX, "it begins with one of");

	for (int i = 0; i < OVL_METRIC_COUNT && n < OVL_TEXT_MAX; i++)
		n += (size_t)snprintf(why + n, OVL_TEXT_MAX - n, " %s",
				      ovl_metric_info((enum ovl_metric)i)->name);
}

int ovl_bound_parse(const char *s, struct ovl_bound *out, char why[OVL_TEXT_MAX])
{
	const char *at = blanks(s);
	const size_t n = strspn(at, "abcdefghijklmnopqrstuvwxyz_0123456789");
	const struct ovl_metric_info *info;
	char name[32] = "";
	int metric;

	*out = (struct ovl_bound){0};
	if (n < sizeof(name))
		memcpy(name, at, n);
	metric = ovl_metric_find(name);
	if (metric < 0) {
		name_all(why);
		return -EINVAL;
	}
	info = ovl_metric_info((enum ovl_metric)metric);
	out->metric = (enum ovl_metric)metric;
	at = blanks(at + n);
	if (parse_op(&at, &out->op)) {
		snprintf(why, OVL_TEXT_MAX, "after %s comes one of < <= > >=", info->name);
		return -EINVAL;
	}
	if (parse_value(blanks(at), info->unit, &out->value)) {
		snprintf(why, OVL_TEXT_MAX, "%s is compared to %s", info->name, wants[info->unit]);
		return -EINVAL;
	}
	if (!ovl_str_copy(out->text, sizeof(out->text), s)) {
		snprintf(why, OVL_TEXT_MAX, "it is longer than %d bytes", OVL_BOUND_TEXT - 1);
		return -EINVAL;
	}
	return 0;
}

int ovl_bound_check(const struct ovl_bound *bound, const struct ovl_model *m)
{
	const double v = ovl_metric_get(m, bound->metric);

	if (isnan(v))
		return -ENODATA;
	switch (bound->op) {
	case OVL_BOUND_BELOW: return v < bound->value;
	case OVL_BOUND_AT_MOST: return v <= bound->value;
	case OVL_BOUND_ABOVE: return v > bound->value;
	case OVL_BOUND_AT_LEAST: break;
	}
	return v >= bound->value;
}
