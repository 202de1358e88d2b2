/* From samples to the model: a whole run, its bookkeeping, and what disturbs it. */
#include "model_run.h"
#include "tap.h"

static void check_waterfall(const struct ovl_model *m)
{
	const struct ovl_waterfall *w = &m->waterfall;
	const struct ovl_term *gso = scene_term(w, "gso"), *slack = scene_term(w, "slack");
	bool sorted = true;

	ok(w->valid && w->basis == OVL_BASIS_MEASURED, "a measured waterfall: %s", w->why_not);
	is_int(scene_identity(w), 0, "underlay − overlay = Σ terms + unexplained, exactly");
	is_int(llround(w->underlay_bps), 20000000000, "20 Gbit/s over the underlay");
	is_int(llround(w->overlay_bps), 8000000000, "8 Gbit/s over the overlay");
	is_str(w->lane, "cpu0", "the sender's CPU is drawn");
	ok(w->ledger_error_ratio < 1e-9 && !w->uncertain, "its ledger is right");
	ok(gso && gso == &w->terms.v[0], "segmentation is the largest term");
	ok(gso && fabs(gso->ns_per_kib - 470e6 * 1024 / 1e9) < 0.01, "at its cost per KiB");
	ok(gso && gso->stderr_bps == 0, "equal pairs have no spread");
	ok(gso && gso->if_removed_bps > w->overlay_bps &&
		   gso->if_removed_bps < w->overlay_bps + (double)gso->bps,
	   "a row is not a gain: removing it wins less");
	ok(gso && gso->if_removed_high_bps >= gso->if_removed_bps, "with the idle time used, more");
	ok(slack && slack->bps < 0, "slack was used up first");
	ok(slack && isnan(slack->ns_per_kib), "and is no CPU time");
	ok(scene_term(w, "other_tasks") && isnan(scene_term(w, "other_tasks")->ns_per_kib),
	   "other tasks are a row without a cost");
	ok(!scene_term(w, "tun"), "settling time is in no row");
	for (size_t i = 1; i < w->terms.n; i++)
		sorted &= w->terms.v[i - 1].bps >= w->terms.v[i].bps;
	ok(sorted, "the largest loss comes first");
	is_int(w->stderr_pairs, 6, "errors rest on 6 pairs");
}

static void check_rest(const struct ovl_model *m)
{
	const struct ovl_load_path *o = &m->load.overlay;

	is_int(m->intervals, 24, "24 intervals");
	is_int(m->duration_ns, 24 * GB, "of a second");
	is_int(m->load.pairs, 6, "6 complete pairs");
	ok(m->load.valid && o->valid && fabs(o->goodput_bps - 8e9) < 1, "the load's goodput");
	is_int(o->retransmits, 18, "its retransmits");
	ok(o->rtt.valid && o->rtt.p50_ns >= 100000 && o->rtt.p50_ns < 104000, "its median RTT");
	is_int(o->rtt.max_ns, 300000, "and the largest");
	ok(fabs(o->sender_ns_per_kib - 512) < 1e-6 && fabs(o->receiver_ns_per_kib - 256) < 1e-6,
	   "its threads' cost per KiB");
	ok(fabs(o->rwnd_ratio - 0.05) < 1e-9, "its states");
	is_str(m->load.disturbed, "", "nothing disturbed it");
	is_int(m->n_history, 6, "a point per overlay slice");
	ok(fabs(m->history[5].bps - 8e9) < 1 && fabs(m->history[5].rtt_ns - 2e5) < 1,
	   "with its values");
	ok(m->traffic.valid && m->traffic.rx_pkts == 120, "the interface's counters");
	ok(m->drops_ps == 0, "benign drops are no drops");
	is_int(m->drops.n, 1, "but are listed");
	is_int(m->drops.v[0].pkts, 24, "over the whole run, settling included");
	ok(isnan(m->retransmits_ps), "retransmits by tracepoint were not counted: unknown");
	/* 24 s × (1000 runs × 2 µs + 1 ms) ÷ (12 × 0.5 s settling + 6 × 0.8 + 6 × 0.99 s busy) */
	is_int(m->self.cpu, 0, "own cost is that of the limiting CPU");
	ok(fabs(m->self.cpu_ratio - 24 * 0.003 / (6 + 4.8 + 5.94)) < 1e-9, "own cost %.4f",
	   m->self.cpu_ratio);
	is_int(m->damaged_records, 0, "nothing was damaged");
}

