/* CPUs and their masks, addresses, device names, offload profiles: the pure parts of a lab. */
#include "lab/netlink.h"
#include "lab/offload.h"
#include "lab/spec.h"
#include "lab/tune.h"

#include <arpa/inet.h>
#include <errno.h>
#include <sched.h>

#include "tap.h"

static void masks(void)
{
	static const struct {
		int cpu;
		const char *want;
	} rows[] = {
		{0, "1"},
		{1, "2"},
		{31, "80000000"},
		{32, "1,00000000"},
		{63, "80000000,00000000"},
		{100, "10,00000000,00000000,00000000"},
	};
	char text[64], small[8];

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		ovl_tune_mask(rows[i].cpu, text, sizeof(text));
		is_str(text, rows[i].want, "mask of CPU %d", rows[i].cpu);
	}
	ovl_tune_mask(100, small, sizeof(small));
	ok(strlen(small) < sizeof(small), "a short buffer is not overrun");
}

/* Both 0 means choose, and what is chosen can be pinned to: within the affinity. */
static void cpus(void)
{
	cpu_set_t before, one;
	struct ovl_err err = OVL_ERR_INIT;
	int sender = 0, receiver = 0, last = -1;

	if (sched_getaffinity(0, sizeof(before), &before)) {
		tap_skip("this machine has more CPUs than a cpu_set_t");
		return;
	}
	for (int i = 0; i < CPU_SETSIZE; i++)
		if (CPU_ISSET(i, &before))
			last = i;
	is_int(ovl_tune_cpus(&sender, &receiver, &err), 0, "CPUs chosen: %s", err.text);
	ok(CPU_ISSET(sender, &before) && CPU_ISSET(receiver, &before), "both may be used");
	ok(receiver < sender || CPU_COUNT(&before) == 1, "the receiver's is the lower one");

	CPU_ZERO(&one);
	CPU_SET(last, &one);
	ok(!sched_setaffinity(0, sizeof(one), &one), "only CPU %d may be used", last);
	sender = receiver = 0;
	is_int(ovl_tune_cpus(&sender, &receiver, &err), 0, "CPUs chosen again");
	is_int(sender, last, "the sender gets it");
	is_int(receiver, last, "the receiver gets it as well");
	ok(!sched_setaffinity(0, sizeof(before), &before), "affinity as before");

	receiver = 99999;
	is_int(ovl_tune_cpus(&sender, &receiver, &err), -EINVAL, "no CPU 99999");
}

static void addresses(void)
{
	static const char *const bad[] = {"10.0.0.1/33",
					  "10.0.0.1/",
					  "10.0.0",
					  "fd00::1/129",
					  "fd00::1/",
					  "fd00:::1",
					  "",
					  "10.0.0.1/x",
					  "100.100.100.100.100.100"};
	struct ovl_netlink_ip ip;
	uint8_t mac[6];

	ok(ovl_netlink_parse_ip("10.244.2.0/24", &ip), "address with length");
	ok(ip.family == AF_INET && ip.n == 4 && !memcmp(ip.bytes, "\x0a\xf4\x02\x00", 4),
	   "its value");
	is_int(ip.len, 24, "its length");
	ok(ovl_netlink_parse_ip("192.168.77.1", &ip), "address alone");
	is_int(ip.len, 32, "is a host's");
	ok(ovl_netlink_parse_ip("fd00:10:244:1::/64", &ip), "an IPv6 network");
	ok(ip.family == AF_INET6 && ip.n == 16 && ip.len == 64 && ip.bytes[7] == 1, "its value");
	ok(ovl_netlink_parse_ip("::1", &ip) && ip.len == 128, "an IPv6 address alone");
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		ok(!ovl_netlink_parse_ip(bad[i], &ip), "'%s' refused", bad[i]);
	ok(ovl_netlink_parse_mac("02:f1:a0:00:00:01", mac) && mac[5] == 1, "MAC");
	ok(!ovl_netlink_parse_mac("02:f1:a0:00:00", mac), "short MAC refused");
	ok(!ovl_netlink_parse_mac("02:f1:a0:00:00:01:02", mac), "long MAC refused");
}

static void names(void)
{
	ok(ovl_spec_name_ok("flannel.1"), "flannel.1 is a device name");
	ok(ovl_spec_name_ok("fifteen-letters"), "15 characters are");
	ok(!ovl_spec_name_ok("sixteen--letters"), "16 are not");
	ok(!ovl_spec_name_ok(""), "nothing is not");
	ok(!ovl_spec_name_ok("."), ". is not");
	ok(!ovl_spec_name_ok(".."), ".. is not");
	ok(!ovl_spec_name_ok("a/b"), "a path is not");
	ok(!ovl_spec_name_ok("a b"), "two words are not");
	ok(!ovl_spec_name_ok("vxlan%d"), "a pattern is not");
}

static bool has(enum ovl_lab_offloads offloads, const char *name)
{
	for (const char *const *f = ovl_offload_profile(offloads); *f; f++) {
		if (strcmp(*f, name) == 0)
			return true;
	}
	return false;
}

static void profiles(void)
{
	ok(has(OVL_LAB_OFFLOADS_CLOUD, "tx-udp_tnl-segmentation"), "cloud: no tunnel TSO");
	ok(has(OVL_LAB_OFFLOADS_CLOUD, "tx-udp_tnl-csum-segmentation"), "cloud: with checksum too");
	ok(!has(OVL_LAB_OFFLOADS_CLOUD, "tx-tcp-segmentation"), "cloud: plain TSO stays");
	ok(has(OVL_LAB_OFFLOADS_NOGSO, "tx-tcp-segmentation"), "nogso: no plain TSO");
	ok(has(OVL_LAB_OFFLOADS_NOGSO, "tx-udp_tnl-segmentation"), "nogso: no tunnel TSO");
	ok(!ovl_offload_profile(OVL_LAB_OFFLOADS_ALL)[0], "all: nothing off");
}

int main(void)
{
	masks();
	cpus();
	addresses();
	names();
	profiles();
	return tap_done();
}
