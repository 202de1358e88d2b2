/*
 * The twin of a real interface: what of it is copied, on which CPUs it runs, and when it is
 * refused.
 */
#ifndef OVL_APP_TWIN_H
#define OVL_APP_TWIN_H

#include "app/options.h"
#include "base/err.h"
#include "lab/lab.h"
#include "model/facts.h"

/**
 * Make the twin of facts->iface on the two least busy CPUs. Errors: OVL_EXIT_INPUT for a kind that
 * has no twin, OVL_EXIT_RIGHTS without the right to make namespaces, OVL_EXIT_FAILED when less than
 * one CPU is idle (unless --load-anyway).
 */
int ovl_twin_make(const struct ovl_facts *facts, const struct ovl_options *options,
		  struct ovl_lab *lab, struct ovl_err *err);

#endif
