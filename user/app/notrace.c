#include "app/notrace.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "app/address.h"
#include "app/delta.h"
#include "app/outfile.h"
#include "app/rr_run.h"
#include "app/signals.h"
#include "app/tally.h"
#include "base/clock.h"
#include "base/str.h"
#include "base/version.h"
#include "load/iperf3_wire.h"
#include "model/model.h"
#include "view/iperf3_text.h"
#include "view/json.h"
#include "view/json_iperf3.h"

#define SECOND_NS 1000000000ull
#define RATE_ROOM 1.05 /* -b is kept */

struct run {
	const struct ovl_options *options;
	const struct ovl_load_spec *spec;
	struct ovl_facts *facts;
	struct ovl_load *load;
	struct ovl_tally tally;
	struct ovl_model_state *state;
	struct ovl_load_counts last; /* of the last reading */
	struct ovl_sample pending;   /* the last reading, not in the model yet */
	uint64_t moved_ts_ns;	     /* when the path was last seen to have carried something */
	struct ovl_outfile text, json, json_iperf3;
	struct ovl_buf buf;
	int signal_fd;
	bool stop, reader_gone;
	const char *reason;
};

static int flush(struct run *r, struct ovl_outfile *f, struct ovl_err *err)
{
	int rc = f->fd < 0 ? 0 : ovl_outfile_write(f, &r->buf, r->signal_fd, err);

	ovl_buf_clear(&r->buf);
	if (rc != -EPIPE)
		return rc;
	r->reader_gone = r->stop = true;
	return 0;
}

static int open_outputs(struct run *r, struct ovl_err *err)
{
	const struct ovl_options *o = r->options;
	bool taken = (o->json.on && !o->json.path) || (o->json_iperf3.on && !o->json_iperf3.path);

	r->text.fd = taken ? -1 : STDOUT_FILENO;
	r->json.fd = r->json_iperf3.fd = -1;
	if (o->json.on && ovl_outfile_open(&r->json, o->json.path, err))
		return -EIO;
	if (o->json_iperf3.on && ovl_outfile_open(&r->json_iperf3, o->json_iperf3.path, err))
		return -EIO;
	if (ovl_outfile_same(o->json.path, o->json_iperf3.path))
		return ovl_err_set(
			err, OVL_EXIT_USAGE, -EINVAL,
			"%s and %s are the same file: give each output a file of its own",
			o->json.path, o->json_iperf3.path);
	return 0;
}

/* Sleep until an instant; a signal ends the run. */
static void wait_until(struct run *r, uint64_t ts_ns)
{
	if (!r->stop && ovl_signals_wait(r->signal_fd, ts_ns)) {
		r->stop = true;
		r->reason = "signal";
	}
}

static int feed(struct run *r, struct ovl_err *err)
{
	if (!r->pending.load.valid || !ovl_model_add(r->state, r->facts, &r->pending))
		return 0;
	return ovl_err_set(err, OVL_EXIT_FAILED, -ENOMEM, "out of memory");
}

/* Read the path; the reading before it goes to the model. */
static int read_path(struct run *r, bool measured, struct ovl_err *err)
{
	struct ovl_load_counts now;
	int rc = ovl_load_read(r->load, OVL_LOAD_OVERLAY, &now, err);

	if (!rc && measured) {
		rc = feed(r, err);
		ovl_delta_take(&r->last, &now, &r->pending.load);
		r->pending.phase = OVL_PHASE_OVERLAY;
		r->pending.start_ts_ns = r->last.ts_ns;
		r->pending.end_ts_ns = now.ts_ns;
		ovl_tally_read(&r->tally, &now);
	}
	if (now.bytes != r->last.bytes)
		r->moved_ts_ns = now.ts_ns;
	r->last = now;
	return rc;
}

static int row(struct run *r, bool omitted, bool *first, struct ovl_err *err)
{
	const struct ovl_transfer *tr = &r->tally.transfer;

	if (ovl_tally_row(&r->tally, omitted))
		return ovl_err_set(err, OVL_EXIT_FAILED, -ENOMEM, "out of memory");
	ovl_iperf3_text_interval(&r->buf, tr, &tr->intervals.v[tr->intervals.n - 1], *first);
	*first = false;
	return flush(r, &r->text, err);
}

/*
 * Intervals until so many seconds have passed. The path is read at least each second, so that no
 * round trip is forgotten; a reading of a remote path takes a tenth of a second.
 */
