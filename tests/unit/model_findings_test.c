/*
 * Every rule on a built sample of its fault: it is named first, and no other problem is claimed but
 * those that are true there as well. As every fault is tried against all rules, each rule is shown
 * to be silent on its neighbours; on the healthy scene all are.
 */
#include <math.h>

#include "model/diag.h"

#include "findings_silent.h"
#include "tap.h"

#define NONE -1

/* `also`: what is true there as well. */
static const struct {
	const char *name;
	void (*make)(struct scene *s);
	int rule, also;
	enum ovl_level level;
} cases[] = {
#define CASE(make, RULE, level) \
	{ \
#make, make, OVL_RULE_##RULE, NONE, OVL_LEVEL_##level \
	}
#define SILENT(make) \
	{ \
#make, make, NONE, NONE, OVL_LEVEL_INFO \
	}
#define CASE_ALSO(make, RULE, ALSO, level) \
	{ \
#make, make, OVL_RULE_##RULE, OVL_RULE_##ALSO, OVL_LEVEL_##level \
	}
	{"healthy", healthy, NONE, NONE, OVL_LEVEL_INFO},
	{"benign", benign, NONE, NONE, OVL_LEVEL_INFO},
	SILENT(host_firewall),
	SILENT(other_port),
	SILENT(strays),
	SILENT(late_fins),
	SILENT(martians_elsewhere),
	SILENT(input_at_bridge),
	SILENT(benign_of_a_rule),
	SILENT(nd_at_rest),
	SILENT(dead_peer),
	SILENT(dead_peer_of_few),
	SILENT(dead_process),
	SILENT(stalled_once),
	SILENT(cloud_gauge),
	SILENT(jumbo_pods),
	SILENT(others_wait),
	SILENT(idle_filter),
	SILENT(reading_left_out),
	{"reordered", reordered, OVL_RULE_LOSS_UNLOCATED, NONE, OVL_LEVEL_INFO},
	CASE(service, SERVICE_PORT_UNTRANSLATED, CRITICAL),
	CASE(port_filtered, SERVICE_PORT_UNTRANSLATED, WARNING),
	CASE(fdb, FDB_OR_NEIGHBOUR_MISSING, CRITICAL),
	CASE(mac, VTEP_MAC_MISMATCH, CRITICAL),
	CASE(port_drift, TUNNEL_PORT_OR_VNI_MISMATCH, CRITICAL),
	CASE(vni_drift, TUNNEL_PORT_OR_VNI_MISMATCH, CRITICAL),
	CASE(ttl, OUTER_TTL_TOO_SMALL, CRITICAL),
	CASE(forward, FORWARD_REFUSED, CRITICAL),
	CASE(no_forwarding, FORWARD_REFUSED, CRITICAL),
	CASE(device_forwarding, FORWARD_REFUSED, CRITICAL),
	CASE(rp_filter, RP_FILTER, CRITICAL),
	CASE(table_full, CONNTRACK_FULL, CRITICAL),
	CASE(table_moment, CONNTRACK_FULL, WARNING),
	CASE(insert_failed, SNAT_INSERT_FAILED, CRITICAL),
	CASE(insert_raced, SNAT_INSERT_FAILED, WARNING),
	CASE(invalid, CONNTRACK_INVALID, CRITICAL),
	CASE(blocked_here, TUNNEL_PORT_BLOCKED, CRITICAL),
	CASE(blocked_further, TUNNEL_PORT_BLOCKED, CRITICAL),
	CASE(blocked_answers, TUNNEL_PORT_BLOCKED, CRITICAL),
	CASE(blocked_there, TUNNEL_PORT_BLOCKED, CRITICAL),
	CASE(port_there, TUNNEL_PORT_OR_VNI_MISMATCH, CRITICAL),
	CASE(stale, FDB_OR_NEIGHBOUR_MISSING, CRITICAL),
	CASE(legacy_forward, FORWARD_REFUSED, CRITICAL),
	CASE(cgroup_program, BPF_DROP, WARNING),
	CASE_ALSO(shaper_and_loss, EGRESS_SHAPER, UNDERLAY_LOSS, WARNING),
	CASE(eaten, FABRIC_EATS_TUNNELLED_TCP, CRITICAL),
	CASE(blackhole, MTU_BLACKHOLE, CRITICAL),
	CASE(blackhole_later, MTU_BLACKHOLE, CRITICAL),
	CASE(checksum, OUTER_CHECKSUM_BAD, WARNING),
	CASE(fragments, OUTER_FRAGMENTATION, WARNING),
	CASE(xdp, BPF_DROP, WARNING),
	CASE(quota, CPU_QUOTA, WARNING),
	CASE(agent_quota, CPU_QUOTA, INFO),
	CASE(shaper, EGRESS_SHAPER, WARNING),
	CASE(backlog, BACKLOG_OVERFLOW, WARNING),
	CASE(tun, USERSPACE_TUNNEL, WARNING),
	CASE_ALSO(tun_queue, USERSPACE_TUNNEL, TUN_QUEUE_FULL, WARNING),
	CASE_ALSO(rcvbuf, USERSPACE_TUNNEL, TUNNEL_DAEMON_RCVBUF, WARNING),
	CASE(policer_here, POLICER, WARNING),
	CASE(policer_there, POLICER, WARNING),
	CASE(loss, UNDERLAY_LOSS, WARNING),
	CASE(proxy, USERLAND_PROXY, WARNING),
	CASE(nested, NESTED_TUNNEL, WARNING),
	CASE(wrong_nic, WRONG_UNDERLAY_NIC, WARNING),
	CASE(clamped, MSS_CLAMPED, WARNING),
	CASE(jumbo, MTU_TOO_SMALL, WARNING),
	CASE(no_sg, SCATTER_GATHER_OFF, WARNING),
	CASE(tx_off, TX_OFFLOADS_OFF, WARNING),
	CASE(no_tunnel_segmentation, NO_TUNNEL_SEGMENTATION_OFFLOAD, WARNING),
	CASE(gro, GRO_OFF, WARNING),
	CASE(many_rules, NETFILTER_RULE_SCALE, WARNING),
	CASE(bridge_rules, BRIDGE_NETFILTER, WARNING),
	CASE(program, BPF_ON_PATH, WARNING),
	CASE(one_core, SOFTIRQ_SINGLE_CORE, WARNING),
	CASE(entropy, NO_SOURCE_PORT_ENTROPY, INFO),
	CASE(window, TCP_BUFFER_BELOW_BDP, WARNING),
	CASE(send_buffer, TCP_BUFFER_BELOW_BDP, WARNING),
	CASE(reader, SLOW_READER, INFO),
	CASE(idler, SENDER_APPLICATION_LIMITED, INFO),
	CASE(accepting, ACCEPT_QUEUE_OVERFLOW, WARNING),
	CASE(unknown_drop, QUEUE_DROPS, WARNING),
	CASE(host_dead, STALL, CRITICAL),
};

