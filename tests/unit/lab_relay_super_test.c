/*
 * TCP super-packets cut into segments and joined again: every byte and checksum of a segment, and
 * what must never be joined.
 */
#include "lab/relay_super.h"

#include <errno.h>

#include "relay_packet.h"
#include "tap.h"

#define BIG 70000

/* Cut a super-packet; returns whether all of every segment is as it must be. */
static bool cut_well(const struct shape *s, uint16_t gso, struct ovl_relay_join *join)
{
	size_t n, ip = s->v6 ? 40 : 20 + s->ip_opt, header = ip + 20 + s->tcp_opt, at = 0, i = 0;
	uint8_t *data = make(s, &n);
	struct ovl_relay_packet p = parsed(data, n);
	struct virtio_net_hdr vnet = {.flags = VIRTIO_NET_HDR_F_NEEDS_CSUM,
				      .gso_type = s->v6 ? VIRTIO_NET_HDR_GSO_TCPV6
							: VIRTIO_NET_HDR_GSO_TCPV4,
				      .gso_size = gso,
				      .csum_start = (uint16_t)ip,
				      .csum_offset = 16};
	struct ovl_relay_cut cut;
	struct ovl_relay_seg seg;
	bool good = ovl_relay_cut_init(&cut, &p, &vnet) == 0;

	put16(data + ip + 16, 0xbeef); /* as good as any partial sum */
	for (; ovl_relay_cut_next(&cut, &seg); i++, at += seg.payload_bytes) {
		struct shape want = *s;
		size_t left = s->payload - at, want_n;
		uint8_t *whole = malloc(seg.header_bytes + seg.payload_bytes), *other;

		memcpy(whole, seg.header, seg.header_bytes);
		memcpy(whole + seg.header_bytes, seg.payload, seg.payload_bytes);
		want.payload = left < gso ? left : gso;
		want.seq = s->seq + (uint32_t)at;
		want.id = (uint16_t)(s->id + i);
		want.flags &= i ? 0x7f : 0xff;
		want.flags &= left > gso ? 0xf6 : 0xff;
		other = make(&want, &want_n);
		memcpy(other + header, data + header + at, want.payload);
		seal(other, want_n);
		good &= seg.header_bytes + seg.payload_bytes == want_n && sound(whole, want_n) &&
			memcmp(whole, other, want_n) == 0;
		free(other);
		if (join) {
			struct ovl_relay_packet part = {.data = NULL};

			good &= !ovl_relay_wire_parse(whole, want_n, &part);
			good &= ovl_relay_join_add(join, &part);
		} else {
			free(whole);
		}
	}
	free(data);
	return good && at == s->payload && i == (s->payload + gso - 1) / gso;
}

static void test_cut(void)
{
	static const struct {
		size_t payload;
		uint16_t gso;
	} sizes[] = {{65400, 1388}, {65400, 536}, {1389, 1388}, {2776, 1388},
		     {1388, 1388},  {1, 1388},	  {500, 1},	{5001, 1000}};

	for (size_t i = 0; i < 2 * sizeof(sizes) / sizeof(*sizes); i++) {
		struct shape s = plain;

		s.v6 = i % 2;
		s.payload = sizes[i / 2].payload;
		s.tcp_opt = i % 4 * 12;
		s.ip_opt = i % 3 * 4;
		s.flags = i % 5 ? 0x18 : 0xdb; /* ACK PSH; CWR ECE PSH SYN FIN too */
		s.id = 65530;
		ok(cut_well(&s, sizes[i / 2].gso, NULL), "IPv%d, %zu bytes cut into %u",
		   s.v6 ? 6 : 4, s.payload, sizes[i / 2].gso);
	}
}