static int piece(struct run *r, double seconds, bool omitted, bool *first, struct ovl_err *err)
{
	const double interval_s = isnan(r->options->interval_s) ? 1 : r->options->interval_s;
	const uint64_t start = r->tally.row_ts_ns, end = start + (uint64_t)(seconds * 1e9);
	uint64_t edge = start;
	int rc = 0;

	while (!rc && !r->stop && edge < end) {
		edge += (uint64_t)(interval_s * 1e9);
		/* no sliver at the end, which rounding could leave */
		if (edge > end || end - edge < 1000000)
			edge = end;
		while (!rc && !r->stop && edge > ovl_clock_ns() + SECOND_NS) {
			wait_until(r, ovl_clock_ns() + SECOND_NS);
			rc = read_path(r, !omitted, err);
		}
		wait_until(r, edge);
		if (!rc)
			rc = row(r, omitted, first, err);
		if (omitted && edge == end)
			ovl_tally_mark(&r->tally);
		if (!omitted && (edge == end || r->stop))
			ovl_load_select(r->load, OVL_LOAD_PATHS);
		if (!rc)
			rc = read_path(r, !omitted, err);
	}
	return rc;
}

static int measure(struct run *r, struct ovl_err *err)
{
	const double omit_s = r->tally.transfer.omit_s, time_s = r->tally.transfer.duration_s;
	bool first = true;
	int rc;

	/* first the clock: what is sent before it would be in no row, but in the far end's count */
	ovl_tally_begin(&r->tally);
	ovl_load_select(r->load, OVL_LOAD_OVERLAY);
	rc = read_path(r, false, err);
	if (rc)
		return rc;
	ovl_tally_base(&r->tally, &r->last);
	r->moved_ts_ns = r->last.ts_ns;
	if (omit_s > 0) {
		rc = piece(r, omit_s, true, &first, err);
		if (rc || r->stop)
			return rc;
		ovl_tally_restart(&r->tally, &r->last);
		r->moved_ts_ns = r->last.ts_ns;
	}
	return piece(r, time_s, false, &first, err);
}

/* What only the far end knew until the load had ended. */
static void take_far(struct run *r)
{
	const struct ovl_transfer *tr = &r->tally.transfer;
	struct ovl_load_delta *d = &r->pending.load;

	ovl_str_copy(r->facts->load.disagreement, sizeof(r->facts->load.disagreement),
		     tr->disagreement);
	if (!tr->reverse)
		return;
	ovl_str_copy(r->facts->load.congestion, sizeof(r->facts->load.congestion),
		     tr->sender_congestion);
	if (!d->valid)
		return;
	if (!isnan(tr->far_retransmits))
		d->retransmits += (uint64_t)tr->far_retransmits;
	if (!isnan(tr->remote_cpu))
		d->sender_cpu_ns += (uint64_t)(tr->remote_cpu / 100 * (double)r->tally.wall_ns);
}

/* What limits a load is not told by the load alone: whether a CPU is full, for one. */
static void untraced(struct ovl_model *model)
{
	model->verdict = (struct ovl_verdict){.limit = OVL_LIMIT_UNKNOWN, .confidence_ratio = NAN};
	ovl_str_copy(model->verdict.sentence, sizeof(model->verdict.sentence),
		     "nothing was traced: what limits this load is not known (run it without "
		     "--no-trace)");
}

static int write_all(struct run *r, int code, struct ovl_err *err)
{
	const struct ovl_view_exit how = {code, r->reason};
	struct ovl_model model = {0};
	int rc;

	ovl_iperf3_text_end(&r->buf, &r->tally.transfer);
	rc = flush(r, &r->text, err);
	if (!rc && r->json_iperf3.fd >= 0) {
		ovl_json_iperf3(&r->buf, &r->tally.transfer);
		rc = flush(r, &r->json_iperf3, err);
	}
	if (!rc && r->json.fd >= 0) {
		rc = feed(r, err);
		if (!rc && ovl_model_build(r->state, r->facts, &model))
			rc = ovl_err_set(err, OVL_EXIT_FAILED, -ENOMEM, "out of memory");
		if (!rc) {
			untraced(&model);
			ovl_json_document(&r->buf, r->facts, &model, &how);
			rc = flush(r, &r->json, err);
		}
	}
	ovl_model_fini(&model);
	return rc;
}

