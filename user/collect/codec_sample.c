/* A sample of a recording: one line per member. */
#include "collect/codec.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "bpf/abi.h"
#include "model/stage.h"

#define INTERVAL_MAX_NS (366ull * 86400 * 1000000000) /* longer than any run */
#define CPU_MAX		(OVL_CODEC_CPUS_MAX - 1)

static const char *const ctxs[OVL_CTX_COUNT] = {"task", "softirq", "user", "irq", "wake"};
static const char *const classes[OVL_TASK_CLASSES] = {"other",	"load_tx", "load_rx",
						      "daemon", "proxy",   "self"};

static int find_in(const char *const *names, int n, const char *name)
{
	for (int i = 0; i < n; i++)
		if (!strcmp(names[i], name))
			return i;
	return -1;
}

static const char *stage_name(uint32_t value)
{
	return ovl_stage_info((enum ovl_stage)value)->key;
}

static const char *work_name(uint32_t value)
{
	return ovl_work_key((enum ovl_work)value);
}

static const char *phase_name(uint32_t value)
{
	return ovl_phase_name((enum ovl_phase)value);
}

static const char *ctx_name(uint32_t value)
{
	return ctxs[value];
}

static int ctx_find(const char *name)
{
	return find_in(ctxs, OVL_CTX_COUNT, name);
}

static const char *class_name(uint32_t value)
{
	return classes[value];
}

static int class_find(const char *name)
{
	return find_in(classes, OVL_TASK_CLASSES, name);
}

/* A stage, kind of work or class that a newer version added still is CPU time of something; a phase
 * or context that is not known would be counted in the wrong place. */
static const struct ovl_codec_keys stage_keys = {OVL_STAGE_COUNT, stage_name, ovl_stage_find,
						 OVL_STAGE_UNCLASSIFIED};
static const struct ovl_codec_keys work_keys = {OVL_WORK_COUNT, work_name, ovl_work_find,
						OVL_WORK_OTHER};
static const struct ovl_codec_keys class_keys = {OVL_TASK_CLASSES, class_name, class_find,
						 OVL_TASK_OTHER};
static const struct ovl_codec_keys phase_keys = {OVL_PHASE_COUNT, phase_name, ovl_phase_find, -1};
static const struct ovl_codec_keys ctx_keys = {OVL_CTX_COUNT, ctx_name, ctx_find, -1};

static const struct ovl_codec_field cpu_fields[] = {
	OVL_F_MAX(struct ovl_cpu_clock, cpu, CPU_MAX),
	OVL_F(struct ovl_cpu_clock, wall_ns, UINT),
	OVL_F(struct ovl_cpu_clock, idle_ns, UINT),
	OVL_F(struct ovl_cpu_clock, steal_ns, UINT),
	OVL_F(struct ovl_cpu_clock, softirq_handled, UINT),
};
static const struct ovl_codec_table cpu_table =
	OVL_CODEC_TABLE(struct ovl_cpu_clock, "a CPU clock", cpu_fields);

static const struct ovl_codec_field hit_fields[] = {
	OVL_F_MAX(struct ovl_hit, cpu, CPU_MAX),
	OVL_F_KEY(struct ovl_hit, stage, stage_keys),
	OVL_F_KEY(struct ovl_hit, work, work_keys),
	OVL_F_KEY(struct ovl_hit, ctx, ctx_keys),
	OVL_F_KEY(struct ovl_hit, task_class, class_keys),
	OVL_F(struct ovl_hit, count, UINT),
};
static const struct ovl_codec_table hit_table =
	OVL_CODEC_TABLE(struct ovl_hit, "a hit", hit_fields);

static const struct ovl_codec_field symbol_fields[] = {
	OVL_F_KEY(struct ovl_symbol_hit, stage, stage_keys),
	OVL_F(struct ovl_symbol_hit, name, STR),
	OVL_F(struct ovl_symbol_hit, count, UINT),
};
static const struct ovl_codec_table symbol_table =
	OVL_CODEC_TABLE(struct ovl_symbol_hit, "a symbol", symbol_fields);

static const struct ovl_codec_field link_fields[] = {
	OVL_F(struct ovl_link_delta, link, UINT),
	OVL_F(struct ovl_link_delta, rx_bytes, UINT),
	OVL_F(struct ovl_link_delta, rx_pkts, UINT),
	OVL_F(struct ovl_link_delta, rx_dropped, UINT),
	OVL_F(struct ovl_link_delta, rx_errors, UINT),
	OVL_F(struct ovl_link_delta, tx_bytes, UINT),
	OVL_F(struct ovl_link_delta, tx_pkts, UINT),
	OVL_F(struct ovl_link_delta, tx_dropped, UINT),
	OVL_F(struct ovl_link_delta, tx_errors, UINT),
	OVL_F(struct ovl_link_delta, gone, BOOL),
};
static const struct ovl_codec_table link_table =
	OVL_CODEC_TABLE(struct ovl_link_delta, "a link's counters", link_fields);

