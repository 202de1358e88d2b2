/* The contract's `findings` and `flows`, and the evidence that findings rest on. */
#ifndef OVL_VIEW_JSON_FINDINGS_H
#define OVL_VIEW_JSON_FINDINGS_H

#include "model/facts.h"
#include "model/model.h"
#include "view/json_put.h"

/** Put the array `findings`, most valuable first. */
void ovl_json_findings(ovl_json o, const struct ovl_facts *f, const struct ovl_model *m);
/** Put the members of one finding into o. */
void ovl_json_finding(ovl_json o, const struct ovl_facts *f, const struct ovl_finding *finding);
/** Put the array `flows`, busiest first; null when connections were not looked at. */
void ovl_json_flows(ovl_json o, const struct ovl_facts *f, const struct ovl_model *m);
/** Put the array `attempts`; null when connections were not watched. */
void ovl_json_attempts(ovl_json o, const struct ovl_facts *f, const struct ovl_model *m);
/** Put the array `readings`, which may be long; null before the first interval. */
void ovl_json_readings(ovl_json o, const struct ovl_facts *f, const struct ovl_model *m);

#endif
