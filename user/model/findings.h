/*
 * Findings: what is wrong, where, by which evidence, what it costs and what to do. Made from the
 * model and the gathered evidence by small functions (rule_*.c), one row of rules.def for each.
 * Pure.
 */
#ifndef OVL_MODEL_FINDINGS_H
#define OVL_MODEL_FINDINGS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"
#include "model/facts.h"

enum ovl_rule {
#define RULE(KEY, key, kind, level, wrong, needs) OVL_RULE_##KEY,
#include "model/rules.def"
	OVL_RULE_COUNT,
};

enum ovl_level { OVL_LEVEL_INFO = 0, OVL_LEVEL_WARNING, OVL_LEVEL_CRITICAL };

enum ovl_rule_kind { OVL_RULE_DIRECT = 0, OVL_RULE_EXCLUDED, OVL_RULE_GENERAL };

struct ovl_rule_info {
	const char *key;
	enum ovl_rule_kind kind;
	enum ovl_level level;
	const char *wrong, *needs;
};

/** One piece of evidence: a number and where it was read. */
struct ovl_finding_evidence {
	char key[48];
	double value;
	char unit[16];	 /* "pkts", "bps", "ratio", "" */
	char source[64]; /* "/proc/net/snmp", "nf_tables", "sock_diag", … */
};

#define OVL_FINDING_EVIDENCE 8
#define OVL_FINDING_FIXES    3

struct ovl_finding {
	enum ovl_rule rule;
	enum ovl_level level;
	double confidence_ratio;
	char title[2 * OVL_TEXT_MAX];
	uint32_t ns; /* index into the facts; OVL_NS_MACHINE: the whole machine */
	char iface[OVL_IF_MAX];
	uint32_t n_evidence, n_fix;
	struct ovl_finding_evidence evidence[OVL_FINDING_EVIDENCE];
	char fix[OVL_FINDING_FIXES][OVL_TEXT_MAX];
	char risk[OVL_TEXT_MAX], verify[OVL_TEXT_MAX];
	/* share of the possible throughput that it costs; NAN: not known */
	double cost_low_ratio, cost_high_ratio;
	/* gain in bit/s, from the rate and the cost; NAN: not known */
	double gain_low_bps, gain_high_bps;
	double score; /* what they are ranked by: cost × confidence */
};

typedef OVL_VEC(struct ovl_finding) ovl_findings;

struct ovl_model;

const struct ovl_rule_info *ovl_rule_info(enum ovl_rule rule);
/** "info", "warning", "critical". */
const char *ovl_level_name(enum ovl_level level);
/**
 * Ask all rules and fill *out (reused), most valuable first: problems before infos, causes merged
 * with their symptoms, general findings last. 0 or -ENOMEM.
 */
int ovl_findings_build(const struct ovl_model *m, const struct ovl_facts *facts, ovl_findings *out);
/** Was there anything to ask the rules about? Without it, no finding is no answer. */
bool ovl_findings_looked(const struct ovl_model *m);

#endif