static struct ovl_model model;

static void build(struct scene *s)
{
	struct ovl_model_state *state = ovl_model_new();
	struct ovl_sample before = {.end_ts_ns = s->before_ns};

	if (state && s->before_ns && ovl_model_add(state, &s->facts, &before))
		ok(0, "a sample before");
	s->sample.start_ts_ns += s->before_ns;
	s->sample.end_ts_ns += s->before_ns;
	if (!state || ovl_model_add(state, &s->facts, &s->sample) ||
	    ovl_model_build(state, &s->facts, &model))
		ok(0, "the model is built");
	ovl_model_free(state);
}

static bool complete(const struct ovl_finding *f)
{
	return *f->title && *f->verify && f->n_evidence > 0 && f->confidence_ratio > 0 &&
	       f->confidence_ratio <= 1 &&
	       (f->n_fix || ovl_rule_info(f->rule)->kind == OVL_RULE_GENERAL);
}

static void try_case(size_t i)
{
	const int want = cases[i].rule;
	const struct ovl_finding *first;
	char others[256] = "";
	struct scene s;

	scene_healthy(&s);
	cases[i].make(&s);
	build(&s);
	first = model.findings.n ? model.findings.v : NULL;
	is_str(first && (want != NONE || first->level > OVL_LEVEL_INFO)
		       ? ovl_rule_info(first->rule)->key
		       : "",
	       want == NONE ? "" : ovl_rule_info((enum ovl_rule)want)->key, "%s: what comes first",
	       cases[i].name);
	if (want != NONE && first)
		is_str(ovl_level_name(first->level), ovl_level_name(cases[i].level),
		       "%s: its level", cases[i].name);
	ovl_vec_each(f, &model.findings) {
		ok(complete(f), "%s: %s has evidence, a fix and a way to check it", cases[i].name,
		   ovl_rule_info(f->rule)->key);
		if (f->level > OVL_LEVEL_INFO && (int)f->rule != want &&
		    (int)f->rule != cases[i].also)
			strncat(others, ovl_rule_info(f->rule)->key,
				sizeof(others) - strlen(others) - 1);
	}
	is_str(others, "", "%s: nothing else is blamed", cases[i].name);
	scene_free(&s);
}

