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
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/str.h"
#include "lab/relay.h"

#define START_MS 5000
#define END_MS	 2000
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

/* Exit status of a child (not 0 also when killed), or -errno when nobody can tell. */
static int wait_exit(pid_t pid)
{
	int status;

	while (waitpid(pid, &status, 0) < 0) {
		if (errno != EINTR)
			return -errno;
	}
	return status;
}

/*
 * What a program says until it closes its end, n - 1 bytes at most. -ETIMEDOUT if that takes too
 * long.
 */
static int read_said(int fd, char *said, size_t n, uint64_t until_ns)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};
	size_t used = 0;
	ssize_t got = 1;

	while (used < n - 1 && got > 0 && ovl_clock_ns() < until_ns) {
		if (poll(&p, 1, 100) <= 0)
			continue;
		got = read(fd, said + used, n - 1 - used);
		used += got > 0 ? (size_t)got : 0;
	}
	said[used] = '\0';
	return used < n - 1 && got > 0 ? -ETIMEDOUT : 0;
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

/* Our environment and the mark. NULL without memory; free() releases it. */
static char **marked_environ(const char *mark, char *variable, size_t size)
{
	size_t n = 0, used = 0;
	char **env;

	snprintf(variable, size, OVL_PROGRAM_MARK "=%s", mark ? mark : "twin");
	while (environ[n])
		n++;
	env = calloc(n + 2, sizeof(*env));
	if (!env)
		return NULL;
	for (size_t i = 0; i < n; i++) {
		if (!ovl_str_starts(environ[i], OVL_PROGRAM_MARK "="))
			env[used++] = environ[i];
	}
	env[used] = variable;
	return env;
}

static int spawn_nft(int rules_fd, int said_fd, char **env, pid_t *pid)
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
	posix_spawn_file_actions_addclosefrom_np(&fa, 3);
	rc = posix_spawn(pid, "/usr/sbin/nft", &fa, &attr, argv, env);
	if (rc == ENOENT)
		rc = posix_spawnp(pid, "nft", &fa, &attr, argv, env);
	posix_spawn_file_actions_destroy(&fa);
	posix_spawnattr_destroy(&attr);
	return -rc;
}

/* Wait for a program's end, reading away what it says; its exit status, or -ETIMEDOUT: killed. */
static int outlive(pid_t pid, int said_fd, char *said, size_t n)
{
	const uint64_t until_ns = ovl_clock_ns() + START_MS * 1000000ull;
	int rc = read_said(said_fd, said, n, until_ns), status;
	char more[256];

	while (!rc && strlen(said) == n - 1 && *more &&
	       !(rc = read_said(said_fd, more, sizeof(more), until_ns)))
		; /* a closed pipe would kill one that is only talkative */
	if (rc)
		kill(pid, SIGKILL);
	status = wait_exit(pid);
	said[strcspn(said, "\n")] = '\0';
	return rc ? rc : status;
}

static int start_nft(const char *rules, const char *mark, int said_fd, pid_t *pid)
{
	char variable[80], **env = marked_environ(mark, variable, sizeof(variable));
	int file = env ? rules_file(rules) : -ENOMEM, rc = file;

	if (file >= 0) {
		rc = spawn_nft(file, said_fd, env, pid);
		close(file);
	}
	free(env);
	return rc;
}

int ovl_program_nft(const char *rules, const char *mark, const char *where, struct ovl_err *err)
{
	char said[200];
	int fds[2] = {-1, -1}, rc;
	pid_t pid;

	rc = pipe2(fds, O_CLOEXEC) < 0 ? -errno : start_nft(rules, mark, fds[1], &pid);
	if (fds[1] >= 0)
		close(fds[1]);
	if (rc < 0 && fds[0] >= 0)
		close(fds[0]);
	if (rc < 0)
		return ovl_err_set(err, OVL_EXIT_FAILED, rc,
				   "cannot run nft, which makes the NAT rules of this lab: %s%s",
				   strerror(-rc),
				   rc == -ENOENT ? "; install the package nftables" : "");
	rc = outlive(pid, fds[0], said, sizeof(said));
	close(fds[0]);
	if (rc)
		return ovl_err_set(err, OVL_EXIT_FAILED, rc < 0 ? rc : -EINVAL, "nft %s in %s: %s",
				   rc == -ETIMEDOUT ? "did not finish the lab's rules within 5 s"
						    : "refused the lab's rules",
				   where, *said ? said : "it said nothing");
	return 0;
}

