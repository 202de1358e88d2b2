/* What limits: every limit that can be reached, once firing and once not. */
#include "model_scene.h"
#include "tap.h"

/* A healthy run to vary: the sender's CPU is full with task work, the receiver has room. */
static const struct scene_slice base_overlay = {
	.cpu = {{.idle_ms = 10,
		 .task = 700,
		 .task_stage = OVL_STAGE_TCP_TX,
		 .softirq = 290,
		 .softirq_stage = OVL_STAGE_GSO},
		{.idle_ms = 300,
		 .task = 300,
		 .task_stage = OVL_STAGE_COPY_TO_USER,
		 .softirq = 400,
		 .softirq_stage = OVL_STAGE_GRO}},
	.bytes = 1000000000,
	.busy_ms = 1000,
	.rwnd_ms = 50,
};
static const struct scene_slice base_underlay = {
	.cpu = {{.idle_ms = 200,
		 .task = 700,
		 .task_stage = OVL_STAGE_TCP_TX,
		 .softirq = 100,
		 .softirq_stage = OVL_STAGE_XMIT},
		{.idle_ms = 100,
		 .task = 500,
		 .task_stage = OVL_STAGE_COPY_TO_USER,
		 .softirq = 400,
		 .softirq_stage = OVL_STAGE_TCP_RX}},
	.bytes = 2500000000,
	.busy_ms = 1000,
	.rwnd_ms = 50,
};

static void judge_with(struct ovl_facts *f, const struct scene_slice *u,
		       const struct scene_slice *o, int pairs, struct ovl_model *m)
{
	struct ovl_model_state *state = ovl_model_new();
	struct ovl_sample s = {0};

	for (int i = 0; i < pairs; i++) {
		if (u) {
			scene_slice(&s, OVL_PHASE_UNDERLAY, (uint32_t)i, u);
			ovl_model_add(state, f, &s);
		}
		scene_slice(&s, OVL_PHASE_OVERLAY, (uint32_t)i, o);
		ovl_model_add(state, f, &s);
	}
	ovl_model_build(state, f, m);
	ovl_sample_fini(&s);
	ovl_model_free(state);
}

static void judge(const struct scene_slice *o, struct ovl_model *m)
{
	struct ovl_facts f;

	scene_facts(&f, true);
	judge_with(&f, &base_underlay, o, 6, m);
	ovl_facts_fini(&f);
}

#define is_limit(m, want, ...) is_str(ovl_limit_key((m).verdict.limit), want, __VA_ARGS__)

static void test_cpu_limits(void)
{
	struct scene_slice o = base_overlay;
	struct ovl_model m = {0};

	judge(&o, &m);
	is_limit(m, "sender_task_cpu", "a full sender CPU, mostly in its task");
	is_str(m.verdict.side, "sender", "the sender's side");
	is_str(m.waterfall.lane, "cpu0", "its CPU is drawn");
	ok(m.verdict.confidence_ratio > 0.6, "with confidence (%.2f)", m.verdict.confidence_ratio);
	ok(fabs(scene_evidence(&m.verdict, "idle_ratio") - 0.01) < 1e-9, "idle is evidence");
	ok(fabs(scene_evidence(&m.verdict, "task_ratio") - 0.70) < 1e-9, "so are the shares");
	ok(fabs(scene_evidence(&m.verdict, "rwnd_ratio") - 0.05) < 1e-9, "and TCP_INFO");
	ok(strstr(m.verdict.sentence, "CPU 0") != NULL, "the sentence names it: %s",
	   m.verdict.sentence);

	o.cpu[0].task = 290;
	o.cpu[0].softirq = 700;
	judge(&o, &m);
	is_limit(m, "sender_softirq_cpu", "the same, mostly in softirq");

	o = base_overlay;
	o.cpu[0].idle_ms = 100;
	o.cpu[0].task = 610;
	o.cpu[1].idle_ms = 20;
	o.cpu[1].softirq = 680;
	judge(&o, &m);
	is_limit(m, "receiver_softirq_cpu", "a full receiver CPU, mostly in softirq");
	is_str(m.waterfall.lane, "cpu1", "its CPU is drawn");
	o.cpu[1].task = 680;
	o.cpu[1].softirq = 300;
	judge(&o, &m);
	is_limit(m, "receiver_task_cpu", "the same, mostly in its task");
	is_str(m.verdict.side, "receiver", "the receiver's side");

	o = base_overlay;
	o.cpu[0].task = 290;
	o.cpu[0].softirq = 700;
	o.cpu[0].softirq_stage = OVL_STAGE_GRO;
	judge(&o, &m);
	is_limit(m, "receiver_softirq_cpu", "receive work that landed on the sender's CPU");

	o = base_overlay;
	o.task_class[0] = OVL_TASK_DAEMON;
	o.cpu[0].task_stage = OVL_STAGE_USER_DAEMON;
	judge(&o, &m);
	is_limit(m, "tun_daemon_cpu", "a CPU full of the tun daemon");
	o.task_class[0] = OVL_TASK_PROXY;
	o.cpu[0].task_stage = OVL_STAGE_USER_PROXY;
	judge(&o, &m);
	is_limit(m, "proxy_cpu", "a CPU full of the proxy");
	ovl_model_fini(&m);
}