/* The costlier of two causes comes first, and each is kept. */
static void try_two(void)
{
	int at[2] = {-1, -1};
	struct scene s;

	scene_healthy(&s);
	no_tunnel_segmentation(&s);
	jumbo(&s);
	quota(&s);
	build(&s);
	for (size_t i = 0; i < model.findings.n; i++) {
		if (model.findings.v[i].rule == OVL_RULE_CPU_QUOTA)
			at[0] = (int)i;
		if (model.findings.v[i].rule == OVL_RULE_MTU_TOO_SMALL)
			at[1] = (int)i;
	}
	ok(at[0] == 0 && at[1] > 0, "the costlier cause first, the other after it (%d, %d)", at[0],
	   at[1]);
	ok(model.findings.v[0].gain_high_bps > model.findings.v[0].gain_low_bps &&
		   isfinite(model.findings.v[0].gain_high_bps),
	   "what it is worth is an interval");
	scene_free(&s);
}

/* Without the evidence of one source a rule is less sure, or silent; it never guesses. */
static void try_missing(void)
{
	struct scene s;

	scene_healthy(&s);
	blocked_here(&s);
	ovl_vec_clear(&s.sample.readings);
	build(&s);
	ok(model.findings.n && model.findings.v[0].rule == OVL_RULE_TUNNEL_PORT_BLOCKED &&
		   model.findings.v[0].confidence_ratio < 0.9,
	   "drops alone, without the rule: less sure");
	scene_free(&s);
	scene_healthy(&s);
	many_rules(&s);
	ovl_vec_clear(&s.sample.hits);
	s.facts.sample_hz = 0;
	build(&s);
	ovl_vec_each(f, &model.findings)
		ok(f->rule != OVL_RULE_NETFILTER_RULE_SCALE, "rules without CPU time: silent");
	scene_free(&s);
}

static const struct ovl_finding *found(enum ovl_rule rule)
{
	ovl_vec_each(f, &model.findings)
		if (f->rule == rule)
			return f;
	return NULL;
}

