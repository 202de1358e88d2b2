#include "collect/netns.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/nsfs.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/str.h"

/* iproute2's place, and the same where /var/run is no link to /run */
static const char *const named_dirs[] = {"/run/netns", "/var/run/netns"};

static int add(ovl_netns_vec *out, const char *name, const char *path, uint64_t inode)
{
	struct ovl_netns *ns;

	ovl_vec_each(known, out)
		if (known->inode == inode)
			return 0;
	ns = ovl_vec_push(out);
	if (!ns)
		return -ENOMEM;
	if (name)
		ovl_str_copy(ns->name, sizeof(ns->name), name);
	else
		snprintf(ns->name, sizeof(ns->name), "net:[%" PRIu64 "]", inode);
	ovl_str_copy(ns->path, sizeof(ns->path), path);
	ns->inode = inode;
	return 0;
}

static int list_named(const char *dir, ovl_netns_vec *out)
{
	char path[OVL_NETNS_PATH_MAX];
	struct dirent *entry;
	DIR *d = opendir(dir);
	int rc = 0;

	if (!d)
		return 0;
	while (!rc && (entry = readdir(d))) {
		int fd;

		if (entry->d_name[0] == '.' ||
		    snprintf(path, sizeof(path), "%s/%s", dir, entry->d_name) >= (int)sizeof(path))
			continue;
		/* a name whose mount is gone is an empty file: no namespace */
		fd = ovl_netns_open_path(path);
		if (fd < 0)
			continue;
		rc = add(out, entry->d_name, path, ovl_netns_inode(fd));
		close(fd);
	}
	closedir(d);
	return rc;
}

static int list_processes(ovl_netns_vec *out, uint32_t *refused)
{
	char path[OVL_NETNS_PATH_MAX];
	struct dirent *entry;
	struct stat st;
	DIR *d = opendir("/proc");
	int rc = 0;

	if (!d)
		return 0;
	while (!rc && (entry = readdir(d))) {
		if (entry->d_name[0] < '1' || entry->d_name[0] > '9')
			continue;
		snprintf(path, sizeof(path), "/proc/%s/ns/net", entry->d_name);
		if (!stat(path, &st))
			rc = add(out, NULL, path, st.st_ino);
		else if (refused && (errno == EACCES || errno == EPERM))
			++*refused;
	}
	closedir(d);
	return rc;
}

int ovl_netns_list(ovl_netns_vec *out, uint32_t *refused)
{
	int rc = 0;

	if (refused)
		*refused = 0;
	for (size_t i = 0; !rc && i < sizeof(named_dirs) / sizeof(*named_dirs); i++)
		rc = list_named(named_dirs[i], out);
	return rc ? rc : list_processes(out, refused);
}

int ovl_netns_open_path(const char *path)
{
	/* O_NONBLOCK: a FIFO given as PATH must not hang */
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

	if (fd < 0)
		return -errno;
	if (ioctl(fd, NS_GET_NSTYPE) != CLONE_NEWNET) {
		close(fd);
		return -EINVAL;
	}
	return fd;
}

static int open_named(const char *name)
{
	char path[OVL_NETNS_PATH_MAX];
	int rc = -ENOENT;

	for (size_t i = 0; rc == -ENOENT && i < sizeof(named_dirs) / sizeof(*named_dirs); i++) {
		if (snprintf(path, sizeof(path), "%s/%s", named_dirs[i], name) >= (int)sizeof(path))
			return -ENAMETOOLONG;
		rc = ovl_netns_open_path(path);
	}
	return rc;
}

int ovl_netns_open(const char *netns, struct ovl_err *err)
{
	char path[OVL_NETNS_PATH_MAX];
	unsigned long long pid;
	int fd;

	if (!*netns)
		return ovl_err_set(
			err, OVL_EXIT_USAGE, -EINVAL,
			"the network namespace is empty: give a name, a path or a process id");
	if (strchr(netns, '/')) {
		fd = ovl_netns_open_path(netns);
		if (fd == -EINVAL)
			return ovl_err_set(
				err, OVL_EXIT_INPUT, fd,
				"%.200s is not a network namespace: give /run/netns/NAME or "
				"/proc/PID/ns/net",
				netns);
	} else {
		fd = open_named(netns);
		if (fd == -ENOENT && ovl_str_u64(netns, 1, INT32_MAX, &pid)) {
			snprintf(path, sizeof(path), "/proc/%llu/ns/net", pid);
			fd = ovl_netns_open_path(path);
		}
	}
	if (fd >= 0)
		return fd;
	if (fd == -EACCES || fd == -EPERM)
		return ovl_err_set(err, OVL_EXIT_RIGHTS, fd,
				   "network namespace %.200s cannot be opened: run as root "
				   "(CAP_SYS_PTRACE for those of other users' processes)",
				   netns);
	return ovl_err_set(
		err, OVL_EXIT_INPUT, fd,
		"network namespace %.200s was not found (%s): it is no name in /run/netns, no "
		"path and no running process; `ip netns` lists the names",
		netns, strerror(-fd));
}

int ovl_netns_current(void)
{
	int fd = open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

uint64_t ovl_netns_inode(int ns_fd)
{
	struct stat st;

	return fstat(ns_fd, &st) ? 0 : st.st_ino;
}

void ovl_netns_name(uint64_t inode, char name[OVL_NAME_MAX])
{
	ovl_netns_vec named = {0};

	snprintf(name, OVL_NAME_MAX, "net:[%" PRIu64 "]", inode);
	for (size_t i = 0; i < sizeof(named_dirs) / sizeof(*named_dirs); i++)
		if (list_named(named_dirs[i], &named))
			break;
	ovl_vec_each(ns, &named)
		if (ns->inode == inode)
			ovl_str_copy(name, OVL_NAME_MAX, ns->name);
	ovl_vec_fini(&named);
}

int ovl_netns_run(int ns_fd, int (*fn)(void *arg), void *arg)
{
	int home = ovl_netns_current();
	int rc;

	if (home < 0)
		return home;
	if (ovl_netns_inode(home) == ovl_netns_inode(ns_fd)) {
		rc = fn(arg);
	} else if (setns(ns_fd, CLONE_NEWNET)) {
		rc = -errno;
	} else {
		rc = fn(arg);
		if (setns(home, CLONE_NEWNET))
			rc = -ENOTRECOVERABLE;
	}
	close(home);
	return rc;
}
