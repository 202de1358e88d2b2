/*
 * The programs that count packets at the devices of the path (bpf/packets/): loaded, attached in
 * windows or for good, and read as differences.
 */
#ifndef OVL_COLLECT_PACKETS_H
#define OVL_COLLECT_PACKETS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "bpf/abi.h"
#include "collect/collect.h"
#include "collect/lost.h"
#include "collect/window.h"
#include "model/facts.h"
#include "model/sample.h"

struct packets_bpf;

/** A value of a per-CPU map at the last reading, by its key. */
struct ovl_packets_entry {
	uint64_t key;
	uint64_t *words;
};
typedef OVL_VEC(struct ovl_packets_entry) ovl_packets_entries;

struct ovl_packets {
	struct packets_bpf *skel;
	bool wanted[OVL_PACKET_PROGS];	/* loaded, and not refused when attached */
	int attached[OVL_PACKET_PROGS]; /* fds, -1 */
	int cpus;			/* possible */
	uint32_t n_hops;		/* links of the facts that are counted */
	struct ovl_window window;
	bool deep;
	struct ovl_window_count seen; /* at the last reading, as all that follows */
	ovl_packets_entries counts, scheduled, steps, waits, syscalls;
	uint64_t *runs[OVL_PACKET_PROGS]; /* by possible CPU */
	struct ovl_lost_seen lost;
	uint64_t missed; /* runs that the kernel left out */
	struct {
		int pid;
		uint32_t link;
		uint64_t user_ns, kernel_ns; /* so far */
	} daemons[OVL_DAEMONS_MAX];	     /* as in the facts */
	uint32_t n_daemons;
	uint64_t *per_cpu;     /* room for the largest value of all CPUs, in words */
	uint64_t mean_cost_ns; /* of a run, for the budget of windows; 0: not known yet */
};

/**
 * Load the programs for the devices of the facts, look for tun daemons, and try to attach. Fills
 * facts->{packets, daemons} and adds to facts->missing. 0 also when nothing can be had (then
 * facts->packets.valid is false and the other calls do nothing); -ENOMEM.
 */
int ovl_packets_open(struct ovl_packets *p, const struct ovl_packets_spec *spec,
		     struct ovl_facts *facts, struct ovl_err *err);
/** Start opening windows, or open the one that stays. 0 or -errno: there will be none. */
int ovl_packets_start(struct ovl_packets *p);
/**
 * What was counted since the last call, into sample->{packets, self[].packet_runs}; NULL: only
 * forget it. 0 or -ENOMEM.
 */
int ovl_packets_drain(struct ovl_packets *p, struct ovl_sample *sample);
/**
 * Write facts->packets.cost_ns, as far as the kernel's statistics were on while programs ran;
 * dispatch_ns is added to what they say. One that has not run costs the mean of the others, or
 * else fallback_ns (0: unknown).
 */
void ovl_packets_costs(struct ovl_packets *p, uint64_t dispatch_ns, uint64_t fallback_ns,
		       struct ovl_facts *facts);
/** Events so far that the kernel kept from a program, as it ran on that CPU already. */
uint64_t ovl_packets_missed(const struct ovl_packets *p);
void ovl_packets_close(struct ovl_packets *p);

/* collect/packets_read.c */
/** Read what was counted; the caller holds nothing. */
int ovl_packets_read(struct ovl_packets *p, struct ovl_sample *sample);
/** Release what was kept of earlier readings. */
void ovl_packets_forget(struct ovl_packets *p);

#endif
