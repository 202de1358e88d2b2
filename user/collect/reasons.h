/*
 * What the running kernel's BTF says: names of drop reasons, and how many arguments tracepoints
 * have.
 */
#ifndef OVL_COLLECT_REASONS_H
#define OVL_COLLECT_REASONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct ovl_reasons;

/**
 * Read the kernel's BTF once and keep what is needed of it (a few KiB; the peak is about 13 MiB).
 * NULL on failure, OVL_EXIT_KERNEL when there is no BTF.
 */
struct ovl_reasons *ovl_reasons_open(struct ovl_err *err);
void ovl_reasons_close(struct ovl_reasons *r);
/**
 * Name of a value of enum skb_drop_reason or of a subsystem's reasons, without SKB_DROP_REASON_;
 * the decimal number (in buf) if the kernel does not name it.
 */
const char *ovl_reasons_name(const struct ovl_reasons *r, uint32_t value, char *buf, size_t n);
/** Arguments of the tracepoints as BTF has them; 0: this kernel has no such tracepoint. */
uint32_t ovl_reasons_kfree_skb_args(const struct ovl_reasons *r);
uint32_t ovl_reasons_retransmit_args(const struct ovl_reasons *r);
/**
 * enum ovl_stage of a drop where its reason tells more than the function that freed it, by the
 * table drop_stages.def; -1: the function decides.
 */
int ovl_reasons_stage(const char *reason, const char *symbol);
/**
 * Is this free no loss of anything a user sent (duplicates, teardown, a sniffer's copy)? By the
 * table benign.def; protocol is the skb's ethertype, pkts how many were freed so in one interval.
 */
bool ovl_reasons_benign(const char *reason, const char *symbol, uint16_t protocol, uint64_t pkts);

#endif
