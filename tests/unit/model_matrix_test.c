/* What is said of a matrix's rows: medians, spread, share of the host, and why one is slower. */
#include "model/matrix.h"

#include <math.h>

#include "tap.h"

static bool near(double got, double want)
{
	return fabs(got - want) <= 1e-9 * fmax(1, fabs(want));
}

static struct ovl_matrix_turn *turn(struct ovl_matrix_row *row, uint32_t number, double goodput_bps)
{
	struct ovl_matrix_turn *t = ovl_vec_push(&row->turns);

	ovl_matrix_turn_init(t, number);
	t->goodput_bps = goodput_bps;
	return t;
}

static void check_medians(void)
{
	struct ovl_matrix m = {.n_rows = 2,
			       .rows = {{.host = 0, .against = -1}, {.host = 0, .against = -1}}};
	struct ovl_matrix_summary s;

	ovl_matrix_summarise(&m, &m.rows[1], &s);
	ok(s.n == 0 && isnan(s.goodput_bps) && isnan(s.of_host_ratio) && !s.middle,
	   "nothing is known of a row without turns");
	turn(&m.rows[0], 0, 10e9);
	turn(&m.rows[0], 1, 20e9);
	turn(&m.rows[1], 0, 5e9)->latency_ns = 70e3;
	ovl_matrix_summarise(&m, &m.rows[1], &s);
	ok(near(s.goodput_bps, 5e9) && isnan(s.goodput_spread_bps), "one turn has no spread");
	ok(near(s.of_host_ratio, 0.5), "and is compared with the host's in the same turn");
	turn(&m.rows[1], 1, 16e9);
	turn(&m.rows[1], 2, 6e9)->traced = true;
	ovl_matrix_summarise(&m, &m.rows[1], &s);
	ok(near(s.goodput_bps, 6e9) && near(s.goodput_spread_bps, 5.5e9),
	   "median and half the range of three");
	ok(s.middle && s.middle->turn == 2, "what has no median is of the turn in the middle");
	ok(near(s.of_host_ratio, 0.65), "a turn in which the host was not measured has no share");
	ok(near(s.latency_ns, 70e3) && isnan(s.latency_spread_ns),
	   "unknown latencies are left out");
	ovl_matrix_summarise(&m, &m.rows[0], &s);
	ok(near(s.of_host_ratio, 1), "the host is its own 100 %%");
	m.rows[1].host = -1;
	m.rows[1].turns.v[0].host_bps = 20e9;
	ovl_matrix_summarise(&m, &m.rows[1], &s);
	ok(near(s.of_host_ratio, 0.25) && near(s.host_bps, 20e9),
	   "a row without a host row is compared with its lab's underlay");
	ovl_matrix_fini(&m);
}

static void cost(struct ovl_matrix_row *row, double goodput_bps, double bytes, double switches,
		 double packets)
{
	struct ovl_matrix_turn *t = turn(row, 0, goodput_bps);

	t->traced = true;
	t->ns_per_kib[OVL_MATRIX_BYTES] = bytes;
	t->ns_per_kib[OVL_MATRIX_SWITCHES] = switches;
	t->ns_per_kib[OVL_MATRIX_PACKETS] = packets;
	t->ns_per_kib[OVL_MATRIX_OTHER] = 0;
	t->busy_cpus = (bytes + switches + packets) * goodput_bps / 8 / 1024 / 1e9;
}

