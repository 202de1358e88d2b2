#include "app/run.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bpf/abi.h"
#include "app/effect.h"
#include "app/judge.h"
#include "app/outputs.h"
#include "app/notrace.h"
#include "app/scene.h"
#include "app/signals.h"
#include "app/session.h"
#include "app/session_rr.h"
#include "base/str.h"
#include "load/rr.h"
#include "load/rr_server.h"

#define CALIBRATE_NS 200000000
#define SAMPLE_HZ    997 /* off any round rate that timers run at */
/* of a busy CPU, for the sampler; the rest of 2 % is left to the reading */
#define SAMPLE_BUDGET 0.009
#define WINDOW_BUDGET 0.005 /* of a CPU, for counting packets */

/* Threads of round trips in this process, which are known by their names. */
static int name_rr(struct ovl_session *s)
{
	DIR *dir = opendir("/proc/self/task");
	struct dirent *e;
	int rc = 0;

	while (dir && !rc && (e = readdir(dir))) {
		char path[64], name[32] = "";
		FILE *f;

		snprintf(path, sizeof(path), "/proc/self/task/%.16s/comm", e->d_name);
		f = fopen(path, "re");
		if (!f)
			continue;
		if (fgets(name, sizeof(name), f) && !strcmp(name, OVL_RR_THREAD "\n"))
			rc = ovl_collect_class(s->collect, atoi(e->d_name), OVL_TASK_LOAD_TX);
		else if (!strcmp(name, OVL_RR_SERVER_THREAD "\n"))
			rc = ovl_collect_class(s->collect, atoi(e->d_name), OVL_TASK_LOAD_RX);
		fclose(f);
	}
	if (dir)
		closedir(dir);
	return rc;
}

/* The sampler must know whose work a task does before the first packet. */
static int name_tasks(struct ovl_session *s, struct ovl_err *err)
{
	pid_t tids[OVL_LOAD_STREAMS_MAX];
	int rc = ovl_collect_class(s->collect, gettid(), OVL_TASK_SELF);

	for (int sender = 0; s->load && sender < 2; sender++) {
		uint32_t n = ovl_load_tids(s->load, sender, tids, OVL_LOAD_STREAMS_MAX);

		for (uint32_t i = 0; i < n && !rc; i++)
			rc = ovl_collect_class(s->collect, tids[i],
					       sender ? OVL_TASK_LOAD_TX : OVL_TASK_LOAD_RX);
	}
	if (!rc && s->load)
		rc = name_rr(s);
	return rc ? ovl_err_set(
			    err, OVL_EXIT_FAILED, rc,
			    "cannot tell the sampler which tasks are the load's: %s; without that "
			    "its work would count as other tasks'",
			    strerror(-rc))
		  : 0;
}

/* The interval as the plan made it, for the JSON document's `config`. */
static int note_interval(struct ovl_facts *facts)
{
	struct ovl_setting *s = ovl_vec_push(&facts->config);

	if (!s)
		return -ENOMEM;
	snprintf(s->name, sizeof(s->name), "interval");
	snprintf(s->value, sizeof(s->value), "%.3f", (double)facts->interval_ns / 1e9);
	return 0;
}

/* Who answered, and what is missing because of it. */
static void name_peer(struct ovl_session *s)
{
	struct ovl_load_facts *f = &s->scene->facts.load;
	const char *kind = ovl_load_peer_kind(s->load, OVL_LOAD_OVERLAY);
	size_t n = strlen(f->where);

	/* of a far end that sends, only what it was asked for is known */
	ovl_str_copy(f->congestion, sizeof(f->congestion),
		     s->scene->load.remote && s->scene->load.reverse
			     ? s->scene->load.congestion
			     : ovl_load_congestion(s->load));
	if (!s->scene->load.remote)
		return;
	snprintf(f->peer_kind, sizeof(f->peer_kind), "%s", kind);
	if (s->scene->load.reverse)
		snprintf(f->where + n, sizeof(f->where) - n,
			 "; sent by the far end, whose CPU and TCP are unknown here");
	else if (strcmp(kind, "ovltrace") != 0)
		snprintf(f->where + n, sizeof(f->where) - n,
			 "; counted where TCP saw bytes acknowledged (%s), receiver's CPU unknown",
			 kind);
}

