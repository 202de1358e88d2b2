/* What doctor's checks share: each does one thing, says what came of it and undoes it. */
#ifndef OVL_COLLECT_DOCTOR_SAY_H
#define OVL_COLLECT_DOCTOR_SAY_H

#include <stddef.h>

#include "collect/collect.h"

struct btf;

/** One check: what it is called, what is lost without it, and how it is done. */
struct ovl_doctor_check {
	const char *key, *lost;
	/** Do it; write a sentence into text[OVL_TEXT_MAX]. */
	enum ovl_check_state (*run)(const char *iface, struct btf *btf, char *text);
};

/** Write the sentence and return the state. */
enum ovl_check_state ovl_doctor_say(enum ovl_check_state state, char *text, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

#endif
