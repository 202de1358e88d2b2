/* The rows of options.def, once: parsed by options.c, shown by options_help.c. */
#ifndef OVL_APP_OPTION_TABLE_H
#define OVL_APP_OPTION_TABLE_H

#include <getopt.h>

#include "app/options.h"

enum { NO = no_argument, MUST = required_argument, MAY = optional_argument };
enum {
	RUN = OVL_CMD_RUN,
	PEER = OVL_CMD_PEER,
	LAB = OVL_CMD_LAB,
	REPLAY = OVL_CMD_REPLAY,
	DOCTOR = OVL_CMD_DOCTOR,
	LIST = OVL_CMD_LIST,
	POD = OVL_CMD_POD,
	RELAY = OVL_CMD_RELAY,
	DIFF = OVL_CMD_DIFF,
	MATRIX = OVL_CMD_MATRIX,
};

enum ovl_option_key {
#define OPT(KEY, name, ch, arg, metavar, commands, help) OPT_##KEY,
#include "app/options.def"
	OPT_COUNT_OF,
};

struct ovl_option_row {
	const char *name;
	char ch; /* 0: no letter */
	int arg;
	const char *metavar;
	int commands;
	const char *help;
};

/** By enum ovl_option_key, OPT_COUNT_OF of them. */
extern const struct ovl_option_row ovl_option_rows[];

#endif
