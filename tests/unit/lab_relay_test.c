/*
 * What a relay does to packets: routes, hops, checksums; and hostile bytes on memory of exactly
 * their size.
 */
#include "lab/relay_route.h"

#include <errno.h>

#include "lab/relay_super.h"
#include "relay_packet.h"
#include "tap.h"

static const char *remote_of(const struct ovl_relay_table *table, const char *dst)
{
	static char text[INET6_ADDRSTRLEN];
	uint8_t bytes[40] = {0};
	struct ovl_relay_packet p = {.data = bytes, .version = strchr(dst, ':') ? 6 : 4};
	const struct ovl_relay_addr *addr;

	inet_pton(p.version == 6 ? AF_INET6 : AF_INET, dst, bytes + (p.version == 6 ? 24 : 16));
	addr = ovl_relay_route_find(table, &p);
	if (!addr)
		return "none";
	return inet_ntop(AF_INET, &addr->in4.sin_addr, text, sizeof(text));
}

static void test_routes(void)
{
	static const struct ovl_relay_route routes[] = {
		{"10.244.0.0/16", "192.168.77.9"}, {"10.244.2.0/24", "192.168.77.2"},
		{"10.244.2.7/32", "192.168.77.7"}, {"10.244.2.0/23", "192.168.77.3"},
		{"fd00:244::/31", "192.168.77.4"}, {"fd00:244:2::/64", "192.168.77.5"}};
	struct ovl_relay_spec spec = {.port = 8285, .routes = routes, .n_routes = 6};
	struct ovl_relay_table table;
	struct ovl_relay_addr local;

	ok(!ovl_relay_route_addr("192.168.77.1", 8285, &local, NULL) && local.in4.sin_port,
	   "local address");
	ok(!ovl_relay_route_init(&table, &spec, &local, NULL), "six routes");
	is_str(remote_of(&table, "10.244.2.1"), "192.168.77.2", "the longest prefix wins");
	is_str(remote_of(&table, "10.244.2.7"), "192.168.77.7", "a host route wins over it");
	is_str(remote_of(&table, "10.244.3.7"), "192.168.77.3", "a length inside a byte");
	is_str(remote_of(&table, "10.244.4.7"), "192.168.77.9", "the short one for the rest");
	is_str(remote_of(&table, "10.245.2.1"), "none", "nothing covers this");
	is_str(remote_of(&table, "fd00:244:2::9"), "192.168.77.5", "IPv6 inside");
	is_str(remote_of(&table, "fd00:245:2::9"), "192.168.77.4", "IPv6, length inside a byte");
	is_str(remote_of(&table, "ff02::2"), "none", "multicast goes nowhere");
	ovl_relay_route_fini(&table);
}

static void test_bad_routes(void)
{
	static const struct ovl_relay_route bad[] = {
		{"10.244.2.0", "192.168.77.2"},
		{"10.244.2.0/33", "192.168.77.2"},
		{"10.244.2.1/24", "192.168.77.2"},
		{"10.244.2.0/", "192.168.77.2"},
		{"10.244.2.0/-1", "192.168.77.2"},
		{"/24", "192.168.77.2"},
		{"", "192.168.77.2"},
		{"fd00::/129", "192.168.77.2"},
		{"fd00::1/127", "192.168.77.2"},
		{"10.244.2.0/24", "node2"},
		{"10.244.2.0/24", "fd00::2"},
		{"10.244.2.0/24", ""},
		{"10.244.2.0/24x", "192.168.77.2"},
		{"10.244.2.0/2 4", "192.168.77.2"},
		{"1111111111111111111111111111111111111111111111111111/24", "192.168.77.2"}};
	struct ovl_relay_addr local;

	ovl_relay_route_addr("192.168.77.1", 8285, &local, NULL);
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		struct ovl_relay_spec spec = {.routes = &bad[i], .n_routes = 1};
		struct ovl_err err = OVL_ERR_INIT;
		struct ovl_relay_table table;

		ok(ovl_relay_route_init(&table, &spec, &local, &err) == -EINVAL && err.text[0],
		   "refused: %s via %s", bad[i].subnet, bad[i].remote);
	}
}

