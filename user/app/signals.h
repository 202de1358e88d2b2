/* How a run hears that it shall end. */
#ifndef OVL_APP_SIGNALS_H
#define OVL_APP_SIGNALS_H

#include <stdbool.h>
#include <stdint.h>

/**
 * Before anything is measured: SIGINT, SIGTERM and SIGHUP end the program with 0, SIGPIPE is
 * ignored.
 */
void ovl_signals_early(void);
/** Block SIGINT, SIGTERM and SIGHUP and return a signalfd for them; -errno on failure. */
int ovl_signals_open(void);
/** Sleep until an instant (CLOCK_MONOTONIC), or until the signalfd is readable: then true. */
bool ovl_signals_wait(int signal_fd, uint64_t until_ts_ns);

#endif
