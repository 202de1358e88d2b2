/* Text broken at blanks, for reports of 80 columns. */
#ifndef OVL_VIEW_WRAP_H
#define OVL_VIEW_WRAP_H

#include "base/buf.h"

#define OVL_WRAP_WIDTH 80

/** Append text, each line indented. */
void ovl_wrap_text(struct ovl_buf *b, const char *text, int indent);
/** The same with a buffer's text, if it has any, and empty it. */
void ovl_wrap_buf(struct ovl_buf *b, struct ovl_buf *text, int indent);

#endif
