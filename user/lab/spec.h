/* A lab's spec: defaults filled in, and everything refused that its topology does not know. */
#ifndef OVL_LAB_SPEC_H
#define OVL_LAB_SPEC_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "lab/lab.h"
#include "lab/topology.h"

/** Complete a spec for its topology. 0, or -EINVAL with OVL_EXIT_USAGE. Chooses no CPUs. Pure. */
int ovl_spec_complete(struct ovl_lab_spec *spec, const struct ovl_topo *topo, struct ovl_err *err);
/** Outer headers of this topology's tunnel, by the underlay's address family; 0: none. Pure. */
uint32_t ovl_spec_encap_bytes(const struct ovl_lab_spec *spec, const struct ovl_topo *topo);
/** Can a network device have this name? Pure. */
bool ovl_spec_name_ok(const char *name);

#endif