static const struct ovl_codec_field counter_fields[] = {
	OVL_F(struct ovl_counter, ns, UINT),
	OVL_F(struct ovl_counter, group, STR),
	OVL_F(struct ovl_counter, name, STR),
	OVL_F(struct ovl_counter, delta, INT),
};
static const struct ovl_codec_table counter_table =
	OVL_CODEC_TABLE(struct ovl_counter, "a counter", counter_fields);

static const struct ovl_codec_field drop_fields[] = {
	OVL_F(struct ovl_drop, reason, STR),
	OVL_F(struct ovl_drop, symbol, STR),
	OVL_F(struct ovl_drop, ns, UINT),
	OVL_F(struct ovl_drop, iface, STR),
	OVL_F_KEY(struct ovl_drop, stage, stage_keys),
	OVL_F(struct ovl_drop, benign, BOOL),
	OVL_F(struct ovl_drop, pkts, UINT),
	OVL_F(struct ovl_drop, segs, UINT),
};
static const struct ovl_codec_table drop_table =
	OVL_CODEC_TABLE(struct ovl_drop, "a drop", drop_fields);

static const struct ovl_codec_field self_fields[] = {
	OVL_F_MAX(struct ovl_self_delta, cpu, CPU_MAX),
	OVL_F(struct ovl_self_delta, user_ns, OPT),
	OVL_F_ARRAY(struct ovl_self_delta, runs),
	OVL_F_ARRAY(struct ovl_self_delta, packet_runs),
	OVL_F(struct ovl_self_delta, func_runs, UINT),
};
static const struct ovl_codec_table self_table =
	OVL_CODEC_TABLE(struct ovl_self_delta, "own cost", self_fields);

static const struct ovl_codec_field func_fields[] = {
	OVL_F_KEY(struct ovl_func_delta, func, ovl_codec_funcs),
	OVL_F(struct ovl_func_delta, ns, UINT),
	OVL_F(struct ovl_func_delta, iface, STR),
	OVL_F(struct ovl_func_delta, calls, UINT),
	OVL_F(struct ovl_func_delta, bytes, UINT),
	OVL_F(struct ovl_func_delta, segs, UINT),
	OVL_F(struct ovl_func_delta, timed, UINT),
	OVL_F(struct ovl_func_delta, incl_ns, UINT),
	OVL_F(struct ovl_func_delta, excl_ns, UINT),
};
static const struct ovl_codec_table func_table =
	OVL_CODEC_TABLE(struct ovl_func_delta, "a function's calls", func_fields);

static const struct ovl_codec_field load_fields[] = {
	OVL_F(struct ovl_load_delta, valid, BOOL),
	OVL_F(struct ovl_load_delta, wall_ns, UINT),
	OVL_F(struct ovl_load_delta, bytes, UINT),
	OVL_F(struct ovl_load_delta, retransmits, UINT),
	OVL_F(struct ovl_load_delta, busy_us, UINT),
	OVL_F(struct ovl_load_delta, rwnd_us, UINT),
	OVL_F(struct ovl_load_delta, sndbuf_us, UINT),
	OVL_F(struct ovl_load_delta, sender_cpu_ns, UINT),
	OVL_F(struct ovl_load_delta, receiver_cpu_ns, UINT),
	OVL_F(struct ovl_load_delta, sender_switches, BOOL),
	OVL_F(struct ovl_load_delta, sender_voluntary, UINT),
	OVL_F(struct ovl_load_delta, sender_involuntary, UINT),
	OVL_F(struct ovl_load_delta, receiver_switches, BOOL),
	OVL_F(struct ovl_load_delta, receiver_voluntary, UINT),
	OVL_F(struct ovl_load_delta, receiver_involuntary, UINT),
	OVL_F_LIST(struct ovl_load_delta, rtt_us, rtt_n),
	OVL_F(struct ovl_load_delta, cwnd_segs, UINT),
	OVL_F(struct ovl_load_delta, mss_bytes, UINT),
};
static const struct ovl_codec_table load_table =
	OVL_CODEC_TABLE(struct ovl_load_delta, "the load", load_fields);

