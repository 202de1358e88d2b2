#include "app/effect.h"

#include <errno.h>
#include <stdio.h>

#include "base/clock.h"
#include "model/effect.h"

/* Instruments of their own for a while; what opening them adds to the facts is not the run's. */
struct watching {
	struct ovl_collect *collect;
	struct ovl_facts facts;
	struct ovl_sample sample;
};

static int watch_begin(struct watching *w, const struct ovl_session *s,
		       const struct ovl_collect_spec *spec, struct ovl_err *err)
{
	*w = (struct watching){.facts = s->scene->facts};
	/* what is only read stays shared; what is filled again begins empty */
	w->facts.daemons.v = NULL;
	w->facts.daemons.n = w->facts.daemons.cap = 0;
	w->facts.funcs.v = NULL;
	w->facts.funcs.n = w->facts.funcs.cap = 0;
	w->facts.missing.v = NULL;
	w->facts.missing.n = w->facts.missing.cap = 0;
	w->collect = ovl_collect_open(spec, &w->facts, s->scene->target.ns_fd, err);
	if (!w->collect)
		return -EIO;
	return ovl_collect_begin(w->collect, err);
}

static void watch_end(struct watching *w)
{
	ovl_collect_close(w->collect);
	ovl_sample_fini(&w->sample);
	ovl_vec_fini(&w->facts.daemons);
	ovl_vec_fini(&w->facts.funcs);
	ovl_vec_fini(&w->facts.missing);
}

/*
 * Goodput of one slice (bit/s), its start left out; 0 when the session was ended in it. With
 * instruments they are read at its end, as in a run.
 */
static int slice(struct ovl_session *s, struct watching *w, double *bps, struct ovl_err *err)
{
	struct ovl_load_counts before, after;
	int rc;

	*bps = 0;
	if (ovl_session_wait(s, ovl_clock_ns() + s->plan.omit_ns))
		return 0;
	rc = ovl_load_read(s->load, OVL_LOAD_OVERLAY, &before, err);
	if (rc || ovl_session_wait(s, before.ts_ns + OVL_EFFECT_SLICE_NS))
		return rc;
	if (w)
		rc = ovl_collect_end(w->collect, &w->facts, &w->sample, err);
	if (!rc)
		rc = ovl_load_read(s->load, OVL_LOAD_OVERLAY, &after, err);
	if (!rc)
		*bps = (double)(after.bytes - before.bytes) * 8e9 /
		       (double)(after.ts_ns - before.ts_ns);
	return rc;
}

static int watched(struct ovl_session *s, const struct ovl_collect_spec *spec, double bps[2],
		   struct ovl_err *err)
{
	struct watching w;
	int rc = watch_begin(&w, s, spec, err);

	for (int i = 0; i < 2 && !rc; i++)
		rc = slice(s, &w, &bps[i], err);
	watch_end(&w);
	return rc;
}

/* Off, on, on, off: what drifts hits both alike. The ratio with over without; 0: ended. */
static int quad(struct ovl_session *s, const struct ovl_collect_spec *spec, double *ratio,
		struct ovl_err *err)
{
	double off[2], on[2];
	int rc = slice(s, NULL, &off[0], err);

	*ratio = 0;
	if (!rc && !s->stop)
		rc = watched(s, spec, on, err);
	if (!rc && !s->stop)
		rc = slice(s, NULL, &off[1], err);
	if (!rc && !s->stop && off[0] > 0 && off[1] > 0)
		*ratio = (on[0] + on[1]) / (off[0] + off[1]);
	return rc;
}

static int keep(struct ovl_session *s, const struct ovl_effect_delta *delta, struct ovl_err *err)
{
	int rc;

	ovl_sample_clear(&s->sample);
	s->sample.start_ts_ns = s->sample.end_ts_ns = ovl_clock_ns();
	s->sample.phase = OVL_PHASE_SETTLE;
	s->sample.effect = *delta;
	rc = ovl_outputs_sample(s->out, &s->sample, err);
	if (!rc && (ovl_model_add(s->state, &s->scene->facts, &s->sample) ||
		    ovl_model_build(s->state, &s->scene->facts, &s->model)))
		rc = ovl_err_set(err, OVL_EXIT_FAILED, -ENOMEM, "out of memory");
	return rc;
}

int ovl_effect_run(struct ovl_session *s, const struct ovl_collect_spec *spec, struct ovl_err *err)
{
	struct ovl_effect_delta delta;
	double ratio[OVL_EFFECT_QUADS];
	uint32_t n = 0;
	int rc = 0;

	ovl_collect_close(s->collect);
	s->collect = NULL;
	ovl_load_select(s->load, OVL_LOAD_OVERLAY);
	while (!rc && !s->stop && n < OVL_EFFECT_QUADS) {
		snprintf(s->doing, sizeof(s->doing), "what watching costs: turn %u of %u", n + 1,
			 OVL_EFFECT_QUADS);
		s->page.message = s->doing;
		ovl_session_paint(s);
		rc = quad(s, spec, &ratio[n], err);
		if (!rc && ratio[n] > 0)
			n++;
		else if (!rc && !s->stop)
			rc = ovl_err_set(err, OVL_EXIT_FAILED, -EIO,
					 "nothing arrived while the own cost was measured: "
					 "what was measured before is reported");
	}
	s->page.message = NULL;
	ovl_load_select(s->load, OVL_LOAD_PATHS);
	if (rc)
		return rc;
	ovl_effect_take(ratio, n, &delta);
	return keep(s, &delta, err);
}
