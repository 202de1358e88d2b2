/*
 * Recordings: gzip-compressed JSON lines. Line 1 {"ovltrace_recording":1,"facts":{…}}, then one
 * {"sample":{…}} per interval, last {"end":{"samples":N}}. A recording without its end was
 * truncated: what is whole is used, and that is said.
 */
#ifndef OVL_COLLECT_RECORDING_H
#define OVL_COLLECT_RECORDING_H

#include <stdbool.h>

#include "base/err.h"
#include "model/facts.h"
#include "model/sample.h"

struct ovl_recorder;
/**
 * Create FILE, or overwrite it when it is a regular file (never another kind, never through a
 * symbolic link). NULL with a sentence.
 */
struct ovl_recorder *ovl_recorder_open(const char *path, const struct ovl_facts *facts,
				       struct ovl_err *err);
/**
 * Write one sample; when this returns 0 the sample survives a kill -9. -ENOSPC etc. with a
 * sentence; after a failure nothing more is written, and what was written before can be replayed.
 */
int ovl_recorder_add(struct ovl_recorder *r, const struct ovl_sample *s, struct ovl_err *err);
/** Write the end and close; -ENOSPC etc. with a sentence. r is freed in any case. */
int ovl_recorder_close(struct ovl_recorder *r, struct ovl_err *err);

struct ovl_replay;
/**
 * Open FILE (gzip or plain) and read its facts, which must stay where they are until the replay is
 * closed
 * (they are the caller's to release). NULL with a sentence, *facts then holds nothing;
 * OVL_EXIT_INPUT: missing, foreign, newer, damaged.
 */
struct ovl_replay *ovl_replay_open(const char *path, struct ovl_facts *facts, struct ovl_err *err);
/**
 * Next sample into *s (zeroed or used before): 1 read, 0 at the end, -errno damaged. At the end
 * *truncated says if the end record was missing.
 */
int ovl_replay_next(struct ovl_replay *r, struct ovl_sample *s, bool *truncated,
		    struct ovl_err *err);
void ovl_replay_close(struct ovl_replay *r);

#endif
