#include "app/outputs.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/str.h"
#include "view/canvas.h"
#include "view/json_iperf3.h"
#include "view/plain.h"

/* No two outputs in one file, and none over the recording that is replayed. */
static int check_distinct(const struct ovl_options *o, struct ovl_err *err)
{
	const char *const paths[] = {o->json.path,
				     o->jsonl.path,
				     o->json_iperf3.path,
				     o->record,
				     o->n_args == 1 ? o->args[0] : NULL,
				     o->compare};
	const size_t n = sizeof(paths) / sizeof(paths[0]);

	for (size_t i = 0; i < n; i++)
		for (size_t j = i + 1; j < n; j++)
			if (ovl_outfile_same(paths[i], paths[j]))
				return ovl_err_set(
					err, OVL_EXIT_USAGE, -EINVAL,
					"%s and %s are the same file: give each output a file "
					"of its own",
					paths[i], paths[j]);
	return 0;
}

void ovl_outputs_none(const struct ovl_options *o, struct ovl_outputs *out)
{
	*out = (struct ovl_outputs){
		.options = o,
		.signal_fd = -1,
		.out.fd = STDOUT_FILENO,
		.json.fd = -1,
		.jsonl.fd = -1,
		.json_iperf3.fd = -1,
	};
}

int ovl_outputs_open(const struct ovl_options *o, struct ovl_outputs *out, struct ovl_err *err)
{
	bool stdout_taken = (o->json.on && !o->json.path) || (o->jsonl.on && !o->jsonl.path) ||
			    (o->json_iperf3.on && !o->json_iperf3.path) || o->render_cols > 0;

	ovl_outputs_none(o, out);
	out->plain = !stdout_taken;
	if (o->json.on && ovl_outfile_open(&out->json, o->json.path, err))
		return -EIO;
	if (o->jsonl.on && ovl_outfile_open(&out->jsonl, o->jsonl.path, err))
		return -EIO;
	if (o->json_iperf3.on && ovl_outfile_open(&out->json_iperf3, o->json_iperf3.path, err))
		return -EIO;
	return check_distinct(o, err);
}

void ovl_outputs_screen(struct ovl_outputs *out)
{
	const struct ovl_options *o = out->options;
	const char *no_color = getenv("NO_COLOR");
	bool mono = o->mono || o->color == OVL_COLOR_NEVER ||
		    (o->color == OVL_COLOR_AUTO && no_color && *no_color);
	char why[128] = "";
	int cols, rows;

	if (!out->plain || o->plain || !isatty(STDOUT_FILENO) || !isatty(STDIN_FILENO))
		return;
	out->screen = ovl_screen_open(mono, why, sizeof(why));
	if (!out->screen) {
		fprintf(stderr, "ovltrace: no screen, text instead: %s\n", why);
		return;
	}
	ovl_screen_size(out->screen, &cols, &rows);
	if (ovl_canvas_init(&out->canvas, cols, rows, o->ascii || !ovl_screen_utf8(out->screen))) {
		ovl_screen_close(out->screen);
		out->screen = NULL;
	}
}

/* Write the buffer and empty it. A reader that left is no error: the run just ends. */
static int flush(struct ovl_outputs *out, struct ovl_outfile *f, struct ovl_err *err)
{
	int rc = ovl_outfile_write(f, &out->buf, out->signal_fd, err);

	if (rc != -EPIPE)
		return rc;
	out->reader_gone = true;
	return 0;
}

int ovl_outputs_iperf3(struct ovl_outputs *out, const struct ovl_transfer *transfer,
		       struct ovl_err *err)
{
	ovl_json_iperf3(&out->buf, transfer);
	return flush(out, &out->json_iperf3, err);
}

int ovl_outputs_start(struct ovl_outputs *out, const struct ovl_facts *facts, struct ovl_err *err)
{
	if (out->options->record) {
		out->recorder = ovl_recorder_open(out->options->record, facts, err);
		if (!out->recorder)
			return -EIO;
	}
	if (out->jsonl.fd < 0)
		return 0;
	ovl_json_start(&out->buf, facts);
	return flush(out, &out->jsonl, err);
}

int ovl_outputs_sample(struct ovl_outputs *out, const struct ovl_sample *sample,
		       struct ovl_err *err)
{
	return out->recorder ? ovl_recorder_add(out->recorder, sample, err) : 0;
}