static void test_steal(void)
{
	struct scene_slice o = base_overlay;
	struct ovl_model m = {0};

	o.cpu[0].steal_ms = 500;
	o.cpu[0].task = 300;
	o.cpu[0].softirq = 190;
	judge(&o, &m);
	is_limit(m, "steal", "a CPU of which the hypervisor takes the largest part");
	is_int(scene_identity(&m.waterfall), 0, "its sum is exact");
	ok(scene_term(&m.waterfall, "steal") && scene_term(&m.waterfall, "steal")->bps > 0,
	   "and steal is a loss");
	o.cpu[0].steal_ms = 100;
	o.cpu[0].task = 700;
	judge(&o, &m);
	is_limit(m, "sender_task_cpu", "a tenth stolen does not change the verdict");
	ok(strstr(m.verdict.sentence, "hypervisor takes 10 %") != NULL, "but is said");
	ovl_model_fini(&m);
}

static void test_second(void)
{
	struct scene_slice o = base_overlay;
	struct ovl_model m = {0};
	double alone;

	judge(&o, &m);
	alone = m.verdict.confidence_ratio;
	is_int(m.waterfall.n_runners_up, 0, "no second lane");
	o.cpu[1].idle_ms = 35;
	o.cpu[1].softirq = 665;
	judge(&o, &m);
	is_limit(m, "sender_task_cpu", "the fuller CPU is first");
	is_int(m.waterfall.n_runners_up, 1, "a second lane within 3 points is named");
	is_str(m.waterfall.runners_up[0], "cpu1", "it is the receiver's CPU");
	ok(m.verdict.confidence_ratio < alone, "and costs confidence");
	o.cpu[1].idle_ms = 45;
	judge(&o, &m);
	is_int(m.waterfall.n_runners_up, 0, "at 3.5 points it is not");
	ovl_model_fini(&m);
}

static struct scene_slice with_room(void)
{
	struct scene_slice o = base_overlay;

	o.cpu[0].idle_ms = 600;
	o.cpu[0].task = 200;
	o.cpu[0].softirq = 200;
	return o;
}

static void test_connection(void)
{
	struct scene_slice o = with_room();
	struct ovl_model m = {0};

	o.rwnd_ms = 700;
	judge(&o, &m);
	is_limit(m, "window", "the receive window for 70 %% of the time");
	is_str(m.verdict.side, "receiver", "is the receiver's");
	is_str(m.waterfall.lane, "connection", "the connection is drawn");
	is_int(scene_identity(&m.waterfall), 0, "its sum is exact");
	is_int(m.waterfall.terms.n, 2, "app and sndbuf are never there, so two terms");
	ok(isnan(m.waterfall.ledger_error_ratio), "no samples, no ledger error");
	ok(scene_term(&m.waterfall, "rwnd")->bps > 0, "rwnd is the loss");

	o.rwnd_ms = 0;
	o.sndbuf_ms = 600;
	judge(&o, &m);
	is_limit(m, "window", "the send buffer");
	is_str(m.verdict.side, "sender", "is the sender's");

	o.sndbuf_ms = 0;
	o.busy_ms = 300;
	judge(&o, &m);
	is_limit(m, "application", "a sender that has nothing to send");

	o.busy_ms = 1000;
	judge(&o, &m);
	is_limit(m, "window", "always in flight, nothing lost: window and round trip");
	o.retransmits = 1;
	judge(&o, &m);
	is_limit(m, "window", "one retransmit in 700000 segments is no loss");
	o.retransmits = 500;
	judge(&o, &m);
	is_limit(m, "loss", "500 are");
	ok(scene_evidence(&m.verdict, "retransmits") == 3000, "they are evidence");

	o = with_room();
	o.busy_ms = 900;
	o.rwnd_ms = 400;
	o.sndbuf_ms = 200;
	judge(&o, &m);
	is_limit(m, "unknown", "no state takes half of the time");
	is_str(m.waterfall.lane, "cpu1", "the fullest CPU is drawn");
	is_int(scene_identity(&m.waterfall), 0, "its sum is exact");
	ok(m.verdict.confidence_ratio == 0, "nothing is claimed");
	ovl_model_fini(&m);
}

