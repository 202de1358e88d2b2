/* The BPF programs of a run: loaded, attached, and what became of those that the kernel refused. */
#ifndef OVL_COLLECT_INSTRUMENTS_H
#define OVL_COLLECT_INSTRUMENTS_H

#include <stdbool.h>
#include <stdint.h>

#include "bpf/abi.h"
#include "base/err.h"
#include "collect/reasons.h"
#include "model/facts.h"

struct btf;
struct ovltrace_bpf;

struct ovl_instruments {
	struct ovltrace_bpf *skel;
	bool loaded[OVL_PROG_COUNT]; /* by enum ovl_prog: accepted by the verifier */
	int cpus_possible;
	uint32_t active; /* OVL_ACTIVE_* as last written */
};

/**
 * Load every program (the sampler only if want_sampler). One that is refused is listed in
 * facts->missing and the others are used. 0; -errno when none is left, with *err naming the missing
 * capability (OVL_EXIT_RIGHTS) or what the kernel lacks (OVL_EXIT_KERNEL).
 */
int ovl_instruments_open(struct ovl_instruments *in, const struct ovl_reasons *reasons,
			 bool want_sampler, struct ovl_facts *facts, struct ovl_err *err);
/** Attach the tracepoint programs; fills facts->progs_attached and adds to facts->missing. */
void ovl_instruments_attach(struct ovl_instruments *in, struct ovl_facts *facts);
/** Detach and unload everything; idempotent. */
void ovl_instruments_close(struct ovl_instruments *in);

/** Let programs write to the other twin of these maps (OVL_ACTIVE_* bits). */
void ovl_instruments_flip(struct ovl_instruments *in, uint32_t bits);
/** Sum and per-CPU values of one slot of a per-CPU array of u64; per_cpu holds cpus_possible. */
int ovl_instruments_per_cpu(const struct ovl_instruments *in, int map_fd, uint32_t slot,
			    uint64_t *per_cpu);
/** Has this kernel a tracepoint of that name? btf: the kernel's own; NULL: no. */
bool ovl_instruments_tracepoint(const struct btf *btf, const char *name);
/** Add one absent instrument to the facts. */
void ovl_instruments_missing(struct ovl_facts *facts, const char *hook, const char *reason,
			     const char *lost);

#endif
