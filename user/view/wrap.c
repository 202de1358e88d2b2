#include "view/wrap.h"

#include <string.h>

void ovl_wrap_text(struct ovl_buf *b, const char *text, int indent)
{
	int x = 0;

	while (*text) {
		size_t n = strcspn(text, " ");

		if (x && x + 1 + (int)n > OVL_WRAP_WIDTH) {
			ovl_buf_puts(b, "\n");
			x = 0;
		}
		ovl_buf_printf(b, "%*s", x ? 1 : indent, "");
		x += (x ? 1 : indent) + (int)n;
		ovl_buf_put(b, text, n);
		text += n;
		text += strspn(text, " ");
	}
	ovl_buf_puts(b, "\n");
}

void ovl_wrap_buf(struct ovl_buf *b, struct ovl_buf *text, int indent)
{
	if (text->n)
		ovl_wrap_text(b, ovl_buf_str(text), indent);
	ovl_buf_clear(text);
}
