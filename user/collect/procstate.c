#include "collect/procstate.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/str.h"

#define CONNTRACK_COLUMNS 20
#define UDP_SOCKETS_MAX	  256

static bool read_text(const char *path, char *to, size_t n)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t got = fd < 0 ? -1 : read(fd, to, n - 1);

	if (fd >= 0)
		close(fd);
	if (got <= 0)
		return false;
	to[got] = '\0';
	to[strcspn(to, "\n")] = '\0';
	return true;
}

static void put_number(struct ovl_sheet *s, const char *kind, const char *path, const char *object,
		       const char *name)
{
	char text[64];

	if (read_text(path, text, sizeof(text)))
		ovl_sheet_set(s, kind, object, name, strtoll(text, NULL, 10));
}

/* The third number of "min default max". */
static void put_most(struct ovl_sheet *s, const char *path, const char *name)
{
	char text[64], *at = text;
	long long v = 0;

	if (!read_text(path, text, sizeof(text)))
		return;
	for (int i = 0; i < 3; i++)
		v = strtoll(at, &at, 10);
	ovl_sheet_set(s, "sysctl", "ipv4", name, v);
}

static void put_sysctls(struct ovl_sheet *s, const struct ovl_facts *facts, uint32_t ns)
{
	char path[128];

	put_number(s, "sysctl", "/proc/sys/net/ipv4/ip_forward", "ipv4", "ip_forward");
	put_number(s, "sysctl", "/proc/sys/net/ipv4/conf/all/rp_filter", "all", "rp_filter");
	put_number(s, "sysctl", "/proc/sys/net/bridge/bridge-nf-call-iptables", "bridge",
		   "nf_call_iptables");
	put_number(s, "sysctl", "/proc/sys/net/ipv4/tcp_window_scaling", "ipv4", "window_scaling");
	put_number(s, "sysctl", "/proc/sys/net/ipv4/tcp_mtu_probing", "ipv4", "mtu_probing");
	put_most(s, "/proc/sys/net/ipv4/tcp_rmem", "tcp_rmem_max");
	put_most(s, "/proc/sys/net/ipv4/tcp_wmem", "tcp_wmem_max");
	ovl_vec_each(link, &facts->links) {
		if (link->ns != ns)
			continue;
		snprintf(path, sizeof(path), "/proc/sys/net/ipv4/conf/%s/rp_filter", link->name);
		put_number(s, "sysctl", path, link->name, "rp_filter");
		snprintf(path, sizeof(path), "/proc/sys/net/ipv4/conf/%s/forwarding", link->name);
		put_number(s, "sysctl", path, link->name, "forwarding");
	}
}

/* A header line of names, then one line of hexadecimal numbers for each CPU. */
static void put_conntrack_stat(struct ovl_sheet *s)
{
	char names[512], line[512], *word, *rest;
	uint64_t sums[CONNTRACK_COLUMNS] = {0};
	FILE *f = fopen("/proc/thread-self/net/stat/nf_conntrack", "re");
	int i;

	if (!f)
		return;
	if (!fgets(names, sizeof(names), f))
		names[0] = '\0';
	while (fgets(line, sizeof(line), f)) {
		i = 0;
		for (word = strtok_r(line, " \n", &rest); word && i < CONNTRACK_COLUMNS;
		     word = strtok_r(NULL, " \n", &rest))
			sums[i++] += strtoull(word, NULL, 16);
	}
	fclose(f);
	i = 0;
	for (word = strtok_r(names, " \n", &rest); word && i < CONNTRACK_COLUMNS;
	     word = strtok_r(NULL, " \n", &rest), i++)
		/* "entries" is no counter and the same in every line */
		if (strcmp(word, "entries") != 0)
			ovl_sheet_count(s, "conntrack", "table", word, sums[i]);
}

/*
 * /proc/net/udp: drops of each bound socket. The local address and port are hexadecimal, the drops
 * the last column.
 */
static void put_udp(struct ovl_sheet *s, const char *path)
{
	FILE *f = fopen(path, "re");
	char line[512];
	int n = 0;

	if (!f)
		return;
	while (fgets(line, sizeof(line), f)) {
		unsigned int port;
		const char *last = strrchr(line, ' ');
		char object[32];

		for (char *end = line + strlen(line); end > line && strchr(" \n", end[-1]);)
			*--end = '\0';
		last = strrchr(line, ' ');
		if (!last || sscanf(line, " %*[^:]: %*[0-9A-Fa-f]:%x %*s %*s %*x:%*x", &port) != 1)
			continue;
		if (n++ >= UDP_SOCKETS_MAX) {
			s->left_out++;
			continue;
		}
		snprintf(object, sizeof(object), "port %u", port);
		ovl_sheet_count(s, "udp", object, "drops", strtoull(last, NULL, 10));
	}
	fclose(f);
}

void ovl_procstate_read(struct ovl_sheet *s, const struct ovl_facts *facts, uint32_t ns)
{
	put_sysctls(s, facts, ns);
	put_conntrack_stat(s);
	/* kernels without that file have these all the same */
	put_number(s, "conntrack", "/proc/sys/net/netfilter/nf_conntrack_count", "table",
		   "entries");
	put_number(s, "conntrack", "/proc/sys/net/netfilter/nf_conntrack_max", "table", "limit");
	put_udp(s, "/proc/thread-self/net/udp");
}
