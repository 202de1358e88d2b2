#include "lab/tune.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <unistd.h>

#include "base/cpus.h"
#include "base/str.h"
#include "lab/fault.h"

/* Write a short text to a file below a directory handle (AT_FDCWD for absolute paths). */
static int write_at(int dir, const char *path, const char *text)
{
	int fd = openat(dir, path, O_WRONLY | O_CLOEXEC);
	int rc = 0;

	if (fd < 0)
		return -errno;
	if (write(fd, text, strlen(text)) < 0)
		rc = -errno;
	close(fd);
	return rc;
}

static bool read_text(const char *path, char *out, size_t n)
{
	FILE *f = fopen(path, "re");
	bool ok = f && fgets(out, (int)n, f);

	if (f)
		fclose(f);
	if (ok)
		out[strcspn(out, "\n")] = '\0';
	return ok;
}

int ovl_tune_sysctls(bool node, bool ip6, struct ovl_err *err)
{
	enum { ALL = 1, NODE = 2, IP4_ONLY = 4, IP6 = 8, MAY_LACK = 16 };
	static const struct {
		const char *path, *text;
		int where;
	} rows[] = {
		{"/proc/sys/net/ipv4/tcp_slow_start_after_idle", "0", ALL},
		{"/proc/sys/net/ipv4/ip_forward", "1", NODE},
		/* a node answers pods by another device than it heard them on */
		{"/proc/sys/net/ipv4/conf/all/rp_filter", "0", NODE},
		{"/proc/sys/net/ipv4/conf/default/rp_filter", "0", NODE},
		/* bridged packets pass the rules, as kubeadm and dockerd want it */
		{"/proc/sys/net/bridge/bridge-nf-call-iptables", "1", NODE | MAY_LACK},
		{"/proc/sys/net/bridge/bridge-nf-call-ip6tables", "1", NODE | MAY_LACK},
		{"/proc/sys/net/ipv6/conf/default/addr_gen_mode", "1", IP4_ONLY | MAY_LACK},
		{"/proc/sys/net/ipv6/conf/default/accept_dad", "0", IP6},
		{"/proc/sys/net/ipv6/conf/default/dad_transmits", "0", IP6},
		{"/proc/sys/net/ipv6/conf/default/accept_ra", "0", IP6},
		{"/proc/sys/net/ipv6/conf/all/forwarding", "1", NODE | IP6},
	};
	int here = ALL | MAY_LACK | (node ? NODE : 0) | (ip6 ? IP6 : IP4_ONLY);

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		int rc;

		if ((rows[i].where & here) != rows[i].where)
			continue;
		rc = write_at(AT_FDCWD, rows[i].path, rows[i].text);
		if (rc == -ENOENT && rows[i].where & MAY_LACK)
			continue; /* no IPv6, no br_netfilter */
		if (rc < 0)
			return ovl_err_set(err, ovl_fault_exit(rc), rc,
					   "cannot set %s to %s in the lab's namespace: %s%s",
					   rows[i].path, rows[i].text, strerror(-rc),
					   ovl_fault_hint(rc));
	}
	return 0;
}

void ovl_tune_mask(int cpu, char *out, size_t n)
{
	size_t used = (size_t)snprintf(out, n, "%x", 1u << (cpu % 32));

	for (int word = cpu / 32; word > 0 && used < n; word--)
		used += (size_t)snprintf(out + used, n - used, ",00000000");
}

