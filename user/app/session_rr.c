#include "app/session_rr.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/str.h"
#include "load/rr.h"

#define LOOK_NS	      50000000ull
#define IDLE_LEAST_NS 250000000ull
#define IDLE_MOST_NS  1000000000ull /* of a path too slow for IDLE_ENOUGH */
#define IDLE_ENOUGH   1000	    /* round trips: ten of them are above p99 */
/* 200 a second of some 20 µs: less than 0.5 % of a CPU is taken from the load */
#define PACE_NS 5000000ull

static int miss(struct ovl_facts *facts, const char *reason, struct ovl_err *err)
{
	struct ovl_missing *m = ovl_vec_push(&facts->missing);

	if (!m)
		return ovl_err_set(err, OVL_EXIT_FAILED, -ENOMEM, "out of memory");
	ovl_str_copy(m->hook, sizeof(m->hook), "round trips");
	ovl_str_copy(m->reason, sizeof(m->reason), reason);
	ovl_str_copy(m->lost, sizeof(m->lost), "the path's latency, idle and under load");
	return 0;
}

int ovl_session_rr_open(struct ovl_session *s, const struct ovl_options *o, struct ovl_err *err)
{
	struct ovl_err why = OVL_ERR_INIT;

	if (o->latency_off && !o->load_rr)
		return 0;
	for (int which = 0; which < OVL_LOAD_PATHS; which++) {
		if (!s->scene->load.path[which].used)
			continue;
		s->message_bytes = o->load_rr ? ovl_options_length(o) : 1;
		s->rr[which] = ovl_rr_open(s->load, (enum ovl_load_which)which, s->message_bytes,
					   o->load_rr ? err : &why);
		if (s->rr[which])
			continue;
		if (o->load_rr)
			return -EIO;
		if (miss(&s->scene->facts, why.text, err))
			return -ENOMEM;
	}
	return 0;
}

void ovl_session_rr_close(struct ovl_session *s)
{
	for (int which = 0; which < OVL_LOAD_PATHS; which++) {
		ovl_rr_close(s->rr[which]);
		s->rr[which] = NULL;
	}
}

/* A probe that fails spoils nothing else: the run goes on without it. */
static int lose(struct ovl_session *s, int which, const struct ovl_err *why, struct ovl_err *err)
{
	ovl_rr_close(s->rr[which]);
	s->rr[which] = NULL;
	return miss(&s->scene->facts, why->text, err);
}

static struct ovl_latency_delta latency(const struct ovl_session *s, int which,
					const struct ovl_hist *rtt)
{
	return (struct ovl_latency_delta){
		.valid = true,
		.path = which == OVL_LOAD_UNDERLAY ? OVL_PHASE_UNDERLAY : OVL_PHASE_OVERLAY,
		.message_bytes = s->message_bytes,
		.rtt = *rtt,
	};
}

/* A record of its own, in which no time passes: nothing else was measured meanwhile. */
static int keep(struct ovl_session *s, const struct ovl_latency_delta *delta, struct ovl_err *err)
{
	int rc;

	ovl_sample_clear(&s->sample);
	s->sample.start_ts_ns = s->sample.end_ts_ns = ovl_clock_ns();
	s->sample.phase = OVL_PHASE_SETTLE;
	s->sample.latency = *delta;
	rc = ovl_outputs_sample(s->out, &s->sample, err);
	if (!rc && ovl_model_add(s->state, &s->scene->facts, &s->sample))
		rc = ovl_err_set(err, OVL_EXIT_FAILED, -ENOMEM, "out of memory");
	return rc;
}

/* The screen says what goes on; a user who has paused it sees the rest later. */
static void say(struct ovl_session *s, const char *what, int which)
{
	snprintf(s->doing, sizeof(s->doing), "round trips over the %s, %s",
		 which == OVL_LOAD_UNDERLAY ? "underlay" : "overlay", what);
	s->page.message = s->doing;
	ovl_session_paint(s);
}

/* Let them run until there are enough, or the time is over; true: the run shall end. */
static bool wait_enough(struct ovl_session *s, int which, struct ovl_hist *rtt, int *rc,
			struct ovl_err *why)
{
	const uint64_t start = ovl_clock_ns();
	bool ended = false, more = true;

	while (more && !ended && !*rc) {
		const uint64_t now = ovl_clock_ns();

		more = now - start < IDLE_LEAST_NS ||
		       (rtt->count < IDLE_ENOUGH && now - start < IDLE_MOST_NS);
		ended = more && ovl_session_wait(s, now + LOOK_NS);
		*rc = ovl_rr_read(s->rr[which], rtt, why);
	}
	return ended;
}

