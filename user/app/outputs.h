/*
 * Where a run's results go: the screen, stdout and files. Opened before anything is started, so
 * that an unwritable file costs nothing; the only place that writes.
 */
#ifndef OVL_APP_OUTPUTS_H
#define OVL_APP_OUTPUTS_H

#include <stdbool.h>

#include "app/options.h"
#include "app/outfile.h"
#include "base/buf.h"
#include "base/err.h"
#include "collect/recording.h"
#include "model/facts.h"
#include "model/model.h"
#include "view/json.h"
#include "view/page.h"
#include "view/transfer.h"
#include "view/tui/screen.h"

struct ovl_outputs {
	const struct ovl_options *options;
	struct ovl_outfile out, json, jsonl, json_iperf3; /* out: stdout, for text */
	/* readable: the user wants an end, also while a reader blocks us; -1: none */
	int signal_fd;
	struct ovl_recorder *recorder;
	struct ovl_screen *screen; /* NULL: no terminal in use */
	struct ovl_canvas canvas;
	bool plain; /* text blocks and report on stdout */
	bool live;  /* of a run, not of a recording */
	/* stdout's reader left, or does not read while a signal asks for an end */
	bool reader_gone;
	struct ovl_buf buf;
};

/** Outputs of a run whose model somebody else shows: none. Needs no close. */
void ovl_outputs_none(const struct ovl_options *options, struct ovl_outputs *out);
/** Open files and decide between screen and text. Does not touch the terminal yet. */
int ovl_outputs_open(const struct ovl_options *options, struct ovl_outputs *out,
		     struct ovl_err *err);
/** Take the terminal over if this run has a screen; falls back to text with a message on stderr. */
void ovl_outputs_screen(struct ovl_outputs *out);
/** Facts are complete: write headers (recording, jsonl start). */
int ovl_outputs_start(struct ovl_outputs *out, const struct ovl_facts *facts, struct ovl_err *err);
/** One sample, for the recording. */
int ovl_outputs_sample(struct ovl_outputs *out, const struct ovl_sample *sample,
		       struct ovl_err *err);
/** One interval is over: text block, jsonl record. */
int ovl_outputs_interval(struct ovl_outputs *out, const struct ovl_facts *facts,
			 const struct ovl_model *model, struct ovl_err *err);
/** The document of --json-iperf3, if it was asked for. */
int ovl_outputs_iperf3(struct ovl_outputs *out, const struct ovl_transfer *transfer,
		       struct ovl_err *err);
/** Repaint the screen, if there is one. */
void ovl_outputs_paint(struct ovl_outputs *out, const struct ovl_facts *facts,
		       const struct ovl_model *model, const struct ovl_page_state *state);
/**
 * The run is over: give the terminal back, write report (and `more` after it), documents and the
 * recording's end.
 */
int ovl_outputs_finish(struct ovl_outputs *out, const struct ovl_facts *facts,
		       const struct ovl_model *model, const struct ovl_buf *more,
		       const struct ovl_view_exit *how, struct ovl_err *err);
/** Release everything; the terminal is given back if it still is ours. */
void ovl_outputs_close(struct ovl_outputs *out);

/** Wall clock as "HH:MM:SS". */
void ovl_outputs_clock(char *s, size_t n);

#endif