/* Between full and idle: the CPU is drawn, its idle divided by the connection's states. */
static void test_nearly_full(void)
{
	struct scene_slice o = base_overlay;
	const struct ovl_term *t;
	struct ovl_model m = {0};

	o.cpu[0].idle_ms = 120;
	o.cpu[0].task = 590;
	o.rwnd_ms = 700;
	o.cpu[1].idle_ms = 400;
	judge(&o, &m);
	is_limit(m, "window", "the window limits");
	is_str(m.waterfall.lane, "cpu0", "the nearly full CPU is drawn");
	is_str(m.waterfall.runners_up[0], "connection", "the connection is the runner-up");
	is_int(scene_identity(&m.waterfall), 0, "its sum is exact");
	t = scene_term(&m.waterfall, "rwnd");
	ok(t && t->bps > 0 && t->basis == OVL_BASIS_ARITHMETIC, "idle's loss goes to the window");
	ok(!scene_term(&m.waterfall, "slack"), "not to slack");
	ovl_model_fini(&m);
}

static void test_dead(void)
{
	struct scene_slice o = with_room();
	struct ovl_facts f;
	struct ovl_model m = {0};

	o.bytes = 0;
	o.cpu[0] = (struct scene_cpu){.idle_ms = 999, .task = 1, .task_stage = OVL_STAGE_TCP_TX};
	o.cpu[1] = (struct scene_cpu){.idle_ms = 998, .task = 2, .task_stage = OVL_STAGE_TCP_RX};
	o.retransmits = 2;
	judge(&o, &m);
	is_limit(m, "blocked", "nothing arrives");
	ok(m.verdict.confidence_ratio == 1, "counters prove it");
	ok(m.waterfall.valid, "the waterfall is defined");
	is_str(m.waterfall.lane, "cpu1", "for the CPU that the underlay filled most");
	is_int(scene_identity(&m.waterfall), 0, "its sum is exact");
	ok(m.waterfall.overlay_bps == 0, "the overlay is at 0");
	ok(scene_term(&m.waterfall, "loss") && scene_term(&m.waterfall, "loss")->bps > 0,
	   "lost packets explain the idle time");
	ok(isnan(m.waterfall.terms.v[0].ns_per_kib) && isnan(m.waterfall.terms.v[0].if_removed_bps),
	   "cost per KiB and gain are unknown, not infinite");

	scene_facts(&f, true);
	f.load.has_underlay = false;
	o.busy_ms = o.retransmits = 0;
	judge_with(&f, NULL, &o, 2, &m);
	is_limit(m, "no_traffic", "a load that sent nothing is no blocked path");
	ok(!m.waterfall.valid && *m.waterfall.why_not, "no waterfall: %s", m.waterfall.why_not);
	ovl_facts_fini(&f);
	ovl_model_fini(&m);
}

static void test_unknowns(void)
{
	struct scene_slice o = base_overlay;
	struct ovl_facts f;
	struct ovl_model m = {0};

	scene_facts(&f, true);
	judge_with(&f, &base_underlay, &o, 0, &m);
	is_limit(m, "unknown", "before the first slice nothing is known");
	ok(!m.waterfall.valid, "there is no waterfall: %s", m.waterfall.why_not);
	judge_with(&f, NULL, &o, 1, &m);
	ok(!m.waterfall.valid && strstr(m.waterfall.why_not, "underlay"),
	   "nor before the underlay's: %s", m.waterfall.why_not);
	is_limit(m, "sender_task_cpu", "but a verdict");

	f.sample_hz = 0;
	memset(&o.cpu[0], 0, sizeof(o.cpu[0]));
	judge_with(&f, &base_underlay, &o, 3, &m);
	is_limit(m, "unknown", "a full CPU without samples: full of what?");
	ok(strstr(m.verdict.sentence, "CPU 0 is full") != NULL, "it is said: %s",
	   m.verdict.sentence);
	ok(!m.waterfall.valid && strstr(m.waterfall.why_not, "samples"), "and not drawn");

	f.sample_hz = 1000;
	f.load.cpu_receiver = -1;
	o = base_overlay;
	o.cpu[1].idle_ms = 0;
	o.cpu[1].task = 60;
	o.cpu[1].softirq = 40;
	o.cpu[1].other = 900;
	judge_with(&f, &base_underlay, &o, 3, &m);
	is_limit(m, "sender_task_cpu", "a stranger's full CPU is not the path's");
	f.load.cpu_receiver = 1;
	judge_with(&f, &base_underlay, &o, 3, &m);
	is_str(m.waterfall.lane, "cpu1", "unless the receiver is pinned to it");
	ok(strstr(m.verdict.sentence, "other work takes 90") != NULL, "and then it is said: %s",
	   m.verdict.sentence);
	ovl_facts_fini(&f);
	ovl_model_fini(&m);
}

