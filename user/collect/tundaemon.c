#include "collect/tundaemon.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/if_tun.h>
#include <net/if.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/str.h"

#define FDS_MAX 4096 /* of one process that are looked at */

/* Whether the device passes aggregates, asked through a copy of the daemon's own descriptor. */
static int vnet_header(int pid, int fd)
{
	int pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	int copy = pidfd < 0 ? -1 : (int)syscall(SYS_pidfd_getfd, pidfd, fd, 0);
	struct ifreq ifr = {0};
	int answer = -1;

	if (copy >= 0 && !ioctl(copy, TUNGETIFF, &ifr))
		answer = (ifr.ifr_flags & IFF_VNET_HDR) != 0;
	if (copy >= 0)
		close(copy);
	if (pidfd >= 0)
		close(pidfd);
	return answer;
}

/* The tun device that a descriptor of /dev/net/tun is attached to, "" for none. */
static void attached(int pid, int fd, char name[OVL_IF_MAX])
{
	char path[64], line[128];
	FILE *f;

	name[0] = '\0';
	snprintf(path, sizeof(path), "/proc/%d/fdinfo/%d", pid, fd);
	f = fopen(path, "re");
	if (!f)
		return;
	while (fgets(line, sizeof(line), f))
		if (sscanf(line, "iff: %15s", name) == 1)
			break;
	fclose(f);
}

static uint64_t netns_of(int pid)
{
	char path[64];
	struct stat st;

	snprintf(path, sizeof(path), "/proc/%d/ns/net", pid);
	return stat(path, &st) ? 0 : st.st_ino;
}

static int add(struct ovl_facts *facts, int pid, int fd, const char *name)
{
	const uint64_t inode = netns_of(pid);

	for (uint32_t i = 0; i < facts->links.n; i++) {
		const struct ovl_link *link = &facts->links.v[i];
		struct ovl_daemon *d;
		char path[64];
		FILE *f;

		if (strcmp(link->kind, "tun") != 0 || strcmp(link->name, name) != 0 ||
		    link->ns >= facts->ns.n || facts->ns.v[link->ns].inode != inode)
			continue;
		/* several queues of one device are one daemon */
		ovl_vec_each(have, &facts->daemons) {
			if (have->link == i && have->pid == pid)
				return 0;
		}
		if (facts->daemons.n >= OVL_DAEMONS_MAX)
			return 0;
		d = ovl_vec_push(&facts->daemons);
		if (!d)
			return -ENOMEM;
		d->link = i;
		d->pid = pid;
		d->vnet_header = vnet_header(pid, fd);
		snprintf(path, sizeof(path), "/proc/%d/comm", pid);
		f = fopen(path, "re");
		if (f && fgets(d->name, sizeof(d->name), f))
			d->name[strcspn(d->name, "\n")] = '\0';
		if (f)
			fclose(f);
		return 1;
	}
	return 0;
}

/* Inodes of a process's sockets. */
struct sockets {
	unsigned long inode[64];
	size_t n;
};

/* Look through the descriptors: > 0 if the process turned out to be a daemon. */
static int look(struct ovl_facts *facts, int pid, struct sockets *sockets)
{
	char path[64], name[OVL_IF_MAX], target[64];
	int found = 0, looked = 0, rc = 0;
	struct dirent *e;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/fd", pid);
	dir = opendir(path);
	if (!dir)
		return 0;
	sockets->n = 0;
	while (rc >= 0 && looked++ < FDS_MAX && (e = readdir(dir))) {
		ssize_t n = readlinkat(dirfd(dir), e->d_name, target, sizeof(target) - 1);
		unsigned long inode;

		if (n <= 0)
			continue;
		target[n] = '\0';
		if (sscanf(target, "socket:[%lu]", &inode) == 1 &&
		    sockets->n < sizeof(sockets->inode) / sizeof(sockets->inode[0]))
			sockets->inode[sockets->n++] = inode;
		if (strcmp(target, "/dev/net/tun") != 0)
			continue;
		attached(pid, atoi(e->d_name), name);
		rc = *name ? add(facts, pid, atoi(e->d_name), name) : 0;
		found += rc > 0;
	}
	closedir(dir);
	return rc < 0 ? rc : found;
}

