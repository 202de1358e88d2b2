/*
 * UTF-8 as it comes from outside (names of interfaces, namespaces, functions): nothing is
 * trusted. Control characters, broken sequences and characters that are not one column wide never
 * reach a terminal.
 */
#ifndef OVL_VIEW_UTF8_H
#define OVL_VIEW_UTF8_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"

#define OVL_UTF8_BAD 0xfffd /* what a broken sequence decodes to */

/**
 * Decode one code point and move *s past it; 0 at the end (then *s stays). Broken: OVL_UTF8_BAD.
 */
uint32_t ovl_utf8_next(const char **s);
/** Append one code point. */
void ovl_utf8_put(struct ovl_buf *out, uint32_t ch);
/** Is it printable and surely one column wide? (A fixed table: the same in every locale.) */
bool ovl_utf8_narrow(uint32_t ch);
/** ASCII spelling of a code point, e.g. "->" for U+2192; "?" for what has none. */
const char *ovl_utf8_ascii(uint32_t ch);
/** Append text with everything unprintable, except newlines, replaced by '?'. */
void ovl_utf8_clean(struct ovl_buf *out, const char *text);

#endif
