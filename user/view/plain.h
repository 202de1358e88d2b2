/* Plain text for pipes, logs and terminals without terminfo: append-only, no cursor codes. Pure. */
#ifndef OVL_VIEW_PLAIN_H
#define OVL_VIEW_PLAIN_H

#include "base/buf.h"
#include "model/facts.h"
#include "model/model.h"

/** One block per interval; `clock` is the wall clock as "HH:MM:SS". */
void ovl_plain_interval(struct ovl_buf *out, const char *clock, const struct ovl_facts *f,
			const struct ovl_model *m);

/* view/report.c */
/** The report at the end of a run, 80 columns wide. */
void ovl_plain_report(struct ovl_buf *out, const struct ovl_facts *f, const struct ovl_model *m);

/** Text broken at blanks, each line indented as the report is. */
void ovl_plain_wrapped(struct ovl_buf *b, const char *text);

#endif
