#include "base/buf.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool reserve(struct ovl_buf *b, size_t more)
{
	size_t want = b->cap ? b->cap : 256;
	char *grown;

	if (b->failed)
		return false;
	while (want < b->n + more + 1)
		want *= 2;
	if (want == b->cap)
		return true;
	grown = realloc(b->s, want);
	if (!grown) {
		b->failed = true;
		return false;
	}
	b->s = grown;
	b->cap = want;
	return true;
}

void ovl_buf_fini(struct ovl_buf *b)
{
	free(b->s);
	*b = (struct ovl_buf){0};
}

void ovl_buf_clear(struct ovl_buf *b)
{
	b->n = 0;
	if (b->s)
		b->s[0] = '\0';
}

void ovl_buf_put(struct ovl_buf *b, const char *s, size_t n)
{
	if (!reserve(b, n))
		return;
	memcpy(b->s + b->n, s, n);
	b->n += n;
	b->s[b->n] = '\0';
}

void ovl_buf_puts(struct ovl_buf *b, const char *s)
{
	ovl_buf_put(b, s, strlen(s));
}

void ovl_buf_printf(struct ovl_buf *b, const char *fmt, ...)
{
	va_list ap, again;
	int n;

	va_start(ap, fmt);
	va_copy(again, ap);
	n = vsnprintf(NULL, 0, fmt, ap);
	va_end(ap);
	if (n >= 0 && reserve(b, (size_t)n)) {
		vsnprintf(b->s + b->n, (size_t)n + 1, fmt, again);
		b->n += (size_t)n;
	}
	va_end(again);
}

const char *ovl_buf_str(const struct ovl_buf *b)
{
	return b->s ? b->s : "";
}
