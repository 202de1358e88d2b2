/*
 * Kernel symbols: /proc/kallsyms in compact form, and each function's class, resolved when first
 * seen.
 */
#ifndef OVL_COLLECT_KSYMS_H
#define OVL_COLLECT_KSYMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "collect/classify.h"

struct ovl_ksyms;

/**
 * Read `path` (NULL: /proc/kallsyms), text symbols only. NULL on failure; with OVL_EXIT_RIGHTS when
 * all addresses are hidden (kernel.kptr_restrict without CAP_SYSLOG).
 */
struct ovl_ksyms *ovl_ksyms_open(const char *path, struct ovl_err *err);
void ovl_ksyms_close(struct ovl_ksyms *k);
/** Index of the function that holds this address, -1: none. */
int ovl_ksyms_find(const struct ovl_ksyms *k, uint64_t addr);
/** Name of a function, without .isra, .constprop, .part and .cold suffixes. */
const char *ovl_ksyms_name(const struct ovl_ksyms *k, int index);
/** Class of a function; computed at the first call. */
const struct ovl_symbol_class *ovl_ksyms_class(struct ovl_ksyms *k, int index);
/**
 * Read the file again, because an address was unknown: a module or a BPF program has appeared.
 * Indices of before are void then. 0, or -errno with the old table kept.
 */
int ovl_ksyms_reload(struct ovl_ksyms *k, struct ovl_err *err);
/** Cut the compiler's suffixes off name[] in place: "tcp_ack.isra.0" → "tcp_ack". */
void ovl_ksyms_strip(char *name);

#endif
