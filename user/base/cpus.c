#include "base/cpus.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"

#define STATUS	"/proc/thread-self/status"
#define ALLOWED "Cpus_allowed_list:"
#define SYSFS	"/sys/devices/system/cpu/"

int ovl_cpus_next(const char *list, int from)
{
	while (*list >= '0' && *list <= '9') {
		char *end;
		long first = strtol(list, &end, 10), last = first;

		if (*end == '-')
			last = strtol(end + 1, &end, 10);
		if (first > INT_MAX)
			return -1;
		if (from <= first)
			return (int)first;
		if (from <= last)
			return from;
		list = *end == ',' ? end + 1 : end;
	}
	return -1;
}

size_t ovl_cpus_spare(struct ovl_cpu *cpus, size_t n)
{
	size_t kept = 0;

	for (size_t i = 0; i < n; i++)
		kept += !cpus[i].reserved;
	if (kept < 2)
		return n;
	kept = 0;
	for (size_t i = 0; i < n; i++)
		if (!cpus[i].reserved)
			cpus[kept++] = cpus[i];
	return kept;
}

/* An idle share nobody knows ranks last: the CPU came online a moment ago. */
static double idle_rank(const struct ovl_cpu *c)
{
	return isnan(c->idle_ratio) ? -1 : c->idle_ratio;
}

static bool is_better(const struct ovl_cpu *a, const struct ovl_cpu *b)
{
	if (a->reserved != b->reserved)
		return b->reserved;
	if (idle_rank(a) > idle_rank(b) || idle_rank(a) < idle_rank(b))
		return idle_rank(a) > idle_rank(b);
	return a->cpu < b->cpu;
}

/* The best besides one CPU (NULL: of all), on another core than its if so asked. NULL: none is. */
static const struct ovl_cpu *best_besides(const struct ovl_cpu *cpus, size_t n,
					  const struct ovl_cpu *taken, bool other_core)
{
	const struct ovl_cpu *best = NULL;

	for (const struct ovl_cpu *c = cpus; c < cpus + n; c++) {
		if (taken && (c->cpu == taken->cpu || (other_core && c->core == taken->core)))
			continue;
		if (!best || is_better(c, best))
			best = c;
	}
	return best;
}

int ovl_cpus_pick(const struct ovl_cpu *cpus, size_t n, int *sender, int *receiver)
{
	const struct ovl_cpu *first = best_besides(cpus, n, NULL, false), *second;

	if (!first)
		return -ENOENT;
	second = best_besides(cpus, n, first, true);
	if (!second)
		second = best_besides(cpus, n, first, false);
	if (!second)
		second = first;
	*sender = first->cpu > second->cpu ? first->cpu : second->cpu;
	*receiver = first->cpu < second->cpu ? first->cpu : second->cpu;
	return 0;
}

/*
 * The rest of the first line of a file that begins with prefix, to be freed. NULL: there is none.
 * By getline, as the list of a large machine is longer than any fixed line.
 */
static char *line_of(const char *root, const char *path, const char *prefix)
{
	char full[512], *line = NULL;
	size_t cap = 0;
	bool found = false;
	FILE *f;

	snprintf(full, sizeof(full), "%s%s", root, path);
	f = fopen(full, "re");
	if (!f)
		return NULL;
	while (!found && getline(&line, &cap, f) >= 0)
		found = ovl_str_starts(line, prefix);
	fclose(f);
	if (found) {
		const char *rest = line + strlen(prefix);

		rest += strspn(rest, " \t");
		memmove(line, rest, strlen(rest) + 1);
		return line;
	}
	free(line);
	return NULL;
}

/* No file (kernel without nohz_full), an empty list and "(null)" all hold no CPU. */
static bool holds(const char *list, int cpu)
{
	return list && ovl_cpus_next(list, cpu) == cpu;
}

static int core_of(const char *root, int cpu)
{
	char path[96], *siblings;
	int core = -1;

	snprintf(path, sizeof(path), SYSFS "cpu%d/topology/thread_siblings_list", cpu);
	siblings = line_of(root, path, "");
	if (siblings)
		core = ovl_cpus_next(siblings, 0);
	free(siblings);
	return core < 0 ? cpu : core;
}

static int take_usable(const char *root, const char *allowed, const char *online,
		       struct ovl_cpus *cpus)
{
	char *isolated = line_of(root, SYSFS "isolated", "");
	char *nohz = line_of(root, SYSFS "nohz_full", "");
	int rc = 0;

	for (int i = ovl_cpus_next(online, 0); i >= 0 && !rc; i = ovl_cpus_next(online, i + 1)) {
		struct ovl_cpu *c;

		if (!holds(allowed, i))
			continue;
		c = ovl_vec_push(cpus);
		if (!c)
			rc = -ENOMEM;
		else
			*c = (struct ovl_cpu){
				.cpu = i,
				.core = core_of(root, i),
				.reserved = holds(isolated, i) || holds(nohz, i),
				.idle_ratio = NAN,
			};
	}
	cpus->n = ovl_cpus_spare(cpus->v, cpus->n);
	free(isolated);
	free(nohz);
	return rc;
}

int ovl_cpus_read(const char *root, struct ovl_cpus *cpus, struct ovl_err *err)
{
	char *allowed = line_of(root, STATUS, ALLOWED);
	char *online = line_of(root, SYSFS "online", "");
	int rc;

	ovl_vec_clear(cpus);
	if (!allowed || ovl_cpus_next(allowed, 0) < 0)
		rc = ovl_err_set(err, OVL_EXIT_FAILED, -EIO,
				 "cannot read which CPUs this process may use from %s" STATUS
				 ": is /proc mounted?",
				 root);
	else if (!online || ovl_cpus_next(online, 0) < 0)
		rc = ovl_err_set(err, OVL_EXIT_FAILED, -EIO,
				 "cannot read which CPUs are online from %s" SYSFS
				 "online: is /sys mounted?",
				 root);
	else if (take_usable(root, allowed, online, cpus))
		rc = ovl_err_set(err, OVL_EXIT_FAILED, -ENOMEM, "no memory for a list of CPUs");
	else if (!cpus->n)
		rc = ovl_err_set(err, OVL_EXIT_FAILED, -ENOENT,
				 "cannot choose CPUs: none that this process may use (%.*s) is "
				 "online (%.*s)",
				 (int)strcspn(allowed, "\n"), allowed, (int)strcspn(online, "\n"),
				 online);
	else
		rc = 0;
	free(allowed);
	free(online);
	return rc;
}
