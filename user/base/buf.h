/* A growable text buffer: every textual output is built here before app writes it anywhere. */
#ifndef OVL_BASE_BUF_H
#define OVL_BASE_BUF_H

#include <stdbool.h>
#include <stddef.h>

struct ovl_buf {
	char *s; /* always NUL-terminated once anything was added; NULL when empty */
	size_t n, cap;
	bool failed; /* out of memory at some point: the text is incomplete */
};

void ovl_buf_fini(struct ovl_buf *b);
/** Forget the text, keep the memory. */
void ovl_buf_clear(struct ovl_buf *b);
void ovl_buf_put(struct ovl_buf *b, const char *s, size_t n);
void ovl_buf_puts(struct ovl_buf *b, const char *s);
void ovl_buf_printf(struct ovl_buf *b, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/** The text so far, "" when empty; never NULL. */
const char *ovl_buf_str(const struct ovl_buf *b);

#endif
