/* The commands of the program, one function each: exit code back, messages on stderr. */
#ifndef OVL_APP_RUN_H
#define OVL_APP_RUN_H

#include "app/options.h"
#include "base/buf.h"
#include "base/err.h"

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
/** `ovltrace doctor …` */
int ovl_cmd_doctor(const struct ovl_options *o, struct ovl_err *err);
/** `ovltrace list …` */
int ovl_cmd_list(const struct ovl_options *o, struct ovl_err *err);

/** Write a command's answer to stdout and release it. 0, or -errno with *err. */
int ovl_cmd_print(struct ovl_buf *b, struct ovl_err *err);

#endif