int ovl_outputs_interval(struct ovl_outputs *out, const struct ovl_facts *facts,
			 const struct ovl_model *model, struct ovl_err *err)
{
	char clock[16];
	int rc = 0;

	if (out->plain && !out->screen) {
		ovl_outputs_clock(clock, sizeof(clock));
		ovl_plain_interval(&out->buf, clock, facts, model);
		rc = flush(out, &out->out, err);
	}
	if (!rc && out->jsonl.fd >= 0) {
		ovl_json_sample(&out->buf, facts, model);
		rc = flush(out, &out->jsonl, err);
	}
	return rc;
}

void ovl_outputs_paint(struct ovl_outputs *out, const struct ovl_facts *facts,
		       const struct ovl_model *model, const struct ovl_page_state *state)
{
	struct pollfd writable = {.fd = STDOUT_FILENO, .events = POLLOUT};
	bool ascii = out->canvas.ascii;
	int cols, rows;

	/* a terminal that was stopped (^S) must not keep us from ending */
	if (!out->screen || poll(&writable, 1, 0) != 1)
		return;
	ovl_screen_size(out->screen, &cols, &rows);
	if (cols != out->canvas.cols || rows != out->canvas.rows) {
		ovl_canvas_fini(&out->canvas);
		if (ovl_canvas_init(&out->canvas, cols, rows, ascii))
			return;
	}
	ovl_page_paint(&out->canvas, facts, model, state);
	ovl_screen_blit(out->screen, &out->canvas);
}

static int render(struct ovl_outputs *out, const struct ovl_facts *facts,
		  const struct ovl_model *model, struct ovl_err *err)
{
	const struct ovl_options *o = out->options;
	struct ovl_page_state state = {.state = out->live ? OVL_STATE_END : OVL_STATE_REPLAY};
	struct ovl_canvas canvas;

	if (out->live)
		ovl_outputs_clock(state.clock, sizeof(state.clock));
	else
		ovl_str_copy(state.clock, sizeof(state.clock), "--:--:--");
	if (ovl_canvas_init(&canvas, o->render_cols, o->render_rows, o->ascii))
		return ovl_err_set(err, OVL_EXIT_FAILED, -ENOMEM,
				   "out of memory for a screen of %dx%d", o->render_cols,
				   o->render_rows);
	ovl_page_paint(&canvas, facts, model, &state);
	ovl_canvas_text(&canvas, &out->buf);
	ovl_canvas_fini(&canvas);
	return flush(out, &out->out, err);
}

/* Every output is tried, also after one has failed; the first failure is reported. */
int ovl_outputs_finish(struct ovl_outputs *out, const struct ovl_facts *facts,
		       const struct ovl_model *model, const struct ovl_buf *more,
		       const struct ovl_view_exit *how, struct ovl_err *err)
{
	struct ovl_err later = OVL_ERR_INIT;
	int rc = 0, now;

	ovl_screen_close(out->screen);
	out->screen = NULL;
	if (out->plain) {
		ovl_plain_report(&out->buf, facts, model);
		ovl_buf_puts(&out->buf, ovl_buf_str(more));
		rc = flush(out, &out->out, err);
	}
	if (out->options->render_cols) {
		now = render(out, facts, model, rc ? &later : err);
		rc = rc ? rc : now;
	}
	if (out->json.fd >= 0) {
		ovl_json_document(&out->buf, facts, model, how);
		now = flush(out, &out->json, rc ? &later : err);
		rc = rc ? rc : now;
	}
	if (out->jsonl.fd >= 0) {
		ovl_json_found(&out->buf, facts, model);
		ovl_json_end(&out->buf, facts, model, how);
		now = flush(out, &out->jsonl, rc ? &later : err);
		rc = rc ? rc : now;
	}
	if (out->recorder) {
		now = ovl_recorder_close(out->recorder, rc ? &later : err);
		out->recorder = NULL;
		rc = rc ? rc : now;
	}
	return rc;
}

void ovl_outputs_close(struct ovl_outputs *out)
{
	ovl_screen_close(out->screen);
	ovl_canvas_fini(&out->canvas);
	if (out->recorder)
		ovl_recorder_close(out->recorder, NULL);
	ovl_outfile_close(&out->json);
	ovl_outfile_close(&out->jsonl);
	ovl_outfile_close(&out->json_iperf3);
	ovl_buf_fini(&out->buf);
}

void ovl_outputs_clock(char *s, size_t n)
{
	time_t now = time(NULL);
	struct tm tm;

	localtime_r(&now, &tm);
	strftime(s, n, "%H:%M:%S", &tm);
}
