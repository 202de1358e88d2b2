/* Findings as text, and the list of rules. */
#ifndef OVL_VIEW_FINDINGS_H
#define OVL_VIEW_FINDINGS_H

#include "base/buf.h"
#include "model/facts.h"
#include "model/model.h"

/** Findings for the text report: what, where, evidence with its source, fix and how to check it. */
void ovl_findings_text(struct ovl_buf *b, const struct ovl_facts *f, const struct ovl_model *m);
/** One line for each rule: key, level, kind, what is wrong, needed evidence; separated by tabs. */
void ovl_findings_rules(struct ovl_buf *b);

#endif