static void check_why(void)
{
	struct ovl_matrix m = {.n_rows = 2,
			       .rows = {{.host = -1, .against = -1}, {.host = -1, .against = 0}}};
	struct ovl_matrix_why why;
	double sum = 0;

	ovl_matrix_explain(&m, &m.rows[1], &why);
	ok(!why.valid, "nothing is explained before both rows are traced");
	cost(&m.rows[0], 8e9, 200, 100, 700);
	cost(&m.rows[1], 1e9, 400, 900, 2700);
	ovl_matrix_explain(&m, &m.rows[0], &why);
	ok(!why.valid, "a row that is compared with none is not explained");
	ovl_matrix_explain(&m, &m.rows[1], &why);
	ok(why.valid && near(why.ratio, 8) && near(why.cost_factor, 4) && near(why.waits_factor, 2),
	   "the ratio is the cost's times the waits'");
	ok(near(why.own_cpus * 2, why.other_cpus), "and waits are CPUs that do not work on it");
	for (int i = 0; i < OVL_MATRIX_PARTS; i++)
		sum += why.part_ratio[i];
	ok(near(sum, 1) && near(why.part_ratio[OVL_MATRIX_PACKETS], 2.0 / 3),
	   "and the parts are the cost's difference");
	ovl_matrix_fini(&m);
}

static void check_take(void)
{
	struct ovl_facts facts = {.load.valid = true, .load.has_underlay = true};
	struct ovl_model model = {.load.valid = true};
	struct ovl_load_path *over = &model.load.overlay;
	struct ovl_stage_time *stage;
	struct ovl_term *term;
	struct ovl_matrix_turn t;

	ovl_matrix_turn_init(&t, 0);
	ovl_matrix_take(&t, &facts, &model);
	ok(isnan(t.goodput_bps) && !t.traced, "nothing is taken from an empty model");
	*over = (struct ovl_load_path){
		.valid = true, .goodput_bps = 8e9, .mss_bytes = 1000, .wall_ns = 2000000000};
	over->retransmits = 4;
	model.load.underlay = (struct ovl_load_path){.valid = true, .goodput_bps = 16e9};
	model.cpu.valid = true;
	model.traffic = (struct ovl_traffic){
		.valid = true, .rx_bytes = 90, .rx_pkts = 9, .tx_bytes = 3000, .tx_pkts = 2};
	stage = ovl_vec_push(&model.cpu.stages);
	*stage = (struct ovl_stage_time){.stage = OVL_STAGE_TUN,
					 .ns = 1000,
					 .ns_per_kib = 100,
					 .work_ns[OVL_WORK_COPY] = 250};
	stage = ovl_vec_push(&model.cpu.stages);
	*stage = (struct ovl_stage_time){
		.stage = OVL_STAGE_USER_OTHER, .ns = 9000, .ns_per_kib = 900};
	model.waterfall.valid = true;
	term = ovl_vec_push(&model.waterfall.terms);
	*term = (struct ovl_term){.key = "noise", .bps = 3000, .stderr_bps = 2000};
	term = ovl_vec_push(&model.waterfall.terms);
	*term = (struct ovl_term){.key = "tun", .bps = 2000, .stderr_bps = NAN};
	term = ovl_vec_push(&model.waterfall.terms);
	*term = (struct ovl_term){.key = "gain", .bps = -2000, .stderr_bps = NAN};
	ovl_matrix_take(&t, &facts, &model);
	ok(near(t.goodput_bps, 8e9) && near(t.host_bps, 16e9), "goodput of both paths");
	ok(near(t.segs_ps, 1e6) && near(t.retransmits_ps, 2), "segments and retransmits a second");
	ok(near(t.ns_per_kib[OVL_MATRIX_BYTES], 25) && near(t.ns_per_kib[OVL_MATRIX_PACKETS], 75),
	   "copies are parted from the stage they are in");
	ok(near(t.ns_per_kib[OVL_MATRIX_OTHER], 0), "other programs are no cost of the path");
	ok(near(t.bytes_per_pkt, 1500), "the size of packets, the way of most bytes");
	ok(t.n_top == 1 && !strcmp(t.top[0].key, "tun"), "losses beyond chance, no gains");
	facts.load.has_underlay = false;
	model.waterfall.basis = OVL_BASIS_ESTIMATED;
	ovl_matrix_turn_init(&t, 0);
	ovl_matrix_take(&t, &facts, &model);
	ok(isnan(t.host_bps) && !t.n_top, "without an underlay no host, and nothing lost");
	ovl_model_fini(&model);
}

int main(void)
{
	check_medians();
	check_why();
	check_take();
	return tap_done();
}
