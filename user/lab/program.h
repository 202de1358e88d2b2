/* Programs that labs run in their namespaces: nft for rules, and daemons that stay. */
#ifndef OVL_LAB_PROGRAM_H
#define OVL_LAB_PROGRAM_H

#include <stdint.h>
#include <sys/types.h>

#include "base/buf.h"
#include "base/err.h"
#include "lab/plan.h"

/** Variable in a daemon's environment that says which lab it belongs to: `down` finds it by it. */
#define OVL_PROGRAM_MARK "OVLTRACE_LAB"

/**
 * Load rules with `nft -f -` in the calling thread's network namespace, within 5 s. where: the
 * namespace's name, for the sentence; mark: see ovl_program_kill.
 */
int ovl_program_nft(const char *rules, const char *mark, const char *where, struct ovl_err *err);
/**
 * Start a daemon in the calling thread's network namespace and wait until it says on its fd 3, as
 * docker-proxy does, that it is at work ("0") or why not ("1" and a sentence). mark: see
 * ovl_program_kill.
 */
int ovl_program_start(const struct ovl_plan_daemon *daemon, const char *mark, const char *where,
		      struct ovl_err *err);

/** Whose daemons: those with exactly this mark, or with its beginning and in this namespace. */
struct ovl_program_whose {
	const char *mark;
	ino_t netns; /* 0: exactly this mark, anywhere */
};
/**
 * Kill every process that carries a lab's mark and wait for its end (2 s at most). Number of them,
 * or -errno with *err.
 */
int ovl_program_kill(const struct ovl_program_whose *whose, struct ovl_err *err);

#endif
