/* From samples to the model: a whole run, its bookkeeping, and samples that cannot be. */
#include <stdlib.h>

#include "model_scene.h"
#include "tap.h"

#define GB UINT64_C(1000000000)

static const struct scene_slice underlay = {
	.cpu = {{.idle_ms = 200,
		 .task = 700,
		 .task_stage = OVL_STAGE_TCP_TX,
		 .softirq = 80,
		 .softirq_stage = OVL_STAGE_XMIT,
		 .other = 20},
		{.idle_ms = 100,
		 .task = 500,
		 .task_stage = OVL_STAGE_COPY_TO_USER,
		 .softirq = 400,
		 .softirq_stage = OVL_STAGE_TCP_RX}},
	.bytes = GB * 5 / 2,
	.busy_ms = 1000,
	.rwnd_ms = 50,
};
static const struct scene_slice overlay = {
	.cpu = {{.idle_ms = 10,
		 .task = 500,
		 .task_stage = OVL_STAGE_TCP_TX,
		 .softirq = 470,
		 .softirq_stage = OVL_STAGE_GSO,
		 .other = 20},
		{.idle_ms = 300,
		 .task = 300,
		 .task_stage = OVL_STAGE_COPY_TO_USER,
		 .softirq = 400,
		 .softirq_stage = OVL_STAGE_GRO}},
	.bytes = GB,
	.busy_ms = 1000,
	.rwnd_ms = 50,
	.retransmits = 3,
};

/* ABBA pairs with a settling interval before each slice; jitter varies bytes from pair to pair. */
static void run(struct ovl_model_state *state, const struct ovl_facts *f, uint32_t pairs,
		uint64_t jitter)
{
	struct ovl_sample s = {0};

	for (uint32_t i = 0; i < pairs * 2; i++) {
		bool u = i % 4 == 0 || i % 4 == 3;
		struct scene_slice d = u ? underlay : overlay;

		scene_begin(&s, OVL_PHASE_SETTLE, 0);
		scene_clock(&s, 0, 1000, 500, 0);
		scene_hit(&s, 0, OVL_STAGE_TUN, OVL_CTX_TASK, OVL_TASK_LOAD_TX, 500);
		scene_self(&s, 0, MS, 1000);
		scene_drop(&s, "NO_SOCKET", "tcp_v4_rcv", true, 2, 2);
		ovl_model_add(state, f, &s);
		d.bytes += jitter * (i / 2 % 3);
		scene_slice(&s, u ? OVL_PHASE_UNDERLAY : OVL_PHASE_OVERLAY, i / 2, &d);
		scene_self(&s, 0, MS, 1000);
		scene_link(&s, 1000, 10, d.bytes, 50000);
		ovl_model_add(state, f, &s);
	}
	ovl_sample_fini(&s);
}

static const struct ovl_stage_time *stage_of(const struct ovl_model *m, int stage)
{
	ovl_vec_each(t, &m->cpu.stages)
		if (t->stage == stage)
			return t;
	return NULL;
}

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