static double percent(uint64_t part, uint64_t whole)
{
	return whole ? 100 * (double)part / (double)whole : 0;
}

/*
 * An iperf3 server's own count against ours, once it can be asked. One that does not answer spoils
 * nothing that was measured.
 */
static void tell_agreement(const struct ovl_session *s)
{
	if (s->finish_rc)
		fprintf(stderr, "ovltrace: counts could not be compared: %s\n", s->finish_err.text);
	for (int which = 0; which < OVL_LOAD_PATHS; which++) {
		const char *name = which == OVL_LOAD_OVERLAY ? "overlay" : "underlay";
		struct ovl_load_agreement a;
		char sentence[OVL_TEXT_MAX];

		if (!s->scene->load.path[which].used ||
		    !ovl_load_agreement(s->load, (enum ovl_load_which)which, &a))
			continue;
		if (ovl_load_disagree(&a, sentence, sizeof(sentence)))
			fprintf(stderr, "ovltrace: %s: %s\n", name, sentence);
		if (strcmp(ovl_load_peer_kind(s->load, (enum ovl_load_which)which), "iperf3") != 0)
			continue;
		if (s->scene->load.reverse)
			fprintf(stderr,
				"ovltrace: the iperf3 server at the end of the %s sent %llu bytes "
				"in all, %.2f %% of those received here\n",
				name, (unsigned long long)a.acked_bytes,
				percent(a.acked_bytes, a.received_bytes));
		else
			fprintf(stderr,
				"ovltrace: the iperf3 server at the end of the %s received %llu "
				"bytes in all, %.2f %% of those acknowledged, and used %.1f %% of "
				"a CPU\n",
				name, (unsigned long long)a.received_bytes,
				percent(a.received_bytes, a.acked_bytes),
				100 * a.receiver_cpu_ratio);
	}
}

static struct ovl_packets_spec packets(const struct ovl_options *o)
{
	uint64_t ms = o->window_ms < 0 ? 0 : (uint64_t)o->window_ms;

	return (struct ovl_packets_spec){
		.deep = o->deep,
		.window_ns = ms * 1000000,
		.budget_ratio = WINDOW_BUDGET,
	};
}

static struct ovl_collect_spec instruments(const struct ovl_options *o)
{
	return (struct ovl_collect_spec){
		.sample_hz = o->sample_hz ? o->sample_hz : SAMPLE_HZ,
		.sample_budget_ratio = o->sample_hz ? 0 : SAMPLE_BUDGET,
		.calibrate_ns = CALIBRATE_NS,
		.packets = packets(o),
		.tier = o->tier,
	};
}

/* The same again, at the rate that the calibration led to. */
static int measure_effect(struct ovl_session *s, const struct ovl_options *o, struct ovl_err *err)
{
	struct ovl_collect_spec spec = instruments(o);

	spec.calibrate_ns = 0;
	spec.sample_budget_ratio = 0;
	spec.sample_hz = s->scene->facts.sample_hz;
	return ovl_effect_run(s, &spec, err);
}

int ovl_run_instruments(struct ovl_session *s, const struct ovl_options *o, struct ovl_err *err)
{
	const struct ovl_collect_spec spec = instruments(o);

	s->collect = ovl_collect_open(&spec, &s->scene->facts, s->scene->target.ns_fd, err);
	if (!s->collect)
		return -EIO;
	if (s->scene->has_load) {
		s->load = ovl_load_start(&s->scene->load, err);
		if (!s->load)
			return -EIO;
		name_peer(s);
		s->rr_only = o->load_rr;
		if (ovl_session_rr_open(s, o, err))
			return -EIO;
		if (s->tally && ovl_tally_open(s->tally, s->load, &s->scene->load, o, true))
			return ovl_err_set(err, OVL_EXIT_FAILED, -ENOMEM, "out of memory");
	}
	return name_tasks(s, err);
}

