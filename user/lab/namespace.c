#include "lab/namespace.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "lab/fault.h"

static void path_of(char path[128], const char *name)
{
	snprintf(path, 128, OVL_NAMESPACE_DIR "/%s", name);
}

int ovl_namespace_new(void)
{
	int fd;

	if (unshare(CLONE_NEWNET) < 0)
		return -errno;
	fd = open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

/* Same two steps as iproute2: make it shared; if it is no mount point yet, make it one first. */
static int share_dir(void)
{
	if (mount("", OVL_NAMESPACE_DIR, "none", MS_SHARED | MS_REC, NULL) == 0)
		return 0;
	if (errno != EINVAL)
		return -errno;
	if (mount(OVL_NAMESPACE_DIR, OVL_NAMESPACE_DIR, "none", MS_BIND | MS_REC, NULL) < 0 ||
	    mount("", OVL_NAMESPACE_DIR, "none", MS_SHARED | MS_REC, NULL) < 0)
		return -errno;
	return 0;
}

/*
 * Are names made here seen here only? So it is inside `ip netns exec` and `ovltrace lab exec`:
 * their mounts follow the machine's and are not followed, and end with the command.
 */
static bool names_are_ours_alone(void)
{
	char *line = NULL;
	size_t size = 0;
	bool alone = false;
	FILE *f = fopen("/proc/thread-self/mountinfo", "re");

	while (f && getline(&line, &size, f) > 0) {
		char mount_point[256];
		const char *options = strstr(line, " - ");

		if (sscanf(line, "%*d %*d %*s %*s %255s", mount_point) != 1 || !options ||
		    strcmp(mount_point, OVL_NAMESPACE_DIR) != 0)
			continue;
		alone = memmem(line, (size_t)(options - line), " master:", 8) &&
			!memmem(line, (size_t)(options - line), " shared:", 8);
	}
	free(line);
	if (f)
		fclose(f);
	return alone;
}

int ovl_namespace_prepare(struct ovl_err *err)
{
	int lock, rc;

	if (names_are_ours_alone())
		return ovl_err_set(
			err, OVL_EXIT_FAILED, -EXDEV,
			"cannot make a lab from within `ip netns exec` or `ovltrace lab "
			"exec`: its names would be seen by nobody else and end with this "
			"command; make it from outside");

	if (mkdir(OVL_NAMESPACE_DIR, 0755) < 0 && errno != EEXIST) {
		rc = -errno;
		return ovl_err_set(err, ovl_fault_exit(rc), rc,
				   "cannot make " OVL_NAMESPACE_DIR ": %s", strerror(-rc));
	}
	/* iproute2 takes this lock too, or two first users bind the folder over itself twice */
	lock = open(OVL_NAMESPACE_DIR, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (lock >= 0)
		flock(lock, LOCK_EX);
	rc = share_dir();
	if (lock >= 0)
		close(lock);
	if (rc < 0)
		return ovl_err_set(err, ovl_fault_exit(rc), rc,
				   "cannot make " OVL_NAMESPACE_DIR
				   " a shared mount, which named namespaces need: %s%s",
				   strerror(-rc), ovl_fault_hint(rc));
	return 0;
}

int ovl_namespace_name(const char *name, struct ovl_err *err)
{
	char path[128];
	int fd, rc;

	path_of(path, name);
	fd = open(path, O_RDONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0);
	if (fd < 0) {
		rc = -errno;
		return ovl_err_set(err, ovl_fault_exit(rc), rc, "cannot make %s: %s", path,
				   strerror(-rc));
	}
	close(fd);
	if (mount("/proc/thread-self/ns/net", path, "none", MS_BIND, NULL) < 0) {
		rc = -errno;
		unlink(path);
		return ovl_err_set(err, ovl_fault_exit(rc), rc,
				   "cannot bind a network namespace to %s: %s", path,
				   strerror(-rc));
	}
	return 0;
}

bool ovl_namespace_exists(const char *name)
{
	char path[128];
	struct stat st;

	path_of(path, name);
	return lstat(path, &st) == 0;
}

int ovl_namespace_open(const char *name)
{
	char path[128];
	struct statfs fs;
	int fd;

	path_of(path, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (fstatfs(fd, &fs) < 0 || fs.f_type != NSFS_MAGIC) {
		close(fd);
		return -EINVAL;
	}
	return fd;
}

int ovl_namespace_remove(const char *name, struct ovl_err *err)
{
	char path[128];
	int rc;

	path_of(path, name);
	/* EINVAL: the file is there but `up` was killed before it bound a namespace to it */
	if (umount2(path, MNT_DETACH | UMOUNT_NOFOLLOW) < 0 && errno != EINVAL && errno != ENOENT) {
		rc = -errno;
		return ovl_err_set(err, ovl_fault_exit(rc), rc, "cannot unmount %s: %s", path,
				   strerror(-rc));
	}
	if (unlink(path) < 0 && errno != ENOENT) {
		rc = -errno;
		return ovl_err_set(err, ovl_fault_exit(rc), rc, "cannot remove %s: %s", path,
				   strerror(-rc));
	}
	return 0;
}

/* Is any thread of this process in the namespace? */
static bool process_uses(const char *pid, const struct stat *ns)
{
	char path[320];
	struct dirent *task;
	struct stat st;
	bool uses = false;
	DIR *tasks;

	snprintf(path, sizeof(path), "/proc/%s/task", pid);
	tasks = opendir(path);
	if (!tasks)
		return false;
	while (!uses && (task = readdir(tasks))) {
		char ns_path[300];

		if (task->d_name[0] == '.')
			continue;
		snprintf(ns_path, sizeof(ns_path), "%s/ns/net", task->d_name);
		uses = fstatat(dirfd(tasks), ns_path, &st, 0) == 0 && st.st_ino == ns->st_ino &&
		       st.st_dev == ns->st_dev;
	}
	closedir(tasks);
	return uses;
}

static void comm_of(const char *pid, char comm[64])
{
	char path[320];
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%s/comm", pid);
	comm[0] = '\0';
	f = fopen(path, "re");
	if (f && fgets(comm, 64, f))
		comm[strcspn(comm, "\n")] = '\0';
	if (f)
		fclose(f);
	if (!comm[0])
		snprintf(comm, 64, "?");
}

void ovl_namespace_users(const char *name, struct ovl_buf *out)
{
	char path[128], comm[64];
	struct dirent *entry;
	struct stat ns;
	DIR *proc;

	path_of(path, name);
	if (stat(path, &ns) < 0)
		return;
	proc = opendir("/proc");
	if (!proc)
		return;
	while ((entry = readdir(proc))) {
		if (!isdigit((unsigned char)entry->d_name[0]) || !process_uses(entry->d_name, &ns))
			continue;
		comm_of(entry->d_name, comm);
		ovl_buf_printf(out,
			       "%s was still used by process %s (%s): the name is gone, the "
			       "namespace goes when that process ends\n",
			       name, entry->d_name, comm);
	}
	closedir(proc);
}

int ovl_namespace_become(int netns_fd, struct ovl_err *err)
{
	struct statvfs sys;
	unsigned long flags = 0;
	int rc;

	if (setns(netns_fd, CLONE_NEWNET) < 0 || unshare(CLONE_NEWNS) < 0 ||
	    mount("", "/", "none", MS_SLAVE | MS_REC, NULL) < 0) {
		rc = -errno;
		return ovl_err_set(err, ovl_fault_exit(rc), rc, "cannot enter the namespace: %s%s",
				   strerror(-rc), ovl_fault_hint(rc));
	}
	/*
	 * a container's /sys may be read-only: keep it so; without any /sys the command still runs
	 */
	if (statvfs("/sys", &sys) == 0 && (sys.f_flag & ST_RDONLY))
		flags |= MS_RDONLY;
	if (umount2("/sys", MNT_DETACH) == 0 || errno == EINVAL)
		mount("sysfs", "/sys", "sysfs", flags, NULL);
	return 0;
}
