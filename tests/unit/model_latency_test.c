/* Latency in the model: pooled by path and kind, refused when it cannot be, apart from bulk. */
#include <math.h>

#include "model/model.h"
#include "tap.h"

static struct ovl_sample round_trips(enum ovl_phase path, bool loaded, uint64_t ns, int n)
{
	struct ovl_sample s = {.phase = OVL_PHASE_SETTLE, .start_ts_ns = 7, .end_ts_ns = 7};

	s.latency = (struct ovl_latency_delta){
		.valid = true, .path = (uint8_t)path, .loaded = loaded, .message_bytes = 1};
	for (int i = 0; i < n; i++)
		ovl_hist_add(&s.latency.rtt, ns + (uint64_t)i);
	return s;
}

static struct ovl_facts facts_of(const char *kind)
{
	struct ovl_facts f = {.iface = -1, .cpus = 2};

	f.load = (struct ovl_load_facts){.valid = true, .streams = 1};
	f.load.cpu_sender = f.load.cpu_receiver = -1;
	snprintf(f.load.kind, sizeof(f.load.kind), "%s", kind);
	return f;
}

static void test_kinds(void)
{
	const struct ovl_facts f = facts_of("iperf-like");
	struct ovl_model_state *state = ovl_model_new();
	struct ovl_model m = {0};
	struct ovl_sample s;

	s = round_trips(OVL_PHASE_UNDERLAY, false, 20000, 100);
	ovl_model_add(state, &f, &s);
	s = round_trips(OVL_PHASE_OVERLAY, false, 30000, 100);
	ovl_model_add(state, &f, &s);
	s = round_trips(OVL_PHASE_OVERLAY, false, 40000, 100);
	ovl_model_add(state, &f, &s);
	s = round_trips(OVL_PHASE_OVERLAY, true, 900000, 50);
	ovl_model_add(state, &f, &s);
	is_int(ovl_model_build(state, &f, &m), 0, "the model is built");
	is_int(m.load.underlay.idle.count, 100, "the underlay's");
	ok(!m.load.underlay.loaded.valid, "which was not measured under load");
	is_int(m.load.overlay.idle.count, 200, "the overlay's are pooled");
	is_int(m.load.overlay.idle.min_ns, 30000, "the least is exact");
	is_int(m.load.overlay.idle.max_ns, 40099, "the most, too");
	ok(m.load.overlay.idle.mean_ns == 35049.5, "and the mean");
	ok(m.load.overlay.idle.p50_ns >= 30099 && m.load.overlay.idle.p50_ns < 31100,
	   "the median within 1/32");
	is_int(m.load.overlay.loaded.count, 50, "apart from those under load");
	is_int(m.intervals, 0, "none of these is an interval");
	ok(!m.load.overlay.valid && !m.waterfall.valid, "nor bulk");
	is_int(m.damaged_records, 0, "nothing is damaged");
	s = round_trips(OVL_PHASE_SETTLE, false, 1, 1);
	ovl_model_add(state, &f, &s);
	s = round_trips(OVL_PHASE_COUNT, false, 1, 1);
	ovl_model_add(state, &f, &s);
	s = round_trips(OVL_PHASE_OVERLAY, false, 1, 1);
	s.latency.rtt.count = 2;
	ovl_model_add(state, &f, &s);
	ovl_model_build(state, &f, &m);
	is_int(m.damaged_records, 3,
	       "a path that is none and counts that do not agree are refused");
	is_int(m.load.overlay.idle.count, 200, "and not counted");
	ovl_model_fini(&m);
	ovl_model_free(state);
}

static void test_rr(void)
{
	const struct ovl_facts f = facts_of("rr");
	struct ovl_model_state *state = ovl_model_new();
	struct ovl_model m = {0};
	struct ovl_sample s = round_trips(OVL_PHASE_OVERLAY, false, 10000, 100);

	s.phase = OVL_PHASE_OVERLAY;
	s.end_ts_ns += 2000000;
	s.load = (struct ovl_load_delta){.valid = true, .wall_ns = s.latency.rtt.sum_ns};
	ovl_model_add(state, &f, &s);
	ovl_model_build(state, &f, &m);
	ok(m.load.overlay.valid && isnan(m.load.overlay.goodput_bps) && isnan(m.last.goodput_bps),
	   "a load of round trips has no goodput");
	ok(fabs(m.load.overlay.transactions_ps - 1e9 / 10049.5) < 0.001, "but so many a second");
	ok(m.last.rtt_ns >= 10049 && m.last.rtt_ns < 10400, "the last interval's median");
	ok(m.history[0].rtt_ns == 10049.5 && isnan(m.history[0].bps), "and in the history");
	ok(m.verdict.limit == OVL_LIMIT_UNKNOWN && strstr(m.verdict.sentence, "latency"),
	   "the verdict claims nothing of bulk: %s", m.verdict.sentence);
	ok(!m.waterfall.valid && strstr(m.waterfall.why_not, "round trips"), "no waterfall: %s",
	   m.waterfall.why_not);
	ovl_model_fini(&m);
	ovl_model_free(state);
}

int main(void)
{
	test_kinds();
	test_rr();
	return tap_done();
}