static int start(struct ovl_session *s, const struct ovl_options *o, struct ovl_err *err)
{
	struct ovl_facts *facts = &s->scene->facts;

	if (ovl_run_instruments(s, o, err))
		return -EIO;
	/*
	 * until here a signal just ends the program: nothing outlives it, nothing is measured yet
	 */
	s->signal_fd = s->out->signal_fd = ovl_signals_open();
	if (s->signal_fd < 0)
		return ovl_err_set(err, OVL_EXIT_FAILED, s->signal_fd,
				   "cannot watch for signals: %s", strerror(-s->signal_fd));
	s->out->live = true;
	ovl_outputs_screen(s->out);
	ovl_plan_make(o, s->scene->load.path[OVL_LOAD_UNDERLAY].used, s->out->screen != NULL,
		      &s->plan);
	facts->interval_ns = s->plan.interval_ns;
	if (note_interval(facts))
		return ovl_err_set(err, OVL_EXIT_FAILED, -ENOMEM, "out of memory");
	return ovl_outputs_start(s->out, facts, err);
}

/* The overlay's slices, one after the other, in iperf3's words. */
static int write_iperf3(struct ovl_session *s, const struct ovl_err *failed, struct ovl_err *err)
{
	ovl_load_finish(s->load, NULL);
	ovl_tally_finish(s->tally, false, false);
	if (failed)
		s->tally->transfer.error = failed->text;
	return ovl_outputs_iperf3(s->out, &s->tally->transfer, err);
}

/* End the load, and note in what is written whether its two ends agree. */
static void finish_load(struct ovl_session *s)
{
	struct ovl_load_agreement both;
	char *text = s->scene->facts.load.disagreement;

	s->finish_rc = ovl_load_finish(s->load, &s->finish_err);
	if (!ovl_load_agreement(s->load, OVL_LOAD_OVERLAY, &both) ||
	    !ovl_load_disagree(&both, text, sizeof(s->scene->facts.load.disagreement)))
		return;
	if (!*s->model.load.disturbed)
		ovl_str_copy(s->model.load.disturbed, sizeof(s->model.load.disturbed), text);
}

/*
 * The end of a run that has facts and a model: it is judged, everything is written, and then the
 * first error is returned, the run's own (how->code is not 0 then) first.
 */
static int finish(struct ovl_judge *judge, struct ovl_outputs *out, const struct ovl_facts *facts,
		  const struct ovl_model *model, struct ovl_view_exit *how, struct ovl_err *err)
{
	struct ovl_err writing = OVL_ERR_INIT;
	struct ovl_buf text = {0};
	int rc = 0, written;

	if (!how->code)
		rc = ovl_judge_run(judge, facts, model, &text, err);
	if (rc) {
		how->code = err->exit;
		how->reason = err->text;
	}
	written = ovl_outputs_finish(out, facts, model, &text, how, &writing);
	ovl_buf_fini(&text);
	if (!rc && written) {
		*err = writing;
		rc = written;
	}
	return rc;
}

static int measure(struct ovl_session *s, struct ovl_judge *judge, const struct ovl_options *o,
		   struct ovl_err *err)
{
	struct ovl_view_exit how = {OVL_EXIT_OK, "done"};
	struct ovl_err later = OVL_ERR_INIT;
	int rc = start(s, o, err), finished;

	if (rc)
		return rc;
	rc = ovl_session_run(s, err);
	if (!rc && o->self_cost && !s->stop && !s->out->reader_gone)
		rc = measure_effect(s, o, err);
	if (s->load && !rc)
		finish_load(s);
	how.reason = s->reason;
	if (rc) {
		how.code = err->exit;
		how.reason = err->text;
	}
	finished = finish(judge, s->out, &s->scene->facts, &s->model, &how, rc ? &later : err);
	return rc ? rc : finished;
}

/* `--no-trace --iface`: in a lab, a twin or towards a peer, over the interface's path alone. */
static int load_scene(const struct ovl_options *o, struct ovl_err *err)
{
	struct ovl_options alone = *o;
	struct ovl_scene scene;
	int rc;

	alone.baseline = "off";
	rc = ovl_scene_open(&alone, &scene, err);
	if (!rc && *scene.said)
		fprintf(stderr, "ovltrace: %s\n", scene.said);
	ovl_notrace_tell(o, &scene.load);
	if (!rc)
		rc = ovl_notrace_run(o, &scene.load, &scene.facts, err);
	ovl_scene_close(&scene);
	return rc;
}

