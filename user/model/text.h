/* Formatted text into the model's fixed fields, cut where they end. */
#ifndef OVL_MODEL_TEXT_H
#define OVL_MODEL_TEXT_H

#include "base/buf.h"
#include "base/str.h"

/** Set the array dst to the formatted text; "" without memory. */
#define ovl_text_set(dst, ...) \
	do { \
		struct ovl_buf text_ = {0}; \
		ovl_buf_printf(&text_, __VA_ARGS__); \
		ovl_str_copy(dst, sizeof(dst), ovl_buf_str(&text_)); \
		ovl_buf_fini(&text_); \
	} while (0)

#endif
