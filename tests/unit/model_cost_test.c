/* CPU cost by stage: times, shares, cost per KiB over both paths, symbols, per CPU. */
#include "model_run.h"
#include "tap.h"

static void check_cpu(const struct ovl_model *m)
{
	const struct ovl_stage_time *gro = run_stage(m, OVL_STAGE_GRO);
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
	ok(!run_stage(m, OVL_STAGE_TUN), "settling time is in none");
	ok(run_stage(m, OVL_STAGE_OTHER_TASKS) != NULL, "other tasks' stages are");
	is_int(m->cpu.stages.v[0].stage, OVL_STAGE_TCP_TX, "the largest comes first");
	is_int(m->cpu.per_cpu.n, 2, "two CPUs");
	is_int(m->cpu.per_cpu.v[1].top_stage, OVL_STAGE_GRO, "top stage of CPU 1");
	ok(fabs(m->cpu.per_cpu.v[1].softirq_ratio - 0.4) < 1e-9, "its softirq share");
	ok(m->cpu.unclassified_ratio == 0, "nothing is unclassified");
}

static double underlay_cost(const struct ovl_model *m, int stage)
{
	const struct ovl_stage_time *t = run_stage(m, stage);

	return t ? t->underlay_ns_per_kib : -1;
}

static bool near(double got, double ms, double bytes)
{
	return fabs(got - ms * 1e6 * 1024 / bytes) < 0.01;
}

static void check_underlay(const struct ovl_model *m)
{
	const struct ovl_stage_time *xmit = run_stage(m, OVL_STAGE_XMIT);
	const double bytes = 2.5e9;
	const size_t n = m->cpu.stages.n;
	double sum = 0;

	ok(near(underlay_cost(m, OVL_STAGE_TCP_TX), 700, bytes), "a stage's underlay cost per KiB");
	ok(near(underlay_cost(m, OVL_STAGE_COPY_TO_USER), 500, bytes), "on the other CPU as well");
	ok(near(underlay_cost(m, OVL_STAGE_OTHER_TASKS), 20, bytes), "and other tasks'");
	ok(underlay_cost(m, OVL_STAGE_GSO) == 0 && underlay_cost(m, OVL_STAGE_GRO) == 0,
	   "0 where the underlay had no sample");
	ok(xmit && near(xmit->underlay_ns_per_kib, 80, bytes), "a stage of the underlay alone");
	ok(xmit && !xmit->ns && !xmit->samples && !xmit->n_symbols, "has no overlay time");
	ok(xmit && xmit->ns_per_kib == 0 && xmit->share_ratio == 0, "cost nothing there");
	ok(xmit && !xmit->work_ns[OVL_WORK_OTHER], "and did no work");
	is_int(n, 7, "stages of either path are listed");
	is_int(n == 7 ? m->cpu.stages.v[5].stage : -1, OVL_STAGE_TCP_RX,
	       "those of the underlay alone after the others, largest first");
	is_int(n == 7 ? m->cpu.stages.v[6].stage : -1, OVL_STAGE_XMIT, "to the smallest");
	ovl_vec_each(t, &m->cpu.stages)
		sum += t->underlay_ns_per_kib;
	ok(near(sum, 1700, bytes), "together they are the underlay's busy time");
}

static void test_run(void)
{
	struct ovl_model_state *state = ovl_model_new();
	struct ovl_facts f;
	struct ovl_model m = {0};

	scene_facts(&f, true);
	run_pairs(state, &f, 6, 0);
	ovl_model_build(state, &f, &m);
	check_cpu(&m);
	check_underlay(&m);
	ovl_model_build(state, &f, &m);
	is_int(m.cpu.stages.n, 7, "built again: no stage twice");
	f.load.has_underlay = false;
	ovl_model_build(state, &f, &m);
	ok(isnan(underlay_cost(&m, OVL_STAGE_GSO)), "an underlay that is not asked for: unknown");
	is_int(m.cpu.stages.n, 5, "and its stages are not listed");
	ovl_facts_fini(&f);
	ovl_model_free(state);
	ovl_model_fini(&m);
}

static void check_half(const struct ovl_model *m, enum ovl_phase phase)
{
	const struct ovl_stage_time *first = &m->cpu.stages.v[0];

	is_int(first->stage, OVL_STAGE_TCP_TX, "the largest first");
	if (phase == OVL_PHASE_UNDERLAY) {
		ok(near(first->underlay_ns_per_kib, 700, 2.5e9), "the underlay's cost is known");
		ok(isnan(first->ns_per_kib) && isnan(first->share_ratio), "the overlay's is not");
		return;
	}
	ok(first->ns_per_kib > 0, "the overlay's cost is known");
	ovl_vec_each(t, &m->cpu.stages)
		ok(isnan(t->underlay_ns_per_kib), "the underlay's is not");
}

/* One path after the other: what is not measured yet is unknown, what is measured is there. */
static void test_half(void)
{
	static const enum ovl_phase phases[] = {OVL_PHASE_OVERLAY, OVL_PHASE_UNDERLAY};

	for (int i = 0; i < 2; i++) {
		struct ovl_model_state *state = ovl_model_new();
		struct ovl_sample s = {0};
		struct ovl_model m = {0};
		struct ovl_facts f;

		scene_facts(&f, true);
		scene_slice(&s, phases[i], 0, i ? &run_underlay : &run_overlay);
		ovl_model_add(state, &f, &s);
		ovl_model_build(state, &f, &m);
		is_int(m.cpu.stages.n, 5, "five stages of one path");
		if (m.cpu.stages.n)
			check_half(&m, phases[i]);
		ovl_sample_fini(&s);
		ovl_facts_fini(&f);
		ovl_model_free(state);
		ovl_model_fini(&m);
	}
}

