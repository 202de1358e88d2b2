/*
 * The kernel's counter files. The parsers work in place and without memory: each calls `each` per
 * entry and returns how many there were (0: no such file). What is cut off or foreign is skipped.
 */
#ifndef OVL_COLLECT_PROCNET_H
#define OVL_COLLECT_PROCNET_H

#include <stddef.h>
#include <stdint.h>

/** A file's text; its memory is kept for the next one. */
struct ovl_text {
	char *s;
	size_t cap;
};
/** Read a whole file from its start, NUL-terminated. Allocates only to grow. 0 or -errno. */
int ovl_procnet_read(int fd, struct ovl_text *text);

/** A piece of the text. */
struct ovl_word {
	const char *s;
	size_t n;
};

/** One counter: group ("Tcp"), name ("RetransSegs"), value. */
typedef void (*ovl_procnet_counter)(void *arg, struct ovl_word group, struct ovl_word name,
				    int64_t value);
/** /proc/net/snmp and /proc/net/netstat: pairs of lines "Group: names…" and "Group: values…". */
int ovl_procnet_pairs(const char *text, ovl_procnet_counter each, void *arg);
/** /proc/net/snmp6: "Ip6InReceives 12" per line; the group is Ip6, Icmp6, Udp6 or UdpLite6. */
int ovl_procnet_snmp6(const char *text, ovl_procnet_counter each, void *arg);

/** One CPU's line of /proc/net/softnet_stat; the counters are the kernel's 32-bit ones. */
struct ovl_softnet {
	uint32_t cpu;
	uint32_t processed, dropped, time_squeeze, received_rps, flow_limit;
};
int ovl_procnet_softnet(const char *text, void (*each)(void *arg, const struct ovl_softnet *line),
			void *arg);

/** One "cpuN" line of /proc/stat, in ticks of sysconf(_SC_CLK_TCK). */
struct ovl_stat_cpu {
	uint32_t cpu;
	uint64_t idle, iowait, steal;
};
int ovl_procnet_stat(const char *text, void (*each)(void *arg, const struct ovl_stat_cpu *line),
		     void *arg);

#endif
