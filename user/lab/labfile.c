#include "lab/labfile.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/str.h"
#include "base/vec.h"
#include "lab/fault.h"

#define HEADER	     "ovltrace-lab 1"
#define LOCK_TRIES   100 /* × LOCK_STEP_MS: an `up` takes well under a second */
#define LOCK_STEP_MS 100

static const char *const offload_names[] = {
	[OVL_LAB_OFFLOADS_CLOUD] = "cloud",
	[OVL_LAB_OFFLOADS_ALL] = "all",
	[OVL_LAB_OFFLOADS_NOGSO] = "nogso",
};

#define N_OFFLOADS (sizeof(offload_names) / sizeof(offload_names[0]))

const char *ovl_labfile_offloads_name(enum ovl_lab_offloads offloads)
{
	return (size_t)offloads < N_OFFLOADS ? offload_names[offloads] : "?";
}

static void path_of(char path[128], const char *topology)
{
	snprintf(path, 128, OVL_LAB_STATE_DIR "/%s", topology);
}

static void temp_path_of(char path[128], const char *topology)
{
	snprintf(path, 128, OVL_LAB_STATE_DIR "/.%s.tmp", topology);
}

static int fail(struct ovl_err *err, int rc, const char *what, const char *path)
{
	return ovl_err_set(err, ovl_fault_exit(rc), rc, "cannot %s %s: %s%s", what, path,
			   strerror(-rc), ovl_fault_hint(rc));
}

/* The directory and its parents below /run. */
static int make_dir(struct ovl_err *err)
{
	char path[] = OVL_LAB_STATE_DIR;

	for (char *p = strchr(path + 1, '/'); p; p = strchr(p + 1, '/')) {
		*p = '\0';
		if (mkdir(path, 0755) < 0 && errno != EEXIST)
			return fail(err, -errno, "make", path);
		*p = '/';
	}
	if (mkdir(path, 0755) < 0 && errno != EEXIST)
		return fail(err, -errno, "make", path);
	return 0;
}

