/* Which two CPUs are picked: siblings, reserved ones, idleness, cpusets; and where that is read. */
#include "base/cpus.h"

#include <errno.h>
#include <ftw.h>
#include <math.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "tap.h"

#define MAX_CPUS 8

static void lists(void)
{
	is_int(ovl_cpus_next("0-1", 0), 0, "first of 0-1");
	is_int(ovl_cpus_next("0-1", 1), 1, "second of 0-1");
	is_int(ovl_cpus_next("0-1", 2), -1, "no third of 0-1");
	is_int(ovl_cpus_next("0", 1), -1, "one CPU has no second");
	is_int(ovl_cpus_next("2,5-7,64", 0), 2, "a list need not begin with 0");
	is_int(ovl_cpus_next("2,5-7,64", 3), 5, "a gap is passed over");
	is_int(ovl_cpus_next("2,5-7,64", 8), 64, "the last one");
	is_int(ovl_cpus_next("nonsense", 0), -1, "no list at all");
	is_int(ovl_cpus_next("0-8191", 5000), 5000, "numbers beyond 1024");
	is_int(ovl_cpus_next("", 0), -1, "an empty list");
	is_int(ovl_cpus_next("(null)\n", 0), -1, "how an empty nohz_full list is printed");
	is_int(ovl_cpus_next("99999999999", 0), -1, "no number of a CPU");
}

static const struct {
	const char *what;
	int sender, receiver;
	size_t n;
	struct ovl_cpu cpus[MAX_CPUS]; /* cpu, core, reserved, idle_ratio */
} scenes[] = {
	{"two CPUs", 1, 0, 2, {{0, 0, false, NAN}, {1, 1, false, NAN}}},
	{"one CPU: both", 3, 3, 1, {{3, 3, false, NAN}}},
	{"one reserved CPU: both", 3, 3, 1, {{3, 3, true, NAN}}},
	{"a cpuset of 4 and 5", 5, 4, 2, {{4, 4, false, NAN}, {5, 5, false, NAN}}},
	{"in any order", 5, 4, 3, {{6, 6, false, NAN}, {5, 5, false, NAN}, {4, 4, false, NAN}}},
	{"siblings 0 and 1 side by side: not both",
	 2,
	 0,
	 4,
	 {{0, 0, false, NAN}, {1, 0, false, NAN}, {2, 2, false, NAN}, {3, 2, false, NAN}}},
	{"siblings 0 and 2 far apart: 0 and 1",
	 1,
	 0,
	 4,
	 {{0, 0, false, NAN}, {1, 1, false, NAN}, {2, 0, false, NAN}, {3, 1, false, NAN}}},
	{"one core only: its siblings", 9, 1, 2, {{1, 1, false, NAN}, {9, 1, false, NAN}}},
	{"the core's first thread is out of the cpuset: siblings still",
	 7,
	 5,
	 3,
	 {{5, 1, false, NAN}, {6, 1, false, NAN}, {7, 3, false, NAN}}},
	{"reserved ones are left out",
	 3,
	 2,
	 4,
	 {{0, 0, true, NAN}, {1, 1, true, NAN}, {2, 2, false, NAN}, {3, 3, false, NAN}}},
	{"siblings rather than a reserved one",
	 3,
	 2,
	 3,
	 {{0, 0, true, 1}, {2, 2, false, 0.5}, {3, 2, false, 0.5}}},
	{"one not reserved: it and the idlest reserved one",
	 2,
	 0,
	 3,
	 {{0, 0, false, 0.1}, {1, 1, true, 0.8}, {2, 2, true, 0.9}}},
	{"only reserved ones", 5, 4, 2, {{4, 4, true, NAN}, {5, 5, true, NAN}}},
	{"the idlest two",
	 3,
	 1,
	 4,
	 {{0, 0, false, 0.2}, {1, 1, false, 0.8}, {2, 2, false, 0}, {3, 3, false, 0.9}}},
	{"equally idle: lower numbers",
	 2,
	 1,
	 4,
	 {{0, 0, false, 0.5}, {1, 1, false, 1}, {2, 2, false, 1}, {3, 3, false, 1}}},
	{"the idlest two are siblings: the next core's",
	 3,
	 2,
	 4,
	 {{0, 0, false, 0.3}, {1, 0, false, 0.4}, {2, 2, false, 1}, {3, 3, false, 0.5}}},
	{"idlest siblings 2 and 3: 2 and the idler of the others",
	 2,
	 1,
	 4,
	 {{0, 0, false, 0.3}, {1, 0, false, 0.4}, {2, 2, false, 1}, {3, 2, false, 0.9}}},
	{"not looked at ranks last",
	 2,
	 1,
	 3,
	 {{0, 0, false, NAN}, {1, 1, false, 0}, {2, 2, false, 0.1}}},
	{"numbers beyond 1024",
	 8191,
	 4096,
	 3,
	 {{1024, 1024, false, 0.1}, {4096, 4096, false, 0.9}, {8191, 8191, false, 1}}},
};