/* Where a helper program may be: in the usual places, or where scripts/ of this tree puts it. */
static bool find_usual(const char *name, char path[PATH_MAX])
{
	static const char *const dirs[] = {"/usr/sbin", "/usr/bin", "/usr/libexec/docker",
					   "/usr/local/bin", "/usr/local/sbin"};
	char self[PATH_MAX];
	ssize_t n;

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

/* The user's choice comes first, and is not replaced by another when it is wrong. */
static int find_program(const struct ovl_plan_daemon *d, char path[PATH_MAX], struct ovl_err *err)
{
	const char *own = getenv(d->variable);

	if (own && *own) {
		if (realpath(own, path) && access(path, X_OK) == 0)
			return 0;
		return ovl_err_set(err, OVL_EXIT_FAILED, -errno,
				   "cannot run %s, which %s names as %s: %s", own, d->variable,
				   d->program, strerror(errno));
	}
	if (find_usual(d->program, path))
		return 0;
	return ovl_err_set(err, OVL_EXIT_FAILED, -ENOENT,
			   "this lab needs the program %s: scripts/docker-proxy takes it out of "
			   "Debian's package docker.io; then it is found, or name it in %s",
			   d->program, d->variable);
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
	posix_spawn_file_actions_adddup2(&fa, ready_fd, OVL_RELAY_READY_FD);
	/* what our caller left open is not for a program that outlives it */
	posix_spawn_file_actions_addclosefrom_np(&fa, OVL_RELAY_READY_FD + 1);
	posix_spawn_file_actions_addchdir_np(&fa, "/");
	rc = posix_spawn(pid, path, &fa, &attr, argv, env);
	posix_spawn_file_actions_destroy(&fa);
	posix_spawnattr_destroy(&attr);
	return -rc;
}

/* Wait for the word on the pipe: "0", or "1" and why not. */
static int await(const struct ovl_plan_daemon *d, int fd, const char *where, struct ovl_err *err)
{
	uint64_t until_ns = ovl_clock_ns() + START_MS * 1000000ull;
	char said[200] = "";
	int rc = read_said(fd, said, 3, until_ns);

	if (said[0] == '0')
		return 0;
	if (said[0] == '1')
		rc = read_said(fd, said, sizeof(said), until_ns);
	said[strcspn(said, "\n")] = '\0';
	return ovl_err_set(err, OVL_EXIT_FAILED, rc ? rc : -EIO, "%s does not start in %s: %s",
			   d->what, where,
			   *said ? said
			   : rc	 ? "it has not said within 5 s that it is ready"
				 : "it ended at once");
}

int ovl_program_start(const struct ovl_plan_daemon *d, const char *mark, const char *where,
		      struct ovl_err *err)
{
	char path[PATH_MAX] = "/proc/self/exe", variable[80], **env;
	int fds[2], rc;
	pid_t pid;

	if (d->program) {
		rc = find_program(d, path, err);
		if (rc)
			return rc;
	}
	env = marked_environ(mark, variable, sizeof(variable));
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
	if (rc) {
		kill(pid, SIGKILL);
		wait_exit(pid);
	}
	return rc;
}

/* Does the environment of a process carry this mark, as a whole variable or its beginning? */
static bool is_marked(const char *pid, const char *mark, bool whole)
{
	char path[64], *text = NULL, wanted[80];
	size_t size = 0, n = strlen(OVL_PROGRAM_MARK "=") + strlen(mark);
	bool found = false;
	FILE *f;

	snprintf(wanted, sizeof(wanted), OVL_PROGRAM_MARK "=%s", mark);
	snprintf(path, sizeof(path), "/proc/%.20s/environ", pid);
	f = fopen(path, "re");
	if (!f)
		return false;
	while (!found && getdelim(&text, &size, '\0', f) > 0)
		found = whole ? strcmp(text, wanted) == 0 : strncmp(text, wanted, n) == 0;
	free(text);
	fclose(f);
	return found;
}

/* Is the process in this network namespace? */
static bool is_in(const char *pid, ino_t netns)
{
	char path[64];
	struct stat st;

	snprintf(path, sizeof(path), "/proc/%.20s/ns/net", pid);
	return stat(path, &st) == 0 && st.st_ino == netns;
}

/*
 * Kill a process if it is one of those meant. A handle is taken before looking, so that a number
 * that changes hands meanwhile harms nobody.
 */
static bool kill_if(const char *name, const struct ovl_program_whose *whose)
{
	pid_t pid = (pid_t)atoi(name);
	bool meant;
	int fd;

	if (pid == getpid())
		return false;
	fd = (int)syscall(SYS_pidfd_open, pid, 0);
	if (fd < 0)
		return false;
	meant = is_marked(name, whose->mark, !whose->netns) &&
		(!whose->netns || is_in(name, whose->netns));
	if (meant) {
		struct pollfd end = {.fd = fd, .events = POLLIN};

		syscall(SYS_pidfd_send_signal, fd, SIGKILL, NULL, 0);
		poll(&end, 1, END_MS);	     /* until it has left the namespace too */
		waitpid(pid, NULL, WNOHANG); /* one of our own */
	}
	close(fd);
	return meant;
}

static int kill_all(DIR *proc, const struct ovl_program_whose *whose)
{
	struct dirent *entry;
	int n = 0;

	rewinddir(proc);
	while ((entry = readdir(proc))) {
		if (isdigit((unsigned char)entry->d_name[0]))
			n += kill_if(entry->d_name, whose);
	}
	return n;
}

int ovl_program_kill(const struct ovl_program_whose *whose, struct ovl_err *err)
{
	const struct timespec step = {.tv_nsec = STEP_NS};
	uint64_t until_ns = ovl_clock_ns() + END_MS * 1000000ull;
	DIR *proc = opendir("/proc");
	int killed, left;

	if (!proc)
		return ovl_err_set(err, OVL_EXIT_FAILED, -errno,
				   "cannot look for the lab's daemons in /proc: %s",
				   strerror(errno));
	killed = left = kill_all(proc, whose);
	while (left && ovl_clock_ns() < until_ns) {
		nanosleep(&step, NULL);
		left = kill_all(proc, whose);
	}
	closedir(proc);
	if (left)
		return ovl_err_set(err, OVL_EXIT_FAILED, -EBUSY,
				   "%d daemon%s of the lab (mark %s) do not end after kill -9",
				   left, left == 1 ? "" : "s", whose->mark);
	return killed;
}