static const struct ovl_codec_field hist_fields[] = {
	OVL_F(struct ovl_hist, count, UINT),  OVL_F(struct ovl_hist, over, UINT),
	OVL_F(struct ovl_hist, sum_ns, UINT), OVL_F(struct ovl_hist, min_ns, UINT),
	OVL_F(struct ovl_hist, max_ns, UINT), OVL_F_ARRAY(struct ovl_hist, bucket),
};
static const struct ovl_codec_table hist_table =
	OVL_CODEC_TABLE(struct ovl_hist, "a histogram", hist_fields);

static const struct ovl_codec_field latency_fields[] = {
	OVL_F(struct ovl_latency_delta, valid, BOOL),
	OVL_F_KEY(struct ovl_latency_delta, path, phase_keys),
	OVL_F(struct ovl_latency_delta, loaded, BOOL),
	OVL_F(struct ovl_latency_delta, message_bytes, UINT),
	OVL_F(struct ovl_latency_delta, pace_ns, UINT),
	OVL_F_SUB(struct ovl_latency_delta, rtt, hist_table),
};
static const struct ovl_codec_table latency_table =
	OVL_CODEC_TABLE(struct ovl_latency_delta, "the latency", latency_fields);

static const struct ovl_codec_field effect_fields[] = {
	OVL_F(struct ovl_effect_delta, n_quads, UINT),
	OVL_F(struct ovl_effect_delta, change_ppm, INT),
	OVL_F(struct ovl_effect_delta, stderr_ppm, UINT),
};
static const struct ovl_codec_table effect_table =
	OVL_CODEC_TABLE(struct ovl_effect_delta, "the effect", effect_fields);

static const struct ovl_codec_field reading_fields[] = {
	OVL_F(struct ovl_reading, ns, UINT),	OVL_F(struct ovl_reading, kind, STR),
	OVL_F(struct ovl_reading, object, STR), OVL_F(struct ovl_reading, name, STR),
	OVL_F(struct ovl_reading, text, STR),	OVL_F(struct ovl_reading, value, INT),
	OVL_F(struct ovl_reading, delta, INT),
};
static const struct ovl_codec_table reading_table =
	OVL_CODEC_TABLE(struct ovl_reading, "a reading", reading_fields);

static const struct ovl_codec_field flow_fields[] = {
	OVL_F(struct ovl_flow, ns, UINT),
	OVL_F(struct ovl_flow, src, STR),
	OVL_F(struct ovl_flow, dst, STR),
	OVL_F(struct ovl_flow, state, UINT),
	OVL_F(struct ovl_flow, app_limited, BOOL),
	OVL_F(struct ovl_flow, acked_bytes, UINT),
	OVL_F(struct ovl_flow, received_bytes, UINT),
	OVL_F(struct ovl_flow, sent_segs, UINT),
	OVL_F(struct ovl_flow, retrans_segs, UINT),
	OVL_F(struct ovl_flow, dsack_segs, UINT),
	OVL_F(struct ovl_flow, busy_us, UINT),
	OVL_F(struct ovl_flow, rwnd_us, UINT),
	OVL_F(struct ovl_flow, sndbuf_us, UINT),
	OVL_F(struct ovl_flow, total_acked_bytes, UINT),
	OVL_F(struct ovl_flow, rtt_us, UINT),
	OVL_F(struct ovl_flow, min_rtt_us, UINT),
	OVL_F(struct ovl_flow, cwnd_segs, UINT),
	OVL_F(struct ovl_flow, mss_bytes, UINT),
	OVL_F(struct ovl_flow, pmtu_bytes, UINT),
	OVL_F(struct ovl_flow, snd_wnd_bytes, UINT),
	OVL_F(struct ovl_flow, unacked_segs, UINT),
	OVL_F(struct ovl_flow, unsent_bytes, UINT),
	OVL_F(struct ovl_flow, timeouts, UINT),
	OVL_F(struct ovl_flow, probes, UINT),
};
static const struct ovl_codec_table flow_table =
	OVL_CODEC_TABLE(struct ovl_flow, "a flow", flow_fields);

static const struct ovl_codec_field attempt_fields[] = {
	OVL_F(struct ovl_attempt, ns, UINT),	     OVL_F(struct ovl_attempt, dst, STR),
	OVL_F(struct ovl_attempt, port, UINT),	     OVL_F(struct ovl_attempt, tried, UINT),
	OVL_F(struct ovl_attempt, answered, UINT),   OVL_F(struct ovl_attempt, refused, UINT),
	OVL_F(struct ovl_attempt, unanswered, UINT), OVL_F(struct ovl_attempt, repeated_segs, UINT),
};
static const struct ovl_codec_table attempt_table =
	OVL_CODEC_TABLE(struct ovl_attempt, "an attempt to connect", attempt_fields);

