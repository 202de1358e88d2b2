/* The ledger: a CPU's busy time, known from the kernel's clock, shared out by samples. Pure. */
#ifndef OVL_MODEL_LEDGER_H
#define OVL_MODEL_LEDGER_H

#include <stddef.h>
#include <stdint.h>

#define OVL_LEDGER_ROWS 128 /* most rows that are shared out at once */

/**
 * Share total out in proportion to n[0…rows), in integers by largest remainder (ties: lower index),
 * so that the parts add up to total exactly. Without any sample all parts are 0. Returns what was
 * shared out: total, or 0 (also for more than OVL_LEDGER_ROWS rows). n may not be out.
 */
uint64_t ovl_ledger_share(uint64_t total, const uint64_t *n, size_t rows, uint64_t *out);

/**
 * The self-check: the distance of busy × hz from certain … certain + wake samples (wake: those that
 * may have been idle time), ÷ (hz × wall). Above 0.03 over 5 s or more, samples were lost,
 * interrupts were off for long or the idle clock is wrong. NAN without wall time or sampling rate.
 */
double ovl_ledger_error(uint64_t certain, uint64_t wake, uint32_t hz, uint64_t busy_ns,
			uint64_t wall_ns);

#endif
