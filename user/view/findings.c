#include "view/findings.h"

#include <math.h>
#include <string.h>

#include "base/units.h"
#include "view/wrap.h"

#define SHOWN 6

static void put_where(struct ovl_buf *line, const struct ovl_facts *f, const struct ovl_finding *x)
{
	if (x->ns != OVL_NS_MACHINE)
		ovl_buf_printf(line, " in %s", ovl_facts_ns(f, x->ns));
	if (*x->iface)
		ovl_buf_printf(line, " at %s", x->iface);
}

static void put_evidence(struct ovl_buf *b, struct ovl_buf *line, const struct ovl_finding *x)
{
	char s[OVL_UNITS_MAX];

	for (uint32_t i = 0; i < x->n_evidence && i < OVL_FINDING_EVIDENCE; i++) {
		const struct ovl_finding_evidence *e = &x->evidence[i];
		const bool share = !strcmp(e->unit, "ratio");
		struct ovl_unit unit = share			 ? ovl_units_share()
				       : !strcmp(e->unit, "bps") ? ovl_units_rate(e->value)
				       : !strcmp(e->unit, "ns")	 ? ovl_units_time(e->value, true)
								 : ovl_units_count(e->value);
		const bool named = share || !strcmp(e->unit, "bps") || !strcmp(e->unit, "ns");

		ovl_buf_printf(line, "%s%s %s%s%s", i ? "; " : "evidence: ", e->key,
			       ovl_units_text(s, e->value, unit, true), named ? "" : " ",
			       named ? "" : e->unit);
		if (*e->source)
			ovl_buf_printf(line, " (%s)", e->source);
	}
	ovl_wrap_buf(b, line, 4);
}

static void put_one(struct ovl_buf *b, const struct ovl_facts *f, const struct ovl_finding *x)
{
	struct ovl_buf line = {0};
	char s[OVL_UNITS_MAX], t[OVL_UNITS_MAX];

	ovl_buf_printf(&line, "%s %s", x->level > OVL_LEVEL_INFO ? "!" : "-",
		       ovl_rule_info(x->rule)->key);
	put_where(&line, f, x);
	ovl_buf_printf(&line, " (%s, confidence %s", ovl_level_name(x->level),
		       ovl_units_text(s, x->confidence_ratio, ovl_units_share(), true));
	if (isfinite(x->gain_high_bps))
		ovl_buf_printf(&line, ", worth up to %s by estimate",
			       ovl_units_text(t, x->gain_high_bps, ovl_units_rate(x->gain_high_bps),
					      true));
	ovl_buf_puts(&line, ")");
	ovl_wrap_buf(b, &line, 2);
	ovl_buf_puts(&line, x->title);
	ovl_wrap_buf(b, &line, 4);
	put_evidence(b, &line, x);
	for (uint32_t i = 0; i < x->n_fix && i < OVL_FINDING_FIXES; i++) {
		ovl_buf_printf(&line, "%s %s", i ? "or:" : "fix:", x->fix[i]);
		ovl_wrap_buf(b, &line, 4);
	}
	if (*x->risk)
		ovl_buf_printf(&line, "risk: %s", x->risk);
	ovl_wrap_buf(b, &line, 4);
	if (*x->verify)
		ovl_buf_printf(&line, "check: %s", x->verify);
	ovl_wrap_buf(b, &line, 4);
	ovl_buf_fini(&line);
}

void ovl_findings_text(struct ovl_buf *b, const struct ovl_facts *f, const struct ovl_model *m)
{
	size_t shown = 0;

	ovl_buf_puts(b, "\nFINDINGS\n");
	ovl_vec_each(x, &m->findings)
		if (shown++ < SHOWN)
			put_one(b, f, x);
	if (shown > SHOWN)
		ovl_buf_printf(b, "  and %zu more (--json has all)\n", shown - SHOWN);
	if (!shown)
		ovl_buf_puts(b, ovl_findings_looked(m) ? "  No fault found.\n"
						       : "  Not known: nothing that rules ask "
							 "for was read.\n");
}

void ovl_findings_rules(struct ovl_buf *b)
{
	static const char *const kinds[] = {"direct", "excluded", "general"};

	for (int i = 0; i < OVL_RULE_COUNT; i++) {
		const struct ovl_rule_info *info = ovl_rule_info((enum ovl_rule)i);

		ovl_buf_printf(b, "%s\t%s\t%s\t%s\t%s\n", info->key, ovl_level_name(info->level),
			       kinds[info->kind], info->wrong, info->needs);
	}
}
