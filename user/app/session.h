/*
 * A session: the loop of a run. Waits for the next edge, reads the instruments there, feeds the
 * model and hands the result to the outputs. Knows the order of slices; knows no screen, socket or
 * map.
 */
#ifndef OVL_APP_SESSION_H
#define OVL_APP_SESSION_H

#include <stdbool.h>
#include <stdint.h>

#include "app/options.h"
#include "app/outputs.h"
#include "app/scene.h"
#include "app/tally.h"
#include "base/err.h"
#include "collect/collect.h"
#include "model/model.h"

/** How long and in which pieces a run measures; derived from the options alone. */
struct ovl_plan {
	uint64_t interval_ns; /* observe: one interval; load: the measured part of a slice */
	uint64_t omit_ns;     /* load: start of each slice that is not measured */
	uint64_t warmup_ns;   /* load: per path, before the first slice */
	uint64_t loaded_ns;   /* load: per path, round trips while it is filled */
	/* load: ABBA pairs (single slices without underlay); 0: until told to stop */
	uint64_t pairs;
	uint64_t intervals; /* observe: 0: until told to stop */
};

/** The plan of a run. `until_quit`: a screen without a length runs until q. Pure. */
void ovl_plan_make(const struct ovl_options *o, bool underlay, bool until_quit,
		   struct ovl_plan *plan);

struct ovl_session {
	struct ovl_scene *scene;
	struct ovl_collect *collect;
	struct ovl_load *load; /* NULL: none of ours */
	int finish_rc;	       /* of ovl_load_finish */
	struct ovl_err finish_err;
	/* NULL: the path is not used, or has no round trips */
	struct ovl_rr *rr[OVL_LOAD_PATHS];
	uint32_t message_bytes;	 /* of theirs */
	bool rr_only;		 /* --load rr */
	struct ovl_tally *tally; /* NULL: nobody wants iperf3's document */
	struct ovl_outputs *out;
	struct ovl_plan plan;
	int signal_fd;
	struct ovl_model_state *state;
	struct ovl_model model;
	struct ovl_sample sample;
	struct ovl_page_state page;
	uint64_t drawn_ts_ns; /* what the screen shows is this old; behind the data when paused */
	bool stop;	      /* q, a signal, or the reader of stdout left */
	const char *reason;   /* why it ended */
	char doing[64];	      /* page.message, while it says what goes on */
};

/**
 * Measure until the plan is done or the user stops. 0, or -errno with *err (results so far are
 * kept).
 */
int ovl_session_run(struct ovl_session *s, struct ovl_err *err);

/* For the parts of a session (session_rr.c). */

/** Wait for an instant while keys and signals are served; true when the run shall end. */
bool ovl_session_wait(struct ovl_session *s, uint64_t until_ts_ns);
/**
 * End the current interval as a piece of this phase and let the model have it; load and latency
 * may be NULL. 0 or -errno with *err.
 */
int ovl_session_take(struct ovl_session *s, enum ovl_phase phase, uint32_t pair,
		     const struct ovl_load_delta *load, const struct ovl_latency_delta *latency,
		     struct ovl_err *err);
/** Let the outputs have the model as it is now. 0 or -errno with *err. */
int ovl_session_publish(struct ovl_session *s, struct ovl_err *err);
/** Repaint the screen, if there is one. */
void ovl_session_paint(struct ovl_session *s);

#endif
