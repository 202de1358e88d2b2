/* Findings as text and as the contract's JSON; rules as a table. */
#include "view/findings.h"

#include <json-c/json.h>
#include <math.h>

#include "model/diag.h"
#include "view/json.h"

#include "sample_free.h"
#include "sample_model.h"
#include "tap.h"

static void add_finding(struct ovl_model *m, double gain_bps)
{
	struct ovl_finding *f = ovl_vec_push(&m->findings);

	*f = (struct ovl_finding){
		.rule = OVL_RULE_EGRESS_SHAPER,
		.level = OVL_LEVEL_WARNING,
		.confidence_ratio = 0.95,
		.gain_low_bps = gain_bps / 2,
		.gain_high_bps = gain_bps,
	};
	ovl_str_copy(f->iface, sizeof(f->iface), "eth0");
	ovl_diag_title(f, "a shaper with a very long name that makes the line so long that it has "
			  "to be broken holds eth0 to 1000 Mbit/s");
	ovl_diag_evidence(f, "rate", 1e9, "bps", "tc qdisc");
	ovl_diag_evidence(f, "unknown", NAN, "bps", "nowhere");
	ovl_diag_evidence(f, "drops", 21, "pkts", "tc -s qdisc");
	ovl_diag_fix(f, "tc qdisc del dev eth0 root");
	ovl_diag_fix(f, "a higher rate");
	ovl_diag_verify(f, "overlimits stand still");
}

static struct json_object *get(struct json_object *o, const char *key)
{
	struct json_object *v = NULL;

	json_object_object_get_ex(o, key, &v);
	return v;
}

static void try_json(const struct ovl_facts *f, const struct ovl_model *m)
{
	const struct ovl_view_exit how = {0, "done"};
	struct ovl_buf b = {0};
	struct json_object *doc, *list, *one;

	ovl_json_document(&b, f, m, &how);
	doc = json_tokener_parse(ovl_buf_str(&b));
	list = get(doc, "findings");
	is_int(json_object_array_length(list), 2, "both findings are in the document");
	one = json_object_array_get_idx(list, 0);
	is_str(json_object_get_string(get(one, "rule")), "egress_shaper", "its rule");
	is_str(json_object_get_string(get(one, "level")), "warning", "its level");
	is_int(json_object_array_length(get(one, "evidence")), 2,
	       "evidence without what is unknown");
	is_int(json_object_array_length(get(one, "fix")), 2, "its fixes");
	ok(!get(one, "risk"), "what was not said is null");
	is_str(json_object_get_string(get(get(one, "where"), "iface")), "eth0", "where it is");
	is_str(json_object_get_string(get(get(one, "gain_bps"), "basis")), "model",
	       "what a gain rests on");
	ok(!get(json_object_array_get_idx(list, 1), "gain_bps"), "an unknown gain is null");
	json_object_put(doc);
	ovl_buf_clear(&b);
	ovl_json_found(&b, f, m);
	doc = json_tokener_parse(ovl_buf_str(&b));
	is_str(json_object_get_string(get(doc, "type")), "finding", "a record of --jsonl");
	json_object_put(doc);
	ovl_buf_fini(&b);
}

static void try_text(const struct ovl_facts *f, const struct ovl_model *m)
{
	struct ovl_buf b = {0};
	size_t widest = 0;

	ovl_findings_text(&b, f, m);
	for (const char *s = ovl_buf_str(&b); *s; s += strcspn(s, "\n") + 1)
		widest = strcspn(s, "\n") > widest ? strcspn(s, "\n") : widest;
	ok(widest <= 80, "no line is wider than 80 columns (%zu)", widest);
	ok(strstr(ovl_buf_str(&b), "! egress_shaper in") != NULL, "a problem is marked");
	ok(strstr(ovl_buf_str(&b), "fix: tc qdisc del dev eth0 root") != NULL, "with its fix");
	ok(strstr(ovl_buf_str(&b), "drops 21 pkts (tc -s qdisc)") != NULL,
	   "and evidence with its source");
	ok(strstr(ovl_buf_str(&b), "worth up to 2.00 Gbit/s by estimate") != NULL,
	   "and what it is worth");
	ovl_buf_fini(&b);
}

int main(void)
{
	struct ovl_facts facts;
	struct ovl_model m;
	struct ovl_buf b = {0};

	sample_facts(&facts, true);
	sample_model(&m, true);
	m.flows_valid = false;
	ovl_findings_text(&b, &facts, &m);
	ok(strstr(ovl_buf_str(&b), "Not known") != NULL, "nothing read is no clean bill of health");
	ovl_buf_clear(&b);
	m.flows_valid = true;
	ovl_findings_text(&b, &facts, &m);
	ok(strstr(ovl_buf_str(&b), "No fault found.") != NULL, "healthy is said");
	ovl_buf_clear(&b);
	add_finding(&m, 2e9);
	add_finding(&m, NAN);
	try_json(&facts, &m);
	try_text(&facts, &m);
	ovl_findings_rules(&b);
	ok(strstr(ovl_buf_str(&b), "mtu_blackhole\tcritical\texcluded\t") != NULL,
	   "rules are listed");
	ovl_buf_fini(&b);
	sample_free(&facts, &m);
	return tap_done();
}
