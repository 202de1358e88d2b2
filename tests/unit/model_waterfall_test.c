/* The waterfall's formula: worked vectors to the bit, properties over random rows, gains. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "model/fall.h"
#include "model/waterfall.h"
#include "tap.h"

#define MS    UINT64_C(1000000)
#define GB    UINT64_C(1000000000)
#define CASES 100000
#define ROWS  40

struct vector_row {
	const char *name;
	uint64_t u_ms, o_ms;
	int64_t loss;
	bool exogenous;
};

static void check_vector(const char *name, const struct vector_row *v, size_t n, uint64_t bytes_u,
			 uint64_t bytes_o, int64_t total, int64_t rest)
{
	struct ovl_waterfall_row rows[ROWS];
	struct ovl_waterfall_in in = {rows, n, bytes_u, bytes_o};
	struct ovl_waterfall_ends ends;
	int64_t loss[ROWS], sum = 0;

	for (size_t i = 0; i < n; i++)
		rows[i] =
			(struct ovl_waterfall_row){v[i].u_ms * MS, v[i].o_ms * MS, v[i].exogenous};
	is_int(ovl_waterfall_split(&in, loss, &ends), 0, "%s splits", name);
	for (size_t i = 0; i < n; i++) {
		is_int(loss[i], v[i].loss, "%s: %s", name, v[i].name);
		sum += loss[i];
	}
	is_int(ends.underlay_bps - ends.overlay_bps, total, "%s: the whole loss", name);
	is_int(ends.rest_bps, rest, "%s: the rounding rest", name);
	is_int(sum + ends.rest_bps, total, "%s: the sum is exact", name);
}

static const struct vector_row vector_a[] = {
	{"tcp_tx", 1500, 900, 1221381954, false},    {"copy_from_user", 1750, 700, 0, false},
	{"veth", 250, 350, 1017818295, false},	     {"ip_route", 250, 400, 1221381954, false},
	{"qdisc_xmit", 250, 450, 1424945613, false}, {"bridge", 0, 200, 814254636, false},
	{"netfilter", 0, 150, 610690977, false},     {"vxlan_encap", 0, 400, 1628509272, false},
	{"gso", 0, 900, 3664145861, false},	     {"vxlan_decap", 0, 250, 1017818295, false},
	{"idle", 900, 150, -854967368, false},	     {"unclassified", 25, 50, 162850927, false},
	{"other_traffic", 50, 50, 0, true},	     {"ovltrace", 25, 50, 71169585, true},
};

static void test_vectors(void)
{
	static const struct vector_row a1[] = {
		{"copy_to_user", 3600, 1500, 240000000, false},
		{"tcp_rx", 900, 700, 1360000000, false},
		{"wakeup", 350, 250, 440000000, false},
		{"gro", 0, 800, 3200000000, false},
		{"bridge", 0, 150, 600000000, false},
		{"unclassified", 25, 50, 160000000, false},
		{"idle", 125, 1550, 6000000000, false},
	};
	static const struct vector_row b[] = {
		{"app", 40, 20, 60000000, false},
		{"rwnd", 80, 3600, 14360000000, false},
		{"sndbuf", 0, 0, 0, false},
		{"net", 3880, 380, -420000000, false},
	};
	static const struct vector_row c[] = {
		{"tcp", 2000, 1900, -1333333333, false},
		{"copy", 900, 1060, -53333333, false},
		{"idle", 100, 40, -213333333, false},
	};
	static const struct vector_row d[] = {
		{"tcp", 2000, 3, 8000000, false},
		{"copy", 900, 0, 0, false},
		{"idle", 100, 2997, 7992000000, false},
	};
	static const struct vector_row e[] = {
		{"tcp", 2400, 1800, 0, false},
		{"copy", 1500, 1125, 0, false},
		{"idle", 100, 75, 0, false},
		{"other_traffic", 0, 1000, 4000000000, true},
	};

	check_vector("A, CPU 0", vector_a, 14, GB * 25 / 2, GB * 5, 12000000000, -1);
	check_vector("A, CPU 1", a1, 7, GB * 25 / 2, GB * 5, 12000000000, 0);
	check_vector("B window", b, 4, GB * 8, GB, 14000000000, 0);
	check_vector("C faster", c, 3, GB * 3, GB * 36 / 10, -1600000000, -1);
	check_vector("D dead", d, 3, GB * 3, 0, 8000000000, 0);
	check_vector("E background", e, 4, GB * 8, GB * 6, 4000000000, 0);
}

/* Vector A as the model sees it: rows by number, unclassified not a term. */
static void test_fall_a(void)
{
	static const int row_of[] = {
		OVL_STAGE_TCP_TX,    OVL_STAGE_COPY_FROM_USER,
		OVL_STAGE_VETH,	     OVL_STAGE_IP,
		OVL_STAGE_QDISC,     OVL_STAGE_BRIDGE,
		OVL_STAGE_NETFILTER, OVL_STAGE_VXLAN_ENCAP,
		OVL_STAGE_GSO,	     OVL_STAGE_VXLAN_DECAP,
		OVL_ROW_IDLE,	     OVL_STAGE_UNCLASSIFIED,
		OVL_ROW_OTHER_TASKS, OVL_ROW_OVLTRACE,
	};
	struct ovl_fall_in in = {.saturated = true, .bytes_u = GB * 25 / 2, .bytes_o = GB * 5};
	struct ovl_fall fall;
	int64_t sum = 0;

	for (int i = 0; i < 14; i++) {
		in.u[row_of[i]] = vector_a[i].u_ms * MS;
		in.o[row_of[i]] = vector_a[i].o_ms * MS;
	}
	is_int(ovl_fall_split(&in, &fall), 0, "vector A as a CPU's lane");
	is_int(fall.underlay_bps, 20000000000, "A: underlay");
	is_int(fall.overlay_bps, 8000000000, "A: overlay");
	is_int(fall.unexplained_bps, 162850926, "A: unexplained = unclassified + rounding rest");
	is_int(fall.bps[OVL_ROW_IDLE], -854967368, "A: idle of a full CPU is a term, slack");
	ok(!fall.shown[OVL_STAGE_UNCLASSIFIED], "A: unclassified is no term");
	ok(fall.shown[OVL_STAGE_COPY_FROM_USER], "A: a term of 0 is shown, nothing is hidden");
	ok(!fall.shown[OVL_STAGE_TUN], "A: a row without time is none");
	for (int i = 0; i < OVL_ROW_COUNT; i++)
		sum += fall.shown[i] ? fall.bps[i] : 0;
	is_int(sum + fall.unexplained_bps, 12000000000, "A: terms and unexplained give the loss");
}

