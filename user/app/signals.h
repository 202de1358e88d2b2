/* How a run hears that it shall end. */
#ifndef OVL_APP_SIGNALS_H
#define OVL_APP_SIGNALS_H

/**
 * Before anything is measured: SIGINT, SIGTERM and SIGHUP end the program with 0, SIGPIPE is
 * ignored.
 */
void ovl_signals_early(void);
/** Block SIGINT, SIGTERM and SIGHUP and return a signalfd for them; -errno on failure. */
int ovl_signals_open(void);

#endif
