/*
 * The file that says a lab is up or being made. It is written before anything is created, so that
 * whatever a killed `up` left can be found and removed by its names.
 */
#ifndef OVL_LAB_LABFILE_H
#define OVL_LAB_LABFILE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "lab/lab.h"

struct ovl_labfile {
	struct ovl_lab lab; /* without handles */
	bool complete;	    /* false: still being made, or its `up` did not live to the end */
	uint32_t n_ends;    /* as the file says: more or fewer are damage */
	enum ovl_lab_offloads offloads;
	char by[64];	    /* who made it: user, process, terminal */
	char mark[64];	    /* "flannel-udp:" and a number no other lab has; its daemons carry it */
	uint64_t at_unix_s; /* when */
};

/** The names of the labs that have a state file. */
struct ovl_labfile_names {
	char (*v)[32];
	size_t n, cap;
};

/**
 * Take the one lock that serialises up and down; released by ovl_labfile_unlock() and by death.
 * Makes the directory. Returns a handle, or -errno.
 */
int ovl_labfile_lock(struct ovl_err *err);
void ovl_labfile_unlock(int lock);
/** Fill in who, when, and a new mark: this process, now. */
void ovl_labfile_sign(struct ovl_labfile *state);
/** Write the file of state->lab.topology, atomically. */
int ovl_labfile_write(const struct ovl_labfile *state, struct ovl_err *err);
/** -ENOENT with err untouched if there is no such file; -EBADMSG if it cannot be understood. */
int ovl_labfile_read(const char *topology, struct ovl_labfile *state, struct ovl_err *err);
/** Remove the file, and what a killed write left. */
int ovl_labfile_remove(const char *topology, struct ovl_err *err);
/** Append all names; no directory is no names. */
int ovl_labfile_all(struct ovl_labfile_names *names, struct ovl_err *err);

/** Text form, one "key value" per line. Pure. */
void ovl_labfile_format(const struct ovl_labfile *state, struct ovl_buf *out);
/** Read the text form; namespaces without the lab prefix are refused. Changes text. Pure. */
bool ovl_labfile_parse(char *text, struct ovl_labfile *state);
/** Name of an offload profile: "cloud", "all", "nogso". Pure. */
const char *ovl_labfile_offloads_name(enum ovl_lab_offloads offloads);

#endif
