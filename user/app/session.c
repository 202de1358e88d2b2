#include "app/session.h"

#include <errno.h>
#include <math.h>
#include <poll.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "app/delta.h"
#include "app/session_rr.h"
#include "base/clock.h"

#define SECOND_NS	    1000000000ull
#define PAIRS_BEFORE_LOADED 3 /* in a run without an end */
#define LOADED_LEAST_NS	    300000000ull
#define FIRST_LOOK_NS	    400000000ull /* a screen shows its first numbers after this */

void ovl_plan_make(const struct ovl_options *o, bool underlay, bool until_quit,
		   struct ovl_plan *plan)
{
	double total_s = isnan(o->for_s) ? 10 : o->for_s;
	double slice_s = isnan(o->interval_s) ? 0.833 : o->interval_s;
	double per_pair = underlay ? 2 : 1;

	*plan = (struct ovl_plan){.omit_ns = SECOND_NS / 5, .warmup_ns = SECOND_NS / 2};
	if (!isnan(o->omit_s))
		plan->warmup_ns = (uint64_t)(o->omit_s * 1e9);
	if (!o->load) {
		plan->interval_ns = (uint64_t)((isnan(o->interval_s) ? 1 : o->interval_s) * 1e9);
		if (!isnan(o->for_s)) {
			plan->intervals = (uint64_t)fmax(
				1, floor(o->for_s * 1e9 / (double)plan->interval_ns));
			plan->interval_ns = (uint64_t)(o->for_s * 1e9 / (double)plan->intervals);
		} else {
			plan->intervals = o->count ? o->count : until_quit ? 0 : 10;
		}
		return;
	}
	/*
	 * The jackknife wants six pairs; short runs take shorter slices, but none below half a
	 * second (the idle clock counts in 10 ms).
	 */
	if (o->count)
		plan->pairs = o->count;
	else if (!isnan(o->interval_s))
		plan->pairs = (uint64_t)fmax(1, round(total_s / (per_pair * slice_s)));
	else if (total_s >= 10)
		plan->pairs = (uint64_t)round(total_s / (per_pair * slice_s));
	else
		plan->pairs = (uint64_t)fmin(6, fmax(1, floor(total_s / (per_pair * 0.5))));
	plan->interval_ns = (uint64_t)(o->count ? slice_s * 1e9
						: total_s * 1e9 / per_pair / (double)plan->pairs);
	/* a tenth on top of what is measured, within reason */
	plan->loaded_ns = plan->interval_ns * plan->pairs * (underlay ? 2 : 1) / 10;
	plan->loaded_ns = plan->loaded_ns < LOADED_LEAST_NS ? LOADED_LEAST_NS
			  : plan->loaded_ns > SECOND_NS	    ? SECOND_NS
							    : plan->loaded_ns;
	if (isnan(o->for_s) && !o->count && until_quit)
		plan->pairs = 0;
}

void ovl_session_paint(struct ovl_session *s)
{
	uint64_t now = ovl_clock_ns();

	if (!s->out->screen)
		return;
	if (s->page.state == OVL_STATE_PAUSED) {
		s->page.behind_s = (uint32_t)((now - s->drawn_ts_ns) / SECOND_NS);
	} else {
		ovl_outputs_clock(s->page.clock, sizeof(s->page.clock));
		s->drawn_ts_ns = now;
	}
	ovl_outputs_paint(s->out, &s->scene->facts, &s->model, &s->page);
}

static void on_key(struct ovl_session *s, enum ovl_key key)
{
	if (s->page.help && key != OVL_KEY_RESIZE && key != OVL_KEY_QUIT) {
		s->page.help = false;
		return;
	}
	switch (key) {
	case OVL_KEY_QUIT:
		s->stop = true;
		s->reason = "quit";
		break;
	case OVL_KEY_HELP: s->page.help = true; break;
	case OVL_KEY_PAUSE:
		s->page.state =
			s->page.state == OVL_STATE_PAUSED ? OVL_STATE_LIVE : OVL_STATE_PAUSED;
		s->page.behind_s = 0;
		break;
	default: break;
	}
}

static void on_input(struct ovl_session *s)
{
	enum ovl_key key;
	bool any = false;

	while (!s->stop && s->out->screen &&
	       (key = ovl_screen_key(s->out->screen)) != OVL_KEY_NONE) {
		on_key(s, key);
		any = true;
	}
	if (any)
		ovl_session_paint(s);
}