static void test_hops(void)
{
	struct shape s = plain;
	unsigned int good = 0, damaged = 0, ended = 0;

	for (unsigned int hops = 0; hops < 512; hops++) {
		struct ovl_relay_packet p;
		uint8_t *data;
		size_t n;

		s.v6 = hops >= 256;
		s.hops = (uint8_t)hops;
		s.id = (uint16_t)(hops * 257); /* another checksum each time */
		data = make(&s, &n);
		if (hops % 2 && !s.v6)
			data[10] ^= 0x40;
		ovl_relay_wire_parse(data, n, &p);
		if (!ovl_relay_wire_hop(&p))
			ended += s.hops <= 1;
		else if (data[s.v6 ? 7 : 8] == s.hops - 1)
			sound(data, n) ? good++ : damaged++;
		free(data);
	}
	is_int(ended, 4, "no hop is left of 0 and 1");
	is_int(good, 127 + 254, "one less, and the checksum still right");
	is_int(damaged, 127, "a wrong checksum is carried on, not repaired");
}

static void fuzz_one(uint8_t *data, size_t n, const uint8_t *more, unsigned int *parsed_n)
{
	static struct ovl_relay_join join;
	struct ovl_relay_packet p;
	struct virtio_net_hdr vnet;
	struct ovl_relay_cut cut;
	struct ovl_relay_seg seg;

	if (ovl_relay_wire_parse(data, n, &p))
		return;
	++*parsed_n;
	memcpy(&vnet, more, sizeof(vnet));
	if (more[20] & 1)
		vnet.gso_type = p.version == 6 ? 4 : 1;
	if (more[20] & 2)
		vnet.flags = 0;
	if (ovl_relay_cut_init(&cut, &p, &vnet) == 0) {
		while (ovl_relay_cut_next(&cut, &seg))
			;
	}
	ovl_relay_wire_finish(&p, vnet.csum_start, vnet.csum_offset);
	ovl_relay_wire_finish(&p, more[21], more[22]);
	ovl_relay_wire_hop(&p);
	ovl_relay_join_init(&join);
	ovl_relay_join_add(&join, &p);
	ovl_relay_join_add(&join, &p);
	ovl_relay_join_finish(&join);
}

static void test_hostile(void)
{
	unsigned int whole = 0, parsed_n = 0, left = 30000;
	struct ovl_relay_packet p;

	for (size_t keep = 0, n = 1; keep < n; keep++) {
		uint8_t *data = make(&plain, &n), *part = malloc(keep ? keep : 1);

		memcpy(part, data, keep);
		whole += ovl_relay_wire_parse(part, keep, &p) == 0;
		free(data);
		free(part);
	}
	is_int(whole, 0, "nothing cut short passes for whole");
	srandom(1);
	for (; left; left--) {
		struct shape s = plain;
		uint8_t more[24], *data, *part;
		size_t n, keep;

		for (size_t i = 0; i < sizeof(more); i++)
			more[i] = (uint8_t)random();
		s.v6 = more[0] & 1;
		s.payload = more[1];
		data = make(&s, &n);
		for (unsigned int i = 0; i < more[2] % 8u; i++) /* mostly in the headers */
			data[(size_t)random() % (more[3] & 1 || n < 60 ? n : 60)] =
				(uint8_t)random();
		keep = more[4] & 3 ? n : (size_t)random() % n + 1;
		part = malloc(keep);
		memcpy(part, data, keep);
		fuzz_one(part, keep, more, &parsed_n);
		free(data);
		free(part);
	}
	ok(parsed_n > 1000 && parsed_n < 30000, "mangled packets: %u of 30000 are IP", parsed_n);
}

static void test_finish(void)
{
	struct shape s = plain;
	struct ovl_relay_packet p;
	uint8_t *data;
	size_t n;

	s.payload = 333;
	data = make(&s, &n);
	p = parsed(data, n);
	put16(data + 36, sum_of((uint32_t)(n - 20) + 6, data + 12, 8));
	is_int(ovl_relay_wire_finish(&p, 20, 16), 0, "a partial checksum");
	ok(sound(data, n), "is finished");
	is_int(ovl_relay_wire_finish(&p, 0, 16), -EBADMSG, "not from within the IP header");
	is_int(ovl_relay_wire_finish(&p, (uint32_t)n - 1, 0), -EBADMSG, "not past the end");
	is_int(ovl_relay_wire_finish(&p, 65535, 65535), -EBADMSG, "not far beyond");
	is_int(ovl_relay_wire_finish(&p, (uint32_t)n - 2, 0), 0, "the last two bytes will do");
	free(data);
}

int main(void)
{
	test_routes();
	test_bad_routes();
	test_hops();
	test_finish();
	test_hostile();
	return tap_done();
}
