/* `ovltrace matrix SUITE`: a published table, measured on this machine. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "app/matrix_measure.h"
#include "app/matrix_suite.h"
#include "app/outfile.h"
#include "app/run.h"
#include "app/signals.h"
#include "base/clock.h"
#include "base/str.h"
#include "collect/collect.h"
#include "view/matrix.h"

#define TURNS	  3
#define BULK_S	  4.0
#define LATENCY_S 1.0
/* --quick */
#define QUICK_BULK_S	0.5
#define QUICK_LATENCY_S 0.2
/* of a row, besides what is measured: lab, instruments, warm-up, starts of slices */
#define OVERHEAD_S 2.5

struct job {
	const struct ovl_matrix_suite *suite;
	struct ovl_matrix matrix;
	struct ovl_matrix_how how;
	struct ovl_outfile text, json;
	bool terminal; /* progress is shown */
	uint64_t start_ts_ns;
};

/* One line on the terminal, over the one before; "" takes it away. */
static void show(const struct job *job, uint32_t done, const char *label)
{
	const uint32_t all = job->matrix.turns * job->suite->n;
	double spent_s = (double)(ovl_clock_ns() - job->start_ts_ns) / 1e9;
	double row_s =
		done ? spent_s / done : 2 * job->how.bulk_s + job->how.latency_s + OVERHEAD_S;
	unsigned left_s = (unsigned)ceil(row_s * (all - done));

	if (!job->terminal)
		return;
	if (!*label) {
		fputs("\r\033[K", stderr);
		return;
	}
	fprintf(stderr, "\r\033[K%s  turn %u of %u  row %u of %u  about %u:%02u left  %s",
		job->suite->name, done / job->suite->n + 1, job->matrix.turns,
		done % job->suite->n + 1, job->suite->n, left_s / 60, left_s % 60, label);
	fflush(stderr);
}

/* A row in a turn; what cannot be measured for want of a program is left out with the reason. */
static int measure(struct job *job, uint32_t turn, uint32_t at, struct ovl_err *err)
{
	struct ovl_matrix_row *row = &job->matrix.rows[at];
	struct ovl_matrix_turn fresh, *kept;
	int rc;

	if (*row->skipped)
		return 0;
	ovl_matrix_turn_init(&fresh, turn);
	rc = ovl_matrix_measure(&job->suite->paths[at], &job->how, &fresh, err);
	if (rc == -ENOENT) {
		ovl_str_copy(row->skipped, sizeof(row->skipped), err->text);
		return 0;
	}
	if (rc || job->how.stopped)
		return rc;
	kept = ovl_vec_push(&row->turns);
	if (!kept)
		return ovl_err_set(err, OVL_EXIT_FAILED, -ENOMEM, "out of memory");
	*kept = fresh;
	return 0;
}

static int measure_all(struct job *job, struct ovl_err *err)
{
	int rc = 0;

	job->start_ts_ns = ovl_clock_ns();
	for (uint32_t i = 0; !rc && !job->how.stopped && i < job->matrix.turns * job->suite->n;
	     i++) {
		uint32_t turn = i / job->suite->n;
		uint32_t at = ovl_matrix_suite_order(job->suite, turn, i % job->suite->n);

		show(job, i, job->suite->paths[at].label);
		rc = measure(job, turn, at, err);
	}
	show(job, 0, "");
	if (*job->how.untraced)
		fprintf(stderr, "ovltrace: bandwidth and latency only: %s\n", job->how.untraced);
	return rc;
}

static bool any_measured(const struct ovl_matrix *m)
{
	for (uint32_t i = 0; i < m->n_rows; i++)
		if (m->rows[i].turns.n)
			return true;
	return false;
}

/* Write the buffer and empty it; a reader that left is no error. */
static int put(struct ovl_outfile *f, struct ovl_buf *b, struct ovl_err *err)
{
	int rc = f->fd < 0 ? 0 : ovl_outfile_write(f, b, -1, err);

	if (b->failed)
		return ovl_err_set(err, OVL_EXIT_FAILED, -ENOMEM, "out of memory");
	return rc == -EPIPE ? 0 : rc;
}

/* Nothing is written of a run that measured nothing: the reason is all there is. */
static int write_result(struct job *job, struct ovl_err *err)
{
	struct ovl_buf b = {0};
	int rc;

	if (!any_measured(&job->matrix)) {
		if (job->how.stopped)
			return 0;
		return ovl_err_set(err, OVL_EXIT_FAILED, -ENOENT, "%s",
				   job->matrix.rows[0].skipped);
	}
	if (job->text.fd >= 0)
		ovl_matrix_text(&b, &job->matrix);
	rc = put(&job->text, &b, err);
	if (!rc && job->json.fd >= 0)
		ovl_matrix_json(&b, &job->matrix);
	if (!rc)
		rc = put(&job->json, &b, err);
	ovl_buf_fini(&b);
	return rc;
}

static int run(struct job *job, struct ovl_err *err)
{
	struct ovl_err later = OVL_ERR_INIT;
	int rc = ovl_matrix_labs_free(job->suite, err), written;

	if (rc)
		return rc;
	/* from here on labs come and go: a signal ends a row, not the program */
	ovl_signals_early();
	job->how.signal_fd = ovl_signals_open();
	if (job->how.signal_fd < 0)
		return ovl_err_set(err, OVL_EXIT_FAILED, job->how.signal_fd,
				   "cannot watch for signals: %s", strerror(-job->how.signal_fd));
	rc = measure_all(job, err);
	job->matrix.stopped = rc || job->how.stopped;
	if (!rc || any_measured(&job->matrix)) {
		written = write_result(job, rc ? &later : err);
		rc = rc ? rc : written;
	}
	close(job->how.signal_fd);
	return rc;
}

int ovl_cmd_matrix(const struct ovl_options *o, struct ovl_err *err)
{
	struct job job = {
		.suite = o->n_args == 1 ? ovl_matrix_suite_find(o->args[0], err) : NULL,
		.how = {.bulk_s = o->quick ? QUICK_BULK_S : BULK_S,
			.latency_s = o->quick ? QUICK_LATENCY_S : LATENCY_S,
			.trace = !o->no_trace,
			.signal_fd = -1},
		.text.fd = o->json.on && !o->json.path ? -1 : STDOUT_FILENO,
		.json.fd = -1,
		.terminal = isatty(STDERR_FILENO),
	};
	int rc;

	if (o->n_args != 1)
		ovl_matrix_suite_find(NULL, err);
	if (!job.suite)
		return -EINVAL;
	if (!isnan(o->for_s))
		job.how.bulk_s = o->for_s;
	ovl_matrix_suite_rows(job.suite, &job.matrix);
	ovl_target_host(&job.matrix.host);
	job.matrix.turns = o->quick ? 1 : TURNS;
	job.matrix.seconds = job.how.bulk_s;
	rc = o->json.on ? ovl_outfile_open(&job.json, o->json.path, err) : 0;
	if (!rc)
		rc = run(&job, err);
	ovl_outfile_close(&job.json);
	ovl_matrix_fini(&job.matrix);
	return rc;
}
