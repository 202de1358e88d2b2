/*
 * One output, a file or stdout: nothing is lost before there is something to write, and no slow
 * reader can keep the program from ending.
 */
#ifndef OVL_APP_OUTFILE_H
#define OVL_APP_OUTFILE_H

#include <stdbool.h>

#include "base/buf.h"
#include "base/err.h"

struct ovl_outfile {
	int fd;		  /* -1: off */
	const char *path; /* NULL: stdout */
	bool created;	  /* the file did not exist before */
	bool written;	  /* something has been written: older contents are gone */
};

/**
 * Open a file for writing, or take stdout (path NULL). Existing contents stay until the first
 * write.
 */
int ovl_outfile_open(struct ovl_outfile *f, const char *path, struct ovl_err *err);
/**
 * Write a buffer and empty it. While the reader does not read, signal_fd (-1: none) is watched too.
 * 0; -EPIPE without *err when the reader left or a signal came first; else -errno with *err.
 */
int ovl_outfile_write(struct ovl_outfile *f, struct ovl_buf *buf, int signal_fd,
		      struct ovl_err *err);
/** The sentence for a write to a file (NULL: stdout) that failed by rc, and rc. */
int ovl_outfile_failed(const char *path, int rc, struct ovl_err *err);
/** Are these two names (NULL: stdout) of one existing regular file? */
bool ovl_outfile_same(const char *a, const char *b);
/** Close; a file made by this run into which nothing was written is taken away again. */
void ovl_outfile_close(struct ovl_outfile *f);

#endif
