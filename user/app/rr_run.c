#include "app/rr_run.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "app/outfile.h"
#include "app/signals.h"
#include "base/clock.h"
#include "base/str.h"
#include "load/client.h"
#include "load/rr.h"
#include "model/model.h"
#include "view/json.h"
#include "view/rr_text.h"

#define SECOND_NS 1000000000ull

struct run {
	const struct ovl_options *options;
	struct ovl_facts *facts;
	struct ovl_load *load;
	struct ovl_rr *rr;
	struct ovl_hist all, interval;
	struct ovl_outfile text, json;
	struct ovl_buf buf;
	int signal_fd;
	bool stop;
	const char *reason;
};

static int flush(struct run *r, struct ovl_outfile *f, struct ovl_err *err)
{
	int rc = f->fd < 0 ? 0 : ovl_outfile_write(f, &r->buf, r->signal_fd, err);

	ovl_buf_clear(&r->buf);
	if (rc != -EPIPE)
		return rc;
	r->stop = true; /* the reader has left */
	return 0;
}

static int start(struct run *r, const struct ovl_load_spec *spec, struct ovl_err *err)
{
	const struct ovl_options *o = r->options;
	struct ovl_load_facts *f = &r->facts->load;
	const struct ovl_client *client;

	if (o->json.on && ovl_outfile_open(&r->json, o->json.path, err))
		return -EIO;
	r->text.fd = o->json.on && !o->json.path ? -1 : STDOUT_FILENO;
	r->load = ovl_load_start(spec, err);
	if (!r->load)
		return -EIO;
	r->rr = ovl_rr_open(r->load, OVL_LOAD_OVERLAY, ovl_options_length(o), err);
	if (!r->rr)
		return -EIO;
	r->signal_fd = ovl_signals_open();
	if (r->signal_fd < 0)
		return ovl_err_set(err, OVL_EXIT_FAILED, r->signal_fd,
				   "cannot watch for signals: %s", strerror(-r->signal_fd));
	client = ovl_load_client(r->load, OVL_LOAD_OVERLAY);
	f->valid = true;
	ovl_str_copy(f->kind, sizeof(f->kind), ovl_options_load(o));
	if (!*f->peer_kind)
		ovl_str_copy(f->peer_kind, sizeof(f->peer_kind),
			     ovl_load_peer_kind(r->load, OVL_LOAD_OVERLAY));
	if (!*f->where)
		snprintf(f->where, sizeof(f->where), "to %s, nothing is traced", client->addr.name);
	f->streams = 1;
	ovl_str_copy(f->congestion, sizeof(f->congestion), ovl_load_congestion(r->load));
	f->cpu_sender = spec->cpu_sender;
	f->cpu_receiver = spec->cpu_receiver;
	ovl_rr_text_start(&r->buf, client->addr.name, ovl_options_length(o));
	return flush(r, &r->text, err);
}

/* Sleep until an instant, reading at least each second: silence is noticed there. */
static int wait_until(struct run *r, uint64_t until_ts_ns, struct ovl_err *err)
{
	int rc = 0;

	while (!rc && !r->stop && ovl_clock_ns() < until_ts_ns) {
		const uint64_t look_ns = ovl_clock_ns() + SECOND_NS;

		if (ovl_signals_wait(r->signal_fd, look_ns < until_ts_ns ? look_ns : until_ts_ns)) {
			r->stop = true;
			r->reason = "signal";
		}
		rc = ovl_rr_read(r->rr, &r->interval, err);
	}
	return rc;
}

/* An interval is over. */
static int row(struct run *r, double start_s, double end_s, struct ovl_err *err)
{
	ovl_hist_merge(&r->all, &r->interval);
	ovl_rr_text_interval(&r->buf, start_s, end_s, &r->interval);
	memset(&r->interval, 0, sizeof(r->interval));
	return flush(r, &r->text, err);
}