static void check_cpu(const struct ovl_model *m)
{
	const struct ovl_stage_time *gro = stage_of(m, OVL_STAGE_GRO);
	uint64_t sum = 0, work = 0;

	ovl_vec_each(t, &m->cpu.stages)
		sum += t->ns;
	for (int i = 0; gro && i < OVL_WORK_COUNT; i++)
		work += gro->work_ns[i];
	ok(m->cpu.valid, "a sampler ran");
	is_int(m->cpu.wall_ns, 12 * GB, "6 overlay slices on 2 CPUs");
	is_int(m->cpu.busy_ns + m->cpu.idle_ns + m->cpu.steal_ns, 12 * GB, "split completely");
	is_int(sum, m->cpu.busy_ns, "the stages add up to the busy time");
	is_int(m->cpu.samples, 6 * (990 + 700), "of as many samples");
	ok(gro && gro->ns == 6 * 400 * MS, "a stage has its time");
	ok(gro && work == gro->ns, "and its work kinds add up to it");
	ok(gro && gro->stderr_ratio > 0 && gro->stderr_ratio < 0.01, "with a standard error");
	ok(gro && fabs(gro->ns_per_kib - 400e6 * 1024 / 1e9) < 0.01, "and a cost per KiB");
	ok(!stage_of(m, OVL_STAGE_XMIT), "the underlay's stages are not among them");
	ok(stage_of(m, OVL_STAGE_USER_OTHER) != NULL, "other tasks' stages are");
	is_int(m->cpu.stages.v[0].stage, OVL_STAGE_TCP_TX, "the largest comes first");
	is_int(m->cpu.per_cpu.n, 2, "two CPUs");
	is_int(m->cpu.per_cpu.v[1].top_stage, OVL_STAGE_GRO, "top stage of CPU 1");
	ok(fabs(m->cpu.per_cpu.v[1].softirq_ratio - 0.4) < 1e-9, "its softirq share");
	ok(m->cpu.unclassified_ratio == 0, "nothing is unclassified");
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
	run(state, &f, 6, 0);
	is_int(ovl_model_build(state, &f, &m), 0, "a run builds");
	check_waterfall(&m);
	check_cpu(&m);
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

static void test_errors(void)
{
	struct ovl_model m = {0};
	struct ovl_facts f;
	double six = 0;

	scene_facts(&f, true);
	for (uint32_t pairs = 2; pairs <= 200; pairs = pairs == 2 ? 6 : pairs * 33) {
		struct ovl_model_state *state = ovl_model_new();
		const struct ovl_term *t;

		run(state, &f, pairs, 40000000);
		ovl_model_build(state, &f, &m);
		t = scene_term(&m.waterfall, "gso");
		is_int(scene_identity(&m.waterfall), 0, "%u uneven pairs: the sum is exact", pairs);
		if (pairs == 2)
			ok(t && isnan(t->stderr_bps) && !m.waterfall.stderr_pairs,
			   "two pairs have no standard error");
		if (pairs == 6)
			ok(t && t->stderr_bps > 0, "six have (%.3g)", six = t ? t->stderr_bps : 0);
		if (pairs == 198) {
			is_int(m.waterfall.stderr_pairs, 64, "the last 64 are kept");
			ok(t && t->stderr_bps > six / 8 && t->stderr_bps < six / 4,
			   "the error shrinks with the root of all (%.3g)", t ? t->stderr_bps : 0);
			is_int(m.load.pairs, 198, "all are counted");
		}
		ovl_model_free(state);
	}
	ovl_facts_fini(&f);
	ovl_model_fini(&m);
}

/* The jackknife of a goodput that is a plain ratio, against its own arithmetic. */
static void test_jackknife(void)
{
	struct ovl_model_state *state = ovl_model_new();
	const uint64_t bytes[4] = {GB, GB * 11 / 10, GB * 9 / 10, GB * 12 / 10};
	struct ovl_sample s = {0};
	double x[4], mean = 0, se = 0;
	const struct ovl_term *t;
	struct ovl_model m = {0};
	struct ovl_facts f;

	/* over the overlay all time is GSO's, over the underlay TCP's: loss(gso) = T_u·T_o/8e9 · t/B */
	scene_facts(&f, true);
	for (uint32_t i = 0; i < 4; i++) {
		struct scene_slice u = underlay, o = overlay;

		u.bytes = bytes[i];
		u.cpu[0] = (struct scene_cpu){.task = 1000, .task_stage = OVL_STAGE_TCP_TX};
		o.cpu[0] = (struct scene_cpu){.softirq = 1000, .softirq_stage = OVL_STAGE_GSO};
		scene_slice(&s, OVL_PHASE_UNDERLAY, i, &u);
		ovl_model_add(state, &f, &s);
		scene_slice(&s, OVL_PHASE_OVERLAY, i, &o);
		ovl_model_add(state, &f, &s);
	}
	ovl_model_build(state, &f, &m);
	for (int j = 0; j < 4; j++) {
		double sum = 0;

		for (int i = 0; i < 4; i++)
			sum += i == j ? 0 : (double)bytes[i];
		x[j] = sum * 8 / 3; /* T_u without pair j */
		mean += x[j] / 4;
	}
	for (int j = 0; j < 4; j++)
		se += (x[j] - mean) * (x[j] - mean) * 3 / 4;
	t = scene_term(&m.waterfall, "gso");
	ok(t && fabs(t->stderr_bps - sqrt(se)) < 2, "leave-one-pair-out: %.0f, expected %.0f",
	   t ? t->stderr_bps : 0, sqrt(se));
	ovl_sample_fini(&s);
	ovl_facts_fini(&f);
	ovl_model_free(state);
	ovl_model_fini(&m);
}

/* Stage shares that differ from pair to pair: the lane's rows are left out with their pair. */
static void test_jackknife_rows(void)
{
	struct ovl_model_state *state = ovl_model_new();
	const uint32_t gso[4] = {300, 500, 400, 600};
	struct ovl_sample s = {0};
	double x[4], mean = 0, se = 0;
	const struct ovl_term *t;
	struct ovl_model m = {0};
	struct ovl_facts f;

	scene_facts(&f, true);
	for (uint32_t i = 0; i < 4; i++) {
		struct scene_slice u = underlay, o = overlay;

		u.cpu[0] = (struct scene_cpu){.task = 1000, .task_stage = OVL_STAGE_TCP_TX};
		o.cpu[0] = (struct scene_cpu){.task = 1000 - gso[i],
					      .task_stage = OVL_STAGE_TCP_TX,
					      .softirq = gso[i],
					      .softirq_stage = OVL_STAGE_GSO};
		scene_slice(&s, OVL_PHASE_UNDERLAY, i, &u);
		ovl_model_add(state, &f, &s);
		scene_slice(&s, OVL_PHASE_OVERLAY, i, &o);
		ovl_model_add(state, &f, &s);
	}
	ovl_model_build(state, &f, &m);
	for (int j = 0; j < 4; j++) {
		x[j] = 20e9 * (1800 - gso[j]) / 3000; /* T_u × share of GSO without pair j */
		mean += x[j] / 4;
	}
	for (int j = 0; j < 4; j++)
		se += (x[j] - mean) * (x[j] - mean) * 3 / 4;
	t = scene_term(&m.waterfall, "gso");
	ok(t && llabs(t->bps - 9000000000) <= 1, "the pooled term");
	ok(t && fabs(t->stderr_bps - sqrt(se)) < 2, "its error: %.0f, expected %.0f",
	   t ? t->stderr_bps : 0, sqrt(se));
	ovl_sample_fini(&s);
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
		scene_slice(&s, OVL_PHASE_OVERLAY, i, &overlay);
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
	scene_slice(&s, OVL_PHASE_UNDERLAY, 0, &underlay);
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

static void add_symbol(struct ovl_sample *s, int stage, const char *name, uint32_t count)
{
	struct ovl_symbol_hit *hit = ovl_vec_push(&s->symbols);

	hit->stage = (uint8_t)stage;
	ovl_str_copy(hit->name, sizeof(hit->name), name);
	hit->count = count;
}

static void test_observe(void)
{
	static const char *const names[] = {"a", "b", "c", "d", "e", "f", "g"};
	struct ovl_model_state *state = ovl_model_new();
	const struct ovl_stage_time *gro;
	struct ovl_sample s = {0};
	struct ovl_facts f;
	struct ovl_model m = {0};

	scene_facts(&f, false);
	ovl_model_build(state, &f, &m);
	ok(isnan(m.traffic.last_rx_bps) && !m.traffic.valid, "before the first interval: unknown");
	ok(m.cpu.stages.n == 0 && m.duration_ns == 0 && isnan(m.drops_ps), "and empty");
	for (int i = 0; i < 130; i++) {
		scene_begin(&s, OVL_PHASE_OBSERVE, 0);
		scene_clock(&s, 0, 1000, 500, 0);
		scene_clock(&s, 3, 1000, 995, 0);
		scene_hit(&s, 0, OVL_STAGE_GRO, OVL_CTX_SOFTIRQ, OVL_TASK_OTHER, 280);
		scene_hit(&s, 0, OVL_STAGE_USER_OTHER, OVL_CTX_USER, OVL_TASK_OTHER, 220);
		for (uint32_t k = 0; k < 7; k++)
			add_symbol(&s, OVL_STAGE_GRO, names[k], 10 * (k + 1));
		scene_link(&s, 125000000 + (uint64_t)i, 2500, 1000, 10);
		scene_self(&s, 0, MS, 997);
		scene_self(&s, 3, UINT64_MAX, 997);
		ovl_model_add(state, &f, &s);
	}
	ovl_model_build(state, &f, &m);
	gro = stage_of(&m, OVL_STAGE_GRO);
	ok(gro && gro->ns == 130 * 280 * MS, "a stage's time");
	ok(gro && fabs(gro->share_ratio - 280 / 505.0) < 1e-9, "its share of all CPUs' busy time");
	ok(gro && fabs(gro->stderr_ratio - sqrt(0.554455 * 0.445545 / 65000)) < 1e-5,
	   "equal intervals: the binomial error is the floor");
	ok(gro && fabs(gro->ns_per_kib / (280e6 * 1024 / (125e6 - 52 * 2500)) - 1) < 1e-4,
	   "cost per KiB of payload: bytes less headers");
	is_int(gro ? gro->n_symbols : 0, 5, "the top symbols");
	ok(gro && !strcmp(gro->symbols[0].name, "g") && gro->symbols[0].ns == 130 * 70 * MS,
	   "the largest first");
	ok(gro && !strcmp(gro->symbols[4].name, "c"), "the fifth last");
	ok(stage_of(&m, OVL_STAGE_UNCLASSIFIED) &&
		   stage_of(&m, OVL_STAGE_UNCLASSIFIED)->ns == 130 * 5 * MS,
	   "busy time of a CPU without samples has no stage");
	is_int(m.cpu.per_cpu.v[1].cpu, 3, "CPU numbers may have gaps");
	ok(isnan(m.cpu.per_cpu.v[1].softirq_ratio), "softirq share without samples: unknown");
	is_int(m.n_history, OVL_HISTORY, "history is bounded");
	ok(m.history[0].bps < m.history[OVL_HISTORY - 1].bps, "oldest first");
	ok(fabs(m.traffic.last_rx_bps - (125000129 * 8.0)) < 1, "the last interval's rate");
	ok(m.drops_ps == 0, "drops were counted and there were none");
	is_int(m.self.cpu, 0, "own cost on the busiest CPU");
	ok(fabs(m.self.cpu_ratio - (997 * 2e3 + 1e6) / 5e8) < 1e-9, "own cost %.4f",
	   m.self.cpu_ratio);
	scene_begin(&s, OVL_PHASE_OBSERVE, 0);
	scene_link(&s, GB, 10000000, 0, 0);
	scene_self(&s, 0, UINT64_MAX, 0);
	ovl_model_add(state, &f, &s);
	f.progs_attached = 0;
	ovl_model_build(state, &f, &m);
	ok(isnan(m.self.cpu_ratio), "own cost without own user time: unknown");
	ok(m.cpu.stages.v[0].ns_per_kib > 0, "some small packets leave payload a fair guess");
	scene_link(&s, 0, 400000000, 0, 0);
	ovl_model_add(state, &f, &s);
	ovl_model_build(state, &f, &m);
	ok(isnan(m.cpu.stages.v[0].ns_per_kib), "mostly headers: payload is unknown");
	ok(isnan(m.drops_ps), "without the program drops are unknown, not 0");
	ovl_sample_fini(&s);
	ovl_facts_fini(&f);
	ovl_model_free(state);
	ovl_model_fini(&m);
}

static uint64_t seed = 42;

static uint64_t rnd(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed % 5 == 0 ? UINT64_MAX - seed % 3 : seed % 7 == 0 ? 0 : seed >> seed % 64;
}

/* Every field anything, every index anywhere. */
static void hostile_sample(struct ovl_sample *s)
{
	ovl_sample_clear(s);
	s->start_ts_ns = rnd();
	s->end_ts_ns = rnd();
	s->phase = (uint8_t)(rnd() % 7);
	s->pair = (uint32_t)rnd();
	for (int i = 0; i < 4; i++) {
		struct ovl_self_delta *self;
		struct ovl_counter *c;
		struct ovl_drop *d;

		*ovl_vec_push(&s->cpus) = (struct ovl_cpu_clock){
			(uint32_t)(rnd() % 4 ? (unsigned)i : rnd()), rnd(), rnd(), rnd(), rnd()};
		*ovl_vec_push(&s->hits) =
			(struct ovl_hit){(uint32_t)(rnd() % 4 ? (unsigned)i : rnd()),
					 (uint8_t)rnd(),
					 (uint8_t)rnd(),
					 (uint8_t)(rnd() % 4),
					 (uint8_t)(rnd() % 8),
					 (uint32_t)rnd()};
		*ovl_vec_push(&s->links) = (struct ovl_link_delta){(uint32_t)(rnd() % 3),
								   rnd(),
								   rnd(),
								   rnd(),
								   rnd(),
								   rnd(),
								   rnd(),
								   rnd(),
								   rnd(),
								   rnd() % 2};
		self = ovl_vec_push(&s->self);
		*self = (struct ovl_self_delta){
			(uint32_t)rnd(), rnd(), {rnd(), rnd(), rnd(), rnd()}};
		c = ovl_vec_push(&s->counters);
		c->delta = (int64_t)rnd();
		memset(c->name, 'x', sizeof(c->name));
		memset(c->group, 'y', sizeof(c->group));
		d = ovl_vec_push(&s->drops);
		memset(d->reason, 'z', sizeof(d->reason));
		memset(d->symbol, (int)(rnd() % 200), sizeof(d->symbol));
		memset(d->iface, 'i', sizeof(d->iface));
		d->stage = (uint8_t)(rnd() % 50);
		d->pkts = rnd();
		d->segs = rnd();
		memset(ovl_vec_push(&s->symbols), (int)(rnd() % 256),
		       sizeof(struct ovl_symbol_hit));
	}
	s->retransmits = rnd();
	s->retransmits_valid = rnd() % 2;
	s->load = (struct ovl_load_delta){.valid = rnd() % 4,
					  .wall_ns = rnd(),
					  .bytes = rnd(),
					  .retransmits = rnd(),
					  .busy_us = rnd(),
					  .rwnd_us = rnd(),
					  .sndbuf_us = rnd(),
					  .sender_cpu_ns = rnd(),
					  .receiver_cpu_ns = rnd(),
					  .rtt_n = (uint32_t)rnd(),
					  .cwnd_segs = (uint32_t)rnd()};
	for (int i = 0; i < 8; i++)
		s->lost[i] = rnd();
}

/* NAN is an answer, infinity is none. */
static bool no_infinity(const struct ovl_model *m)
{
	const double plain[] = {
		m->traffic.rx_bps,
		m->traffic.last_tx_bps,
		m->drops_ps,
		m->retransmits_ps,
		m->self.cpu_ratio,
		m->verdict.confidence_ratio,
		m->waterfall.underlay_bps,
		m->waterfall.ledger_error_ratio,
		m->cpu.unclassified_ratio,
		m->load.overlay.goodput_bps,
		m->load.overlay.sender_ns_per_kib,
		m->load.underlay.rwnd_ratio,
	};

	for (size_t i = 0; i < sizeof(plain) / sizeof(plain[0]); i++)
		if (isinf(plain[i]))
			return false;
	ovl_vec_each(t, &m->waterfall.terms)
		if (isinf(t->stderr_bps) || isinf(t->if_removed_bps) ||
		    isinf(t->if_removed_high_bps) || isinf(t->ns_per_kib))
			return false;
	ovl_vec_each(t, &m->cpu.stages)
		if (isinf(t->share_ratio) || isinf(t->stderr_ratio) || isinf(t->ns_per_kib))
			return false;
	ovl_vec_each(c, &m->cpu.per_cpu)
		if (isinf(c->busy_ratio) || isinf(c->softirq_ratio))
			return false;
	return true;
}

static void test_hostile(void)
{
	int failed = 0, infinite = 0, unequal = 0, confident = 0;
	struct ovl_model m = {0};
	uint64_t damaged = 0;

	for (int run_nr = 0; run_nr < 150; run_nr++) {
		struct ovl_model_state *state = ovl_model_new();
		struct ovl_sample s = {0};
		struct ovl_facts f;

		scene_facts(&f, run_nr % 4);
		f.iface = run_nr % 3 - 1;
		f.load.cpu_receiver = run_nr % 5 ? 1 : (int)rnd();
		f.load.has_underlay = run_nr % 3;
		f.sample_hz = run_nr % 2 ? 1000 : (uint32_t)rnd();
		for (int i = 0; i < 20; i++) {
			hostile_sample(&s);
			if (run_nr % 2)
				scene_slice(&s, i % 2 ? OVL_PHASE_OVERLAY : OVL_PHASE_UNDERLAY,
					    (uint32_t)i / 2, i % 2 ? &overlay : &underlay);
			failed += ovl_model_add(state, &f, &s) != 0;
			hostile_sample(&s);
			failed += ovl_model_add(state, &f, &s) != 0;
		}
		failed += ovl_model_build(state, &f, &m) != 0;
		infinite += !no_infinity(&m);
		unequal += m.waterfall.valid && scene_identity(&m.waterfall) != 0;
		confident += !(m.verdict.confidence_ratio >= 0 && m.verdict.confidence_ratio <= 1);
		damaged += m.damaged_records;
		ovl_sample_fini(&s);
		ovl_facts_fini(&f);
		ovl_model_free(state);
	}
	is_int(failed, 0, "6000 hostile samples are taken");
	is_int(infinite, 0, "nothing is infinite");
	is_int(unequal, 0, "a waterfall that is drawn adds up");
	is_int(confident, 0, "confidence stays within 0 and 1");
	ok(damaged > 1000, "what cannot be is counted (%llu)", (unsigned long long)damaged);
	ovl_model_fini(&m);
}

static void test_bounded(void)
{
	struct ovl_model_state *state = ovl_model_new();
	struct ovl_sample s = {0};
	struct ovl_facts f;
	struct ovl_model m = {0};

	scene_facts(&f, false);
	for (uint32_t i = 0; i < 3000; i++) {
		scene_begin(&s, OVL_PHASE_OBSERVE, 0);
		scene_drop(&s, "R", "f", false, 1, 1);
		s.drops.v[0].ns = i;
		ovl_model_add(state, &f, &s);
	}
	ovl_model_build(state, &f, &m);
	is_int(m.drops.n, 2048, "tables are bounded");
	is_int(m.damaged_records, 3000 - 2048, "what has no room is counted");
	ok(fabs(m.drops_ps - 1) < 1e-9, "and is in the totals");
	is_str(ovl_limit_key(OVL_LIMIT_COUNT), "?", "a limit that is none");
	is_str(ovl_limit_words(OVL_LIMIT_LOSS), "packet loss", "a limit in words");
	is_str(ovl_basis_name(OVL_BASIS_ESTIMATED), "estimated", "a basis in words");
	is_str(ovl_basis_name((enum ovl_basis)9), "?", "a basis that is none");
	ovl_sample_fini(&s);
	ovl_facts_fini(&f);
	ovl_model_free(state);
	ovl_model_fini(&m);
	ovl_model_free(NULL);
}

int main(void)
{
	test_run();
	test_errors();
	test_jackknife();
	test_jackknife_rows();
	test_estimated();
	test_disturbed();
	test_observe();
	test_hostile();
	test_bounded();
	return tap_done();
}