static void fill_facts(struct run *r)
{
	struct ovl_load_facts *f = &r->facts->load;
	const char *kind = ovl_load_peer_kind(r->load, OVL_LOAD_OVERLAY);

	f->valid = true;
	ovl_str_copy(f->kind, sizeof(f->kind), ovl_options_load(r->options));
	if (!*f->peer_kind)
		ovl_str_copy(f->peer_kind, sizeof(f->peer_kind), kind);
	if (!*f->where)
		snprintf(f->where, sizeof(f->where), "%s %.100s, nothing is traced%s",
			 r->spec->reverse ? "from" : "to", r->options->peer,
			 !strcmp(kind, "ovltrace") || r->spec->reverse
				 ? ""
				 : "; counted where TCP saw bytes acknowledged");
	f->streams = r->spec->streams;
	ovl_str_copy(f->congestion, sizeof(f->congestion), ovl_load_congestion(r->load));
	f->cpu_sender = r->spec->cpu_sender;
	f->cpu_receiver = r->spec->cpu_receiver;
}

static int start(struct run *r, struct ovl_err *err)
{
	const struct ovl_options *o = r->options;

	r->state = ovl_model_new();
	if (!r->state)
		return ovl_err_set(err, OVL_EXIT_FAILED, -ENOMEM, "out of memory");
	r->load = ovl_load_start(r->spec, err);
	if (!r->load)
		return -EIO;
	fill_facts(r);
	r->signal_fd = ovl_signals_open();
	if (r->signal_fd < 0)
		return ovl_err_set(err, OVL_EXIT_FAILED, r->signal_fd,
				   "cannot watch for signals: %s", strerror(-r->signal_fd));
	if (ovl_tally_open(&r->tally, r->load, r->spec, o, o->json_iperf3.on))
		return ovl_err_set(err, OVL_EXIT_FAILED, -ENOMEM, "out of memory");
	if (!o->congestion && !r->spec->reverse &&
	    strcmp(ovl_load_congestion(r->load), "cubic") != 0)
		fprintf(stderr,
			"ovltrace: congestion control is %s, the system's: without rights it "
			"allows no cubic (numbers do not compare with cubic's)\n",
			ovl_load_congestion(r->load));
	ovl_iperf3_text_start(&r->buf, &r->tally.transfer);
	return flush(r, &r->text, err);
}

/*
 * A test in which nothing came, or nothing any more since its middle, is none. Bounded streams may
 * rest that long.
 */
static int check_came(const struct run *r, struct ovl_err *err)
{
	const struct ovl_transfer *tr = &r->tally.transfer;
	const double got = tr->reverse || isnan(tr->far_bytes) ? tr->sum.bytes : tr->far_bytes;
	const double whole_s = tr->sum.end_s - tr->sum.start_s;
	const double still_s = (double)(r->last.ts_ns - r->moved_ts_ns) / 1e9;
	const bool stands = !r->spec->rate_bps && still_s >= fmax(1, whole_s / 2);

	if (r->stop || isnan(whole_s) || (!(got <= 0) && !stands))
		return 0;
	return ovl_err_set(
		err, OVL_EXIT_PEER, -ETIMEDOUT,
		"nothing %s %s in %s%.1f s although its connections stand: see whether "
		"that end still %s, and whether large packets get through (ping -M do -s "
		"1400)",
		tr->reverse ? "came from" : "was received by", tr->host,
		got <= 0 ? "" : "the last ", got <= 0 ? whole_s : still_s,
		tr->reverse ? "sends" : "reads");
}

/* More than -b asked for: it is a bound only after the start. */
static void say_excess(const struct run *r)
{
	const struct ovl_transfer_row *sum = &r->tally.transfer.sum;
	const double asked = (double)r->spec->rate_bps * (double)r->tally.transfer.streams.n;
	const double bps = sum->bytes * 8 / (sum->end_s - sum->start_s);

	if (asked > 0 && bps > RATE_ROOM * asked)
		fprintf(stderr,
			"ovltrace: %.0f %% more was carried than --bitrate asked for: the kernel "
			"sends the first window at once; --omit leaves the start out\n",
			100 * (bps / asked - 1));
}

/* Everything measured is written before the error, if there was one, is returned. */
static int run(struct run *r, struct ovl_err *err)
{
	struct ovl_err later = OVL_ERR_INIT;
	bool whole;
	int rc = start(r, err), finished, written;

	if (rc)
		return rc;
	whole = r->tally.transfer.omit_s <= r->spec->omit_s;
	rc = measure(r, err);
	ovl_load_select(r->load, OVL_LOAD_PATHS);
	finished = ovl_load_finish(r->load, &later);
	if (!rc && finished) {
		*err = later;
		rc = finished;
	}
	ovl_tally_finish(&r->tally, whole && !isnan(r->tally.transfer.sum.start_s), true);
	if (!rc)
		rc = check_came(r, err);
	say_excess(r);
	take_far(r);
	if (rc)
		r->reason = r->tally.transfer.error = err->text;
	later = OVL_ERR_INIT;
	written = write_all(r, rc ? (int)err->exit : OVL_EXIT_OK, &later);
	if (!rc && written) {
		*err = later;
		rc = written;
	}
	return rc;
}