static void test_bad_cut(void)
{
	static const struct virtio_net_hdr bad[] = {
		{.gso_type = VIRTIO_NET_HDR_GSO_TCPV4, .gso_size = 0},
		{.gso_type = VIRTIO_NET_HDR_GSO_TCPV6, .gso_size = 500},
		{.gso_type = VIRTIO_NET_HDR_GSO_UDP, .gso_size = 500},
		{.gso_type = VIRTIO_NET_HDR_GSO_NONE, .gso_size = 500},
		{.gso_type = 0xff, .gso_size = 500},
		{1, VIRTIO_NET_HDR_GSO_TCPV4, 0, 500, 24, 16},
		{1, VIRTIO_NET_HDR_GSO_TCPV4, 0, 500, 65535, 65535},
		{1, VIRTIO_NET_HDR_GSO_TCPV4, 0, 500, 20, 6}};
	struct virtio_net_hdr vnet = {.gso_type = VIRTIO_NET_HDR_GSO_TCPV4, .gso_size = 500};
	struct ovl_relay_cut cut;
	size_t n;
	uint8_t *data = make(&plain, &n);
	struct ovl_relay_packet p = parsed(data, n);

	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		is_int(ovl_relay_cut_init(&cut, &p, &bad[i]), -EBADMSG, "cannot be cut, kind %zu",
		       i);
	is_int(ovl_relay_cut_init(&cut, &p, &vnet), 0, "without a partial checksum it can");
	p.tcp_bytes = 0;
	is_int(ovl_relay_cut_init(&cut, &p, &vnet), -EBADMSG, "not without TCP");
	free(data);
}

/* Everything a join would write, one run of bytes behind the virtio-net header; *n of them. */
static uint8_t *written(struct ovl_relay_join *join, size_t *n)
{
	size_t n_iov = ovl_relay_join_finish(join);
	uint8_t *flat = malloc(BIG);

	*n = 0;
	for (size_t i = 1; i < n_iov; i++) {
		memcpy(flat + *n, join->iov[i].iov_base, join->iov[i].iov_len);
		*n += join->iov[i].iov_len;
	}
	return flat;
}

/* Segments start where iov say (the first) or a header before. */
static void join_free(struct ovl_relay_join *join, size_t header)
{
	for (uint32_t i = 1; i <= join->segs; i++)
		free((uint8_t *)join->iov[i].iov_base - (i > 1 ? header : 0));
	ovl_relay_join_init(join);
}

static void test_join(void)
{
	static struct ovl_relay_join join;

	for (size_t i = 0; i < 8; i++) {
		struct shape s = plain;
		size_t n, want_n, header;
		struct ovl_relay_packet p;
		uint8_t *flat, *want;
		bool good;

		s.v6 = i % 2;
		s.payload = i < 4 ? 64000 : 2777;
		s.flags = i % 3 ? 0x18 : 0x10;
		s.frag = i < 4 ? 0x4000 : 0;
		header = (s.v6 ? 40 : 20) + 32;
		ok(cut_well(&s, i < 6 ? 1388 : 536, &join), "cut and taken, kind %zu", i);
		flat = written(&join, &n);
		want = make(&s, &want_n);
		good = n == want_n && join.vnet.flags == VIRTIO_NET_HDR_F_NEEDS_CSUM &&
		       join.vnet.gso_size == (i < 6 ? 1388 : 536) && join.vnet.hdr_len == header &&
		       join.vnet.csum_start == (s.v6 ? 40 : 20) && join.vnet.csum_offset == 16 &&
		       join.vnet.gso_type ==
			       (s.v6 ? VIRTIO_NET_HDR_GSO_TCPV6 : VIRTIO_NET_HDR_GSO_TCPV4);
		ok(good, "joined: %zu bytes behind the right virtio-net header", n);
		p = parsed(flat, n);
		ok(!ovl_relay_wire_finish(&p, join.vnet.csum_start, 16) && sound(flat, n),
		   "its partial checksum can be finished");
		ok(n == want_n && memcmp(flat, want, n) == 0, "it is what was cut, to the byte");
		free(flat);
		free(want);
		join_free(&join, header);
	}
}

/* Bytes of the second segment that are changed: offset, new bits; sealed again or not. */
static const struct {
	const char *what;
	size_t at;
	uint8_t xor ;
	bool broken; /* checksums stay wrong */
} odd[] = {{"type of service", 1, 0x02, false},
	   {"time to live", 8, 1, false},
	   {"may be fragmented", 6, 0x40, false},
	   {"source address", 15, 1, false},
	   {"destination address", 19, 1, false},
	   {"source port", 21, 1, false},
	   {"destination port", 23, 1, false},
	   {"out of order", 27, 1, false},
	   {"acknowledgement", 31, 1, false},
	   {"FIN", 33, 0x01, false},
	   {"SYN", 33, 0x02, false},
	   {"RST", 33, 0x04, false},
	   {"no ACK", 33, 0x10, false},
	   {"URG", 33, 0x20, false},
	   {"ECE", 33, 0x40, false},
	   {"CWR", 33, 0x80, false},
	   {"window", 35, 1, false},
	   {"urgent pointer", 39, 1, false},
	   {"TCP option", 45, 1, false},
	   {"payload damaged", 300, 1, true},
	   {"IP header damaged", 11, 1, true}};