static int measure(struct run *r, struct ovl_err *err)
{
	const struct ovl_options *o = r->options;
	const double interval_s = isnan(o->interval_s) ? 1 : o->interval_s;
	const double length_s = o->count	  ? (double)o->count * interval_s
				: isnan(o->for_s) ? 10
						  : o->for_s;
	uint64_t start, edge, end;
	int rc = 0;

	ovl_rr_start(r->rr, 0);
	if (!isnan(o->omit_s) && o->omit_s > 0) {
		rc = wait_until(r, ovl_clock_ns() + (uint64_t)(o->omit_s * 1e9), err);
		memset(&r->interval, 0, sizeof(r->interval));
	}
	start = edge = ovl_clock_ns();
	end = start + (uint64_t)(length_s * 1e9);
	while (!rc && !r->stop && edge < end) {
		const uint64_t from = edge;
		uint64_t now;

		edge += (uint64_t)(interval_s * 1e9);
		/* no sliver at the end, which rounding could leave */
		if (edge > end || end - edge < 1000000)
			edge = end;
		rc = wait_until(r, edge, err);
		now = r->stop ? ovl_clock_ns() : edge;
		if (!rc && (edge == end || r->stop))
			rc = ovl_rr_pause(r->rr, &r->interval, err);
		if (!rc)
			rc = row(r, (double)(from - start) / 1e9, (double)(now - start) / 1e9, err);
	}
	ovl_hist_merge(&r->all, &r->interval);
	return rc;
}

/* What was measured, in the model's words. */
static int build(const struct run *r, struct ovl_model *model)
{
	struct ovl_model_state *state = ovl_model_new();
	struct ovl_sample sample = {.phase = OVL_PHASE_OVERLAY};
	int rc = state ? 0 : -ENOMEM;

	/* one after the other: their sum is the time that was measured */
	sample.load = (struct ovl_load_delta){.valid = r->all.count > 0, .wall_ns = r->all.sum_ns};
	sample.end_ts_ns = r->all.sum_ns;
	sample.latency = (struct ovl_latency_delta){.valid = true,
						    .path = OVL_PHASE_OVERLAY,
						    .message_bytes = ovl_options_length(r->options),
						    .rtt = r->all};
	if (!rc)
		rc = ovl_model_add(state, r->facts, &sample);
	if (!rc)
		rc = ovl_model_build(state, r->facts, model);
	ovl_model_free(state);
	return rc;
}

static int write_all(struct run *r, int code, struct ovl_err *err)
{
	const struct ovl_view_exit how = {code, r->reason};
	struct ovl_model model = {0};
	int rc;

	ovl_rr_text_end(&r->buf, &r->all);
	rc = flush(r, &r->text, err);
	if (!rc && r->json.fd >= 0) {
		rc = build(r, &model);
		if (rc)
			rc = ovl_err_set(err, OVL_EXIT_FAILED, rc, "out of memory");
		if (!rc) {
			ovl_json_document(&r->buf, r->facts, &model, &how);
			rc = flush(r, &r->json, err);
		}
	}
	ovl_model_fini(&model);
	return rc;
}

int ovl_rr_run(const struct ovl_options *o, const struct ovl_load_spec *spec,
	       struct ovl_facts *facts, struct ovl_err *err)
{
	struct run r = {.options = o,
			.facts = facts,
			.text.fd = -1,
			.json.fd = -1,
			.signal_fd = -1,
			.reason = "done"};
	struct ovl_err writing = OVL_ERR_INIT;
	int rc = start(&r, spec, err), written;

	if (!rc) {
		rc = measure(&r, err);
		if (rc)
			r.reason = err->text;
		/* everything measured is written before the error is returned */
		written = write_all(&r, rc ? (int)err->exit : OVL_EXIT_OK, &writing);
		if (!rc && written) {
			*err = writing;
			rc = written;
		}
	}
	ovl_rr_close(r.rr);
	ovl_load_stop(r.load);
	ovl_outfile_close(&r.json);
	ovl_buf_fini(&r.buf);
	if (r.signal_fd >= 0)
		close(r.signal_fd);
	return rc;
}
