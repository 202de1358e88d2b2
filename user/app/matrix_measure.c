#include "app/matrix_measure.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "app/matrix_alone.h"
#include "app/matrix_latency.h"
#include "app/outputs.h"
#include "app/run.h"
#include "app/scene.h"
#include "app/session.h"
#include "base/str.h"

int ovl_matrix_labs_free(const struct ovl_matrix_suite *suite, struct ovl_err *err)
{
	for (uint32_t i = 0; i < suite->n; i++) {
		const char *topology = suite->paths[i].lab.topology;
		struct ovl_err no = OVL_ERR_INIT;
		struct ovl_lab lab;
		int rc = ovl_lab_open(topology, &lab, &no);

		if (rc == -ENOENT)
			continue;
		if (!rc)
			ovl_lab_close(&lab);
		return ovl_err_set(
			err, OVL_EXIT_FAILED, -EEXIST,
			"matrix %s makes lab %s, which is there already: it is not touched; if "
			"nobody needs it, `ovltrace lab down %s`, or give matrix a private /run "
			"(unshare --mount)",
			suite->name, topology, topology);
	}
	return 0;
}

/* The options of an ordinary run that would measure this row in its lab. */
static int options_of(const struct ovl_matrix_path *path, const struct ovl_matrix_how *how,
		      const struct ovl_lab *lab, struct ovl_options *o, struct ovl_err *err)
{
	const struct ovl_lab_end *at =
		path->at ? ovl_lab_end(lab, path->at) : &lab->ends[lab->iface_end];

	if (!at)
		return ovl_err_set(err, OVL_EXIT_FAILED, -EINVAL, "lab %s has no end %s",
				   lab->topology, path->at);
	*o = (struct ovl_options){
		.iface = path->iface ? path->iface : lab->iface,
		.netns = at->netns,
		.load = true,
		.from = path->from,
		.peer = path->to,
		.baseline = path->host ? "off" : "auto",
		.for_s = path->host ? how->bulk_s : 2 * how->bulk_s,
		.interval_s = NAN,
		.omit_s = NAN,
		.streams = 1,
		.latency_off = true, /* it has a time of its own here */
	};
	return 0;
}

/* With the instruments. s->collect stays NULL where these cannot be had. */
static int traced(struct ovl_session *s, const struct ovl_options *o, struct ovl_matrix_how *how,
		  struct ovl_matrix_turn *turn, struct ovl_err *err)
{
	struct ovl_outputs none;
	int rc;

	ovl_outputs_none(o, &none);
	s->out = &none;
	s->signal_fd = none.signal_fd = how->signal_fd;
	rc = ovl_run_instruments(s, o, err);
	if (rc)
		return rc;
	ovl_plan_make(o, s->scene->load.path[OVL_LOAD_UNDERLAY].used, false, &s->plan);
	s->scene->facts.interval_ns = s->plan.interval_ns;
	rc = ovl_session_run(s, err);
	how->stopped = s->stop;
	if (!rc && !how->stopped)
		ovl_matrix_take(turn, &s->scene->facts, &s->model);
	return rc;
}

static void session_close(struct ovl_session *s)
{
	ovl_load_stop(s->load);
	ovl_collect_close(s->collect);
	ovl_model_fini(&s->model);
	ovl_model_free(s->state);
	ovl_sample_fini(&s->sample);
}

/* Bulk, then round trips over the same load's path. */
static int load(struct ovl_scene *scene, const struct ovl_options *o, struct ovl_matrix_how *how,
		struct ovl_matrix_turn *turn, struct ovl_err *err)
{
	struct ovl_session s = {.scene = scene, .signal_fd = -1};
	int rc = 0;

	if (how->trace) {
		rc = traced(&s, o, how, turn, err);
		if (rc && !s.collect &&
		    (err->exit == OVL_EXIT_RIGHTS || err->exit == OVL_EXIT_KERNEL)) {
			how->trace = false;
			ovl_str_copy(how->untraced, sizeof(how->untraced), err->text);
			rc = 0;
		}
	}
	if (!rc && !how->trace) {
		s.load = ovl_load_start(&scene->load, err);
		rc = s.load ? ovl_matrix_alone(s.load, scene, o, how, turn, err) : -EIO;
	}
	/* the instruments are not to be felt in the round trips */
	ovl_collect_close(s.collect);
	s.collect = NULL;
	if (!rc && !how->stopped)
		rc = ovl_matrix_latency(s.load, how, turn, err);
	session_close(&s);
	return rc;
}

static int in_lab(const struct ovl_matrix_path *path, const struct ovl_lab *lab,
		  struct ovl_matrix_how *how, struct ovl_matrix_turn *turn, struct ovl_err *err)
{
	struct ovl_scene scene;
	struct ovl_options o;
	int rc = options_of(path, how, lab, &o, err);

	if (rc)
		return rc;
	rc = ovl_scene_open(&o, &scene, err);
	if (!rc)
		rc = load(&scene, &o, how, turn, err);
	ovl_scene_close(&scene);
	return rc;
}

int ovl_matrix_measure(const struct ovl_matrix_path *path, struct ovl_matrix_how *how,
		       struct ovl_matrix_turn *turn, struct ovl_err *err)
{
	struct ovl_err later = OVL_ERR_INIT;
	struct ovl_buf said = {0};
	struct ovl_lab lab;
	int rc = ovl_lab_up(&path->lab, &lab, err), down;

	if (rc)
		return rc;
	rc = in_lab(path, &lab, how, turn, err);
	ovl_lab_close(&lab);
	down = ovl_lab_down(path->lab.topology, &said, rc ? &later : err);
	ovl_buf_fini(&said);
	/* a missing file is not a missing program */
	if (rc == -ENOENT)
		rc = -EIO;
	return rc ? rc : down;
}
