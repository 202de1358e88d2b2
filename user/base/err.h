/*
 * Errors as values: a negative errno plus one sentence for a human and the exit code it leads to.
 */
#ifndef OVL_BASE_ERR_H
#define OVL_BASE_ERR_H

#include "base/exit.h"

struct ovl_err {
	enum ovl_exit exit; /* what the program ends with if nobody handles this */
	char text[512];	    /* one sentence: what was tried, on what, why it failed, what to do */
};

/** A fresh error: not set, exit OVL_EXIT_FAILED ("err starts as failure"). */
#define OVL_ERR_INIT ((struct ovl_err){.exit = OVL_EXIT_FAILED, .text = ""})

/**
 * Fill *err (may be NULL) and return rc unchanged, so that callers write
 * `return ovl_err_set(err, OVL_EXIT_INPUT, -ENOENT, "…")`. rc must be negative.
 */
int ovl_err_set(struct ovl_err *err, enum ovl_exit exit, int rc, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

#endif
