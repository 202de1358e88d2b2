/*
 * Test Anything Protocol for unit tests: ok(), plan at the end, exit status 1 when anything failed.
 */
#ifndef OVL_TESTS_TAP_H
#define OVL_TESTS_TAP_H

#include <stdio.h>
#include <string.h>

static int tap_n, tap_failed;

#define ok(cond, ...) \
	do { \
		int tap_good = !!(cond); \
		tap_n++; \
		if (!tap_good) \
			tap_failed++; \
		printf("%s %d - ", tap_good ? "ok" : "not ok", tap_n); \
		printf(__VA_ARGS__); \
		printf("\n"); \
		if (!tap_good) \
			printf("# %s:%d: %s\n", __FILE__, __LINE__, #cond); \
	} while (0)

#define is_str(got, want, ...) \
	do { \
		const char *tap_got = (got), *tap_want = (want); \
		ok(strcmp(tap_got, tap_want) == 0, __VA_ARGS__); \
		if (strcmp(tap_got, tap_want) != 0) \
			printf("# got:  %s\n# want: %s\n", tap_got, tap_want); \
	} while (0)

#define is_int(got, want, ...) \
	do { \
		long long tap_got = (long long)(got), tap_want = (long long)(want); \
		ok(tap_got == tap_want, __VA_ARGS__); \
		if (tap_got != tap_want) \
			printf("# got:  %lld\n# want: %lld\n", tap_got, tap_want); \
	} while (0)

/** Skip with a reason; counts as one skipped test. */
#define tap_skip(...) \
	do { \
		tap_n++; \
		printf("ok %d # SKIP ", tap_n); \
		printf(__VA_ARGS__); \
		printf("\n"); \
	} while (0)

/** `return tap_done();` at the end of main. */
static inline int tap_done(void)
{
	printf("1..%d\n", tap_n);
	return tap_failed ? 1 : 0;
}

#endif
