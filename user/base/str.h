/* Small string helpers that libc of Debian 12 lacks. */
#ifndef OVL_BASE_STR_H
#define OVL_BASE_STR_H

#include <stdbool.h>
#include <stddef.h>

/** Copy src into dst[n], always terminated; true if it fitted. */
bool ovl_str_copy(char *dst, size_t n, const char *src);
/** Does s begin with prefix? */
bool ovl_str_starts(const char *s, const char *prefix);
/** Parse a whole decimal number within [min, max]; false if s is anything else. */
bool ovl_str_u64(const char *s, unsigned long long min, unsigned long long max,
		 unsigned long long *out);

#endif