int ovl_cmd_run(const struct ovl_options *o, struct ovl_err *err)
{
	struct ovl_outputs out;
	struct ovl_scene scene;
	struct ovl_judge judge = {0};
	struct ovl_tally tally = {0};
	struct ovl_session s = {.scene = &scene,
				.out = &out,
				.tally = o->json_iperf3.on ? &tally : NULL,
				.finish_err = OVL_ERR_INIT,
				.signal_fd = -1};
	int rc;

	if (o->no_trace)
		return o->iface ? load_scene(o, err) : ovl_notrace_peer(o, err);
	ovl_signals_early();
	rc = ovl_outputs_open(o, &out, err);
	if (!rc)
		rc = ovl_judge_open(&judge, o, err);
	if (!rc) {
		rc = ovl_scene_open(o, &scene, err);
		if (!rc && *scene.said)
			fprintf(stderr, "ovltrace: %s\n", scene.said);
		if (!rc)
			rc = measure(&s, &judge, o, err);
		if (s.load && (!rc || err->exit == OVL_EXIT_LIMIT))
			tell_agreement(&s);
		if (s.load && s.tally && tally.load) {
			struct ovl_err later = OVL_ERR_INIT;
			int written = write_iperf3(&s, rc ? err : NULL, &later);

			if (!rc && written) {
				*err = later;
				rc = written;
			}
		}
		ovl_tally_close(&tally);
		ovl_session_rr_close(&s);
		ovl_load_stop(s.load);
		ovl_collect_close(s.collect);
		ovl_model_fini(&s.model);
		ovl_model_free(s.state);
		ovl_sample_fini(&s.sample);
		ovl_scene_close(&scene);
		if (s.signal_fd >= 0)
			close(s.signal_fd);
	}
	ovl_judge_fini(&judge);
	ovl_outputs_close(&out);
	return rc;
}

/* What a replay gives out: at the start, and, with --jsonl, at each interval. */
struct replaying {
	struct ovl_outputs *out;
	struct ovl_model model; /* of the interval */
};

static int replay_each(void *arg, const struct ovl_recorded *r, const struct ovl_sample *sample,
		       struct ovl_err *err)
{
	struct replaying *p = arg;

	if (!sample)
		return ovl_outputs_start(p->out, &r->facts, err);
	if (p->out->reader_gone)
		return 1;
	if (p->out->jsonl.fd < 0 || sample->phase == OVL_PHASE_SETTLE)
		return 0;
	if (ovl_model_build(r->state, &r->facts, &p->model))
		return ovl_err_set(err, OVL_EXIT_FAILED, -ENOMEM, "out of memory");
	return ovl_outputs_interval(p->out, &r->facts, &p->model, err);
}

int ovl_cmd_replay(const struct ovl_options *o, struct ovl_err *err)
{
	struct ovl_view_exit how = {OVL_EXIT_OK, "done"};
	struct ovl_recorded recorded = {0};
	struct ovl_judge judge = {0};
	struct ovl_outputs out;
	struct replaying replaying = {.out = &out};
	int rc;

	if (o->n_args != 1)
		return ovl_err_set(err, OVL_EXIT_USAGE, -EINVAL,
				   "replay wants one recording: ovltrace replay FILE");
	ovl_signals_early();
	rc = ovl_outputs_open(o, &out, err);
	if (!rc)
		rc = ovl_judge_open(&judge, o, err);
	if (!rc)
		rc = ovl_recorded_read(&recorded, o->args[0], replay_each, &replaying, err);
	if (!rc)
		rc = finish(&judge, &out, &recorded.facts, &recorded.model, &how, err);
	ovl_outputs_close(&out);
	ovl_judge_fini(&judge);
	ovl_recorded_fini(&recorded);
	ovl_model_fini(&replaying.model);
	return rc < 0 ? rc : 0;
}