/* A CPU with idle time: its loss goes to what TCP_INFO shows, at most. */
static void test_idle_division(void)
{
	struct ovl_fall_in in = {
		.bytes_u = GB * 8,
		.bytes_o = GB,
		.conn_valid = true,
		.conn_u = {40 * MS, 80 * MS, 0, 3880 * MS},
		.conn_o = {20 * MS, 3600 * MS, 0, 380 * MS},
	};
	struct ovl_fall fall;
	int64_t idle;

	in.u[OVL_STAGE_TCP_TX] = 3900 * MS;
	in.u[OVL_ROW_IDLE] = 100 * MS;
	in.o[OVL_STAGE_TCP_TX] = 600 * MS;
	in.o[OVL_ROW_IDLE] = 3400 * MS;
	is_int(ovl_fall_split(&in, &fall), 0, "a CPU that is not full splits");
	idle = 8 * (3400 * 8 - 100 * 1) * INT64_C(1000000) / 16;
	ok(!fall.shown[OVL_ROW_IDLE], "its idle is no term");
	is_int(fall.bps[OVL_ROW_RWND] + fall.bps[OVL_ROW_APP], idle,
	       "idle's loss goes to the receive window and the application");
	ok(fall.bps[OVL_ROW_APP] > 0 && fall.bps[OVL_ROW_APP] <= 60000000,
	   "the application gets no more than its own loss");
	is_int(fall.bps[OVL_ROW_NET], 0, "a state that became cheaper gets nothing");
	is_int(fall.unexplained_bps, 0, "all of it is covered");

	in.conn_u[1] = 3500 * MS; /* the window was as bad over the underlay, per byte better */
	in.conn_u[3] = 460 * MS;
	in.conn_o[1] = 500 * MS;
	in.conn_o[3] = 3480 * MS;
	in.bytes_u = in.bytes_o;
	is_int(ovl_fall_split(&in, &fall), 0, "the same with equal goodputs");
	ok(fall.bps[OVL_ROW_RWND] == 0 && fall.bps[OVL_ROW_NET] > 0, "only what grew gets a part");
	in.conn_u[3] = 3470 * MS;
	in.conn_u[1] = 490 * MS;
	is_int(ovl_fall_split(&in, &fall), 0, "and with states that hardly moved");
	is_int(fall.unexplained_bps, 1640000000, "what TCP_INFO does not cover is unexplained");
	in.conn_valid = false;
	is_int(ovl_fall_split(&in, &fall), 0, "without TCP_INFO");
	is_int(fall.unexplained_bps, 1650000000, "all of idle's loss is unexplained");
	in.saturated = true;
	is_int(ovl_fall_split(&in, &fall), 0, "and as a full CPU");
	is_int(fall.bps[OVL_ROW_IDLE], 1650000000, "it is slack");
}