/* One interval of a node without load. */
static void observe(const struct scene_cpu *c, uint64_t rx, uint64_t tx, struct ovl_model *m)
{
	struct ovl_model_state *state = ovl_model_new();
	struct ovl_sample s = {0};
	struct ovl_facts f;

	scene_facts(&f, false);
	scene_begin(&s, OVL_PHASE_OBSERVE, 0);
	scene_clock(&s, 0, 1000, c->idle_ms, c->steal_ms);
	scene_hit(&s, 0, (int)c->task_stage, OVL_CTX_TASK, OVL_TASK_OTHER, c->task);
	scene_hit(&s, 0, (int)c->softirq_stage, OVL_CTX_SOFTIRQ, OVL_TASK_OTHER, c->softirq);
	scene_hit(&s, 0, OVL_STAGE_USER_OTHER, OVL_CTX_USER, OVL_TASK_OTHER, c->other);
	scene_clock(&s, 1, 1000, 800, 0);
	scene_link(&s, rx, rx / 1450, tx, tx / 1450);
	ovl_model_add(state, &f, &s);
	ovl_model_build(state, &f, m);
	ovl_sample_fini(&s);
	ovl_facts_fini(&f);
	ovl_model_free(state);
}

static void test_node(void)
{
	struct scene_cpu c = {.idle_ms = 10,
			      .task = 200,
			      .task_stage = OVL_STAGE_COPY_TO_USER,
			      .softirq = 700,
			      .softirq_stage = OVL_STAGE_GRO,
			      .other = 90};
	struct ovl_model m = {0};

	observe(&c, 0, 0, &m);
	is_limit(m, "no_traffic", "counters that did not move");
	ok(strstr(m.verdict.sentence, "flannel.1") != NULL, "the interface is named");
	observe(&c, 500000000, 1000000, &m);
	is_limit(m, "receiver_softirq_cpu", "a full CPU of a node that receives");
	is_str(m.verdict.side, "node", "only this node was seen");
	ok(!m.waterfall.valid && strstr(m.waterfall.why_not, "--load"), "no load, no waterfall");
	observe(&c, 1000000, 500000000, &m);
	is_limit(m, "sender_softirq_cpu", "of a node that sends");
	c.task = 700;
	c.softirq = 200;
	observe(&c, 1000000, 500000000, &m);
	is_limit(m, "sender_task_cpu", "mostly in its task");
	observe(&c, 500000000, 1000000, &m);
	is_limit(m, "receiver_task_cpu", "and when it receives");
	c.task = c.softirq = 50;
	c.other = 890;
	observe(&c, 500000000, 1000000, &m);
	is_limit(m, "unknown", "a CPU full of other work proves nothing");
	ok(strstr(m.verdict.sentence, "is full, but") != NULL, "%s", m.verdict.sentence);
	c.other = 90;
	c.steal_ms = 800;
	observe(&c, 500000000, 1000000, &m);
	is_limit(m, "steal", "a CPU that the hypervisor keeps");
	c = (struct scene_cpu){.idle_ms = 500, .softirq = 500, .softirq_stage = OVL_STAGE_GRO};
	observe(&c, 500000000, 1000000, &m);
	is_limit(m, "unknown", "nothing is full");
	ovl_model_fini(&m);
}

static void test_noise(void)
{
	struct ovl_model_state *state = ovl_model_new();
	struct ovl_sample s = {0};
	struct ovl_facts f;
	struct ovl_model m = {0};

	/* idle 24 % once, else 0: mean 4 %, standard error 4 points */
	scene_facts(&f, true);
	for (uint32_t i = 0; i < 6; i++) {
		struct scene_slice o = base_overlay;

		o.cpu[0].idle_ms = i == 5 ? 240 : 0;
		scene_slice(&s, OVL_PHASE_UNDERLAY, i, &base_underlay);
		ovl_model_add(state, &f, &s);
		scene_slice(&s, OVL_PHASE_OVERLAY, i, &o);
		ovl_model_add(state, &f, &s);
	}
	ovl_model_build(state, &f, &m);
	is_limit(m, "sender_task_cpu", "idle within 2 standard errors of nothing is full");
	ovl_sample_fini(&s);
	ovl_facts_fini(&f);
	ovl_model_free(state);
	ovl_model_fini(&m);
	{
		struct scene_slice o = base_overlay;

		o.cpu[0].idle_ms = 40;
		judge(&o, &m);
		is_limit(m, "window", "a steady 4 %% is not");
	}
	ovl_model_fini(&m);
}

int main(void)
{
	test_cpu_limits();
	test_steal();
	test_second();
	test_connection();
	test_nearly_full();
	test_dead();
	test_unknowns();
	test_node();
	test_noise();
	return tap_done();
}
