/* From a topology's tables to namespaces, devices, addresses, routes: the one code path. */
#ifndef OVL_LAB_BUILD_H
#define OVL_LAB_BUILD_H

#include <stdbool.h>

#include "base/err.h"
#include "lab/lab.h"
#include "lab/topology.h"

/** A spec with every default filled in, checked against its topology. */
struct ovl_build {
	const struct ovl_topo *topo;
	struct ovl_lab_spec spec; /* no zero fields left */
	struct ovl_lab *lab;
	bool named;	 /* a lab; else a twin */
	uint32_t n_made; /* ends made so far, in the topology's order */
};

/**
 * Check and complete a spec; fills lab but for its namespaces. -EINVAL for what cannot be built.
 */
int ovl_build_init(struct ovl_build *b, const struct ovl_lab_spec *spec, struct ovl_lab *lab,
		   struct ovl_err *err);
/**
 * Build it in a thread of its own, so that the caller's network namespace never changes. On failure
 * what was made is left to the caller: handles in lab->ends, names when named.
 */
int ovl_build_run(struct ovl_build *b, struct ovl_err *err);
/** Fill in lab's ends from the tables, without handles (-1). Pure. */
void ovl_build_ends(const struct ovl_topo *topo, bool named, struct ovl_lab *lab);
/** Wire frames that one full overlay packet takes inside vxlan over IPv4. Pure. */
uint32_t ovl_build_fragments(uint32_t overlay_mtu, uint32_t underlay_mtu);
/** Can a network device have this name? Pure. */
bool ovl_build_name_ok(const char *name);

#endif