/* A second segment follows a first; does it join after one byte was changed? */
static bool joins(const struct shape *a, const struct shape *b, size_t at, uint8_t bits,
		  bool broken)
{
	static struct ovl_relay_join join;
	size_t n_a, n_b;
	uint8_t *first = make(a, &n_a), *second = make(b, &n_b);
	struct ovl_relay_packet p;
	bool taken;

	second[at] ^= bits;
	if (!broken)
		seal(second, n_b);
	ovl_relay_join_init(&join);
	ovl_relay_wire_parse(first, n_a, &p);
	ovl_relay_join_add(&join, &p);
	ovl_relay_wire_parse(second, n_b, &p);
	taken = ovl_relay_join_add(&join, &p);
	free(first);
	free(second);
	return taken;
}

static void test_refused(void)
{
	struct shape a = plain, b = plain;

	b.seq += 1000;
	ok(joins(&a, &b, 0, 0, false), "the next segment joins");
	for (size_t i = 0; i < sizeof(odd) / sizeof(*odd); i++)
		ok(!joins(&a, &b, odd[i].at, odd[i].xor, odd[i].broken), "does not join: %s",
		   odd[i].what);
	a.frag = b.frag = 0;
	ok(!joins(&a, &b, 0, 0, false), "identification not counted on, without DF");
	b.id++;
	ok(joins(&a, &b, 0, 0, false), "identification counted on");
	a.frag = b.frag = 0x2000;
	ok(!joins(&a, &b, 0, 0, false), "fragments");
	a.frag = b.frag = 0x4000;
	b.payload = 1001;
	ok(!joins(&a, &b, 0, 0, false), "longer than the first");
	b.payload = 0;
	ok(!joins(&a, &b, 0, 0, false), "without data");
	b.payload = 1000;
	a.flags = 0x18;
	ok(!joins(&a, &b, 0, 0, false), "PSH ends a run");
	a.flags = 0x11;
	ok(!joins(&a, &b, 0, 0, false), "so does FIN");
	a = b = plain;
	a.ip_opt = b.ip_opt = 4;
	b.seq += 1000;
	ok(!joins(&a, &b, 0, 0, false), "IP options");
	b.ip_opt = 0;
	ok(!joins(&a, &b, 0, 0, false), "IP options on one");
	b.v6 = true;
	ok(!joins(&a, &b, 0, 0, false), "another IP version");
	b = plain;
	b.seq += 1000;
	b.tcp_opt = 0;
	ok(!joins(&a, &b, 0, 0, false), "other TCP options");
}

/*
 * Segments that a run takes: the first of `payload` bytes, all others, with such flags, of `rest`.
 */
static uint32_t run_of(size_t payload, size_t rest, uint8_t flags)
{
	static struct ovl_relay_join join;
	struct shape s = plain;
	uint32_t segs;
	size_t n = 0;

	ovl_relay_join_init(&join);
	s.payload = payload;
	for (bool taken = true; taken; s.payload = rest, s.flags = flags) {
		struct ovl_relay_packet p;
		uint8_t *data = make(&s, &n);

		ovl_relay_wire_parse(data, n, &p);
		taken = ovl_relay_join_add(&join, &p);
		if (!taken)
			free(data);
		s.seq += (uint32_t)s.payload;
	}
	segs = join.segs;
	free(written(&join, &n));
	join_free(&join, 52);
	return segs;
}

static void test_run_ends(void)
{
	is_int(run_of(1400, 1400, 0x10), 46, "no more than 65535 bytes"); /* 46 × 1400 + 52 */
	is_int(run_of(100, 100, 0x10), OVL_RELAY_JOIN_MAX, "no more than so many segments");
	is_int(run_of(1400, 1399, 0x10), 2, "nothing behind a short segment");
	is_int(run_of(1400, 1400, 0x18), 2, "nothing behind PSH");
	is_int(run_of(1400, 1401, 0x10), 1, "no segment longer than the first");
}

int main(void)
{
	test_cut();
	test_bad_cut();
	test_join();
	test_refused();
	test_run_ends();
	return tap_done();
}
