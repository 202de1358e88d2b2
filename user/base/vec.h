/* Growable arrays of plain structs. */
#ifndef OVL_BASE_VEC_H
#define OVL_BASE_VEC_H

#include <stddef.h>

/** Declare a vector of T; zero-initialised is empty. */
#define OVL_VEC(T) \
	struct { \
		T *v; \
		size_t n, cap; \
	}

/** Append one zeroed element; pointer to it (valid until the next push), or NULL without memory. */
#define ovl_vec_push(vec) \
	((__typeof__((vec)->v))ovl_vec_grow((void **)&(vec)->v, &(vec)->n, &(vec)->cap, \
					    sizeof(*(vec)->v)))

/** Forget the elements, keep the memory. */
#define ovl_vec_clear(vec) ((void)((vec)->n = 0))

/** Release the memory. */
#define ovl_vec_fini(vec) ovl_vec_release((void **)&(vec)->v, &(vec)->n, &(vec)->cap)

/** Loop: `ovl_vec_each(it, &vec) { it->… }`. */
#define ovl_vec_each(it, vec) \
	for (__typeof__(*(vec)->v) *it = (vec)->v; it && it < (vec)->v + (vec)->n; it++)

void *ovl_vec_grow(void **v, size_t *n, size_t *cap, size_t size);
void ovl_vec_release(void **v, size_t *n, size_t *cap);

#endif
