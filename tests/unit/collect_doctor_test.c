/* doctor: every check says something, and what it says fits the rights it was run with. */
#include "collect/collect.h"
#include "tap.h"

#include <errno.h>
#include <grp.h>
#include <linux/capability.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static const char *const state_names[] = {"ok", "missing", "skipped"};

static const struct ovl_check *find(const ovl_checks *checks, const char *key)
{
	for (size_t i = 0; i < checks->n; i++)
		if (!strcmp(checks->v[i].key, key))
			return &checks->v[i];
	return NULL;
}

static int state(const ovl_checks *checks, const char *key)
{
	const struct ovl_check *check = find(checks, key);

	return check ? (int)check->state : -1;
}

static unsigned long long netns_inode(void)
{
	struct stat st;

	return stat("/proc/thread-self/ns/net", &st) ? 0 : st.st_ino;
}

static int open_fds(void)
{
	int n = 0;

	for (int fd = 0; fd < 256; fd++)
		n += lseek(fd, 0, SEEK_CUR) >= 0 || errno != EBADF;
	return n;
}

static void test_run(void)
{
	ovl_checks checks = {0};
	const unsigned long long ns = netns_inode();
	int fds;
	bool said = true, lost = true;

	is_int(ovl_doctor_run("lo", &checks), 0, "doctor runs");
	ovl_vec_clear(&checks);
	fds = open_fds();
	is_int(ovl_doctor_run("lo", &checks), 0, "and again");
	is_int(open_fds(), fds, "no descriptor is left open");
	ok(netns_inode() == ns, "the thread is where it was");
	ovl_vec_each(check, &checks) {
		printf("# %-12s %-8s %s%s%s\n", check->key, state_names[check->state], check->text,
		       *check->lost ? " -- lost: " : "", check->lost);
		said &= *check->text != '\0';
		lost &= (check->state == OVL_CHECK_MISSING) == (*check->lost != '\0');
	}
	ok(said, "every check says what came of it");
	ok(lost, "what is missing says what is lost, and only that");
	is_int(state(&checks, "rtnetlink"), OVL_CHECK_OK, "devices can be read by anybody");
	is_int(state(&checks, "interface"), OVL_CHECK_OK, "lo is there");
	is_int(state(&checks, "cpu_clocks"), OVL_CHECK_OK, "and /proc/stat");
	ovl_vec_clear(&checks);
	ovl_doctor_run(NULL, &checks);
	is_int(state(&checks, "interface"), OVL_CHECK_SKIPPED, "no interface: skipped");
	ovl_vec_clear(&checks);
	ovl_doctor_run("tgt-no-such", &checks);
	is_int(state(&checks, "interface"), OVL_CHECK_MISSING, "an unknown interface is reported");
	ovl_vec_fini(&checks);
}

static void test_root(void)
{
	ovl_checks checks = {0};

	if (geteuid()) {
		tap_skip("what root may do needs root");
		return;
	}
	ovl_doctor_run(NULL, &checks);
	is_int(state(&checks, "setns"), OVL_CHECK_OK, "root enters namespaces");
	is_int(state(&checks, "twin"), OVL_CHECK_OK, "root makes namespaces");
	ovl_vec_fini(&checks);
}

/* Without any right, in a child: refused checks are reported, nothing fails. */
static void test_nobody(void)
{
	int status;
	pid_t pid;

	if (geteuid()) {
		tap_skip("dropping rights needs root");
		return;
	}
	fflush(stdout);
	pid = fork();
	if (!pid) {
		ovl_checks checks = {0};
		bool good = !setgroups(0, NULL) && !setgid(65534) && !setuid(65534) &&
			    !ovl_doctor_run("lo", &checks);

		ovl_vec_each(check, &checks)
			printf("# nobody: %-12s %-8s %s\n", check->key, state_names[check->state],
			       check->text);
		good &= state(&checks, "tp_btf") == OVL_CHECK_MISSING &&
			state(&checks, "sampler") == OVL_CHECK_MISSING &&
			state(&checks, "twin") == OVL_CHECK_MISSING &&
			state(&checks, "kallsyms") == OVL_CHECK_MISSING &&
			state(&checks, "interface") == OVL_CHECK_OK &&
			state(&checks, "rtnetlink") == OVL_CHECK_OK;
		ovl_vec_fini(&checks);
		fflush(stdout);
		_exit(good ? 0 : 1);
	}
	ok(waitpid(pid, &status, 0) == pid && WIFEXITED(status) && !WEXITSTATUS(status),
	   "without rights: what is refused is reported as missing, the rest works");
}

int main(void)
{
	test_run();
	test_root();
	test_nobody();
	return tap_done();
}
