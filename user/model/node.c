#include "model/node.h"

#include <math.h>
#include <string.h>

#include "model/evidence.h"
#include "model/lane.h"
#include "model/text.h"

#define PATH_SHARE 0.25 /* of a CPU's wall time in packet stages: it works for the path */

/* The fullest CPU, and how far the next one is behind. */
struct node {
	const struct ovl_cpu_state *cpu;
	struct ovl_lane_shares s;
	double second_idle; /* of the next fullest; NAN: there is none */
};

static void find_fullest(const struct ovl_model_state *state, uint32_t hz, struct node *n)
{
	n->second_idle = NAN;
	ovl_vec_each(cpu, &state->cpus) {
		struct ovl_lane_shares s;

		if (!cpu->phase[OVL_PHASE_OBSERVE].lane.wall_ns)
			continue;
		ovl_lane_cpu_shares(&cpu->phase[OVL_PHASE_OBSERVE], hz, &s);
		if (!n->cpu || s.idle < n->s.idle) {
			n->second_idle = n->cpu ? n->s.idle : NAN;
			n->cpu = cpu;
			n->s = s;
		} else {
			n->second_idle = fmin(n->second_idle, s.idle);
		}
	}
}

static void evidence(const struct ovl_model_state *state, const struct node *n,
		     struct ovl_verdict *v)
{
	if (n->cpu) {
		ovl_evidence_add(v, "cpu", n->cpu->cpu, "");
		ovl_evidence_add(v, "idle_ratio", n->s.idle, "ratio");
		ovl_evidence_add(v, "path_softirq_ratio", n->s.path_softirq, "ratio");
		ovl_evidence_add(v, "path_task_ratio", n->s.path_task, "ratio");
		if (n->s.steal > 0.005)
			ovl_evidence_add(v, "steal_ratio", n->s.steal, "ratio");
	}
	if (state->drops_seen)
		ovl_evidence_add(v, "drops", (double)state->drop_pkts, "pkts");
	if (state->retransmits_ns)
		ovl_evidence_add(v, "retransmits", (double)state->retransmits, "segs");
}

static void say_full(const struct ovl_model_state *state, const struct node *n,
		     struct ovl_verdict *v)
{
	int counted = ovl_traffic_receives(state);
	bool receives = counted < 0 ? n->s.softirq_rx > n->s.softirq / 2 : counted > 0;
	bool softirq = n->s.path_softirq > n->s.path_task;

	if (softirq)
		v->limit = receives ? OVL_LIMIT_RECEIVER_SOFTIRQ_CPU : OVL_LIMIT_SENDER_SOFTIRQ_CPU;
	else
		v->limit = receives ? OVL_LIMIT_RECEIVER_TASK_CPU : OVL_LIMIT_SENDER_TASK_CPU;
	if (n->s.steal >= n->s.path_softirq + n->s.path_task)
		v->limit = OVL_LIMIT_STEAL;
	v->confidence_ratio = ovl_evidence_confidence(
		1 - n->s.idle / OVL_FULL_IDLE,
		isfinite(n->second_idle) ? n->second_idle - n->s.idle : 1, NAN);
	ovl_text_set(
		v->sentence,
		"CPU %u of this node is full: %.0f %% busy, %.0f %% of its time in packet work "
		"(%.0f %% in softirq); the other node was not seen",
		n->cpu->cpu, n->s.busy * 100, (n->s.path_softirq + n->s.path_task) * 100,
		n->s.path_softirq * 100);
}

static void say_idle(const struct ovl_facts *facts, struct ovl_verdict *v)
{
	const struct ovl_link *iface = ovl_facts_iface(facts);

	v->limit = OVL_LIMIT_NO_TRAFFIC;
	v->confidence_ratio = 1;
	if (iface && !strcmp(iface->kind, "bridge") && !ovl_traffic_by_ports(facts))
		ovl_text_set(
			v->sentence,
			"no packet of this host itself crossed %s while it was watched, and no "
			"port of it is known",
			iface->name);
	else
		ovl_text_set(v->sentence, "no packet crossed %s while it was watched",
			     iface ? iface->name : "the interface");
}

void ovl_node_verdict(const struct ovl_model_state *state, const struct ovl_facts *facts,
		      struct ovl_verdict *v, int *cpu)
{
	struct node n = {0};

	find_fullest(state, facts->sample_hz, &n);
	*cpu = n.cpu ? (int)n.cpu->cpu : -1;
	v->limit = OVL_LIMIT_UNKNOWN;
	ovl_str_copy(v->side, sizeof(v->side), "node");
	evidence(state, &n, v);
	if (!state->intervals) {
		ovl_str_copy(v->sentence, sizeof(v->sentence), "nothing was measured yet");
	} else if (state->traffic.seen && !state->traffic.rx_pkts && !state->traffic.tx_pkts) {
		say_idle(facts, v);
	} else if (n.cpu && n.s.idle <= OVL_FULL_IDLE &&
		   n.s.path_softirq + n.s.path_task + n.s.steal >= PATH_SHARE) {
		say_full(state, &n, v);
	} else if (n.cpu && n.s.idle <= OVL_FULL_IDLE && !isfinite(n.s.path_task)) {
		ovl_text_set(v->sentence,
			     "CPU %u of this node is full, but no stack samples say with what",
			     n.cpu->cpu);
	} else if (n.cpu && n.s.idle <= OVL_FULL_IDLE) {
		ovl_text_set(
			v->sentence,
			"CPU %u of this node is full, but packets take only %.0f %% of its time",
			n.cpu->cpu, (n.s.path_softirq + n.s.path_task) * 100);
	} else if (n.cpu) {
		ovl_text_set(v->sentence,
			     "nothing on this node is full (CPU %u is the busiest, %.0f %%); what "
			     "limits may be the other node, the network or the application",
			     n.cpu->cpu, n.s.busy * 100);
	} else {
		ovl_str_copy(v->sentence, sizeof(v->sentence), "no CPU clock could be read");
	}
}
