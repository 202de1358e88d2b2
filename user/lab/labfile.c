#include "lab/labfile.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/str.h"
#include "base/vec.h"
#include "lab/fault.h"

#define HEADER	     "ovltrace-lab 2"
#define LOCK_FILE    "/run/ovltrace/lab.lock"
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
	/* not the directory: whoever may read that could keep us out */
	fd = open(LOCK_FILE, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return fail(err, -errno, "open", LOCK_FILE);
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
		return fail(err, rc, "lock", LOCK_FILE);
	return ovl_err_set(err, OVL_EXIT_FAILED, -EBUSY,
			   "another `ovltrace lab` command has been at work for 10 s; "
			   "wait for it or end it, then try again");
}

void ovl_labfile_unlock(int lock)
{
	if (lock >= 0)
		close(lock);
}

/* The file is read by lines: what comes from without must not make new ones. */
static void one_line(char *text)
{
	for (; *text; text++) {
		if ((unsigned char)*text < ' ')
			*text = '?';
	}
}

void ovl_labfile_sign(struct ovl_labfile *state)
{
	const char *sudo = getenv("SUDO_USER");
	const struct passwd *user = getpwuid(geteuid());
	const char *tty = isatty(0) ? ttyname(0) : NULL;
	uint64_t id = 0;

	snprintf(state->by, sizeof(state->by), "%.20s%s%.16s, process %d%s%.14s",
		 user ? user->pw_name : "?", sudo ? " for " : "", sudo ? sudo : "", getpid(),
		 tty ? " on " : "", tty ? tty + (ovl_str_starts(tty, "/dev/") ? 5 : 0) : "");
	one_line(state->by);
	state->at_unix_s = (uint64_t)time(NULL);
	if (getrandom(&id, sizeof(id), 0) != sizeof(id))
		id = ovl_clock_ns();
	snprintf(state->mark, sizeof(state->mark), "%s:%016" PRIx64, state->lab.topology, id);
}

void ovl_labfile_format(const struct ovl_labfile *state, struct ovl_buf *out)
{
	const struct ovl_lab *lab = &state->lab;

	ovl_buf_printf(out, HEADER "\ntopology %s\ncomplete %d\noffloads %s\n", lab->topology,
		       state->complete, ovl_labfile_offloads_name(state->offloads));
	ovl_buf_printf(out, "by %s\nat %llu\nmark %s\n", state->by,
		       (unsigned long long)state->at_unix_s, state->mark);
	ovl_buf_printf(out, "cpu_sender %d\ncpu_receiver %d\nmax_frames %u\n", lab->cpu_sender,
		       lab->cpu_receiver, lab->max_frames);
	ovl_buf_printf(out, "iface %s\niface_end %u\n", lab->iface, lab->iface_end);
	ovl_buf_printf(out, "ends %u\n", lab->n_ends);
	for (uint32_t i = 0; i < lab->n_ends; i++) {
		const struct ovl_lab_end *e = &lab->ends[i];

		ovl_buf_printf(out, "end %s %s %s %c %d %u %u %u %u\n", e->name,
			       *e->netns ? e->netns : "-", *e->addr ? e->addr : "-", e->side,
			       e->node, e->place, e->server, e->servers, e->host);
	}
	for (int i = 0; i < OVL_LAB_LOADS; i++) {
		if (lab->load[i].used)
			ovl_buf_printf(out, "load %d %u %u\n", i, lab->load[i].from,
				       lab->load[i].to);
	}
}

/* One end; whether its namespace is this lab's is seen when all are known. */
static bool parse_end(const char *value, struct ovl_lab *lab)
{
	struct ovl_lab_end *e = &lab->ends[lab->n_ends];
	unsigned int node, place, server, servers, host;
	int used = 0;

	if (lab->n_ends >= OVL_LAB_ENDS_MAX)
		return false;
	if (sscanf(value, "%15s %63s %45s %c %1u %3u %3u %3u %3u%n", e->name, e->netns, e->addr,
		   &e->side, &node, &place, &server, &servers, &host, &used) != 9 ||
	    value[used])
		return false;
	if (strcmp(e->netns, "-") == 0)
		e->netns[0] = '\0';
	if (strcmp(e->addr, "-") == 0)
		e->addr[0] = '\0';
	e->node = node;
	e->place = (uint8_t)place;
	e->server = (uint8_t)server;
	e->servers = (uint8_t)servers;
	e->host = (uint8_t)host;
	e->netns_fd = -1;
	lab->n_ends++;
	return (e->side == 'a' || e->side == 'b') && node <= 1;
}

