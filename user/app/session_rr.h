/*
 * Round trips of a session (load/rr.h): of each path before the load, of each path while the load
 * fills it, and as a load of their own (--load rr). They never run while a slice of bulk is
 * measured.
 */
#ifndef OVL_APP_SESSION_RR_H
#define OVL_APP_SESSION_RR_H

#include "app/session.h"

/**
 * The load has started: connections for round trips of its paths. What cannot be had is noted in
 * the facts' missing instruments; with --load rr it is an error. 0 or -errno with *err.
 */
int ovl_session_rr_open(struct ovl_session *s, const struct ovl_options *o, struct ovl_err *err);
/** Each path at rest. 0 or -errno with *err. */
int ovl_session_rr_idle(struct ovl_session *s, struct ovl_err *err);
/** Each path while it carries the load, which is left running on the last. 0 or -errno. */
int ovl_session_rr_loaded(struct ovl_session *s, struct ovl_err *err);
/** --load rr: one slice of round trips over a path. 0 or -errno with *err. */
int ovl_session_rr_slice(struct ovl_session *s, enum ovl_load_which which, uint32_t pair,
			 struct ovl_err *err);
/** Before the load is stopped. */
void ovl_session_rr_close(struct ovl_session *s);

#endif
