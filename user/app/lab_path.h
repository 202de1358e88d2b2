/* A lab's load: between which of its ends it runs, and what that is compared with. */
#ifndef OVL_APP_LAB_PATH_H
#define OVL_APP_LAB_PATH_H

#include <stdbool.h>

#include "app/options.h"
#include "base/err.h"
#include "lab/lab.h"
#include "load/load.h"

/** Does --peer name an end of this lab (rather than a host)? */
bool ovl_lab_path_named(const struct ovl_options *o, const struct ovl_lab *lab);
/**
 * Fill the load's paths and CPUs: the lab's own two, or the overlay from the end --from to the end
 * --peer. Writes into lab->load what was chosen. OVL_EXIT_USAGE for ends that cannot be loaded.
 */
int ovl_lab_path(const struct ovl_options *o, struct ovl_lab *lab, struct ovl_load_spec *load,
		 struct ovl_err *err);
/** One sentence: which lab, which ends, which CPUs; iface: the device looked at. */
void ovl_lab_path_say(const struct ovl_lab *lab, const char *iface,
		      const struct ovl_load_spec *load, char *text, size_t n);

#endif
