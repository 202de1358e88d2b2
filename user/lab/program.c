#include "lab/program.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/str.h"

#define START_MS 5000
#define END_MS	 2000
#define READY_FD 3
#define STEP_NS	 2000000

extern char **environ;

/* Signals are the default's and let through, whatever the caller has blocked or ignored. */
static void plain_signals(posix_spawnattr_t *attr)
{
	sigset_t none, all;

	sigemptyset(&none);
	sigfillset(&all);
	posix_spawnattr_setsigmask(attr, &none);
	posix_spawnattr_setsigdefault(attr, &all);
	posix_spawnattr_setflags(attr, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF |
					       POSIX_SPAWN_SETSID);
}

static void wait_exit(pid_t pid, int *status)
{
	while (waitpid(pid, status, 0) < 0 && errno == EINTR)
		;
}

/* First line of what a program said. */
static void read_said(int fd, char *said, size_t n)
{
	size_t used = 0;
	ssize_t got;

	while (used < n - 1 && (got = read(fd, said + used, n - 1 - used)) != 0) {
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			break;
		used += (size_t)got;
	}
	said[used] = '\0';
	said[strcspn(said, "\n")] = '\0';
}

static int write_all(int fd, const char *text)
{
	size_t left = strlen(text);

	while (left) {
		ssize_t n = write(fd, text, left);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		text += n;
		left -= (size_t)n;
	}
	return 0;
}

/* The rules as a file that nobody else sees: a program that ends early must not end us by a pipe */
static int rules_file(const char *rules)
{
	int fd = memfd_create("rules", MFD_CLOEXEC), rc;

	if (fd < 0)
		return -errno;
	rc = write_all(fd, rules);
	if (rc < 0 || lseek(fd, 0, SEEK_SET) < 0) {
		close(fd);
		return rc < 0 ? rc : -EIO;
	}
	return fd;
}

static int spawn_nft(int rules_fd, int said_fd, pid_t *pid)
{
	static char name[] = "nft", option[] = "-f", input[] = "-";
	char *const argv[] = {name, option, input, NULL};
	posix_spawn_file_actions_t fa;
	posix_spawnattr_t attr;
	int rc;

	posix_spawn_file_actions_init(&fa);
	posix_spawnattr_init(&attr);
	plain_signals(&attr);
	posix_spawn_file_actions_adddup2(&fa, rules_fd, 0);
	posix_spawn_file_actions_adddup2(&fa, said_fd, 1);
	posix_spawn_file_actions_adddup2(&fa, said_fd, 2);
	rc = posix_spawn(pid, "/usr/sbin/nft", &fa, &attr, argv, environ);
	if (rc == ENOENT)
		rc = posix_spawnp(pid, "nft", &fa, &attr, argv, environ);
	posix_spawn_file_actions_destroy(&fa);
	posix_spawnattr_destroy(&attr);
	return -rc;
}

int ovl_program_nft(const char *rules, const char *where, struct ovl_err *err)
{
	int fds[2] = {-1, -1}, file = rules_file(rules), rc, status = 0;
	char said[200];
	pid_t pid;

	rc = file;
	if (rc >= 0)
		rc = pipe2(fds, O_CLOEXEC) < 0 ? -errno : spawn_nft(file, fds[1], &pid);
	if (file >= 0)
		close(file);
	if (fds[1] >= 0)
		close(fds[1]);
	if (rc < 0) {
		if (fds[0] >= 0)
			close(fds[0]);
		return ovl_err_set(err, OVL_EXIT_FAILED, rc,
				   "cannot run nft, which makes the NAT rules of this lab: %s%s",
				   strerror(-rc),
				   rc == -ENOENT ? "; install the package nftables" : "");
	}
	read_said(fds[0], said, sizeof(said));
	close(fds[0]);
	wait_exit(pid, &status);
	if (status)
		return ovl_err_set(err, OVL_EXIT_FAILED, -EINVAL,
				   "nft refused the lab's rules in %s: %s", where,
				   *said ? said : "it said nothing");
	return 0;
}

/* Where a helper program may be: the user's choice, beside this program, in the usual places. */
static bool find_program(const char *name, char path[PATH_MAX])
{
	static const char *const dirs[] = {"/usr/sbin", "/usr/bin", "/usr/libexec/docker",
					   "/usr/local/bin", "/usr/local/sbin"};
	const char *own = getenv("OVLTRACE_DOCKER_PROXY");
	char self[PATH_MAX];
	ssize_t n;

	if (own && *own)
		return ovl_str_copy(path, PATH_MAX, own) && access(path, X_OK) == 0;
	for (size_t i = 0; i < sizeof(dirs) / sizeof(dirs[0]); i++) {
		snprintf(path, PATH_MAX, "%s/%s", dirs[i], name);
		if (access(path, X_OK) == 0)
			return true;
	}
	n = readlink("/proc/self/exe", self, sizeof(self) - 1);
	if (n <= 0)
		return false;
	self[n] = '\0';
	if (snprintf(path, PATH_MAX, "%s/.output/docker/%s", dirname(self), name) >= PATH_MAX)
		return false;
	return access(path, X_OK) == 0;
}

/* Our environment and the mark. NULL without memory; free() releases it. */
static char **marked_environ(const char *lab, char *mark, size_t n_mark)
{
	size_t n = 0, used = 0;
	char **env;

	snprintf(mark, n_mark, OVL_PROGRAM_MARK "=%s", lab);
	while (environ[n])
		n++;
	env = calloc(n + 2, sizeof(*env));
	if (!env)
		return NULL;
	for (size_t i = 0; i < n; i++) {
		if (!ovl_str_starts(environ[i], OVL_PROGRAM_MARK "="))
			env[used++] = environ[i];
	}
	env[used] = mark;
	return env;
}