/* Write the mask to every receive queue of one device. */
static int steer_device(int sysfs, const char *dev, const char *mask)
{
	char path[600];
	struct dirent *queue;
	int rc = 0, fd;
	DIR *dir;

	snprintf(path, sizeof(path), "class/net/%s/queues", dev);
	fd = openat(sysfs, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return errno == ENOENT ? 0 : -errno; /* bonding_masters and such are no devices */
	dir = fdopendir(fd);
	if (!dir) {
		close(fd);
		return -ENOMEM;
	}
	while (!rc && (queue = readdir(dir))) {
		if (!ovl_str_starts(queue->d_name, "rx-"))
			continue;
		snprintf(path, sizeof(path), "%s/rps_cpus", queue->d_name);
		rc = write_at(fd, path, mask);
	}
	closedir(dir);
	return rc;
}

static int steer_all(int sysfs, const char *mask)
{
	int fd = openat(sysfs, "class/net", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct dirent *dev;
	int rc = 0;
	DIR *dir;

	if (fd < 0)
		return -errno;
	dir = fdopendir(fd);
	if (!dir) {
		close(fd);
		return -ENOMEM;
	}
	while (!rc && (dev = readdir(dir))) {
		if (dev->d_name[0] != '.')
			rc = steer_device(sysfs, dev->d_name, mask);
	}
	closedir(dir);
	return rc;
}

/*
 * /sys shows the devices of the network namespace in which it was mounted. A detached mount (Linux
 * 5.2) of a fresh sysfs belongs to this thread's namespace, is seen by nobody and needs neither a
 * mount namespace nor a mount point.
 */
static int open_sysfs(void)
{
	int fs = fsopen("sysfs", FSOPEN_CLOEXEC), fd, rc;

	if (fs < 0)
		return -errno;
	if (fsconfig(fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0) < 0) {
		rc = -errno;
		close(fs);
		return rc;
	}
	fd = fsmount(fs, FSMOUNT_CLOEXEC, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC);
	rc = fd < 0 ? -errno : fd;
	close(fs);
	return rc;
}

int ovl_tune_rps(int cpu, struct ovl_err *err)
{
	char mask[1024];
	int sysfs = open_sysfs(), rc;

	if (sysfs < 0)
		return ovl_err_set(err, ovl_fault_exit(sysfs), sysfs,
				   "cannot mount a sysfs for the lab's namespace: %s%s",
				   strerror(-sysfs), ovl_fault_hint(sysfs));
	ovl_tune_mask(cpu, mask, sizeof(mask));
	rc = steer_all(sysfs, mask);
	close(sysfs);
	if (rc < 0)
		return ovl_err_set(err, ovl_fault_exit(rc), rc,
				   "cannot steer received packets of the lab to CPU %d "
				   "(rps_cpus): %s%s",
				   cpu, strerror(-rc), ovl_fault_hint(rc));
	return 0;
}

static int choose_cpus(int *cpu_sender, int *cpu_receiver, struct ovl_err *err)
{
	struct ovl_cpus cpus = {0};
	int rc = ovl_cpus_read("", &cpus, err);

	if (!rc)
		rc = ovl_cpus_pick(cpus.v, cpus.n, cpu_sender, cpu_receiver);
	ovl_vec_fini(&cpus);
	return rc;
}

int ovl_tune_cpus(int *cpu_sender, int *cpu_receiver, struct ovl_err *err)
{
	static const char path[] = "/sys/devices/system/cpu/online";
	char online[4096];
	int bad;

	if (*cpu_sender == 0 && *cpu_receiver == 0)
		return choose_cpus(cpu_sender, cpu_receiver, err);
	if (!read_text(path, online, sizeof(online)) || ovl_cpus_next(online, 0) < 0)
		return ovl_err_set(err, OVL_EXIT_FAILED, -EIO,
				   "cannot read which CPUs are online from %s", path);
	bad = *cpu_sender;
	if (bad >= 0 && ovl_cpus_next(online, bad) == bad)
		bad = *cpu_receiver;
	if (bad < 0 || ovl_cpus_next(online, bad) != bad)
		return ovl_err_set(err, OVL_EXIT_USAGE, -EINVAL,
				   "cannot place the lab on CPU %d: it is not online (online: %s)",
				   bad, online);
	return 0;
}

uint32_t ovl_tune_max_frames(void)
{
	unsigned long long backlog;
	char text[32];

	if (!read_text("/proc/sys/net/core/netdev_max_backlog", text, sizeof(text)) ||
	    !ovl_str_u64(text, 1, UINT32_MAX / 8, &backlog))
		backlog = 1000;
	return backlog * 8 / 10 ? (uint32_t)(backlog * 8 / 10) : 1;
}