static void test_run(void)
{
	struct ovl_model_state *state = ovl_model_new();
	struct ovl_facts f;
	struct ovl_model m = {0};

	scene_facts(&f, true);
	run_pairs(state, &f, 6, 0);
	is_int(ovl_model_build(state, &f, &m), 0, "a run builds");
	check_waterfall(&m);
	check_rest(&m);
	is_int(ovl_model_build(state, &f, &m), 0, "and builds again into the same model");
	is_int(scene_identity(&m.waterfall), 0, "with the same sum");
	is_int(m.cpu.per_cpu.n, 2, "and nothing twice");
	f.sample_cost_ns = 0;
	ovl_model_build(state, &f, &m);
	ok(isnan(m.self.cpu_ratio), "own cost is unknown without a calibration");
	ovl_facts_fini(&f);
	ovl_model_free(state);
	ovl_model_fini(&m);
}

static void test_estimated(void)
{
	struct ovl_model_state *state = ovl_model_new();
	struct ovl_sample s = {0};
	struct ovl_facts f;
	struct ovl_model m = {0};
	const struct ovl_term *t;
	double low = 0;

	scene_facts(&f, true);
	f.load.has_underlay = false;
	for (uint32_t i = 0; i < 4; i++) {
		scene_slice(&s, OVL_PHASE_OVERLAY, i, &run_overlay);
		scene_hit(&s, 0, OVL_STAGE_VXLAN_ENCAP, OVL_CTX_SOFTIRQ, OVL_TASK_OTHER, 100);
		ovl_model_add(state, &f, &s);
	}
	ovl_model_build(state, &f, &m);
	ok(m.waterfall.valid && m.waterfall.basis == OVL_BASIS_ESTIMATED,
	   "no underlay: an estimate");
	is_int(scene_identity(&m.waterfall), 0, "whose sum is exact");
	t = scene_term(&m.waterfall, "gso");
	ok(t && t->bps > 0 && t->low_bps == 0 && t->basis == OVL_BASIS_ESTIMATED,
	   "segmentation is in its high end only");
	t = scene_term(&m.waterfall, "vxlan_encap");
	ok(t && t->low_bps > 0, "encapsulation in both");
	ok(m.waterfall.low_underlay_bps > m.waterfall.overlay_bps &&
		   m.waterfall.low_underlay_bps < m.waterfall.underlay_bps,
	   "both ends are told");
	ovl_vec_each(term, &m.waterfall.terms)
		low += term->low_bps;
	ok(fabs(m.waterfall.low_underlay_bps - m.waterfall.overlay_bps - low) < 50,
	   "the low end adds up as well");
	ovl_sample_fini(&s);
	ovl_facts_fini(&f);
	ovl_model_free(state);
	ovl_model_fini(&m);
}

static void test_disturbed(void)
{
	struct ovl_model_state *state = ovl_model_new();
	struct ovl_counter *c;
	struct ovl_sample s = {0};
	struct ovl_facts f;
	struct ovl_model m = {0};

	scene_facts(&f, true);
	scene_begin(&s, OVL_PHASE_SETTLE, 0);
	scene_drop(&s, "CPU_BACKLOG", "enqueue_to_backlog", false, 9, 9);
	ovl_model_add(state, &f, &s);
	ovl_model_build(state, &f, &m);
	is_str(m.load.disturbed, "", "a full backlog while settling disturbs nothing");
	ok(m.drops_ps == 9, "but counts as drops");
	scene_slice(&s, OVL_PHASE_UNDERLAY, 0, &run_underlay);
	scene_drop(&s, "CPU_BACKLOG", "enqueue_to_backlog", false, 5, 90);
	scene_drop(&s, "QUEUE_PURGE", "skb_queue_purge", true, 700, 700);
	scene_drop(&s, "NETFILTER_DROP", "nft_do_chain", false, 1, 100);
	c = ovl_vec_push(&s.counters);
	*c = (struct ovl_counter){OVL_NS_MACHINE, "softnet", "dropped", 7};
	c = ovl_vec_push(&s.counters);
	*c = (struct ovl_counter){0, "TcpExt", "TCPTimeouts", 2};
	c = ovl_vec_push(&s.counters);
	*c = (struct ovl_counter){0, "TcpExt", "TCPAbort", 0};
	s.retransmits_valid = true;
	s.retransmits = 4;
	ovl_model_add(state, &f, &s);
	ovl_model_add(state, &f, &s);
	ovl_model_build(state, &f, &m);
	ok(strstr(m.load.disturbed, "14 packets") != NULL, "in a slice it does: %s",
	   m.load.disturbed);
	is_int(m.drops.n, 3, "drops are merged");
	is_str(m.drops.v[0].reason, "NETFILTER_DROP", "most segments first");
	is_int(m.drops.v[1].segs, 189, "summed over the run");
	is_str(m.drops.v[2].reason, "QUEUE_PURGE", "benign ones last");
	is_int(m.counters.n, 2, "counters that moved");
	is_int(m.counters.v[1].delta, 4, "summed over the run");
	ok(fabs(m.retransmits_ps - 4) < 1e-9, "retransmits a second where counted");
	ovl_sample_fini(&s);
	ovl_facts_fini(&f);
	ovl_model_free(state);
	ovl_model_fini(&m);
}

