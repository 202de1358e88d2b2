/* The kernel's counters: parsers on fixed texts, readings in namespaces of this test's own. */
#include "base/clock.h"
#include "collect/collect.h"
#include "collect/counters.h"
#include "collect/procnet.h"
#include "tap.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static int id; /* of this run: in every name */

static int sh(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
static int sh(const char *fmt, ...)
{
	char command[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(command, sizeof(command), fmt, ap);
	va_end(ap);
	return system(command);
}

static void clean_up(void)
{
	sh("ip netns del tgt-%d-a 2>/dev/null", id);
	sh("ip netns del tgt-%d-b 2>/dev/null", id);
}

/* parsers: everything as "group.name=value " */
static void append(void *arg, struct ovl_word group, struct ovl_word name, int64_t value)
{
	char *out = arg;
	size_t n = strlen(out);

	snprintf(out + n, 512 - n, "%.*s.%.*s=%lld ", (int)group.n, group.s, (int)name.n, name.s,
		 (long long)value);
}

static const char *pairs(const char *text)
{
	static char out[512];

	out[0] = '\0';
	ovl_procnet_pairs(text, append, out);
	return out;
}

static const char *snmp6(const char *text)
{
	static char out[512];

	out[0] = '\0';
	ovl_procnet_snmp6(text, append, out);
	return out;
}

static void test_pairs(void)
{
	is_str(pairs("Ip: Forwarding InReceives\nIp: 1 12\nTcp: MaxConn OutSegs\nTcp: -1 7\n"),
	       "Ip.Forwarding=1 Ip.InReceives=12 Tcp.MaxConn=-1 Tcp.OutSegs=7 ", "two groups");
	is_str(pairs("X: Big\nX: 18446744073709551615\n"), "X.Big=-1 ", "64 bits wrap");
	is_str(pairs("Ip: A B\nIp: 1 2\nTcp: A B\nTcp: 3 4"), "Ip.A=1 Ip.B=2 ",
	       "a last line without its end is not trusted");
	is_str(pairs("Ip: A B\nIp: 1 2\nTcp: A B\n"), "Ip.A=1 Ip.B=2 ", "names without values");
	is_str(pairs("Ip: A B C\nIp: 1 2\n"), "Ip.A=1 Ip.B=2 ", "fewer values than names");
	is_str(pairs("Ip: A\nIp: 1 2 3\n"), "Ip.A=1 ", "more values than names");
	is_str(pairs("Ip: A\nTcp: A\nTcp: 5\n"), "Tcp.A=5 ", "a lone line is skipped");
	is_str(pairs("Ip: A B\nIp: 1 x2\n"), "Ip.A=1 ", "what is no number ends the group");
	is_str(pairs(""), "", "empty text");
	is_str(pairs("\n\n\n"), "", "empty lines");
	is_str(pairs("root:x:0:0:root:/root:/bin/sh\n# a comment\n"), "", "foreign text");
	is_str(pairs(": A\n: 1\n"), "", "a group without a name");
}

static void test_snmp6(void)
{
	is_str(snmp6("Ip6InReceives \t12\nIcmp6OutType133\t3\nUdp6InErrors 4\nUdpLite6InErrors "
		     "5\n"),
	       "Ip6.InReceives=12 Icmp6.OutType133=3 Udp6.InErrors=4 UdpLite6.InErrors=5 ",
	       "names are split from their groups");
	is_str(snmp6("Ip6InReceives 12\nIp6InDel"), "Ip6.InReceives=12 ", "cut off");
	is_str(snmp6("Ip6InReceives\nIp6 5\nFoo 7\nIp6X 1y\n\n"), "", "foreign lines");
}

static struct ovl_softnet softnet[4];
static void take_softnet(void *arg, const struct ovl_softnet *line)
{
	int *n = arg;

	if (*n < 4)
		softnet[(*n)++] = *line;
}

static void test_softnet(void)
{
	int n = 0;

	ovl_procnet_softnet(
		"0000000b 00000001 00000002 0 0\n"
		"000021ac 00000003 00000004 00000000 00000000 00000000 00000000 00000000 00000000 "
		"00000005 00000006 00000000 00000003 00000000 00000000\n"
		"ffffffff 00000000 00000000 00000000 00000000 00000000 00000000 00000000 00000000 "
		"00000000 00000000\n"
		"000021ac 00000003",
		take_softnet, &n);
	is_int(n, 2, "two whole lines of four");
	is_int(softnet[0].cpu, 3, "the CPU's number is its column, not its line");
	is_int(softnet[0].processed, 0x21ac, "hexadecimal");
	ok(softnet[0].dropped == 3 && softnet[0].time_squeeze == 4 &&
		   softnet[0].received_rps == 5 && softnet[0].flow_limit == 6,
	   "columns");
	ok(softnet[1].cpu == 1 && softnet[1].processed == 0xffffffff, "an old kernel's short line");
	n = 0;
	is_int(ovl_procnet_softnet("nothing of the kind\nzzzzzzzz 00000001\n", take_softnet, &n), 0,
	       "foreign text");
}

static struct ovl_stat_cpu stat_cpu[4];
static void take_stat(void *arg, const struct ovl_stat_cpu *line)
{
	int *n = arg;

	if (*n < 4)
		stat_cpu[(*n)++] = *line;
}

static void test_stat(void)
{
	int n = 0;

	ovl_procnet_stat(
		"cpu  10 0 10 100 5 0 1 2 0 0\ncpu0 1 2 3 40 5 6 7 8 9 10\n"
		"cpu12 0 0 0 60 0 0 0 1 0 0\ncpu13 1 2 3\nintr 1 2 3\ncpu14 1 1 1 1 1 1 1 1\n",
		take_stat, &n);
	is_int(n, 2, "two CPUs: not the sum, not the short line, nothing behind the CPUs");
	ok(stat_cpu[0].cpu == 0 && stat_cpu[0].idle == 40 && stat_cpu[0].iowait == 5 &&
		   stat_cpu[0].steal == 8,
	   "columns");
	is_int(stat_cpu[1].cpu, 12, "offline CPUs leave gaps");
	n = 0;
	is_int(ovl_procnet_stat("MemTotal: 1\n", take_stat, &n), 0, "foreign text");
	is_int(ovl_procnet_stat("cpu0 1 2 3 4", take_stat, &n), 0, "cut off");
}

static const struct ovl_link_delta *delta_of(const struct ovl_facts *f, const struct ovl_sample *s,
					     const char *ns, const char *dev)
{
	for (size_t i = 0; i < s->links.n; i++) {
		const struct ovl_link *link = &f->links.v[s->links.v[i].link];

		if (strstr(ovl_facts_ns(f, link->ns), ns) && !strcmp(link->name, dev))
			return &s->links.v[i];
	}
	return NULL;
}

static long long counter(const struct ovl_facts *f, const struct ovl_sample *s, const char *ns,
			 const char *group, const char *name)
{
	for (size_t i = 0; i < s->counters.n; i++)
		if (strstr(ovl_facts_ns(f, s->counters.v[i].ns), ns) &&
		    !strcmp(s->counters.v[i].group, group) && !strcmp(s->counters.v[i].name, name))
			return s->counters.v[i].delta;
	return 0;
}

static void test_clocks(struct ovl_counters *c, const struct ovl_facts *f)
{
	struct ovl_sample s = {0};
	struct ovl_err err = OVL_ERR_INIT;
	uint64_t busy = 0, until, start = ovl_clock_ns(), took;
	bool whole = true;

	is_int(ovl_counters_begin(c, &err), 0, "an interval begins");
	for (until = ovl_clock_ns() + 300000000ull; ovl_clock_ns() < until;)
		;
	usleep(200000);
	is_int(ovl_counters_end(c, f, &s, &err), 0, "and ends");
	took = ovl_clock_ns() - start;
	is_int(s.cpus.n, sysconf(_SC_NPROCESSORS_ONLN), "a clock for every online CPU");
	ovl_vec_each(cpu, &s.cpus) {
		whole &= cpu->wall_ns == s.end_ts_ns - s.start_ts_ns &&
			 cpu->idle_ns + cpu->steal_ns <= cpu->wall_ns;
		busy += cpu->wall_ns - cpu->idle_ns - cpu->steal_ns;
	}
	ok(whole, "wall is the monotonic clock's difference; idle and steal fit into it");
	ok(s.end_ts_ns - s.start_ts_ns >= 500000000ull && s.end_ts_ns - s.start_ts_ns <= took,
	   "the interval is as long as it was");
	ok(busy >= 200000000ull, "300 ms of spinning are seen as busy (%llu ms)",
	   (unsigned long long)busy / 1000000);
	until = s.end_ts_ns;
	is_int(ovl_counters_end(c, f, &s, &err), 0, "back to back");
	ok(s.start_ts_ns == until, "the next interval begins where the last one ended");
	ovl_sample_fini(&s);
}

static void test_traffic(struct ovl_counters *c, const struct ovl_facts *f)
{
	struct ovl_sample s = {0};
	struct ovl_err err = OVL_ERR_INIT;
	const struct ovl_link_delta *a, *b;
	uint64_t handled = 0;

	ovl_counters_begin(c, &err);
	/* 20 requests of 1000 + 8 bytes of ICMP: 1042 bytes each with its headers; no answers */
	sh("ip netns exec tgt-%d-a ping -q -c 20 -i 0.002 -s 1000 -W 1 192.0.2.2 >/dev/null", id);
	is_int(ovl_counters_end(c, f, &s, &err), 0, "traffic is read");
	a = delta_of(f, &s, "-a", "tgta");
	b = delta_of(f, &s, "-b", "tgtb");
	ok(a && b, "both ends of the veth are there");
	if (a && b) {
		is_int(a->tx_pkts, 20, "20 packets sent");
		is_int(b->rx_pkts, 20, "20 received");
		is_int(a->tx_bytes, 20 * 1042, "with their bytes");
		is_int(a->rx_pkts, 20, "20 answers");
		ok(!a->gone && !b->gone, "nothing is gone");
	}
	is_int(counter(f, &s, "-a", "Icmp", "OutEchos"), 20, "Icmp OutEchos of the sender");
	is_int(counter(f, &s, "-b", "Icmp", "InEchos"), 20, "Icmp InEchos of the receiver");
	is_int(counter(f, &s, "-b", "Icmp", "OutEchos"), 0, "namespaces are kept apart");
	is_int(counter(f, &s, "-a", "IcmpMsg", "InType0"), 20,
	       "a counter that is listed only once it moves");
	is_int(counter(f, &s, "-b", "IpExt", "InOctets"), 20 * 1028, "IpExt of netstat");
	ovl_vec_each(cpu, &s.cpus)
		handled += cpu->softirq_handled;
	ok(handled >= 40, "softirq has handled them (%llu)", (unsigned long long)handled);
	ovl_counters_end(c, f, &s, &err);
	ovl_counters_end(c, f, &s, &err);
	is_int(counter(f, &s, "-a", "Icmp", "OutEchos"), 0, "what does not move is not listed");
	ovl_sample_fini(&s);
}

static void test_gone(struct ovl_counters *c, const struct ovl_facts *f)
{
	struct ovl_sample s = {0};
	struct ovl_err err = OVL_ERR_INIT;
	const struct ovl_link_delta *a, *lo;

	ovl_counters_begin(c, &err);
	sh("ip -n tgt-%d-a link del tgta", id);
	is_int(ovl_counters_end(c, f, &s, &err), 0, "a device vanishes: no error");
	a = delta_of(f, &s, "-a", "tgta");
	lo = delta_of(f, &s, "-a", "lo");
	ok(a && a->gone && !a->tx_pkts, "it is marked gone");
	ok(lo && !lo->gone, "others are not");
	clean_up();
	is_int(ovl_counters_end(c, f, &s, &err), 0, "the names of the namespaces vanish: no error");
	is_int(s.links.n, f->links.n, "links are always listed");
	ovl_sample_fini(&s);
}

static int make_pair(void)
{
	int rc = 0;

	for (const char *ns = "ab"; *ns; ns++)
		rc |= sh("ip netns add tgt-%d-%c && ip netns exec tgt-%d-%c sysctl -qw "
			 "net.ipv6.conf.default.disable_ipv6=1",
			 id, *ns, id, *ns);
	rc |= sh("ip -n tgt-%d-a link add tgta type veth peer name tgtb netns tgt-%d-b", id, id);
	for (const char *ns = "ab"; *ns; ns++)
		rc |= sh("ip -n tgt-%d-%c addr add 192.0.2.%d/24 dev tgt%c && "
			 "ip -n tgt-%d-%c link set tgt%c up",
			 id, *ns, *ns - 'a' + 1, *ns, id, *ns, *ns);
	/* no ARP among the counted packets */
	rc |= sh("ip -n tgt-%d-a neigh replace 192.0.2.2 dev tgta nud permanent lladdr "
		 "$(ip netns exec tgt-%d-b cat /sys/class/net/tgtb/address)",
		 id, id);
	rc |= sh("ip -n tgt-%d-b neigh replace 192.0.2.1 dev tgtb nud permanent lladdr "
		 "$(ip netns exec tgt-%d-a cat /sys/class/net/tgta/address)",
		 id, id);
	return rc;
}

static void test_live(void)
{
	struct ovl_facts f = {.iface = -1};
	struct ovl_target t = {0};
	struct ovl_err err = OVL_ERR_INIT;
	struct ovl_counters *c;
	char path[64];

	for (const char *ns = "ab"; *ns; ns++) {
		FILE *file;

		snprintf(path, sizeof(path), "/run/netns/tgt-%d-%c", id, *ns);
		file = fopen(path, "r");
		ok(file && !ovl_target_add_ns(&t, &f, path + strlen("/run/netns/"),
					      dup(fileno(file)), &err),
		   "namespace %c is in the facts: %s", *ns, err.text);
		if (file)
			fclose(file);
	}
	c = ovl_counters_open(&f, t.ns_fd, &err);
	ok(c, "counters open: %s", err.text);
	if (c) {
		test_clocks(c, &f);
		test_traffic(c, &f);
		test_gone(c, &f);
	}
	ovl_counters_close(c);
	ovl_target_close(&t);
	ovl_facts_fini(&f);
}

int main(void)
{
	id = (int)getpid();
	test_pairs();
	test_snmp6();
	test_softnet();
	test_stat();
	if (geteuid()) {
		tap_skip("namespaces of our own need root");
		return tap_done();
	}
	atexit(clean_up);
	if (make_pair())
		ok(false, "two namespaces and a veth pair can be made");
	else
		test_live();
	return tap_done();
}
