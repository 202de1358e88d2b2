/* The commands of the program, one function each: exit code back, messages on stderr. */
#ifndef OVL_APP_RUN_H
#define OVL_APP_RUN_H

#include "app/options.h"
#include "base/buf.h"
#include "base/err.h"

struct ovl_session; /* session.h */

/**
 * Open the instruments of a session, start its scene's load, and tell the sampler whose tasks are
 * the load's. 0 or -errno; without s->collect it was the instruments that failed.
 */
int ovl_run_instruments(struct ovl_session *s, const struct ovl_options *o, struct ovl_err *err);

/** `ovltrace [--iface IF] …`: observe, with or without load. */
int ovl_cmd_run(const struct ovl_options *o, struct ovl_err *err);
/** `ovltrace replay FILE …` */
int ovl_cmd_replay(const struct ovl_options *o, struct ovl_err *err);
/** `ovltrace diff A B …` */
int ovl_cmd_diff(const struct ovl_options *o, struct ovl_err *err);
/** `ovltrace lab …` */
int ovl_cmd_lab(const struct ovl_options *o, struct ovl_err *err);
/** `ovltrace relay …` */
int ovl_cmd_relay(const struct ovl_options *o, struct ovl_err *err);
/** `ovltrace matrix …` */
int ovl_cmd_matrix(const struct ovl_options *o, struct ovl_err *err);
/** `ovltrace doctor …` */
int ovl_cmd_doctor(const struct ovl_options *o, struct ovl_err *err);
/** `ovltrace list …` */
int ovl_cmd_list(const struct ovl_options *o, struct ovl_err *err);

/** Write a command's answer to stdout and release it. 0, or -errno with *err. */
int ovl_cmd_print(struct ovl_buf *b, struct ovl_err *err);

#endif