/* stdin, stdout and stderr to nowhere, the pipe as fd 3. */
static int spawn_daemon(const char *path, const struct ovl_plan_daemon *d, int ready_fd, char **env,
			pid_t *pid)
{
	char *argv[OVL_PLAN_ARGS + 2] = {(char *)(d->program ? d->program : "ovl-relay")};
	posix_spawn_file_actions_t fa;
	posix_spawnattr_t attr;
	int rc;

	for (size_t i = 0; i < OVL_PLAN_ARGS && d->args[i][0]; i++)
		argv[i + 1] = (char *)d->args[i];
	posix_spawn_file_actions_init(&fa);
	posix_spawnattr_init(&attr);
	plain_signals(&attr);
	posix_spawn_file_actions_addopen(&fa, 0, "/dev/null", O_RDWR, 0);
	posix_spawn_file_actions_adddup2(&fa, 0, 1);
	posix_spawn_file_actions_adddup2(&fa, 0, 2);
	posix_spawn_file_actions_adddup2(&fa, ready_fd, READY_FD);
	posix_spawn_file_actions_addchdir_np(&fa, "/");
	rc = posix_spawn(pid, path, &fa, &attr, argv, env);
	posix_spawn_file_actions_destroy(&fa);
	posix_spawnattr_destroy(&attr);
	return -rc;
}

/* Wait for the word on the pipe. */
static int await(const struct ovl_plan_daemon *d, int fd, const char *where, struct ovl_err *err)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};
	uint64_t until_ns = ovl_clock_ns() + START_MS * 1000000ull;
	char said[200] = "";
	int n;

	do {
		n = poll(&p, 1, 100);
	} while (n <= 0 && ovl_clock_ns() < until_ns);
	if (n > 0)
		read_said(fd, said, 3);
	if (said[0] == '0')
		return 0;
	if (said[0] == '1')
		read_said(fd, said, sizeof(said));
	return ovl_err_set(err, OVL_EXIT_FAILED, -EIO, "%s does not start in %s: %s", d->what,
			   where,
			   n <= 0  ? "it has said nothing for 5 s"
			   : *said ? said
				   : "it ended at once");
}

int ovl_program_start(const struct ovl_plan_daemon *d, const char *lab, const char *where,
		      struct ovl_err *err)
{
	char path[PATH_MAX] = "/proc/self/exe", mark[64], **env;
	int fds[2], rc;
	pid_t pid;

	if (d->program && !find_program(d->program, path))
		return ovl_err_set(err, OVL_EXIT_FAILED, -ENOENT,
				   "this lab needs the program %s: scripts/docker-proxy takes it "
				   "out of Debian's package docker.io, or name it in "
				   "OVLTRACE_DOCKER_PROXY",
				   d->program);
	env = marked_environ(lab, mark, sizeof(mark));
	if (!env)
		return ovl_err_set(err, OVL_EXIT_FAILED, -ENOMEM, "out of memory");
	rc = pipe2(fds, O_CLOEXEC) < 0 ? -errno : 0;
	if (!rc) {
		rc = spawn_daemon(path, d, fds[1], env, &pid);
		close(fds[1]);
		if (rc < 0)
			close(fds[0]);
	}
	free(env);
	if (rc < 0)
		return ovl_err_set(err, OVL_EXIT_FAILED, rc, "cannot start %s (%s): %s", d->what,
				   path, strerror(-rc));
	rc = await(d, fds[0], where, err);
	close(fds[0]);
	return rc;
}

/* Does the environment of a process carry the mark of this lab? */
static bool is_marked(const char *pid, const char *lab)
{
	char path[64], text[4096], mark[64];
	size_t n, have = 0, len;
	bool found = false;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%.20s/environ", pid);
	len = (size_t)snprintf(mark, sizeof(mark), OVL_PROGRAM_MARK "=%s", lab) + 1;
	f = fopen(path, "re");
	if (!f)
		return false;
	/* the mark may lie across two reads: its length is kept of the first */
	while (!found && (n = fread(text + have, 1, sizeof(text) - have, f)) > 0) {
		have += n;
		found = memmem(text, have, mark, len) != NULL;
		if (have > len) {
			memmove(text, text + have - len, len);
			have = len;
		}
	}
	fclose(f);
	return found;
}

/* Kill what is marked; how many there were. */
static int kill_marked(DIR *proc, const char *lab)
{
	struct dirent *entry;
	int n = 0;

	rewinddir(proc);
	while ((entry = readdir(proc))) {
		if (!isdigit((unsigned char)entry->d_name[0]) || !is_marked(entry->d_name, lab))
			continue;
		if (atoi(entry->d_name) == getpid())
			continue;
		kill((pid_t)atoi(entry->d_name), SIGKILL);
		n++;
	}
	return n;
}

int ovl_program_kill(const char *lab, struct ovl_err *err)
{
	const struct timespec step = {.tv_nsec = STEP_NS};
	uint64_t until_ns = ovl_clock_ns() + END_MS * 1000000ull;
	DIR *proc = opendir("/proc");
	int killed, left;

	if (!proc)
		return ovl_err_set(err, OVL_EXIT_FAILED, -errno,
				   "cannot look for the lab's daemons in /proc: %s",
				   strerror(errno));
	killed = left = kill_marked(proc, lab);
	while (left && ovl_clock_ns() < until_ns) {
		nanosleep(&step, NULL);
		left = kill_marked(proc, lab);
	}
	closedir(proc);
	if (left)
		return ovl_err_set(err, OVL_EXIT_FAILED, -EBUSY,
				   "%d daemon%s of lab %s do not end after kill -9", left,
				   left == 1 ? "" : "s", lab);
	return killed;
}