/* Drops elsewhere on the machine are listed, and count for nothing. */
static void test_elsewhere(void)
{
	struct ovl_model_state *state = ovl_model_new();
	struct ovl_sample s = {0};
	struct ovl_facts f;
	struct ovl_model m = {0};
	const struct ovl_term *net;

	scene_facts(&f, true);
	for (uint32_t i = 0; i < 2; i++) {
		struct scene_slice d = i ? run_overlay : run_underlay;

		d.retransmits = 0;
		d.cpu[0].idle_ms = i ? 300 : 10;
		d.cpu[0].task -= 190;
		scene_slice(&s, i ? OVL_PHASE_OVERLAY : OVL_PHASE_UNDERLAY, 0, &d);
		scene_drop(&s, "CPU_BACKLOG", "enqueue_to_backlog", false, 70000, 70000);
		s.drops.v[0].ns = i ? OVL_NS_MACHINE : (uint32_t)f.ns.n;
		ovl_model_add(state, &f, &s);
	}
	ovl_model_build(state, &f, &m);
	ok(m.drops_ps == 0 && m.last.drops_ps == 0, "drops elsewhere are none of the path's");
	is_int(m.drops.n, 2, "but are listed");
	is_str(m.load.disturbed, "", "and disturb nothing");
	ok(isnan(scene_evidence(&m.verdict, "drops")), "nor are they evidence");
	net = scene_term(&m.waterfall, "cwnd");
	ok(!scene_term(&m.waterfall, "loss"), "no term is named after them (%s)",
	   net ? net->key : "none waits");
	ovl_sample_fini(&s);
	ovl_facts_fini(&f);
	ovl_model_free(state);
	ovl_model_fini(&m);
}

static void check_last(const struct ovl_last *last)
{
	ok(fabs(last->goodput_bps - 8e9) < 1, "the last slice's goodput");
	ok(last->drops_ps == 7 && last->retransmits_ps == 3, "its drops and retransmits");
	ok(fabs(last->rtt_ns - 1e5) < 1, "its median RTT");
	is_int(last->per_cpu.n, 2, "its CPUs");
	ok(last->per_cpu.n == 2 && fabs(last->per_cpu.v[0].busy_ratio - 0.6) < 1e-9 &&
		   fabs(last->per_cpu.v[0].softirq_ratio - 0.08) < 1e-9,
	   "as busy as they were then");
}

/* Two overlay slices, then an underlay slice: `last` is the second, rates are the overlay's. */
static void test_last(void)
{
	struct ovl_model_state *state = ovl_model_new();
	struct scene_slice d = run_overlay;
	struct ovl_sample s = {0};
	struct ovl_facts f;
	struct ovl_model m = {0};

	scene_facts(&f, true);
	ovl_model_build(state, &f, &m);
	ok(isnan(m.last.goodput_bps) && isnan(m.last.drops_ps) && !m.last.per_cpu.n,
	   "before the first interval nothing is known of it");
	scene_slice(&s, OVL_PHASE_OVERLAY, 0, &d);
	scene_link(&s, 1000, 10, GB, 50000);
	ovl_model_add(state, &f, &s);
	d.cpu[0] = (struct scene_cpu){400, 0, 520, OVL_STAGE_TCP_TX, 80, OVL_STAGE_XMIT, 0};
	scene_slice(&s, OVL_PHASE_OVERLAY, 1, &d);
	scene_link(&s, 1000, 10, GB, 50000);
	scene_drop(&s, "R", "f", false, 7, 7);
	s.retransmits_valid = true;
	s.retransmits = 3;
	ovl_model_add(state, &f, &s);
	scene_slice(&s, OVL_PHASE_UNDERLAY, 1, &run_underlay);
	scene_link(&s, 0, 0, 5000, 50);
	ovl_model_add(state, &f, &s);
	ovl_model_build(state, &f, &m);
	check_last(&m.last);
	ok(fabs(m.drops_ps - 7.0 / 3) < 1e-9, "beside the whole run's mean");
	is_int(m.traffic.tx_bytes, 2 * GB + 5000, "traffic has all bytes");
	ok(fabs(m.traffic.tx_bps - 8e9) < 1 && fabs(m.traffic.rx_bps - 8000) < 1e-6,
	   "and the rate of the overlay slices");
	ovl_sample_fini(&s);
	ovl_facts_fini(&f);
	ovl_model_free(state);
	ovl_model_fini(&m);
}

int main(void)
{
	test_run();
	test_elsewhere();
	test_last();
	test_estimated();
	test_disturbed();
	return tap_done();
}
