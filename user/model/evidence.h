/*
 * What verdicts are made of: evidence, confidence, and the thresholds that both kinds share. Pure.
 */
#ifndef OVL_MODEL_EVIDENCE_H
#define OVL_MODEL_EVIDENCE_H

#include "model/model.h"

#define OVL_FULL_IDLE 0.03 /* a CPU with no more idle than this is full */

/** Append evidence while there is room; values that are not finite are left out. */
void ovl_evidence_add(struct ovl_verdict *v, const char *key, double value, const char *unit);
/**
 * Confidence = min(threshold, distance) × (1 − ledger error), see model/verdict.h. depth: 0…1, how
 * deep inside its threshold; points: how far the next candidate is behind; ledger_error may be NAN.
 */
double ovl_evidence_confidence(double depth, double points, double ledger_error);

#endif
