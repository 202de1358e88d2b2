/* The verdict of a node without our load: what its own CPUs and counters show, and no more. */
#ifndef OVL_MODEL_NODE_H
#define OVL_MODEL_NODE_H

#include "model/model.h"
#include "model/state.h"

/** Fill *v. *cpu: the busiest CPU, -1: unknown. */
void ovl_node_verdict(const struct ovl_model_state *state, const struct ovl_facts *facts,
		      struct ovl_verdict *v, int *cpu);

#endif
