/* Drops and retransmissions, read from the BPF maps, with names instead of numbers. */
#ifndef OVL_COLLECT_DROPS_H
#define OVL_COLLECT_DROPS_H

#include <stdint.h>

#include "base/err.h"
#include "collect/instruments.h"
#include "collect/ksyms.h"
#include "collect/reasons.h"
#include "model/facts.h"
#include "model/sample.h"

struct ovl_drops;

/**
 * Tell the programs which devices and namespaces exist. `in`, `reasons` and `ksyms` (NULL: places
 * are addresses) must outlive the result.
 */
struct ovl_drops *ovl_drops_open(struct ovl_instruments *in, const struct ovl_reasons *reasons,
				 const struct ovl_ksyms *ksyms, const struct ovl_facts *facts,
				 struct ovl_err *err);
void ovl_drops_close(struct ovl_drops *d);
/**
 * Read and empty the drop map that was active before the last flip, and read the retransmissions.
 * Fills sample->{drops, retransmits, retransmits_valid}; NULL: only forget them (facts may then be
 * NULL too). 0 or -errno.
 * Drops in network namespaces that are not on the path have ns OVL_NS_MACHINE.
 */
int ovl_drops_drain(struct ovl_drops *d, const struct ovl_facts *facts, struct ovl_sample *sample,
		    struct ovl_err *err);

#endif
