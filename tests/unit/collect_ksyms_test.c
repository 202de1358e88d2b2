/*
 * Symbols from a listing as /proc/kallsyms prints it, and drop reasons by the table of benign ones.
 */
#include "collect/ksyms.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "collect/reasons.h"
#include "tap.h"

static const char listing[] = "0000000000000000 A fixed_percpu_data\n"
			      "ffffffff81000000 T _text\n"
			      "ffffffff81001000 t tcp_ack.isra.0\n"
			      "ffffffff81002000 T tcp_sendmsg_locked\n"
			      "ffffffff81003000 d some_data\n"
			      "ffffffff81003100 W weak_function\n"
			      "ffffffff81003200 t helper.constprop.0.cold\n"
			      "ffffffff81003300 t __napi_poll.part.12\n"
			      "not a line\n"
			      "ffffffffc0201000 t vxlan_xmit\t[vxlan]\n"
			      "ffffffffc0200000 t veth_xmit\t[veth]\n"
			      "ffffffffc0300000 t bpf_prog_6deef7357e7b4530_ovl_drop\t[bpf]\n";

static void put(const char *path, const char *text)
{
	FILE *f = fopen(path, "we");

	if (f) {
		fputs(text, f);
		fclose(f);
	}
}

static const char *at(const struct ovl_ksyms *k, uint64_t addr)
{
	int i = ovl_ksyms_find(k, addr);

	return i < 0 ? "-" : ovl_ksyms_name(k, i);
}

static void test_listing(const char *path)
{
	struct ovl_err err = OVL_ERR_INIT;
	struct ovl_ksyms *k;

	put(path, listing);
	k = ovl_ksyms_open(path, &err);
	ok(k != NULL, "a listing is read %s", err.text);
	if (!k)
		return;
	is_str(at(k, 0xffffffff81003010), "tcp_sendmsg_locked", "functions only, data is left out");
	is_str(at(k, 0xffffffff81001000), "tcp_ack", "the first byte, suffix cut");
	is_str(at(k, 0xffffffff81001fff), "tcp_ack", "the last byte");
	is_str(at(k, 0xffffffff81002000), "tcp_sendmsg_locked", "the next function's first byte");
	is_str(at(k, 0xffffffff81003150), "weak_function", "a weak symbol");
	is_str(at(k, 0xffffffff81003210), "helper", "two suffixes");
	is_str(at(k, 0xffffffff81003310), "__napi_poll", "a part with a number");
	is_str(at(k, 0xffffffffc0200010), "veth_xmit", "modules are sorted in");
	is_str(at(k, 0xffffffffc0201010), "vxlan_xmit", "without their module's name");
	is_str(at(k, 0xffffffff80ffffff), "-", "below the first: unknown");
	is_str(at(k, 0xffffffffc0500000), "-", "far above the last: unknown");
	is_str(at(k, 0), "-", "zero: unknown");
	is_int(ovl_ksyms_class(k, ovl_ksyms_find(k, 0xffffffffc0201010))->strong,
	       OVL_STAGE_VXLAN_ENCAP, "a function has its class");
	put(path, "ffffffffc0500000 t late_function\t[late]\n");
	is_int(ovl_ksyms_reload(k, &err), 0, "the listing is read again");
	is_str(at(k, 0xffffffffc0500000), "late_function", "a late module is known then");
	unlink(path);
	ok(ovl_ksyms_reload(k, &err) == -ENOENT, "a listing that vanished is an error");
	is_str(at(k, 0xffffffffc0500000), "late_function", "and the old one stays");
	ovl_ksyms_close(k);
}

static void test_refusals(const char *path)
{
	struct ovl_err err = OVL_ERR_INIT;

	put(path, "0000000000000000 T _text\n0000000000000000 T tcp_ack\n");
	ok(!ovl_ksyms_open(path, &err) && err.exit == OVL_EXIT_RIGHTS &&
		   strstr(err.text, "CAP_SYSLOG"),
	   "hidden addresses name the capability: %s", err.text);
	put(path, "");
	ok(!ovl_ksyms_open(path, &err) && err.exit == OVL_EXIT_KERNEL, "an empty one: %s",
	   err.text);
	unlink(path);
	ok(!ovl_ksyms_open(path, &err) && strstr(err.text, path), "a missing one: %s", err.text);
}

