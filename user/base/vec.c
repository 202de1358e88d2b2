#include "base/vec.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

void *ovl_vec_grow(void **v, size_t *n, size_t *cap, size_t size)
{
	char *at;

	if (*n == *cap) {
		size_t want = *cap ? *cap * 2 : 8;
		void *grown;

		if (want > SIZE_MAX / size)
			return NULL;
		grown = realloc(*v, want * size);
		if (!grown)
			return NULL;
		*v = grown;
		*cap = want;
	}
	at = (char *)*v + (*n)++ * size;
	memset(at, 0, size);
	return at;
}

void ovl_vec_release(void **v, size_t *n, size_t *cap)
{
	free(*v);
	*v = NULL;
	*n = *cap = 0;
}