int ovl_notrace_run(const struct ovl_options *o, const struct ovl_load_spec *spec,
		    struct ovl_facts *facts, struct ovl_err *err)
{
	struct run r = {
		.options = o, .spec = spec, .facts = facts, .signal_fd = -1, .reason = "done"};
	int rc;

	ovl_signals_early();
	if (o->load_rr)
		return ovl_rr_run(o, spec, facts, err);
	rc = open_outputs(&r, err);
	if (!rc)
		rc = run(&r, err);
	ovl_load_stop(r.load);
	ovl_tally_close(&r.tally);
	ovl_model_free(r.state);
	ovl_sample_fini(&r.pending);
	ovl_outfile_close(&r.json);
	ovl_outfile_close(&r.json_iperf3);
	ovl_buf_fini(&r.buf);
	if (r.signal_fd >= 0)
		close(r.signal_fd);
	return rc;
}

void ovl_notrace_tell(const struct ovl_options *o, struct ovl_load_spec *spec)
{
	const double omit_s = isnan(o->omit_s) ? 0 : o->omit_s;
	double time_s = ovl_tally_duration_s(o);

	/* it knows whole seconds only: what else -O says is left out by us alone, of its time */
	if (omit_s == floor(omit_s))
		spec->omit_s = (uint32_t)omit_s;
	else
		time_s += omit_s;
	spec->time_s = (uint32_t)fmin(OVL_IPERF3_TIME_MAX_S, ceil(time_s));
	/* its protocol also tells the sender's count at the end, which nobody else here knows */
	spec->plain = o->load_plain || spec->reverse;
}

/* The load that the options ask for, without its paths. */
static void fill_spec(const struct ovl_options *o, struct ovl_load_spec *spec)
{
	*spec = (struct ovl_load_spec){
		.port = o->port,
		.streams = o->streams,
		.block_bytes = o->block_bytes,
		.mss_bytes = o->mss_bytes,
		.window_bytes = o->window_bytes,
		.rate_bps = o->rate_bps,
		.tx_zerocopy = o->tx_zerocopy,
		.rx_trunc = o->rx_trunc,
		.raw = o->load_raw,
		.reverse = o->reverse,
		.cpu_sender = -1,
		.cpu_receiver = -1,
	};
	ovl_notrace_tell(o, spec);
	for (int i = 0; i < OVL_LOAD_PATHS; i++)
		spec->path[i].client_netns_fd = spec->path[i].server_netns_fd = -1;
	if (o->congestion)
		ovl_str_copy(spec->congestion, sizeof(spec->congestion), o->congestion);
}

static int host_facts(const struct ovl_options *o, struct ovl_facts *f)
{
	struct utsname u = {0};
	struct timespec now;
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);

	uname(&u);
	clock_gettime(CLOCK_REALTIME, &now);
	f->start_unix_ns = (uint64_t)now.tv_sec * SECOND_NS + (uint64_t)now.tv_nsec;
	f->iface = -1;
	f->cpus = cpus > 0 ? (uint32_t)cpus : 0;
	f->interval_ns = (uint64_t)((isnan(o->interval_s) ? 1 : o->interval_s) * 1e9);
	ovl_str_copy(f->tool_version, sizeof(f->tool_version), OVL_VERSION);
	ovl_str_copy(f->kernel, sizeof(f->kernel), u.release);
	ovl_str_copy(f->arch, sizeof(f->arch), u.machine);
	ovl_str_copy(f->nodename, sizeof(f->nodename), u.nodename);
	return ovl_options_settings(o, true, f);
}

int ovl_notrace_peer(const struct ovl_options *o, struct ovl_err *err)
{
	struct ovl_load_spec spec;
	struct ovl_facts facts = {0};
	int rc;

	fill_spec(o, &spec);
	spec.remote = true;
	spec.port = spec.port ? spec.port : OVL_LOAD_PORT;
	spec.path[OVL_LOAD_OVERLAY].used = true;
	rc = ovl_address_resolve("--peer", o->peer, spec.path[OVL_LOAD_OVERLAY].addr, &spec.port,
				 err);
	if (!rc && host_facts(o, &facts))
		rc = ovl_err_set(err, OVL_EXIT_FAILED, -ENOMEM, "out of memory");
	if (!rc)
		rc = ovl_notrace_run(o, &spec, &facts, err);
	ovl_facts_fini(&facts);
	return rc;
}