/* Of several programs none is called the culprit, unless it hangs where packets are dropped. */
static void try_programs(void)
{
	const struct ovl_finding *f;
	struct scene s;

	scene_healthy(&s);
	program(&s);
	scene_reading(&s, NODE, "bpf", "eth0 tc ingress", "id", 43, 0);
	build(&s);
	f = found(OVL_RULE_BPF_ON_PATH);
	ok(f && !strstr(f->title, "id 4") && strstr(f->title, "bpf_prog_1234_monitor"),
	   "one of two programs is named by what takes time: %s", f ? f->title : "-");
	scene_free(&s);
	scene_healthy(&s);
	scene_reading(&s, NODE, "bpf", "vethp1 tc ingress", "id", 42, 0);
	scene_reading(&s, NODE, "bpf", "eth0 tc ingress", "id", 43, 0);
	scene_drop(&s, "TC_INGRESS", "__netif_receive_skb_core", NODE, "eth0", 300, false);
	build(&s);
	f = found(OVL_RULE_BPF_DROP);
	ok(f && strstr(f->title, "id 43"), "the one at the device that drops: %s",
	   f ? f->title : "-");
	scene_free(&s);
	scene_healthy(&s);
	scene_reading(&s, NODE, "bpf", "eth0 tc ingress", "id", 43, 0);
	scene_reading(&s, NODE, "bpf", "eth0 xdp", "id", 44, 0);
	scene_drop(&s, "TC_INGRESS", "__netif_receive_skb_core", NODE, "eth0", 300, false);
	build(&s);
	f = found(OVL_RULE_BPF_DROP);
	ok(f && !strstr(f->title, "id 4") && !strstr(f->fix[0], "del"),
	   "of two at that device none: %s", f ? f->title : "-");
	scene_free(&s);
}

/* What is not known is no number. */
static void try_unknown(void)
{
	const struct ovl_finding *f;
	struct scene s;

	scene_healthy(&s);
	legacy_forward(&s);
	build(&s);
	f = found(OVL_RULE_FORWARD_REFUSED);
	for (uint32_t i = 0; f && i < f->n_evidence; i++)
		ok(strcmp(f->evidence[i].key, "dropped_by_rules") != 0,
		   "no list of rules, no count of what they dropped: %s", f->evidence[i].key);
	scene_free(&s);
	scene_healthy(&s);
	table_moment(&s);
	build(&s);
	f = found(OVL_RULE_CONNTRACK_FULL);
	ok(f && !strstr(f->title, "is full"), "a table with room is not called full: %s",
	   f ? f->title : "-");
	scene_free(&s);
}

/* Whoever has data in flight all the time has it 100 % of it; and rr is asked to wait. */
static void try_idler(void)
{
	const struct ovl_finding *f;
	struct scene s;

	scene_healthy(&s);
	idler(&s);
	scene_flow(&s)->busy_us = 2000000;
	build(&s);
	f = found(OVL_RULE_SENDER_APPLICATION_LIMITED);
	ok(f && strstr(f->title, "in flight 100 %"), "a share is at most all: %s",
	   f ? f->title : "-");
	for (uint32_t i = 0; f && i < f->n_evidence; i++)
		ok(f->evidence[i].value <= 1, "its evidence, too: %s", f->evidence[i].key);
	s.facts.load.valid = true;
	snprintf(s.facts.load.kind, sizeof(s.facts.load.kind), "rr");
	build(&s);
	ok(!found(OVL_RULE_SENDER_APPLICATION_LIMITED), "round trips of our own are no finding");
	scene_free(&s);
}

int main(void)
{
	bool tried[OVL_RULE_COUNT] = {false};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		try_case(i);
		if (cases[i].rule != NONE)
			tried[cases[i].rule] = true;
		if (cases[i].also != NONE)
			tried[cases[i].also] = true;
	}
	try_two();
	try_missing();
	try_programs();
	try_unknown();
	try_idler();
	for (int i = 0; i < OVL_RULE_COUNT; i++)
		ok(tried[i] || i == OVL_RULE_LATENCY_WAIT || i == OVL_RULE_CPU_STAGE,
		   "%s has a case", ovl_rule_info((enum ovl_rule)i)->key);
	ovl_model_fini(&model);
	return tap_done();
}
