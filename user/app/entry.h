/*
 * The entry of a program: finds the command, parses its options, runs it, and makes one sentence
 * and an exit code of what went wrong.
 */
#ifndef OVL_APP_ENTRY_H
#define OVL_APP_ENTRY_H

#include "app/options.h"
#include "base/buf.h"
#include "base/err.h"

struct ovl_entry_command {
	const char *name; /* "" : without a command's name */
	enum ovl_command bit;
	int (*run)(const struct ovl_options *o, struct ovl_err *err);
	void (*names)(struct ovl_buf *out); /* for its help: what it works on; NULL: nothing */
};

/** All of main; the command "" is the last one. */
int ovl_entry_main(const struct ovl_entry_command *commands, int argc, char **argv);

#endif