static void add_port(uint16_t ports[OVL_TUNDAEMON_PORTS], unsigned int port)
{
	for (int i = 0; i < OVL_TUNDAEMON_PORTS; i++) {
		if (ports[i] == port)
			return;
		if (!ports[i]) {
			ports[i] = (uint16_t)port;
			return;
		}
	}
}

/* Local ports of those of the namespace's UDP sockets that are the process's. */
static void add_ports(int pid, const char *table, const struct sockets *sockets,
		      uint16_t ports[OVL_TUNDAEMON_PORTS])
{
	char path[64], line[512];
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/net/%s", pid, table);
	f = fopen(path, "re");
	if (!f)
		return;
	while (fgets(line, sizeof(line), f)) {
		unsigned long inode;
		unsigned int port;

		if (sscanf(line, " %*d: %*[0-9A-Fa-f]:%x %*s %*s %*s %*s %*s %*s %*s %lu", &port,
			   &inode) != 2)
			continue;
		for (size_t i = 0; i < sockets->n; i++)
			if (sockets->inode[i] == inode)
				add_port(ports, port);
	}
	fclose(f);
}

int ovl_tundaemon_find(struct ovl_facts *facts, uint16_t ports[OVL_TUNDAEMON_PORTS])
{
	struct sockets sockets;
	struct dirent *e;
	bool any = false;
	int rc = 0;
	DIR *proc;

	memset(ports, 0, OVL_TUNDAEMON_PORTS * sizeof(*ports));
	ovl_vec_clear(&facts->daemons);
	ovl_vec_each(link, &facts->links)
		any |= !strcmp(link->kind, "tun");
	proc = any ? opendir("/proc") : NULL;
	if (!proc)
		return 0;
	while (rc >= 0 && (e = readdir(proc))) {
		int pid = atoi(e->d_name);

		rc = pid > 0 ? look(facts, pid, &sockets) : 0;
		if (rc > 0) {
			add_ports(pid, "udp", &sockets, ports);
			add_ports(pid, "udp6", &sockets, ports);
		}
	}
	closedir(proc);
	return rc < 0 ? rc : 0;
}

int ovl_tundaemon_cpu(int pid, uint64_t *user_ns, uint64_t *kernel_ns)
{
	const uint64_t tick_ns = 1000000000ull / (uint64_t)sysconf(_SC_CLK_TCK);
	unsigned long long user, kernel;
	char path[64], line[1024];
	const char *after;
	FILE *f;
	bool read;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	f = fopen(path, "re");
	if (!f)
		return -errno;
	read = fgets(line, sizeof(line), f) != NULL;
	fclose(f);
	/* the name in parentheses may hold anything: the last one ends it */
	after = read ? strrchr(line, ')') : NULL;
	if (!after || sscanf(after + 1, " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %llu %llu",
			     &user, &kernel) != 2)
		return -EIO;
	*user_ns = user * tick_ns;
	*kernel_ns = kernel * tick_ns;
	return 0;
}

const char *ovl_tundaemon_syscall(uint32_t nr, char *room, size_t n, bool *bytes)
{
	static const struct {
		long nr;
		const char *name;
		bool bytes;
	} known[] = {
#define CALL(name, moves) {SYS_##name, #name, moves}
		CALL(read, true),
		CALL(write, true),
		CALL(readv, true),
		CALL(writev, true),
		CALL(sendto, true),
		CALL(recvfrom, true),
		CALL(sendmsg, true),
		CALL(recvmsg, true),
		CALL(sendmmsg, false),
		CALL(recvmmsg, false),
		CALL(ppoll, false),
		CALL(pselect6, false),
		CALL(epoll_pwait, false),
		CALL(futex, false),
		CALL(nanosleep, false),
		CALL(clock_nanosleep, false),
		CALL(io_uring_enter, false),
/* architectures that came later have only the forms above */
#ifdef SYS_poll
		CALL(poll, false),
#endif
#ifdef SYS_select
		CALL(select, false),
#endif
#ifdef SYS_epoll_wait
		CALL(epoll_wait, false),
#endif
#undef CALL
	};

	*bytes = false;
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		if (known[i].nr != (long)nr)
			continue;
		*bytes = known[i].bytes;
		return known[i].name;
	}
	snprintf(room, n, "syscall_%u", nr);
	return room;
}
