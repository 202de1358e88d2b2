#include "view/json_findings.h"

#include <math.h>

static void put_gain(ovl_json o, const struct ovl_finding *f)
{
	ovl_json gain;

	if (!isfinite(f->gain_low_bps)) {
		ovl_json_null(o, "gain_bps");
		return;
	}
	gain = ovl_json_object(o, "gain_bps");
	ovl_json_bps(gain, "low", f->gain_low_bps);
	ovl_json_bps(gain, "high", f->gain_high_bps);
	ovl_json_text(gain, "basis", "model");
}

void ovl_json_finding(ovl_json o, const struct ovl_facts *f, const struct ovl_finding *finding)
{
	ovl_json part;

	ovl_json_text(o, "rule", ovl_rule_info(finding->rule)->key);
	ovl_json_text(o, "level", ovl_level_name(finding->level));
	ovl_json_number(o, "confidence_ratio", finding->confidence_ratio);
	ovl_json_text(o, "title", finding->title);
	part = ovl_json_object(o, "where");
	ovl_json_text_or_null(part, "iface", finding->iface);
	ovl_json_netns(part, f, finding->ns);
	part = ovl_json_array(o, "evidence");
	for (uint32_t i = 0; i < finding->n_evidence && i < OVL_FINDING_EVIDENCE; i++) {
		const struct ovl_finding_evidence *e = &finding->evidence[i];
		ovl_json one = ovl_json_element(part);

		ovl_json_text(one, "key", e->key);
		ovl_json_number(one, "value", e->value);
		ovl_json_text(one, "unit", e->unit);
		ovl_json_text(one, "source", e->source);
	}
	put_gain(o, finding);
	part = ovl_json_array(o, "fix");
	for (uint32_t i = 0; i < finding->n_fix && i < OVL_FINDING_FIXES; i++)
		json_object_array_add(part, json_object_new_string(finding->fix[i]));
	ovl_json_text_or_null(o, "risk", finding->risk);
	ovl_json_text_or_null(o, "verify", finding->verify);
}

void ovl_json_findings(ovl_json o, const struct ovl_facts *f, const struct ovl_model *m)
{
	ovl_json list;

	if (!ovl_findings_looked(m)) {
		ovl_json_null(o, "findings");
		return;
	}
	list = ovl_json_array(o, "findings");
	ovl_vec_each(finding, &m->findings)
		ovl_json_finding(ovl_json_element(list), f, finding);
}

static double ratio(uint64_t us, uint64_t wall_ns)
{
	return wall_ns ? fmin(1, (double)us * 1e3 / (double)wall_ns) : NAN;
}

void ovl_json_flows(ovl_json o, const struct ovl_facts *f, const struct ovl_model *m)
{
	ovl_json list;

	if (!m->flows_valid) {
		ovl_json_null(o, "flows");
		return;
	}
	list = ovl_json_array(o, "flows");
	ovl_vec_each(s, &m->flows) {
		const struct ovl_flow *flow = &s->f;
		ovl_json one = ovl_json_element(list), limited;
		double bytes = (double)(flow->acked_bytes + flow->received_bytes);

		ovl_json_text(one, "src", flow->src);
		ovl_json_text(one, "dst", flow->dst);
		ovl_json_text(one, "proto", "tcp");
		ovl_json_netns(one, f, flow->ns);
		ovl_json_bps(one, "bps", s->wall_ns ? bytes * 8e9 / (double)s->wall_ns : NAN);
		ovl_json_u64(one, "sent_bytes", flow->acked_bytes);
		ovl_json_u64(one, "received_bytes", flow->received_bytes);
		ovl_json_u64(one, "retransmits", flow->retrans_segs);
		ovl_json_number(one, "rtt_ns", flow->rtt_us ? (double)flow->rtt_us * 1e3 : NAN);
		ovl_json_number(one, "min_rtt_ns",
				flow->min_rtt_us ? (double)flow->min_rtt_us * 1e3 : NAN);
		ovl_json_u64(one, "cwnd_segs", flow->cwnd_segs);
		ovl_json_u64(one, "mss_bytes", flow->mss_bytes);
		ovl_json_u64(one, "pmtu_bytes", flow->pmtu_bytes);
		ovl_json_u64(one, "window_bytes", flow->snd_wnd_bytes);
		ovl_json_u64(one, "timeouts", flow->timeouts);
		limited = ovl_json_object(one, "limited");
		ovl_json_number(limited, "busy_ratio", ratio(flow->busy_us, s->wall_ns));
		ovl_json_number(limited, "rwnd_ratio", ratio(flow->rwnd_us, s->wall_ns));
		ovl_json_number(limited, "sndbuf_ratio", ratio(flow->sndbuf_us, s->wall_ns));
		ovl_json_number(limited, "app_ratio",
				s->intervals ? (double)s->app_limited / s->intervals : NAN);
	}
}

void ovl_json_attempts(ovl_json o, const struct ovl_facts *f, const struct ovl_model *m)
{
	ovl_json list;

	if (!m->attempts_valid) {
		ovl_json_null(o, "attempts");
		return;
	}
	list = ovl_json_array(o, "attempts");
	ovl_vec_each(a, &m->attempts) {
		ovl_json one = ovl_json_element(list);

		ovl_json_text(one, "dst", a->dst);
		ovl_json_u64(one, "port", a->port);
		ovl_json_netns(one, f, a->ns);
		ovl_json_u64(one, "tried", a->tried);
		ovl_json_u64(one, "answered", a->answered);
		ovl_json_u64(one, "refused", a->refused);
		ovl_json_u64(one, "unanswered", a->unanswered);
		ovl_json_u64(one, "syn_repeated", a->repeated_segs);
	}
}

void ovl_json_readings(ovl_json o, const struct ovl_facts *f, const struct ovl_model *m)
{
	ovl_json list;

	if (!m->intervals) {
		ovl_json_null(o, "readings");
		return;
	}
	list = ovl_json_array(o, "readings");
	ovl_vec_each(r, &m->readings) {
		ovl_json one = ovl_json_element(list);

		ovl_json_text(one, "kind", r->kind);
		ovl_json_text(one, "object", r->object);
		ovl_json_text(one, "name", r->name);
		ovl_json_netns(one, f, r->ns);
		if (*r->text)
			ovl_json_text(one, "text", r->text);
		else
			ovl_json_i64(one, "value", r->value);
		ovl_json_i64(one, "delta", r->delta);
	}
}