int ovl_labfile_lock(struct ovl_err *err)
{
	const struct timespec step = {.tv_nsec = LOCK_STEP_MS * 1000000L};
	int fd, rc = make_dir(err);

	if (rc < 0)
		return rc;
	fd = open(OVL_LAB_STATE_DIR, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return fail(err, -errno, "open", OVL_LAB_STATE_DIR);
	for (int i = 0; i < LOCK_TRIES; i++) {
		if (flock(fd, LOCK_EX | LOCK_NB) == 0)
			return fd;
		if (errno != EWOULDBLOCK && errno != EINTR)
			break;
		nanosleep(&step, NULL);
	}
	rc = -errno;
	close(fd);
	if (rc != -EWOULDBLOCK)
		return fail(err, rc, "lock", OVL_LAB_STATE_DIR);
	return ovl_err_set(err, OVL_EXIT_FAILED, -EBUSY,
			   "another `ovltrace lab` command has been at work for 10 s; "
			   "wait for it or end it, then try again");
}

void ovl_labfile_unlock(int lock)
{
	if (lock >= 0)
		close(lock);
}

void ovl_labfile_format(const struct ovl_labfile *state, struct ovl_buf *out)
{
	ovl_buf_printf(out, HEADER "\ntopology %s\ncomplete %d\noffloads %s\ntunnel %s\n",
		       state->topology, state->complete, ovl_labfile_offloads_name(state->offloads),
		       state->tunnel);
	ovl_buf_printf(out, "cpu_sender %d\ncpu_receiver %d\nmax_frames %u\n", state->cpu_sender,
		       state->cpu_receiver, state->max_frames);
	for (uint32_t i = 0; i < state->n_netns; i++)
		ovl_buf_printf(out, "netns %s\n", state->netns[i]);
}

static bool parse_netns(const char *value, struct ovl_labfile *state)
{
	/* a damaged file must not make `down` remove somebody else's namespace */
	return state->n_netns < OVL_LAB_ENDS_MAX && ovl_str_starts(value, OVL_LAB_PREFIX) &&
	       !strchr(value, '/') &&
	       ovl_str_copy(state->netns[state->n_netns++], sizeof(state->netns[0]), value);
}

static bool parse_offloads(const char *value, struct ovl_labfile *state)
{
	for (size_t i = 0; i < N_OFFLOADS; i++) {
		if (strcmp(offload_names[i], value) == 0) {
			state->offloads = (enum ovl_lab_offloads)i;
			return true;
		}
	}
	return false;
}

static bool parse_number(const char *value, unsigned long long max, unsigned long long *out)
{
	return ovl_str_u64(value, 0, max, out);
}

/* One "key value"; keys of a later version are passed over. */
static bool parse_pair(const char *key, const char *value, struct ovl_labfile *state)
{
	unsigned long long n = 0;
	bool ok = true;

	if (strcmp(key, "netns") == 0)
		return parse_netns(value, state);
	if (strcmp(key, "topology") == 0)
		return ovl_str_copy(state->topology, sizeof(state->topology), value);
	if (strcmp(key, "offloads") == 0)
		return parse_offloads(value, state);
	if (strcmp(key, "tunnel") == 0)
		return ovl_str_copy(state->tunnel, sizeof(state->tunnel), value);
	if (strcmp(key, "complete") == 0) {
		ok = parse_number(value, 1, &n);
		state->complete = n == 1;
	} else if (strcmp(key, "cpu_sender") == 0) {
		ok = parse_number(value, INT32_MAX, &n);
		state->cpu_sender = (int)n;
	} else if (strcmp(key, "cpu_receiver") == 0) {
		ok = parse_number(value, INT32_MAX, &n);
		state->cpu_receiver = (int)n;
	} else if (strcmp(key, "max_frames") == 0) {
		ok = parse_number(value, UINT32_MAX, &n);
		state->max_frames = (uint32_t)n;
	}
	return ok;
}

bool ovl_labfile_parse(char *text, struct ovl_labfile *state)
{
	char *save, *line = strtok_r(text, "\n", &save);

	memset(state, 0, sizeof(*state));
	if (!line || strcmp(line, HEADER) != 0)
		return false;
	while ((line = strtok_r(NULL, "\n", &save))) {
		char *value = strchr(line, ' ');

		if (!value)
			return false;
		*value++ = '\0';
		if (!parse_pair(line, value, state))
			return false;
	}
	return state->topology[0] && state->n_netns > 0;
}

static int write_file(const char *path, const char *text)
{
	FILE *f = fopen(path, "we");
	bool ok;

	if (!f)
		return -errno;
	ok = fputs(text, f) >= 0;
	ok = fclose(f) == 0 && ok;
	return ok ? 0 : -EIO;
}

int ovl_labfile_write(const struct ovl_labfile *state, struct ovl_err *err)
{
	char path[128], temp[128];
	struct ovl_buf text = {0};
	int rc;

	path_of(path, state->topology);
	temp_path_of(temp, state->topology);
	ovl_labfile_format(state, &text);
	rc = text.failed ? -ENOMEM : write_file(temp, ovl_buf_str(&text));
	ovl_buf_fini(&text);
	if (!rc && rename(temp, path) < 0)
		rc = -errno;
	if (rc < 0) {
		unlink(temp);
		return fail(err, rc, "write", path);
	}
	return 0;
}

int ovl_labfile_read(const char *topology, struct ovl_labfile *state, struct ovl_err *err)
{
	char path[128], text[4096];
	ssize_t n;
	int fd;

	path_of(path, topology);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return errno == ENOENT ? -ENOENT : fail(err, -errno, "read", path);
	n = read(fd, text, sizeof(text) - 1);
	close(fd);
	if (n < 0)
		return fail(err, -EIO, "read", path);
	text[n] = '\0';
	if (!ovl_labfile_parse(text, state) || strcmp(state->topology, topology) != 0)
		return ovl_err_set(err, OVL_EXIT_FAILED, -EBADMSG,
				   "cannot understand %s: it is damaged; remove the namespaces "
				   "that begin with " OVL_LAB_PREFIX "%s with `ip netns del`, then "
				   "this file",
				   path, topology);
	return 0;
}

int ovl_labfile_remove(const char *topology, struct ovl_err *err)
{
	char path[128];

	temp_path_of(path, topology);
	unlink(path);
	path_of(path, topology);
	if (unlink(path) < 0 && errno != ENOENT)
		return fail(err, -errno, "remove", path);
	return 0;
}

static int by_name(const void *a, const void *b)
{
	return strcmp(a, b);
}

int ovl_labfile_all(struct ovl_labfile_names *names, struct ovl_err *err)
{
	DIR *dir = opendir(OVL_LAB_STATE_DIR);
	struct dirent *entry;

	if (!dir)
		return errno == ENOENT ? 0 : fail(err, -errno, "read", OVL_LAB_STATE_DIR);
	while ((entry = readdir(dir))) {
		char(*slot)[32];

		if (entry->d_name[0] == '.' || strlen(entry->d_name) >= sizeof(*slot))
			continue;
		slot = ovl_vec_push(names);
		if (!slot) {
			closedir(dir);
			return fail(err, -ENOMEM, "read", OVL_LAB_STATE_DIR);
		}
		ovl_str_copy(*slot, sizeof(*slot), entry->d_name);
	}
	closedir(dir);
	if (names->n)
		qsort(names->v, names->n, sizeof(*names->v), by_name);
	return 0;
}
