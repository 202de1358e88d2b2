#include "base/str.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

bool ovl_str_copy(char *dst, size_t n, const char *src)
{
	size_t len = strlen(src);
	size_t take = len < n ? len : n - 1;

	memcpy(dst, src, take);
	dst[take] = '\0';
	return take == len;
}

bool ovl_str_starts(const char *s, const char *prefix)
{
	return strncmp(s, prefix, strlen(prefix)) == 0;
}

bool ovl_str_u64(const char *s, unsigned long long min, unsigned long long max,
		 unsigned long long *out)
{
	char *end;
	unsigned long long value;

	if (*s < '0' || *s > '9')
		return false;
	errno = 0;
	value = strtoull(s, &end, 10);
	if (errno || *end || value < min || value > max)
		return false;
	*out = value;
	return true;
}
