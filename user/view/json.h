/*
 * The contract's JSON: the document of `--json` and the records of `--jsonl`, each one line
 * ending in a newline. Members not measured are null; rates are numbers without exponent; `_ns`
 * are integers. Pure.
 */
#ifndef OVL_VIEW_JSON_H
#define OVL_VIEW_JSON_H

#include "base/buf.h"
#include "model/facts.h"
#include "model/model.h"

/** How the run ended, for the JSON document's `exit`. */
struct ovl_view_exit {
	int code;	    /* enum ovl_exit */
	const char *reason; /* "done", "signal", or the error's sentence */
};

/** The document of `--json`. Without memory out->failed is set. */
void ovl_json_document(struct ovl_buf *out, const struct ovl_facts *f, const struct ovl_model *m,
		       const struct ovl_view_exit *exit);
/** {"type":"start"}: the members that are known before the first sample. */
void ovl_json_start(struct ovl_buf *out, const struct ovl_facts *f);
/**
 * {"type":"sample"}: the members that change, for the run so far, and `last`: the last interval.
 */
void ovl_json_sample(struct ovl_buf *out, const struct ovl_facts *f, const struct ovl_model *m);
/** {"type":"finding"}, one for each, most valuable first. */
void ovl_json_found(struct ovl_buf *out, const struct ovl_facts *f, const struct ovl_model *m);
/** {"type":"end"}: all members of the document. */
void ovl_json_end(struct ovl_buf *out, const struct ovl_facts *f, const struct ovl_model *m,
		  const struct ovl_view_exit *exit);

#endif
