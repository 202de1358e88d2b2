#include "collect/cgroups.h"

#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/str.h"

#define DEPTH_MAX  8
#define GROUPS_MAX 4096 /* folders looked at */
#define TASKS_MAX  256	/* of one group */
#define PATH_LEN   512

struct walk {
	struct ovl_sheet *sheet;
	const struct ovl_facts *facts;
	size_t root_n;
	unsigned int left, skipped;
};

static bool read_pair(const char *dir, const char *file, const char *key, uint64_t *value)
{
	char path[PATH_LEN + 64], line[256], name[64];
	unsigned long long v;
	bool found = false;
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", dir, file);
	f = fopen(path, "re");
	if (!f)
		return false;
	while (!found && fgets(line, sizeof(line), f))
		found = sscanf(line, "%63s %llu", name, &v) == 2 && !strcmp(name, key);
	fclose(f);
	if (found)
		*value = v;
	return found;
}

/* Quota as a share of one CPU; false: none. */
static bool quota_of(const char *dir, double *cpus)
{
	static const char *const files[] = {"cpu.max", "cpu.cfs_quota_us", "cpu.cfs_period_us"};
	long long v[2] = {0, 0};
	char path[PATH_LEN + 64], line[64];

	for (int i = 0; i < 3; i++) {
		FILE *f;

		snprintf(path, sizeof(path), "%s/%s", dir, files[i]);
		f = fopen(path, "re");
		if (!f)
			continue;
		if (fgets(line, sizeof(line), f)) {
			if (!i && sscanf(line, "%lld %lld", &v[0], &v[1]) == 2) {
				fclose(f);
				break;
			}
			if (i)
				v[i - 1] = strtoll(line, NULL, 10);
		}
		fclose(f);
	}
	*cpus = v[1] > 0 ? (double)v[0] / (double)v[1] : 0;
	return v[0] > 0 && v[1] > 0;
}

/* Index of the path's namespace that one of the group's tasks lives in; -1: none. */
static int ns_of(const struct walk *w, const char *dir, char *name, size_t n)
{
	char path[PATH_LEN + 64], line[32];
	int found = -1, tasks = 0;
	struct stat st;
	FILE *f;

	snprintf(path, sizeof(path), "%s/cgroup.procs", dir);
	f = fopen(path, "re");
	while (f && found < 0 && tasks++ < TASKS_MAX && fgets(line, sizeof(line), f)) {
		const int pid = atoi(line);

		snprintf(path, sizeof(path), "/proc/%d/ns/net", pid);
		if (stat(path, &st))
			continue;
		for (size_t i = 0; i < w->facts->ns.n; i++)
			if (w->facts->ns.v[i].inode == st.st_ino)
				found = (int)i;
		if (found >= 0) {
			FILE *comm;

			snprintf(path, sizeof(path), "/proc/%d/comm", pid);
			comm = fopen(path, "re");
			if (!comm || !fgets(name, (int)n, comm))
				*name = '\0';
			name[strcspn(name, "\n")] = '\0';
			if (comm)
				fclose(comm);
		}
	}
	if (f)
		fclose(f);
	return found;
}

/* A long path is cut at its beginning: what tells a pod's groups apart stands at the end. */
static void name_group(const char *path, char object[OVL_NAME_MAX])
{
	const size_t n = strlen(path), room = OVL_NAME_MAX - 1;

	if (n <= room)
		ovl_str_copy(object, OVL_NAME_MAX, path);
	else
		snprintf(object, OVL_NAME_MAX, "...%s", path + n - room + strlen("..."));
}

static void put_group(struct walk *w, const char *dir)
{
	char object[OVL_NAME_MAX], task[32] = "";
	uint64_t v;
	double cpus;
	int ns;

	if (!quota_of(dir, &cpus))
		return;
	ns = ns_of(w, dir, task, sizeof(task));
	if (ns < 0)
		return;
	name_group(dir + w->root_n, object);
	w->sheet->ns = (uint32_t)ns;
	ovl_sheet_set(w->sheet, "cgroup", object, "quota_millicpus", (int64_t)(cpus * 1000));
	ovl_sheet_say(w->sheet, "cgroup", object, "task", task);
	if (read_pair(dir, "cpu.stat", "nr_periods", &v))
		ovl_sheet_count(w->sheet, "cgroup", object, "periods", v);
	if (read_pair(dir, "cpu.stat", "nr_throttled", &v))
		ovl_sheet_count(w->sheet, "cgroup", object, "throttled_periods", v);
	if (read_pair(dir, "cpu.stat", "throttled_usec", &v))
		ovl_sheet_count(w->sheet, "cgroup", object, "throttled_ns", v * 1000);
	else if (read_pair(dir, "cpu.stat", "throttled_time", &v))
		ovl_sheet_count(w->sheet, "cgroup", object, "throttled_ns", v);
}

static void walk(struct walk *w, const char *dir, int depth)
{
	DIR *d = opendir(dir);
	struct dirent *entry;

	while (d && (entry = readdir(d))) {
		char path[PATH_LEN];

		if (entry->d_type != DT_DIR || entry->d_name[0] == '.' ||
		    snprintf(path, sizeof(path), "%s/%s", dir, entry->d_name) >= (int)sizeof(path))
			continue;
		if (!w->left) {
			w->skipped++;
			continue;
		}
		w->left--;
		put_group(w, path);
		if (depth < DEPTH_MAX)
			walk(w, path, depth + 1);
	}
	if (d)
		closedir(d);
}

void ovl_cgroups_read(struct ovl_sheet *s, const struct ovl_facts *facts)
{
	static const char *const roots[] = {"/sys/fs/cgroup/cpu", "/sys/fs/cgroup"};
	struct walk w = {.sheet = s, .facts = facts, .left = GROUPS_MAX};
	const uint32_t ns = s->ns;
	const char *root = access(roots[0], R_OK) ? roots[1] : roots[0];

	w.root_n = strlen(root) + 1;
	walk(&w, root, 0);
	s->left_out += w.skipped;
	s->ns = ns;
}
