/* Memory of this process, for tests of what strangers can make it take. */
#ifndef OVL_TESTS_HOSTILE_KIT_H
#define OVL_TESTS_HOSTILE_KIT_H

#include <stdio.h>
#include <unistd.h>

#include "tap.h"

#define RSS_ROOM (64u << 20) /* the sanitizer's own bookkeeping included */

/* The sanitizer keeps what is freed for a while: not so much that it looks like a leak. */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
	return "quarantine_size_mb=8:thread_local_quarantine_size_kb=64";
}

static inline size_t rss_bytes(void)
{
	FILE *f = fopen("/proc/self/statm", "re");
	unsigned long long pages = 0;

	if (!f || fscanf(f, "%*u %llu", &pages) != 1)
		pages = 0;
	if (f)
		fclose(f);
	return (size_t)pages * (size_t)sysconf(_SC_PAGESIZE);
}

static inline void rss_bounded(size_t before)
{
	size_t after = rss_bytes();

	ok(before && after && after < before + RSS_ROOM,
	   "memory stays bounded: %zu KiB before, %zu KiB after", before >> 10, after >> 10);
}

#endif