static uint64_t seed = 20240607;

static uint64_t rnd(uint64_t below)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed % below;
}

struct random_case {
	struct ovl_waterfall_row rows[ROWS];
	struct ovl_waterfall_in in;
	int64_t loss[ROWS];
	struct ovl_waterfall_ends ends;
};

static void fill_case(struct random_case *c)
{
	c->in = (struct ovl_waterfall_in){c->rows, 2 + rnd(ROWS - 3), rnd(GB * 100), rnd(GB * 100)};
	for (size_t i = 0; i < c->in.n; i++)
		c->rows[i] = (struct ovl_waterfall_row){rnd(4) ? rnd(GB * 2) : 0,
							rnd(4) ? rnd(GB * 2) : 0, i > 1 && !rnd(5)};
	c->rows[0].u_ns += MS;
	c->rows[0].o_ns += MS;
	c->rows[0].exogenous = false;
	if (!rnd(20))
		c->in.bytes_o = 0;
	if (!rnd(20))
		c->in.bytes_u = 0;
}

/* round(8e9·B/W) in integers, as the document's reader computes it */
static int64_t rate(const struct random_case *c, bool o)
{
	unsigned __int128 n = (unsigned __int128)(o ? c->in.bytes_o : c->in.bytes_u) * 8 * GB;
	uint64_t wall = 0;

	for (size_t i = 0; i < c->in.n; i++)
		wall += o ? c->rows[i].o_ns : c->rows[i].u_ns;
	return (int64_t)((n + wall / 2) / wall);
}

static bool merging_adds(const struct random_case *c)
{
	struct random_case m = *c;
	int64_t both;

	if (c->rows[0].exogenous != c->rows[1].exogenous)
		return true;
	both = c->loss[0] + c->loss[1];
	m.in.rows = m.rows;
	m.rows[1].u_ns += m.rows[0].u_ns;
	m.rows[1].o_ns += m.rows[0].o_ns;
	m.rows[0].u_ns = m.rows[0].o_ns = 0;
	return !ovl_waterfall_split(&m.in, m.loss, &m.ends) && m.loss[0] == 0 &&
	       llabs(m.loss[1] - both) <= 1;
}

static bool swapping_negates(const struct random_case *c)
{
	struct random_case s = *c;

	s.in = (struct ovl_waterfall_in){s.rows, c->in.n, c->in.bytes_o, c->in.bytes_u};
	for (size_t i = 0; i < c->in.n; i++) {
		s.rows[i].u_ns = c->rows[i].o_ns;
		s.rows[i].o_ns = c->rows[i].u_ns;
	}
	if (ovl_waterfall_split(&s.in, s.loss, &s.ends))
		return false;
	for (size_t i = 0; i < c->in.n; i++)
		if (s.loss[i] != -c->loss[i])
			return false;
	return s.ends.underlay_bps == c->ends.overlay_bps;
}