bool ovl_session_wait(struct ovl_session *s, uint64_t until_ts_ns)
{
	for (;;) {
		struct pollfd fds[2] = {
			{.fd = s->signal_fd, .events = POLLIN},
			{.fd = s->out->screen ? STDIN_FILENO : -1, .events = POLLIN}};
		uint64_t now = ovl_clock_ns();
		struct timespec left = {0};
		int n;

		on_input(s); /* a resize just before the wait shows up only here */
		if (s->stop || s->out->reader_gone)
			return true;
		if (now >= until_ts_ns)
			return false;
		left.tv_sec = (time_t)((until_ts_ns - now) / SECOND_NS);
		left.tv_nsec = (long)((until_ts_ns - now) % SECOND_NS);
		n = ppoll(fds, 2, &left, NULL);
		if (n < 0) { /* EINTR: a resize, which curses turns into a key */
			on_input(s);
			continue;
		}
		if (fds[0].revents & POLLIN) {
			struct signalfd_siginfo info;

			if (read(s->signal_fd, &info, sizeof(info)) == (ssize_t)sizeof(info)) {
				s->stop = true;
				s->reason = "signal";
			}
		}
		if (fds[1].revents & (POLLIN | POLLHUP | POLLERR)) {
			on_input(s);
			if (fds[1].revents & (POLLHUP | POLLERR)) {
				s->stop = true;
				s->reason = "terminal gone";
			}
		}
	}
}

int ovl_session_take(struct ovl_session *s, enum ovl_phase phase, uint32_t pair,
		     const struct ovl_load_delta *load, const struct ovl_latency_delta *latency,
		     struct ovl_err *err)
{
	struct ovl_facts *facts = &s->scene->facts;
	int rc = ovl_collect_end(s->collect, facts, &s->sample, err);

	if (rc)
		return rc;
	ovl_collect_costs(s->collect, facts);
	ovl_collect_refresh(s->collect, facts);
	s->sample.phase = (uint8_t)phase;
	s->sample.pair = pair;
	if (load)
		s->sample.load = *load;
	if (latency)
		s->sample.latency = *latency;
	rc = ovl_outputs_sample(s->out, &s->sample, err);
	if (!rc && ovl_model_add(s->state, facts, &s->sample))
		rc = ovl_err_set(err, OVL_EXIT_FAILED, -ENOMEM, "out of memory");
	ovl_vec_each(link, &s->sample.links)
		if (!rc && link->gone && (int)link->link == facts->iface)
			rc = ovl_err_set(
				err, OVL_EXIT_INPUT, -ENODEV,
				"%s has vanished while it was watched: what was measured until "
				"then is reported; start again when it is back",
				ovl_facts_iface(facts)->name);
	return rc;
}

int ovl_session_publish(struct ovl_session *s, struct ovl_err *err)
{
	if (s->page.state != OVL_STATE_PAUSED || !s->out->screen) {
		if (ovl_model_build(s->state, &s->scene->facts, &s->model))
			return ovl_err_set(err, OVL_EXIT_FAILED, -ENOMEM, "out of memory");
	}
	ovl_session_paint(s);
	return ovl_outputs_interval(s->out, &s->scene->facts, &s->model, err);
}

/* One slice: let the path carry the load, leave its start out, measure the rest. */
static int slice(struct ovl_session *s, enum ovl_load_which which, uint32_t pair,
		 struct ovl_err *err)
{
	enum ovl_phase phase = which == OVL_LOAD_UNDERLAY ? OVL_PHASE_UNDERLAY : OVL_PHASE_OVERLAY;
	struct ovl_tally *tally = which == OVL_LOAD_OVERLAY ? s->tally : NULL;
	struct ovl_load_counts before, after;
	struct ovl_load_delta delta;
	uint64_t start = ovl_clock_ns();
	int rc;

	ovl_load_select(s->load, which);
	if (ovl_session_wait(s, start + s->plan.omit_ns))
		return 0;
	rc = ovl_session_take(s, OVL_PHASE_SETTLE, pair, NULL, NULL, err);
	if (tally)
		ovl_tally_begin(tally);
	/* what that reading took is no part of the slice */
	start = ovl_clock_ns();
	if (!rc)
		rc = ovl_load_read(s->load, which, &before, err);
	if (!rc && tally)
		ovl_tally_base(tally, &before);
	ovl_collect_hold(s->collect, which != OVL_LOAD_OVERLAY);
	if (rc || ovl_session_wait(s, start + s->plan.interval_ns))
		return rc;
	ovl_collect_hold(s->collect, true);
	if (tally && ovl_tally_row(tally, false))
		return ovl_err_set(err, OVL_EXIT_FAILED, -ENOMEM, "out of memory");
	rc = ovl_load_read(s->load, which, &after, err);
	if (rc)
		return rc;
	if (tally)
		ovl_tally_read(tally, &after);
	ovl_delta_take(&before, &after, &delta);
	rc = ovl_session_take(s, phase, pair, &delta, NULL, err);
	return rc ? rc : ovl_session_publish(s, err);
}

/* Before the first slice: round trips over paths at rest, then each is loaded a while. */
static int warm_up(struct ovl_session *s, bool underlay, struct ovl_err *err)
{
	int rc;

	s->page.state = OVL_STATE_WARMUP;
	rc = s->rr_only ? 0 : ovl_session_rr_idle(s, err);
	for (int which = underlay ? OVL_LOAD_UNDERLAY : OVL_LOAD_OVERLAY;
	     which < OVL_LOAD_PATHS && !rc && !s->stop && !s->rr_only; which++) {
		ovl_load_select(s->load, (enum ovl_load_which)which);
		ovl_session_paint(s);
		ovl_session_wait(s, ovl_clock_ns() + s->plan.warmup_ns);
	}
	if (s->page.state == OVL_STATE_WARMUP)
		s->page.state = OVL_STATE_LIVE;
	return rc;
}