/* Underlay slices that cannot be set against bytes or time, or whose time no sample hit. */
static void test_underlay_odd(void)
{
	static const char *const words[] = {"no byte over the underlay", "no CPU clock there"};
	struct scene_slice quiet = run_underlay;
	struct ovl_sample s = {0};
	struct ovl_facts f;
	struct ovl_model m = {0};

	scene_facts(&f, true);
	memset(quiet.cpu, 0, sizeof(quiet.cpu));
	for (int i = 0; i < 3; i++) {
		struct ovl_model_state *state = ovl_model_new();

		scene_slice(&s, OVL_PHASE_OVERLAY, 0, &run_overlay);
		ovl_model_add(state, &f, &s);
		scene_slice(&s, OVL_PHASE_UNDERLAY, 0, i == 2 ? &quiet : &run_underlay);
		if (i == 0)
			s.load.bytes = 0;
		if (i == 1)
			ovl_vec_clear(&s.cpus);
		ovl_model_add(state, &f, &s);
		ovl_model_build(state, &f, &m);
		if (i < 2) {
			ok(isnan(underlay_cost(&m, OVL_STAGE_TCP_TX)), "%s: unknown", words[i]);
			is_int(m.cpu.stages.n, 5, "and the overlay's stages alone");
		} else {
			ok(near(underlay_cost(&m, OVL_STAGE_UNCLASSIFIED), 2000, 2.5e9),
			   "busy time without any sample is unclassified there too");
			ok(underlay_cost(&m, OVL_STAGE_TCP_TX) == 0, "and no stage's");
		}
		ovl_model_free(state);
	}
	ovl_sample_fini(&s);
	ovl_facts_fini(&f);
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
	gro = run_stage(&m, OVL_STAGE_GRO);
	ok(gro && gro->ns == 130 * 280 * MS, "a stage's time");
	ok(gro && fabs(gro->share_ratio - 280 / 505.0) < 1e-9, "its share of all CPUs' busy time");
	ok(gro && fabs(gro->stderr_ratio - sqrt(0.554455 * 0.445545 / 65000)) < 1e-5,
	   "equal intervals: the binomial error is the floor");
	ok(gro && fabs(gro->ns_per_kib / (280e6 * 1024 / (125e6 - 52 * 2500)) - 1) < 1e-4,
	   "cost per KiB of payload: bytes less headers");
	ok(gro && isnan(gro->underlay_ns_per_kib),
	   "without a load there is no underlay to compare");
	is_int(gro ? gro->n_symbols : 0, 5, "the top symbols");
	ok(gro && !strcmp(gro->symbols[0].name, "g") && gro->symbols[0].ns == 130 * 70 * MS,
	   "the largest first");
	ok(gro && !strcmp(gro->symbols[4].name, "c"), "the fifth last");
	ok(run_stage(&m, OVL_STAGE_UNCLASSIFIED) &&
		   run_stage(&m, OVL_STAGE_UNCLASSIFIED)->ns == 130 * 5 * MS,
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

/* With load, other people's tasks are not among the datapath's costs; without, nobody is other. */
static void test_others(void)
{
	for (int load = 0; load < 2; load++) {
		enum ovl_phase phase = load ? OVL_PHASE_OVERLAY : OVL_PHASE_OBSERVE;
		struct ovl_model_state *state = ovl_model_new();
		struct scene_slice d = {.cpu = {{.idle_ms = 100}, {.idle_ms = 1000}}, .bytes = GB};
		const struct ovl_stage_time *t;
		struct ovl_sample s = {0};
		struct ovl_model m = {0};
		struct ovl_facts f;

		scene_facts(&f, load);
		scene_slice(&s, phase, 0, &d);
		scene_hit(&s, 0, OVL_STAGE_TCP_TX, OVL_CTX_TASK, OVL_TASK_OTHER, 300);
		scene_hit(&s, 0, OVL_STAGE_TCP_TX, OVL_CTX_TASK, OVL_TASK_SELF, 100);
		scene_hit(&s, 0, OVL_STAGE_APPLICATION, OVL_CTX_USER, OVL_TASK_OTHER, 200);
		scene_hit(&s, 0, OVL_STAGE_TCP_TX, OVL_CTX_TASK, OVL_TASK_LOAD_TX, 140);
		scene_hit(&s, 0, OVL_STAGE_TCP_TX, OVL_CTX_SOFTIRQ, OVL_TASK_OTHER, 160);
		ovl_model_add(state, &f, &s);
		ovl_model_build(state, &f, &m);
		t = run_stage(&m, OVL_STAGE_TCP_TX);
		is_int(t ? t->samples : 0, load ? 300 : 700, "a stage's own samples");
		t = run_stage(&m, OVL_STAGE_OTHER_TASKS);
		is_int(t ? t->samples : 0, load ? 500 : 0, "other tasks, user and kernel");
		is_int(t ? t->work_ns[OVL_WORK_OTHER] : 0, load ? 500 * MS : 0, "with their work");
		t = run_stage(&m, OVL_STAGE_OVLTRACE);
		is_int(t ? t->samples : 0, load ? 100 : 0, "and ovltrace itself");
		is_int(m.cpu.per_cpu.v[0].top_stage,
		       load ? OVL_STAGE_OTHER_TASKS : OVL_STAGE_TCP_TX, "top stage");
		ovl_sample_fini(&s);
		ovl_facts_fini(&f);
		ovl_model_free(state);
		ovl_model_fini(&m);
	}
}

int main(void)
{
	test_run();
	test_half();
	test_underlay_odd();
	test_observe();
	test_others();
	return tap_done();
}