static bool scaling_scales(const struct random_case *c)
{
	struct random_case s = *c;
	int64_t k = 2 + (int64_t)rnd(7);

	s.in = (struct ovl_waterfall_in){s.rows, c->in.n, c->in.bytes_u * (uint64_t)k,
					 c->in.bytes_o * (uint64_t)k};
	if (ovl_waterfall_split(&s.in, s.loss, &s.ends))
		return false;
	for (size_t i = 0; i < c->in.n; i++)
		if (llabs(s.loss[i] - k * c->loss[i]) > k / 2 + 1)
			return false;
	return true;
}

/* The same path work for the same bytes, only exogenous rows differ. */
static bool exogenous_only(const struct random_case *c)
{
	struct random_case e = *c;
	int64_t last = 0;

	e.in = (struct ovl_waterfall_in){e.rows, c->in.n + 1, c->in.bytes_u, c->in.bytes_u};
	for (size_t i = 0; i < c->in.n; i++)
		if (!e.rows[i].exogenous)
			e.rows[i].o_ns = e.rows[i].u_ns;
	e.rows[c->in.n] = (struct ovl_waterfall_row){0, GB, true};
	if (ovl_waterfall_split(&e.in, e.loss, &e.ends))
		return false;
	for (size_t i = 0; i < c->in.n; i++)
		if (!e.rows[i].exogenous && e.loss[i])
			return false;
	last = e.loss[c->in.n];
	return c->in.bytes_u ? last > 0 : last == 0;
}

static void test_properties(void)
{
	int bad_sum = 0, bad_rest = 0, bad_merge = 0, bad_swap = 0, bad_scale = 0, bad_exo = 0,
	    bad = 0;

	for (int i = 0; i < CASES; i++) {
		struct random_case c;
		int64_t sum = 0;

		fill_case(&c);
		c.in.rows = c.rows;
		if (ovl_waterfall_split(&c.in, c.loss, &c.ends)) {
			bad++;
			continue;
		}
		for (size_t r = 0; r < c.in.n; r++)
			sum += c.loss[r];
		bad_sum += sum + c.ends.rest_bps != rate(&c, false) - rate(&c, true);
		bad_rest += llabs(c.ends.rest_bps) > (int64_t)c.in.n / 2 + 1;
		bad_merge += !merging_adds(&c);
		bad_swap += !swapping_negates(&c);
		bad_scale += !scaling_scales(&c);
		bad_exo += !exogenous_only(&c);
	}
	is_int(bad, 0, "%d random cases split, B_u = 0 and B_o = 0 among them", CASES);
	is_int(bad_sum, 0, "Σ losses + rest = round(T_u) − round(T_o)");
	is_int(bad_rest, 0, "|rest| ≤ rows/2 + 1");
	is_int(bad_merge, 0, "merging two rows adds their losses");
	is_int(bad_swap, 0, "swapping the phases negates every loss");
	is_int(bad_scale, 0, "scaling the bytes scales every loss");
	is_int(bad_exo, 0, "an exogenous change leaves the path's losses at 0");
}

static void test_errors(void)
{
	struct ovl_waterfall_row rows[2] = {{0, MS, false}, {0, 0, false}};
	struct ovl_waterfall_in in = {rows, 2, GB, GB};
	struct ovl_waterfall_ends ends = {7, 7, 7};
	int64_t loss[2] = {5, 5};

	is_int(ovl_waterfall_split(&in, loss, &ends), -EDOM, "no wall time: refused");
	rows[0] = (struct ovl_waterfall_row){MS, MS, true};
	is_int(ovl_waterfall_split(&in, loss, &ends), -EDOM, "only exogenous time: refused");
	rows[0] = (struct ovl_waterfall_row){1, MS, false};
	in.bytes_u = UINT64_MAX;
	is_int(ovl_waterfall_split(&in, loss, &ends), -ERANGE, "a goodput that cannot be: refused");
	ok(loss[0] == 5 && ends.rest_bps == 7, "an error writes nothing");
	in.n = 0;
	is_int(ovl_waterfall_split(&in, loss, &ends), -EDOM, "no rows: refused");
}