static int one_slice(struct ovl_session *s, enum ovl_load_which which, uint32_t pair,
		     struct ovl_err *err)
{
	return s->rr_only ? ovl_session_rr_slice(s, which, pair, err) : slice(s, which, pair, err);
}

/*
 * When the last slice has been measured, or some have in a run without an end: what follows is no
 * part of any.
 */
static int after_pair(struct ovl_session *s, uint32_t pair, struct ovl_err *err)
{
	const uint64_t last = (s->plan.pairs ? s->plan.pairs : PAIRS_BEFORE_LOADED) - 1;

	if (pair != last || s->stop || s->out->reader_gone || s->rr_only)
		return 0;
	return ovl_session_rr_loaded(s, err);
}

static int run_load(struct ovl_session *s, struct ovl_err *err)
{
	bool underlay = s->scene->load.path[OVL_LOAD_UNDERLAY].used;
	int rc = warm_up(s, underlay, err);

	ovl_collect_hold(s->collect, true);
	if (!rc)
		rc = ovl_collect_begin(s->collect, err);
	/* u o, o u, u o, …: what drifts hits both alike */
	for (uint32_t pair = 0; !rc && !s->stop && (!s->plan.pairs || pair < s->plan.pairs);
	     pair++) {
		enum ovl_load_which first = pair % 2 ? OVL_LOAD_OVERLAY : OVL_LOAD_UNDERLAY;

		if (underlay)
			rc = one_slice(s, first, pair, err);
		if (!rc && !s->stop)
			rc = one_slice(s,
				       underlay && first == OVL_LOAD_OVERLAY ? OVL_LOAD_UNDERLAY
									     : OVL_LOAD_OVERLAY,
				       pair, err);
		if (!rc)
			rc = after_pair(s, pair, err);
		if (s->out->reader_gone)
			break;
	}
	ovl_load_select(s->load, OVL_LOAD_PATHS);
	return rc;
}

/* A screen is not left empty for a whole interval: its first piece is shown early. */
static int first_look(struct ovl_session *s, uint64_t start_ts_ns, struct ovl_err *err)
{
	int rc;

	ovl_session_paint(s);
	if (!s->out->screen || s->plan.interval_ns <= 2 * FIRST_LOOK_NS ||
	    ovl_session_wait(s, start_ts_ns + FIRST_LOOK_NS))
		return 0;
	rc = ovl_session_take(s, OVL_PHASE_OBSERVE, 0, NULL, NULL, err);
	if (!rc && ovl_model_build(s->state, &s->scene->facts, &s->model))
		rc = ovl_err_set(err, OVL_EXIT_FAILED, -ENOMEM, "out of memory");
	ovl_session_paint(s);
	return rc;
}

static int run_observe(struct ovl_session *s, struct ovl_err *err)
{
	uint64_t edge = ovl_clock_ns();
	int rc = ovl_collect_begin(s->collect, err);

	if (!rc)
		rc = first_look(s, edge, err);
	for (uint32_t i = 0; !rc && (!s->plan.intervals || i < s->plan.intervals); i++) {
		bool ended = ovl_session_wait(s, edge += s->plan.interval_ns);

		if (ended || i + 1 == s->plan.intervals)
			ovl_collect_last(s->collect);
		rc = ovl_session_take(s, OVL_PHASE_OBSERVE, i, NULL, NULL, err);
		if (!rc)
			rc = ovl_session_publish(s, err);
		if (ended)
			break;
		/* after SIGSTOP or a suspend: no burst of empty intervals to catch up */
		if (ovl_clock_ns() > edge + s->plan.interval_ns)
			edge = ovl_clock_ns();
	}
	return rc;
}

int ovl_session_run(struct ovl_session *s, struct ovl_err *err)
{
	struct ovl_err later = OVL_ERR_INIT;
	int rc;

	s->reason = "done";
	s->state = ovl_model_new();
	if (!s->state || ovl_model_build(s->state, &s->scene->facts, &s->model))
		return ovl_err_set(err, OVL_EXIT_FAILED, -ENOMEM, "out of memory");
	ovl_outputs_clock(s->page.clock, sizeof(s->page.clock));
	rc = s->load ? run_load(s, err) : run_observe(s, err);
	if (s->load && !rc) {
		/* what happened since the last edge still counts for drops and traffic */
		ovl_collect_last(s->collect);
		ovl_session_take(s, OVL_PHASE_SETTLE, 0, NULL, NULL, &later);
	}
	if (ovl_model_build(s->state, &s->scene->facts, &s->model) && !rc)
		rc = ovl_err_set(err, OVL_EXIT_FAILED, -ENOMEM, "out of memory");
	return rc;
}
