#include "model/evidence.h"

#include <math.h>

#include "base/str.h"

#define SECOND_POINTS 0.10 /* a first candidate this far ahead has no rival */

void ovl_evidence_add(struct ovl_verdict *v, const char *key, double value, const char *unit)
{
	struct ovl_evidence *e;

	if (!isfinite(value) || v->n_evidence >= sizeof(v->evidence) / sizeof(v->evidence[0]))
		return;
	e = &v->evidence[v->n_evidence++];
	ovl_str_copy(e->key, sizeof(e->key), key);
	e->value = value;
	ovl_str_copy(e->unit, sizeof(e->unit), unit);
}

double ovl_evidence_confidence(double depth, double points, double ledger_error)
{
	double threshold = 0.5 + 0.5 * fmin(1, fmax(0, depth));
	double distance = 0.5 + 0.5 * fmin(1, fmax(0, points / SECOND_POINTS));
	double error = isfinite(ledger_error) ? fmin(1, ledger_error) : 0;

	return fmin(threshold, distance) * (1 - error);
}