static void test_removed(void)
{
	/* gso of vector A, with CPU 1 busy for 3450 ms */
	struct ovl_waterfall_lane lanes[2] = {
		{5000.0 * MS, 4850.0 * MS, 900.0 * MS, true},
		{5000.0 * MS, 3450.0 * MS, 0, false},
	};
	double low, high;

	ovl_waterfall_removed(lanes, 2, GB * 5, &low, &high);
	ok(fabs(low / 1e9 - 9.756) < 0.001, "A without gso: 9.756 Gbit/s at least (%.3f)",
	   low / 1e9);
	ok(fabs(high / 1e9 - 10.127) < 0.001, "and 10.127 at most (%.3f)", high / 1e9);
	lanes[0].removed_ns = 2000.0 * MS;
	ovl_waterfall_removed(lanes, 2, GB * 5, &low, &high);
	ok(fabs(low / 1e9 - 11.594) < 0.001, "CPU 1 bounds a larger change (%.3f)", low / 1e9);
	lanes[1].removed_ns = 1000.0 * MS;
	ovl_waterfall_removed(lanes, 2, GB * 5, &low, &high);
	ok(fabs(low / 1e9 - 13.333) < 0.001, "unless it helps there too (%.3f)", low / 1e9);
	ovl_waterfall_removed(lanes, 2, 0, &low, &high);
	ok(isnan(low) && isnan(high), "no bytes: no gain can be said");
	lanes[0].removed_ns = 5000.0 * MS;
	ovl_waterfall_removed(lanes, 1, GB, &low, &high);
	ok(isnan(low) && isnan(high), "nothing left to bound it: none either");
}

static void test_estimate(void)
{
	struct ovl_fall_in in = {.saturated = true, .bytes_u = GB * 5, .bytes_o = GB * 5};
	struct ovl_fall low, high;

	in.o[OVL_STAGE_TCP_TX] = 2000 * MS;
	in.o[OVL_STAGE_VXLAN_ENCAP] = 500 * MS + 1;
	in.o[OVL_STAGE_IP] = 400 * MS + 1;
	in.o[OVL_STAGE_GSO] = 1000 * MS;
	in.o[OVL_STAGE_BRIDGE] = 300 * MS;
	in.o[OVL_STAGE_UNCLASSIFIED] = 100 * MS;
	in.o[OVL_ROW_OTHER_TASKS] = 500 * MS;
	in.o[OVL_ROW_IDLE] = 200 * MS;
	ovl_fall_estimate(in.o, true, in.u);
	is_int(in.u[OVL_STAGE_VXLAN_ENCAP], 0, "an underlay does not encapsulate");
	is_int(in.u[OVL_STAGE_IP], 200 * MS + 1, "and routes once");
	is_int(in.u[OVL_STAGE_GSO], 1000 * MS, "the low end keeps segmentation");
	is_int(ovl_fall_split(&in, &low), 0, "the low end splits");
	ovl_fall_estimate(in.o, false, in.u);
	is_int(in.u[OVL_STAGE_GSO] + in.u[OVL_STAGE_BRIDGE], 0, "the high end has neither");
	is_int(ovl_fall_split(&in, &high), 0, "the high end splits");
	ok(high.underlay_bps > low.underlay_bps && low.underlay_bps > low.overlay_bps,
	   "the ends are in order");
	is_int(high.bps[OVL_STAGE_TCP_TX], 0, "what both have costs nothing");
	is_int(high.bps[OVL_ROW_IDLE], 0, "idle neither");
	ok(high.bps[OVL_STAGE_GSO] > high.bps[OVL_STAGE_VXLAN_ENCAP], "gso is the largest");
	ok(llabs(high.bps[OVL_ROW_OTHER_TASKS]) < 100, "other tasks keep their share");
	ok(llabs(high.unexplained_bps) < 10, "nothing is unexplained in an estimate");
}

int main(void)
{
	test_vectors();
	test_fall_a();
	test_idle_division();
	test_properties();
	test_errors();
	test_removed();
	test_estimate();
	return tap_done();
}