static void test_strip(void)
{
	static const char *const cases[][2] = {
		{"tcp_ack", "tcp_ack"},		  {"a.isra.0", "a"},
		{"a.part.3.isra.4", "a"},	  {"a.cold", "a"},
		{"a.constprop.0", "a"},		  {"a.llvm.1234567", "a"},
		{"lib.function", "lib.function"}, {".cold", ".cold"},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char name[64];

		snprintf(name, sizeof(name), "%s", cases[i][0]);
		ovl_ksyms_strip(name);
		is_str(name, cases[i][1], "%s", cases[i][0]);
	}
}

static void test_benign(void)
{
	ok(ovl_reasons_benign("TCP_OLD_DATA", "tcp_rcv_established", 0x800, 5), "a duplicate");
	ok(ovl_reasons_benign("NO_SOCKET", "tcp_v4_rcv", 0x800, 5), "a closed connection");
	ok(!ovl_reasons_benign("NO_SOCKET", "__udp4_lib_rcv", 0x800, 5), "not a closed UDP port");
	ok(ovl_reasons_benign("NOT_SPECIFIED", "virtio_transport_recv_pkt", 0, 1), "vsock");
	ok(ovl_reasons_benign("NO_TX_TARGET", "vxlan_xmit", 0x86dd, 3), "a neighbour discovery");
	ok(!ovl_reasons_benign("NO_TX_TARGET", "vxlan_xmit", 0x86dd, 3000), "not a stream of IPv6");
	ok(!ovl_reasons_benign("NO_TX_TARGET", "vxlan_xmit", 0x800, 3), "nor any IPv4");
	ok(!ovl_reasons_benign("CPU_BACKLOG", "enqueue_to_backlog", 0x800, 1),
	   "a full queue is loss");
	ok(!ovl_reasons_benign("2", "veth_xmit", 0x800, 1), "what is unknown is loss");
}

/* Every kernel that this runs on has these since 5.17; the numbers differ. */
static void test_names(void)
{
	struct ovl_err err = OVL_ERR_INIT;
	struct ovl_reasons *r;
	bool no_socket = false, full_ring = false, prefixed = false;
	char number[16];

	if (access("/sys/kernel/btf/vmlinux", R_OK)) {
		tap_skip("no BTF here: /sys/kernel/btf/vmlinux: %s", strerror(errno));
		return;
	}
	r = ovl_reasons_open(&err);
	ok(r != NULL, "the kernel's drop reasons are read %s", err.text);
	if (!r)
		return;
	for (uint32_t i = 0; i < 256; i++) {
		const char *name = ovl_reasons_name(r, i, number, sizeof(number));

		no_socket |= !strcmp(name, "NO_SOCKET");
		full_ring |= !strcmp(name, "FULL_RING");
		prefixed |= !strncmp(name, "SKB_DROP_", 9);
	}
	ok(no_socket && full_ring && !prefixed, "they have their names, without the prefix");
	is_str(ovl_reasons_name(r, 0x7fff1234, number, sizeof(number)), "2147422772",
	       "one without a name is its number");
	ok(ovl_reasons_kfree_skb_args(r) >= 3, "kfree_skb has its reason: %u arguments",
	   ovl_reasons_kfree_skb_args(r));
	ok(ovl_reasons_retransmit_args(r) >= 2, "tcp_retransmit_skb: %u arguments",
	   ovl_reasons_retransmit_args(r));
	ovl_reasons_close(r);
}

int main(void)
{
	char path[] = "/tmp/ovl-ksyms-XXXXXX";
	int fd = mkstemp(path);

	if (fd < 0) {
		ok(false, "a temporary file: %s", strerror(errno));
		return tap_done();
	}
	close(fd);
	test_listing(path);
	test_refusals(path);
	test_strip();
	test_benign();
	test_names();
	return tap_done();
}