static void picks(void)
{
	for (size_t i = 0; i < sizeof(scenes) / sizeof(scenes[0]); i++) {
		struct ovl_cpu cpus[MAX_CPUS];
		int sender = -1, receiver = -1;
		size_t n;

		memcpy(cpus, scenes[i].cpus, sizeof(cpus));
		n = ovl_cpus_spare(cpus, scenes[i].n);
		is_int(ovl_cpus_pick(cpus, n, &sender, &receiver), 0, "%s", scenes[i].what);
		is_int(sender, scenes[i].sender, "%s: sender", scenes[i].what);
		is_int(receiver, scenes[i].receiver, "%s: receiver", scenes[i].what);
	}
}

static void spared(void)
{
	struct ovl_cpu cpus[] = {{0, 0, true, NAN}, {1, 1, false, NAN}, {2, 2, false, NAN}};
	int sender, receiver;

	is_int(ovl_cpus_spare(cpus, 2), 2, "one other: reserved ones stay");
	is_int(ovl_cpus_spare(cpus, 3), 2, "two others: they go");
	is_int(cpus[0].cpu, 1, "and the others keep their order");
	is_int(ovl_cpus_spare(NULL, 0), 0, "nothing of nothing");
	is_int(ovl_cpus_pick(NULL, 0, &sender, &receiver), -ENOENT, "no CPU, no pick");
}

static void put(const char *root, const char *path, const char *text)
{
	char full[256];
	FILE *f;

	snprintf(full, sizeof(full), "%s%s", root, path);
	for (char *slash = full + strlen(root) + 1; (slash = strchr(slash, '/')); slash++) {
		*slash = '\0';
		mkdir(full, 0700);
		*slash = '/';
	}
	f = fopen(full, "we");
	ok(f && fputs(text, f) >= 0, "%s written", path);
	if (f)
		fclose(f);
}

static int unlink_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	return remove(path);
}

#define STATUS(list) "Name:\tx\nCpus_allowed:\tffff\nCpus_allowed_list:\t" list "\nvol:\t1\n"
#define CPU(file)    "/sys/devices/system/cpu/" file

static void files(void)
{
	char root[] = "/tmp/ovl-cpus-XXXXXX";
	struct ovl_err err = OVL_ERR_INIT;
	struct ovl_cpus cpus = {0};
	int sender = -1, receiver = -1;

	if (!mkdtemp(root)) {
		ok(false, "a folder in /tmp");
		return;
	}
	is_int(ovl_cpus_read(root, &cpus, &err), -EIO, "no status: %s", err.text);
	put(root, "/proc/thread-self/status", STATUS("4-7,2000-2001"));
	is_int(ovl_cpus_read(root, &cpus, &err), -EIO, "no online list: %s", err.text);
	put(root, CPU("online"), "0-3\n");
	is_int(ovl_cpus_read(root, &cpus, &err), -ENOENT, "none is online: %s", err.text);
	ok(strstr(err.text, "(4-7,2000-2001)") && strstr(err.text, "(0-3)"),
	   "both lists are named");

	put(root, CPU("online"), "0-6,2000-4095\n");
	is_int(ovl_cpus_read(root, &cpus, &err), 0, "no other file is needed");
	is_int(cpus.n, 5, "allowed and online");
	ok(cpus.n == 5 && cpus.v[0].cpu == 4 && cpus.v[4].cpu == 2001, "by number");
	ok(cpus.n && cpus.v[0].core == 4 && isnan(cpus.v[0].idle_ratio), "alone on its core");

	put(root, CPU("isolated"), "4\n");
	put(root, CPU("nohz_full"), "2001\n");
	put(root, CPU("cpu5/topology/thread_siblings_list"), "5-6\n");
	put(root, CPU("cpu6/topology/thread_siblings_list"), "5-6\n");
	is_int(ovl_cpus_read(root, &cpus, &err), 0, "read with all files");
	is_int(cpus.n, 3, "neither the isolated nor the nohz_full one");
	is_int(ovl_cpus_pick(cpus.v, cpus.n, &sender, &receiver), 0, "picked");
	is_int(receiver, 5, "receiver on the first");
	is_int(sender, 2000, "sender not on its sibling");

	put(root, CPU("isolated"), "\n");
	put(root, CPU("nohz_full"), "(null)\n");
	is_int(ovl_cpus_read(root, &cpus, &err), 0, "read with empty lists");
	is_int(cpus.n, 5, "nothing is reserved");
	ovl_vec_fini(&cpus);
	nftw(root, unlink_one, 8, FTW_DEPTH | FTW_PHYS);
}

static void machine(void)
{
	struct ovl_err err = OVL_ERR_INIT;
	struct ovl_cpus cpus = {0};

	is_int(ovl_cpus_read("", &cpus, &err), 0, "this machine: %s", err.text);
	ok(cpus.n >= 1, "has a CPU that this test may use");
	ovl_vec_fini(&cpus);
}

int main(void)
{
	lists();
	picks();
	spared();
	files();
	machine();
	return tap_done();
}
