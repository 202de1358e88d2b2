/* Programs that labs run in their namespaces: nft for rules, and daemons that stay. */
#ifndef OVL_LAB_PROGRAM_H
#define OVL_LAB_PROGRAM_H

#include <stdint.h>
#include <sys/types.h>

#include "base/buf.h"
#include "base/err.h"
#include "lab/plan.h"

/** Mark in a daemon's environment: which lab it belongs to. `down` finds it by this alone. */
#define OVL_PROGRAM_MARK "OVLTRACE_LAB"

/**
 * Load rules with `nft -f -` in the calling thread's network namespace. where: the namespace's
 * name, for the sentence.
 */
int ovl_program_nft(const char *rules, const char *where, struct ovl_err *err);
/**
 * Start a daemon in the calling thread's network namespace and wait until it says on its fd 3, as
 * docker-proxy does, that it is at work ("0") or why not ("1" and a sentence).
 */
int ovl_program_start(const struct ovl_plan_daemon *daemon, const char *lab, const char *where,
		      struct ovl_err *err);
/**
 * Kill every process that carries a lab's mark and wait for its end (2 s at most). Number of them,
 * or -errno with *err.
 */
int ovl_program_kill(const char *lab, struct ovl_err *err);

#endif
