/* Settings of one lab namespace that live in files: sysctls, receive packet steering, CPUs. */
#ifndef OVL_LAB_TUNE_H
#define OVL_LAB_TUNE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

/**
 * Sysctls of the calling thread's network namespace: no slow start after idle (slices of a run
 * would each start slow), a node forwards without a reverse path filter, its
 * bridged packets pass the rules; without ip6 no IPv6 link-local addresses (their
 * multicast is noise in the drops), with it addresses that are usable at once.
 */
int ovl_tune_sysctls(bool node, bool ip6, struct ovl_err *err);
/** Steer all received packets of all devices of the calling thread's namespace to one CPU. */
int ovl_tune_rps(int cpu, struct ovl_err *err);
/**
 * Fill in the CPUs: both 0 means the first two that this process may use, as ovl_cpus_pick has it.
 * -EINVAL if one is not online.
 */
int ovl_tune_cpus(int *cpu_sender, int *cpu_receiver, struct ovl_err *err);
/**
 * Bound on wire frames in flight: 0.8 × net.core.netdev_max_backlog, the length of the one queue
 * per CPU that all steered packets wait in. The kernel's default of 1000 if it cannot be read (it
 * is shown in the initial network namespace only).
 */
uint32_t ovl_tune_max_frames(void);

/** Text of a CPU mask with one CPU as rps_cpus wants it, "2" or "1,00000000". Pure. */
void ovl_tune_mask(int cpu, char *out, size_t n);

#endif
