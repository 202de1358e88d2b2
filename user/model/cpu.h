/* CPU time by stage and by CPU, and ovltrace's own cost. */
#ifndef OVL_MODEL_CPU_H
#define OVL_MODEL_CPU_H

#include "model/model.h"
#include "model/state.h"

/**
 * Fill *out (its vectors are reused) from the main phase of all CPUs, and beside it what each stage
 * cost over the underlay, where its slices were measured. payload_bytes: what the main phase's time
 * is set against; NAN: unknown. 0 or -ENOMEM.
 */
int ovl_cpu_build(const struct ovl_model_state *state, const struct ovl_facts *facts,
		  double payload_bytes, struct ovl_cpu_model *out);
/** Fill last->per_cpu (reused) with the last interval of the main phase. 0 or -ENOMEM. */
int ovl_cpu_last(const struct ovl_model_state *state, const struct ovl_facts *facts,
		 struct ovl_last *last);
/**
 * Own cost ÷ busy time of one CPU over all phases: (runs × calibrated ns + own user time) ÷ busy.
 * NAN when a part of it is unknown. cpu < 0: the busiest CPU.
 */
void ovl_cpu_self(const struct ovl_model_state *state, const struct ovl_facts *facts, int cpu,
		  struct ovl_self_model *out);

#endif