static bool parse_load(const char *value, struct ovl_lab *lab)
{
	unsigned int which, from, to;
	int used = 0;

	if (sscanf(value, "%1u %3u %3u%n", &which, &from, &to, &used) != 3 || value[used] ||
	    which >= OVL_LAB_LOADS || from > UINT8_MAX || to > UINT8_MAX)
		return false;
	lab->load[which] = (struct ovl_lab_pair){true, (uint8_t)from, (uint8_t)to};
	return true;
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

static bool parse_number(const char *key, const char *value, struct ovl_labfile *state)
{
	struct ovl_lab *lab = &state->lab;
	unsigned long long n;

	if (strcmp(key, "complete") == 0 && ovl_str_u64(value, 0, 1, &n))
		state->complete = n == 1;
	else if (strcmp(key, "at") == 0 && ovl_str_u64(value, 0, INT64_MAX, &n))
		state->at_unix_s = n;
	else if (strcmp(key, "cpu_sender") == 0 && ovl_str_u64(value, 0, INT32_MAX, &n))
		lab->cpu_sender = (int)n;
	else if (strcmp(key, "cpu_receiver") == 0 && ovl_str_u64(value, 0, INT32_MAX, &n))
		lab->cpu_receiver = (int)n;
	else if (strcmp(key, "max_frames") == 0 && ovl_str_u64(value, 0, UINT32_MAX, &n))
		lab->max_frames = (uint32_t)n;
	else if (strcmp(key, "iface_end") == 0 && ovl_str_u64(value, 0, OVL_LAB_ENDS_MAX, &n))
		lab->iface_end = (uint8_t)n;
	else if (strcmp(key, "ends") == 0 && ovl_str_u64(value, 1, OVL_LAB_ENDS_MAX, &n))
		state->n_ends = (uint32_t)n;
	else
		return false;
	return true;
}

/* One "key value"; keys of a later version are passed over. */
static bool parse_pair(const char *key, const char *value, struct ovl_labfile *state)
{
	static const char *const numbers[] = {
		"complete", "at", "cpu_sender", "cpu_receiver", "max_frames", "iface_end", "ends"};
	struct ovl_lab *lab = &state->lab;

	if (strcmp(key, "end") == 0)
		return parse_end(value, lab);
	if (strcmp(key, "load") == 0)
		return parse_load(value, lab);
	if (strcmp(key, "topology") == 0)
		return ovl_str_copy(lab->topology, sizeof(lab->topology), value);
	if (strcmp(key, "iface") == 0)
		return ovl_str_copy(lab->iface, sizeof(lab->iface), value);
	if (strcmp(key, "mark") == 0)
		return ovl_str_copy(state->mark, sizeof(state->mark), value);
	if (strcmp(key, "by") == 0)
		return ovl_str_copy(state->by, sizeof(state->by), value);
	if (strcmp(key, "offloads") == 0)
		return parse_offloads(value, state);
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
		if (strcmp(key, numbers[i]) == 0)
			return parse_number(key, value, state);
	}
	return true;
}

/* A damaged file must not make `down` remove somebody else's namespace. */
static bool is_own(const struct ovl_lab *lab, const struct ovl_lab_end *e)
{
	char name[96];

	snprintf(name, sizeof(name), OVL_LAB_PREFIX "%s-%s", lab->topology,
		 lab->ends[e->place].name);
	return strcmp(name, e->netns) == 0 && !strchr(name, '/');
}

/* All ends are there, every index leads to one, every place is a namespace of this lab. */
static bool consistent(const struct ovl_labfile *state)
{
	const struct ovl_lab *lab = &state->lab;
	bool good = lab->topology[0] && state->mark[0] && lab->n_ends &&
		    lab->n_ends == state->n_ends && lab->iface_end < lab->n_ends;

	for (uint32_t i = 0; good && i < lab->n_ends; i++) {
		const struct ovl_lab_end *e = &lab->ends[i];

		good = e->server < lab->n_ends && e->host < lab->n_ends &&
		       (e->place == OVL_LAB_NOWHERE ? !*e->netns
						    : e->place < lab->n_ends && is_own(lab, e));
	}
	for (int i = 0; good && i < OVL_LAB_LOADS; i++)
		good = !lab->load[i].used ||
		       (lab->load[i].from < lab->n_ends && lab->load[i].to < lab->n_ends);
	return good;
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
	return consistent(state);
}

static int write_file(const char *path, const char *text)
{
	FILE *f = fopen(path, "we");
	bool ok;

	if (!f)
		return -errno;
	errno = 0;
	ok = fputs(text, f) >= 0;
	ok = fclose(f) == 0 && ok;
	return ok ? 0 : errno ? -errno : -EIO;
}

int ovl_labfile_write(const struct ovl_labfile *state, struct ovl_err *err)
{
	char path[128], temp[128];
	struct ovl_buf text = {0};
	int rc;

	path_of(path, state->lab.topology);
	temp_path_of(temp, state->lab.topology);
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
	if (!ovl_labfile_parse(text, state) || strcmp(state->lab.topology, topology) != 0)
		return ovl_err_set(err, OVL_EXIT_FAILED, -EBADMSG,
				   "cannot understand %s: it is damaged; `ovltrace lab down %s` "
				   "removes the lab all the same",
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