static const struct ovl_codec_field sample_fields[] = {
	OVL_F(struct ovl_sample, start_ts_ns, UINT),
	OVL_F(struct ovl_sample, end_ts_ns, UINT),
	OVL_F_KEY(struct ovl_sample, phase, phase_keys),
	OVL_F(struct ovl_sample, pair, UINT),
	OVL_F_VEC(struct ovl_sample, cpus, cpu_table, OVL_CODEC_CPUS_MAX),
	OVL_F_VEC(struct ovl_sample, hits, hit_table, 1000000),
	OVL_F_VEC(struct ovl_sample, symbols, symbol_table, 100000),
	OVL_F_VEC(struct ovl_sample, links, link_table, 4096),
	OVL_F_VEC(struct ovl_sample, counters, counter_table, 100000),
	OVL_F_VEC(struct ovl_sample, drops, drop_table, 100000),
	OVL_F_VEC(struct ovl_sample, self, self_table, OVL_CODEC_CPUS_MAX),
	OVL_F_VEC(struct ovl_sample, readings, reading_table, 20000),
	OVL_F_VEC(struct ovl_sample, flows, flow_table, 4096),
	OVL_F_VEC(struct ovl_sample, attempts, attempt_table, 20000),
	OVL_F(struct ovl_sample, flows_valid, BOOL),
	OVL_F(struct ovl_sample, attempts_valid, BOOL),
	OVL_F_SUB(struct ovl_sample, packets, ovl_codec_packets),
	OVL_F_VEC(struct ovl_sample, funcs, func_table, 100000),
	OVL_F(struct ovl_sample, funcs_valid, BOOL),
	OVL_F(struct ovl_sample, retransmits, UINT),
	OVL_F(struct ovl_sample, retransmits_valid, BOOL),
	OVL_F_SUB(struct ovl_sample, load, load_table),
	OVL_F_SUB(struct ovl_sample, latency, latency_table),
	OVL_F_SUB(struct ovl_sample, effect, effect_table),
	OVL_F_ARRAY(struct ovl_sample, lost),
	OVL_F(struct ovl_sample, self_cpu_ns, UINT),
};
const struct ovl_codec_table ovl_codec_sample =
	OVL_CODEC_TABLE(struct ovl_sample, "the sample", sample_fields);

static int bad_ns(uint32_t ns, const char *what, const struct ovl_facts *f, struct ovl_err *err)
{
	if (ns < f->ns.n || ns == OVL_NS_MACHINE)
		return 0;
	return ovl_err_set(err, OVL_EXIT_INPUT, -EINVAL, "%s names namespace %" PRIu32 " of %zu",
			   what, ns, f->ns.n);
}

static int check_evidence(const struct ovl_sample *s, const struct ovl_facts *f,
			  struct ovl_err *err)
{
	int rc = 0;

	ovl_vec_each(reading, &s->readings)
		rc = rc ? rc : bad_ns(reading->ns, "a reading", f, err);
	ovl_vec_each(flow, &s->flows)
		rc = rc ? rc : bad_ns(flow->ns, "a flow", f, err);
	ovl_vec_each(attempt, &s->attempts)
		rc = rc ? rc : bad_ns(attempt->ns, "an attempt to connect", f, err);
	return rc;
}

int ovl_codec_sample_check(const struct ovl_sample *s, const struct ovl_facts *f,
			   struct ovl_err *err)
{
	int rc;

	if (s->end_ts_ns < s->start_ts_ns || s->end_ts_ns - s->start_ts_ns > INTERVAL_MAX_NS)
		return ovl_err_set(err, OVL_EXIT_INPUT, -EINVAL,
				   "the sample's time runs from %" PRIu64 " to %" PRIu64 " ns",
				   s->start_ts_ns, s->end_ts_ns);
	ovl_vec_each(link, &s->links) {
		if (link->link >= f->links.n)
			return ovl_err_set(err, OVL_EXIT_INPUT, -EINVAL,
					   "a link's counters name link %" PRIu32 " of %zu",
					   link->link, f->links.n);
	}
	ovl_vec_each(counter, &s->counters) {
		rc = bad_ns(counter->ns, "a counter", f, err);
		if (rc)
			return rc;
	}
	rc = ovl_codec_packets_check(&s->packets, f, err);
	if (rc)
		return rc;
	ovl_vec_each(func, &s->funcs) {
		rc = bad_ns(func->ns, "a function's calls", f, err);
		if (rc)
			return rc;
	}
	ovl_vec_each(drop, &s->drops) {
		rc = bad_ns(drop->ns, "a drop", f, err);
		if (rc)
			return rc;
	}
	return check_evidence(s, f, err);
}
