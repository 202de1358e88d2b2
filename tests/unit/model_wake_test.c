/* Wake samples: settled by the clock over all that was pooled. */
#include "model/lane.h"
#include "model/wake.h"
#include "model_run.h"
#include "tap.h"

#define ENTRY OVL_STAGE_IRQ_OTHER

/* Busy wake samples of a CPU with this idle time, of 300 certain and 100 wake ones at 500 Hz. */
static uint64_t settled(uint64_t idle_ms, uint32_t hz, uint64_t taken[OVL_STAGE_COUNT])
{
	struct ovl_lane_acc a = {.wall_ns = 1000 * MS, .idle_ns = idle_ms * MS};

	a.n[OVL_STAGE_TCP_RX] = 200;
	a.n[OVL_ROW_OTHER_TASKS] = 100;
	a.wake[ENTRY] = 60;
	a.wake[OVL_STAGE_SOFTIRQ_OTHER] = 40;
	return ovl_wake_settle(&a, hz, taken);
}

static void test_clock_decides(void)
{
	uint64_t taken[OVL_STAGE_COUNT];
	struct ovl_lane_acc a = {.wake = {[ENTRY] = 5}};

	is_int(settled(200, 500, taken), 100, "busy for 400 samples: all wake samples were busy");
	is_int(settled(400, 500, taken), 0, "busy for 300: none");
	is_int(settled(900, 500, taken), 0, "busy for less than the certain ones: none");
	is_int(settled(0, 500, taken), 100, "busy for more than there are: no more than there are");
	is_int(settled(2000, 500, taken), 0, "more idle than wall time: none");
	is_int(settled(400, 0, taken), 100, "without a sampling rate all count");
	is_int(settled(298, 500, taken), 51, "busy for 351: 51 of them");
	is_int(taken[ENTRY], 31, "spread in proportion, the rest by largest remainder");
	is_int(taken[OVL_STAGE_SOFTIRQ_OTHER], 20, "to each of their stages");
	is_int(ovl_wake_settle(&a, 500, taken), 5, "a CPU without a clock keeps them");
}

static void test_rows(void)
{
	struct ovl_lane_acc a = {.wall_ns = 1000 * MS, .idle_ns = 500 * MS};
	uint64_t rows[OVL_ROWS_CPU];

	a.n[OVL_STAGE_TCP_RX] = 400;
	a.wake[ENTRY] = 300;
	ovl_lane_cpu_rows(&a, 1000, 0, rows);
	is_int(rows[OVL_STAGE_TCP_RX], 400 * MS, "rows of a lane have certain samples");
	is_int(rows[ENTRY], 100 * MS, "and as many wake ones as the clock leaves");
	is_int(rows[OVL_ROW_IDLE], 500 * MS, "idle is the clock's");
}

static void slice(struct ovl_model_state *state, const struct ovl_facts *f, enum ovl_phase phase,
		  uint32_t certain)
{
	struct scene_slice d = {.bytes = GB, .busy_ms = 1000};
	struct ovl_sample s = {0};

	d.cpu[0].idle_ms = 10;
	d.cpu[1].idle_ms = 900;
	d.cpu[0].task = certain;
	d.cpu[0].task_stage = OVL_STAGE_TCP_TX;
	scene_slice(&s, phase, 0, &d);
	scene_hit(&s, 0, ENTRY, OVL_CTX_WAKE, OVL_TASK_OTHER, 100);
	ovl_model_add(state, f, &s);
	ovl_sample_fini(&s);
}

/*
 * Noise of single slices must not make wake samples busy: 1010 + 970 certain ones, busy for 1980.
 */
static void test_pooled(void)
{
	struct ovl_model_state *state = ovl_model_new();
	struct ovl_model m = {0};
	struct ovl_facts f;

	scene_facts(&f, true);
	slice(state, &f, OVL_PHASE_UNDERLAY, 890);
	slice(state, &f, OVL_PHASE_OVERLAY, 1010);
	slice(state, &f, OVL_PHASE_OVERLAY, 970);
	ovl_model_build(state, &f, &m);
	is_int(m.cpu.samples, 1980, "the phase is settled as a whole");
	ok(!run_stage(&m, ENTRY) || !run_stage(&m, ENTRY)->ns, "no wake sample was busy");
	ok(m.waterfall.valid, "a waterfall: %s", m.waterfall.why_not);
	ok(m.waterfall.ledger_error_ratio < 1e-9, "the ledger is right within what is certain");
	ok(fabs(m.waterfall.wake_ratio - 100.0 / 990) < 1e-9,
	   "the underlay's share of wake samples %.3f", m.waterfall.wake_ratio);
	slice(state, &f, OVL_PHASE_OVERLAY, 930);
	ovl_model_build(state, &f, &m);
	is_int(m.cpu.samples, 2970, "busy for 60 more than certain: 60 of the wake samples");
	ok(run_stage(&m, ENTRY) && run_stage(&m, ENTRY)->samples == 60, "in their stage");
	ok(m.cpu.per_cpu.n == 2 && m.cpu.per_cpu.v[0].softirq_ratio == 0, "which is no softirq");
	ok(fabs(m.cpu.catch_all_ratio - 0.06 / 3.27) < 1e-9, "a stage that only names a context");
	ovl_facts_fini(&f);
	ovl_model_free(state);
	ovl_model_fini(&m);
}

/*
 * Hard interrupts go to their stage, whatever task they hit, and are neither a task's nor softirq.
 */
static void test_irq(void)
{
	struct ovl_hit hit = {.stage = ENTRY, .ctx = OVL_CTX_IRQ, .task_class = OVL_TASK_OTHER};
	struct ovl_cpu_acc a = {.lane = {.wall_ns = 1000 * MS}};
	struct ovl_lane_shares s;

	is_int(ovl_row_of(&hit), ENTRY, "an interrupt over another task is no other task's time");
	hit.count = 1000;
	ovl_acc_cpu_hit(&a, &hit, ovl_row_of(&hit), hit.stage);
	ovl_lane_cpu_shares(&a, 1000, &s);
	ok(s.busy == 1 && s.softirq == 0 && s.task == 0 && s.other == 0, "nor softirq");
}

int main(void)
{
	test_clock_decides();
	test_rows();
	test_pooled();
	test_irq();
	return tap_done();
}
