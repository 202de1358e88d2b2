/*
 * The copies ledger: how often the bytes of a packet are copied or read over on its way, where, and
 * how often they would have to be: once from the sending process and once to the receiving one.
 *
 * Counted at kernel functions or tracepoints while their programs run; without those only what
 * arithmetic tells of the load's bytes and of tun devices' counters.
 */
#ifndef OVL_MODEL_COPIES_H
#define OVL_MODEL_COPIES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"
#include "model/facts.h"
#include "model/func.h"
#include "model/sample.h"

struct ovl_model_state;

#define OVL_COPIES_FUNCS 4096 /* distinct (function, device) of a run */

/** What accumulates: calls of the main phase's intervals in which functions were counted. */
struct ovl_copies_acc {
	OVL_VEC(struct ovl_func_delta) funcs;
	uint64_t pkts; /* of the interface meanwhile, as it counts them */
	bool seen;     /* an interval with counts was added */
};

/** One place where packets' bytes are touched. */
struct ovl_copy_site {
	uint8_t func;	/* enum ovl_func */
	uint8_t tier;	/* enum ovl_tier that counted it; AUTO: arithmetic */
	uint32_t ns;	/* index into the facts */
	uint64_t calls; /* UINT64_MAX: unknown */
	uint64_t bytes;
	double per_pkt;		 /* calls ÷ packets of the interface; NAN: unknown */
	double of_payload_ratio; /* bytes ÷ payload bytes; NAN: unknown */
};

struct ovl_copies {
	bool valid;   /* something is known */
	bool counted; /* by programs, not by arithmetic alone */
	/*
	 * Copies of a packet's payload: bytes copied ÷ payload bytes, over all sites of payload.
	 * NAN: the payload is unknown, or sites are.
	 */
	double per_pkt;
	int floor;	      /* how many ends of the payload are in view: copies there must be */
	double payload_bytes; /* NAN: unknown */
	uint64_t pkts;	      /* of the interface */
	bool unknown[OVL_TOUCH_COUNT];	      /* touches of this kind are not (all) known */
	OVL_VEC(struct ovl_copy_site) sites;  /* most bytes first, payload before the rest */
	OVL_VEC(struct ovl_func_delta) funcs; /* every function that was called, whole main phase */
};

/** Take a sample of the main phase in. 0 or -ENOMEM. */
int ovl_copies_add(struct ovl_copies_acc *acc, const struct ovl_facts *facts,
		   const struct ovl_sample *sample);
/** payload_bytes: of the main phase; NAN: unknown. 0 or -ENOMEM. */
int ovl_copies_build(const struct ovl_model_state *state, const struct ovl_facts *facts,
		     double payload_bytes, struct ovl_copies *out);
void ovl_copies_fini(struct ovl_copies *c);
/** By what this function is counted in this run; AUTO: not at all. */
enum ovl_tier ovl_copies_tier(const struct ovl_facts *facts, uint32_t func);

#endif