int ovl_session_rr_idle(struct ovl_session *s, struct ovl_err *err)
{
	int rc = 0;

	for (int which = 0; which < OVL_LOAD_PATHS && !rc && !s->stop; which++) {
		struct ovl_err why = OVL_ERR_INIT;
		struct ovl_hist rtt = {0};
		struct ovl_latency_delta delta;
		bool ended;

		if (!s->rr[which])
			continue;
		say(s, "idle", which);
		ovl_rr_start(s->rr[which], 0);
		ended = wait_enough(s, which, &rtt, &rc, &why);
		if (!rc)
			rc = ovl_rr_pause(s->rr[which], &rtt, &why);
		if (rc) {
			rc = lose(s, which, &why, err);
		} else if (!ended) {
			delta = latency(s, which, &rtt);
			rc = keep(s, &delta, err);
		}
	}
	s->page.message = NULL;
	return rc;
}

static int loaded(struct ovl_session *s, int which, struct ovl_err *err)
{
	struct ovl_err why = OVL_ERR_INIT;
	struct ovl_hist rtt = {0};
	struct ovl_latency_delta delta;
	bool ended;
	int rc;

	ovl_load_select(s->load, (enum ovl_load_which)which);
	say(s, "under load", which);
	if (ovl_session_wait(s, ovl_clock_ns() + s->plan.omit_ns))
		return 0;
	ovl_rr_start(s->rr[which], PACE_NS);
	ended = ovl_session_wait(s, ovl_clock_ns() + s->plan.loaded_ns);
	rc = ovl_rr_pause(s->rr[which], &rtt, &why);
	if (rc)
		return lose(s, which, &why, err);
	if (ended)
		return 0;
	delta = latency(s, which, &rtt);
	delta.loaded = true;
	delta.pace_ns = PACE_NS;
	return keep(s, &delta, err);
}

int ovl_session_rr_loaded(struct ovl_session *s, struct ovl_err *err)
{
	int rc = 0;

	/* the overlay first: it is what the run is about */
	for (int which = OVL_LOAD_OVERLAY; which >= OVL_LOAD_UNDERLAY && !rc && !s->stop; which--)
		if (s->rr[which])
			rc = loaded(s, which, err);
	s->page.message = NULL;
	return rc;
}

/* Sleep until an instant, reading often enough that a silent far end is noticed. */
static int wait_reading(struct ovl_session *s, int which, uint64_t until_ts_ns,
			struct ovl_hist *rtt, struct ovl_err *err)
{
	int rc = 0;

	while (!rc && ovl_clock_ns() < until_ts_ns) {
		const uint64_t look = ovl_clock_ns() + OVL_RR_SILENCE_NS / 3;

		if (ovl_session_wait(s, look < until_ts_ns ? look : until_ts_ns))
			return -ECANCELED;
		rc = ovl_rr_read(s->rr[which], rtt, err);
	}
	return rc;
}

int ovl_session_rr_slice(struct ovl_session *s, enum ovl_load_which which, uint32_t pair,
			 struct ovl_err *err)
{
	const uint64_t start = ovl_clock_ns();
	struct ovl_load_delta load = {.valid = true};
	struct ovl_latency_delta delta;
	struct ovl_hist rtt = {0};
	int rc;

	ovl_rr_start(s->rr[which], 0);
	rc = wait_reading(s, (int)which, start + s->plan.omit_ns, &rtt, err);
	if (!rc)
		rc = ovl_session_take(s, OVL_PHASE_SETTLE, pair, NULL, NULL, err);
	if (!rc)
		rc = ovl_rr_read(s->rr[which], &rtt, err);
	memset(&rtt, 0, sizeof(rtt));
	if (!rc)
		rc = wait_reading(s, (int)which, start + s->plan.omit_ns + s->plan.interval_ns,
				  &rtt, err);
	if (rc == -ECANCELED) /* the user ends the run: this slice is no whole one */
		return ovl_rr_pause(s->rr[which], &rtt, err);
	if (!rc)
		rc = ovl_rr_pause(s->rr[which], &rtt, err);
	if (rc)
		return rc;
	/* one after the other: their sum is the time that was measured */
	load.wall_ns = rtt.sum_ns;
	delta = latency(s, (int)which, &rtt);
	rc = ovl_session_take(s,
			      which == OVL_LOAD_UNDERLAY ? OVL_PHASE_UNDERLAY : OVL_PHASE_OVERLAY,
			      pair, &load, &delta, err);
	return rc ? rc : ovl_session_publish(s, err);
}
