/* Programs at kernel functions: loaded, cloned for each function, attached. */
#ifndef OVL_COLLECT_FUNCS_ATTACH_H
#define OVL_COLLECT_FUNCS_ATTACH_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "collect/hooks.h"
#include "model/facts.h"
#include "model/func.h"

struct funcs_bpf;
struct bpf_link;

/** One function's programs: begin and end. */
struct ovl_funcs_probe {
	uint8_t tier;		  /* enum ovl_tier, AUTO: not attached */
	bool told;		  /* that it is missing */
	int prog_fd[2];		  /* fentry and fexit: copies of the templates, 0: none */
	int link_fd[2];		  /* their attachments, 0: none */
	struct bpf_link *link[2]; /* kprobe and kretprobe */
};

struct ovl_funcs_attach {
	struct funcs_bpf *skel;
	bool fentry, kprobe; /* tiers in use */
	struct ovl_hooks hooks;
	struct ovl_buf modules; /* /proc/modules, when functions were last looked up */
	struct ovl_funcs_probe probe[OVL_FUNC_COUNT];
	struct bpf_link *copy[3]; /* tracepoints, where no function can be probed */
};

/**
 * Load the programs that this tier needs. What this kernel refuses is told in facts->missing, or is
 * an error (OVL_EXIT_KERNEL) where only that was asked for.
 */
int ovl_funcs_load(struct ovl_funcs_attach *a, enum ovl_tier tier, int devices_fd,
		   struct ovl_facts *facts, struct ovl_err *err);
/** Attach to every function that is not yet attached; again when modules have come. */
void ovl_funcs_attach_all(struct ovl_funcs_attach *a, struct ovl_facts *facts);
/** Attach what counts payload copies without probing functions. */
void ovl_funcs_attach_copies(struct ovl_funcs_attach *a, struct ovl_facts *facts);
/**
 * Calls at which the kernel could not run a kprobe, because one was running on that CPU already
 * (kprobe.nmissed): of all kprobes that are attached. Known since 6.7.
 */
uint64_t ovl_funcs_kprobes_missed(const struct ovl_funcs_attach *a);
/** Detach and unload everything. */
void ovl_funcs_detach(struct ovl_funcs_attach *a);

#endif
