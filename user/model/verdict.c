#include "model/verdict.h"

#include <math.h>
#include <string.h>

#include "base/str.h"
#include "model/evidence.h"
#include "model/lane.h"
#include "model/ledger.h"
#include "model/node.h"
#include "model/text.h"

/* however noisy the idle share, more idle than this is not full */
#define IDLE_STDERR_MAX 0.10
#define STEAL_SAID	0.05
/* a lane this much of which is other people's says so before all else */
#define OTHER_FIRST 0.20
/* without a round trip time: retransmits per segment that may matter */
#define LOSS_PER_SEG 1e-5
/* less than this of the load's bytes on the interface: it went another way */
#define PASSED_BY 0.05
/* loss that allows more than this many times the goodput is not the limit */
#define LOSS_ROOM 2

/* One CPU that may limit the path. */
struct candidate {
	const struct ovl_cpu_state *state;
	struct ovl_lane_shares s;
	double full_idle; /* no more idle than this: full */
	bool sender, receiver;
};

/* The two fullest CPUs of the path, and the connection. */
struct lanes {
	const struct ovl_model_state *state;
	const struct ovl_facts *facts;
	struct candidate cpu[2];
	int n_cpus; /* valid entries of cpu[], fullest first */
	struct ovl_lane_states conn;
	const struct ovl_conn_acc *o;
};

static double full_idle(const struct ovl_model_state *state, const struct candidate *c)
{
	double se;

	if (!c->sender && !c->receiver)
		return OVL_FULL_IDLE;
	se = ovl_lane_idle_stderr(state, c->sender ? 0 : 1);
	if (!isfinite(se))
		return OVL_FULL_IDLE;
	return fmin(IDLE_STDERR_MAX, fmax(OVL_FULL_IDLE, 2 * se));
}

/* Did this CPU work for the path? The pinned ones always may; others by their samples. */
static bool on_path(const struct candidate *c)
{
	return c->sender || c->receiver || c->s.path_task + c->s.path_softirq >= c->s.busy / 2;
}

static void find_cpus(struct lanes *l, enum ovl_phase phase)
{
	ovl_vec_each(cpu, &l->state->cpus) {
		struct candidate c = {
			.state = cpu,
			.sender = (int)cpu->cpu == l->facts->load.cpu_sender,
			.receiver = (int)cpu->cpu == l->facts->load.cpu_receiver,
		};

		if (!cpu->phase[phase].lane.wall_ns)
			continue;
		ovl_lane_cpu_shares(&cpu->phase[phase], l->facts->sample_hz, &c.s);
		if (!on_path(&c))
			continue;
		c.full_idle = full_idle(l->state, &c);
		if (!l->n_cpus || c.s.idle < l->cpu[0].s.idle) {
			l->cpu[1] = l->cpu[0];
			l->cpu[0] = c;
		} else if (l->n_cpus == 1 || c.s.idle < l->cpu[1].s.idle) {
			l->cpu[1] = c;
		} else {
			continue;
		}
		l->n_cpus = l->n_cpus < 2 ? l->n_cpus + 1 : 2;
	}
}

static bool is_full(const struct candidate *c)
{
	return c->s.idle <= c->full_idle;
}

static void add_runner_up(struct ovl_choice *choice, const struct candidate *c)
{
	if (choice->n_runners_up < 4)
		ovl_text_set(choice->runners_up[choice->n_runners_up++], "cpu%u", c->state->cpu);
}

/* Whose work is it? By the CPU's role; where both roles meet, by the larger side of its work. */
static bool is_receiver(const struct lanes *l, const struct candidate *c, bool softirq)
{
	bool rx_softirq = c->s.softirq_rx > c->s.softirq / 2;
	bool both_here = l->facts->load.cpu_sender >= 0 && l->facts->load.cpu_receiver >= 0;

	if (!both_here)
		return l->facts->load.cpu_receiver >= 0;
	if (softirq)
		return c->sender && !c->receiver ? rx_softirq : c->receiver || rx_softirq;
	if (c->sender != c->receiver)
		return c->receiver;
	return c->s.rx > c->s.tx;
}

static enum ovl_limit cpu_limit(const struct lanes *l, const struct candidate *c, bool *receiver)
{
	double task = c->s.task;
	bool softirq = c->s.softirq > task;

	*receiver = is_receiver(l, c, softirq);
	if (!isfinite(task))
		return OVL_LIMIT_UNKNOWN; /* full, but no samples say of what */
	if (c->s.steal > STEAL_SAID && c->s.steal >= fmax(task, c->s.softirq))
		return OVL_LIMIT_STEAL;
	if (softirq)
		return *receiver ? OVL_LIMIT_RECEIVER_SOFTIRQ_CPU : OVL_LIMIT_SENDER_SOFTIRQ_CPU;
	if (c->s.daemon > fmax(c->s.tx + c->s.rx, c->s.proxy))
		return OVL_LIMIT_TUN_DAEMON_CPU;
	if (c->s.proxy > c->s.tx + c->s.rx)
		return OVL_LIMIT_PROXY_CPU;
	return *receiver ? OVL_LIMIT_RECEIVER_TASK_CPU : OVL_LIMIT_SENDER_TASK_CPU;
}

static double ledger_error(const struct lanes *l, const struct candidate *c)
{
	const struct ovl_lane_acc *a = &c->state->phase[OVL_PHASE_OVERLAY].lane;

	return ovl_ledger_error(ovl_acc_samples(a), ovl_acc_wakes(a), l->facts->sample_hz,
				ovl_acc_busy_ns(a), a->wall_ns);
}

static void cpu_evidence(const struct lanes *l, const struct candidate *c, struct ovl_verdict *v)
{
	ovl_evidence_add(v, "idle_ratio", c->s.idle, "ratio");
	ovl_evidence_add(v, "softirq_ratio", c->s.softirq, "ratio");
	ovl_evidence_add(v, "task_ratio", c->s.task, "ratio");
	if (c->s.other > 0.01)
		ovl_evidence_add(v, "other_tasks_ratio", c->s.other, "ratio");
	if (c->s.steal > 0.005)
		ovl_evidence_add(v, "steal_ratio", c->s.steal, "ratio");
	if (!l->conn.valid)
		return;
	ovl_evidence_add(v, "rwnd_ratio", l->conn.rwnd, "ratio");
	ovl_evidence_add(v, "sndbuf_ratio", l->conn.sndbuf, "ratio");
	ovl_evidence_add(v, "net_ratio", l->conn.net, "ratio");
}

static void cpu_sentence(const struct lanes *l, const struct candidate *c, struct ovl_verdict *v)
{
	const char *also = l->n_cpus > 1 && l->cpu[1].s.idle - c->s.idle <= OVL_SECOND
				   ? "; another CPU is nearly as full"
				   : "";
	bool crowded = c->s.other > OTHER_FIRST && l->facts->load.valid;
	struct ovl_buf text = {0};

	if (crowded)
		ovl_buf_printf(&text, "other work takes %.0f %% of CPU %u, so this says little: ",
			       c->s.other * 100, c->state->cpu);
	if (v->limit == OVL_LIMIT_UNKNOWN)
		ovl_buf_printf(&text,
			       "CPU %u is full (%.0f %% busy), but no stack samples say with what",
			       c->state->cpu, c->s.busy * 100);
	else
		ovl_buf_printf(&text,
			       "CPU %u (%s) is full: %.0f %% busy, %.0f %% in softirq and "
			       "%.0f %% in the load's tasks",
			       c->state->cpu, v->side, c->s.busy * 100, c->s.softirq * 100,
			       c->s.task * 100);
	if (c->s.steal > STEAL_SAID)
		ovl_buf_printf(&text, "; the hypervisor takes %.0f %% of it", c->s.steal * 100);
	if (c->s.other > STEAL_SAID && !crowded)
		ovl_buf_printf(&text, "; tasks that do not belong to the load take %.0f %%",
			       c->s.other * 100);
	ovl_buf_puts(&text, also);
	ovl_str_copy(v->sentence, sizeof(v->sentence), ovl_buf_str(&text));
	ovl_buf_fini(&text);
}

static void side_set(struct ovl_verdict *v, const char *side)
{
	ovl_str_copy(v->side, sizeof(v->side), side);
}

static void say_cpu(const struct lanes *l, struct ovl_verdict *v, struct ovl_choice *choice)
{
	const struct candidate *c = &l->cpu[0];
	double ahead = l->n_cpus > 1 ? l->cpu[1].s.idle - c->s.idle : 1;
	bool receiver;

	v->limit = cpu_limit(l, c, &receiver);
	side_set(v, receiver ? "receiver" : "sender");
	choice->drawn = true;
	choice->saturated = true;
	if (l->n_cpus > 1 && ahead <= OVL_SECOND)
		add_runner_up(choice, &l->cpu[1]);
	v->confidence_ratio = v->limit == OVL_LIMIT_UNKNOWN
				      ? 0
				      : ovl_evidence_confidence(1 - c->s.idle / c->full_idle, ahead,
								ledger_error(l, c));
	cpu_sentence(l, c, v);
	cpu_evidence(l, c, v);
}

/*
 * Are packets lost so often that the window feels it? By Mathis et al. (1997), a stream that loses
 * the share p of its segments carries at most 1.22 * MSS / (RTT * sqrt(p)); loss is blamed only
 * when that is near what was carried. A handful of spurious retransmits at a high rate is none.
 */
static bool loses(const struct lanes *l)
{
	const struct ovl_path_acc *path = &l->state->path[OVL_PHASE_OVERLAY];
	double segs = path->mss_bytes ? (double)l->o->bytes / path->mss_bytes : 0;
	double lost = fmax((double)l->o->retransmits, (double)l->state->drop_pkts_overlay);
	double rtt_s, allowed_bps, carried_bps;

	if (lost <= 0 || segs <= 0)
		return lost > 0;
	if (!path->rtt_us.n || !l->o->wall_ns)
		return lost >= segs * LOSS_PER_SEG;
	rtt_s = (double)ovl_stats_hist_quantile(&path->rtt_us, 0.5) / 1e6;
	carried_bps = (double)l->o->bytes * 8e9 / (double)l->o->wall_ns;
	allowed_bps = l->facts->load.streams * 1.22 * path->mss_bytes * 8 /
		      (fmax(rtt_s, 1e-6) * sqrt(fmin(1, lost / segs)));
	return allowed_bps <= LOSS_ROOM * carried_bps;
}

struct conn_cause {
	enum ovl_limit limit;
	const char *side, *words;
	double share;
};

static struct conn_cause conn_cause(const struct lanes *l)
{
	const struct conn_cause causes[] = {
		{OVL_LIMIT_WINDOW, "receiver", "for room in the receive window", l->conn.rwnd},
		{OVL_LIMIT_WINDOW, "sender", "for room in the send buffer", l->conn.sndbuf},
		{OVL_LIMIT_APPLICATION, "sender", "for the sending application", l->conn.app},
		{loses(l) ? OVL_LIMIT_LOSS : OVL_LIMIT_WINDOW, "both",
		 loses(l) ? "for acknowledgements, with packets lost on the way"
			  : "for acknowledgements (congestion window and round trip)",
		 l->conn.net},
	};
	struct conn_cause best = causes[0];

	for (size_t i = 1; i < sizeof(causes) / sizeof(causes[0]); i++)
		if (causes[i].share > best.share)
			best = causes[i];
	return best;
}

static void conn_evidence(const struct lanes *l, struct ovl_verdict *v)
{
	const struct ovl_path_acc *path = &l->state->path[OVL_PHASE_OVERLAY];

	ovl_evidence_add(v, "rwnd_ratio", l->conn.rwnd, "ratio");
	ovl_evidence_add(v, "sndbuf_ratio", l->conn.sndbuf, "ratio");
	ovl_evidence_add(v, "app_ratio", l->conn.app, "ratio");
	ovl_evidence_add(v, "net_ratio", l->conn.net, "ratio");
	ovl_evidence_add(v, "retransmits", (double)l->o->retransmits, "segs");
	if (path->cwnd_segs)
		ovl_evidence_add(v, "cwnd", path->cwnd_segs, "segs");
	if (path->rtt_us.n)
		ovl_evidence_add(v, "rtt_p50", ovl_stats_hist_quantile(&path->rtt_us, 0.5) * 1e3,
				 "ns");
	if (l->n_cpus)
		ovl_evidence_add(v, "idle_ratio", l->cpu[0].s.idle, "ratio");
}

static void say_connection(const struct lanes *l, const struct conn_cause *cause,
			   struct ovl_verdict *v, struct ovl_choice *choice)
{
	const struct candidate *c = l->n_cpus ? &l->cpu[0] : NULL;
	double above = c ? c->s.idle - c->full_idle : 1;

	v->limit = cause->limit;
	side_set(v, cause->side);
	v->confidence_ratio = ovl_evidence_confidence(
		(cause->share - OVL_CONN_SHARE) / (1 - OVL_CONN_SHARE), above, NAN);
	/* a nearly full CPU still explains the pace better than the socket's states do */
	choice->connection = !c || c->s.idle > OVL_NEARLY;
	choice->drawn = true;
	if (choice->connection && c && above <= OVL_SECOND)
		add_runner_up(choice, c);
	if (!choice->connection)
		ovl_str_copy(choice->runners_up[choice->n_runners_up++],
			     sizeof(choice->runners_up[0]), "connection");
	if (choice->connection || !c)
		ovl_text_set(v->sentence, "the connection waits %.0f %% of the time %s",
			     cause->share * 100, cause->words);
	else
		ovl_text_set(v->sentence,
			     "the connection waits %.0f %% of the time %s; CPU %u is %.0f %% busy, "
			     "nearly full",
			     cause->share * 100, cause->words, c->state->cpu, c->s.busy * 100);
	conn_evidence(l, v);
}

static void say_unknown(const struct lanes *l, struct ovl_verdict *v, struct ovl_choice *choice)
{
	v->limit = OVL_LIMIT_UNKNOWN;
	side_set(v, "both");
	v->confidence_ratio = 0;
	choice->drawn = l->n_cpus > 0;
	if (!l->n_cpus) {
		ovl_str_copy(v->sentence, sizeof(v->sentence),
			     "neither a CPU's clock nor the connection's state could be read");
		ovl_str_copy(choice->why_not, sizeof(choice->why_not), v->sentence);
		return;
	}
	ovl_text_set(v->sentence,
		     "no CPU is full (the fullest, CPU %u, is %.0f %% busy) and no state of the "
		     "connection takes half of the time",
		     l->cpu[0].state->cpu, l->cpu[0].s.busy * 100);
	for (int i = 0; i < l->n_cpus; i++) {
		char key[48];

		ovl_text_set(key, "cpu%u_idle_ratio", l->cpu[i].state->cpu);
		ovl_evidence_add(v, key, l->cpu[i].s.idle, "ratio");
	}
	if (!l->conn.valid)
		return;
	ovl_evidence_add(v, "rwnd_ratio", l->conn.rwnd, "ratio");
	ovl_evidence_add(v, "sndbuf_ratio", l->conn.sndbuf, "ratio");
	ovl_evidence_add(v, "app_ratio", l->conn.app, "ratio");
	ovl_evidence_add(v, "net_ratio", l->conn.net, "ratio");
}

/* Nothing arrived: the sender tried, or there was nothing to send. */
static void say_dead(struct lanes *l, struct ovl_verdict *v, struct ovl_choice *choice)
{
	const struct ovl_conn_acc *u = &l->state->path[OVL_PHASE_UNDERLAY].conn;
	/* a sender elsewhere has been told to send */
	bool tried = l->o->busy_us || l->o->retransmits || u->bytes || !ovl_facts_sends(l->facts);

	v->limit = tried ? OVL_LIMIT_BLOCKED : OVL_LIMIT_NO_TRAFFIC;
	side_set(v, "both");
	v->confidence_ratio = 1;
	if (tried && u->bytes)
		ovl_text_set(v->sentence,
			     "nothing arrived over the overlay although the underlay "
			     "carries %.3g Gbit/s",
			     (double)u->bytes * 8 / (double)u->wall_ns);
	else
		ovl_str_copy(
			v->sentence, sizeof(v->sentence),
			tried ? "nothing arrived over the overlay although the sender had data "
				"to send"
			      : "the load sent nothing over the overlay");
	ovl_evidence_add(v, "overlay_bytes", 0, "bytes");
	ovl_evidence_add(v, "underlay_bytes", (double)u->bytes, "bytes");
	ovl_evidence_add(v, "retransmits", (double)l->o->retransmits, "segs");
	ovl_evidence_add(v, "drops", (double)l->state->drop_pkts_overlay, "pkts");
	/* the lane that carried most of the underlay's work shows what has become idle */
	l->n_cpus = 0;
	find_cpus(l, u->wall_ns ? OVL_PHASE_UNDERLAY : OVL_PHASE_OVERLAY);
	choice->drawn = l->n_cpus > 0;
	if (!choice->drawn)
		ovl_str_copy(choice->why_not, sizeof(choice->why_not), v->sentence);
}

/* Did (nearly) nothing of the load pass the interface looked at? A twin's never does. */
static bool passed_by(const struct lanes *l)
{
	const struct ovl_traffic_acc *t = &l->state->traffic;

	return strcmp(l->facts->load.peer_kind, "twin") != 0 && t->seen &&
	       (double)(t->rx_bytes + t->tx_bytes) < PASSED_BY * (double)l->o->bytes;
}

static void say_passed_by(struct lanes *l, struct ovl_verdict *v, struct ovl_choice *choice)
{
	const struct ovl_traffic_acc *t = &l->state->traffic;
	const struct ovl_link *iface = ovl_facts_iface(l->facts);

	v->limit = OVL_LIMIT_UNKNOWN;
	side_set(v, "both");
	v->confidence_ratio = 1;
	ovl_text_set(v->sentence,
		     "the load did not cross %s: %.3g MB of its %.3g MB were seen there; choose "
		     "other ends, or the device on their way",
		     iface ? iface->name : "the interface",
		     (double)(t->rx_bytes + t->tx_bytes) / 1e6, (double)l->o->bytes / 1e6);
	ovl_evidence_add(v, "overlay_bytes", (double)l->o->bytes, "bytes");
	ovl_evidence_add(v, "iface_bytes", (double)(t->rx_bytes + t->tx_bytes), "bytes");
	ovl_str_copy(choice->why_not, sizeof(choice->why_not), v->sentence);
}

static void say_load(struct lanes *l, struct ovl_verdict *v, struct ovl_choice *choice)
{
	struct conn_cause cause;

	if (!l->o->wall_ns) {
		v->limit = OVL_LIMIT_UNKNOWN;
		side_set(v, "both");
		ovl_str_copy(v->sentence, sizeof(v->sentence),
			     "no turn of the overlay was measured yet");
		ovl_str_copy(choice->why_not, sizeof(choice->why_not), v->sentence);
		return;
	}
	find_cpus(l, OVL_PHASE_OVERLAY);
	ovl_lane_conn_shares(l->o, &l->conn);
	cause = conn_cause(l);
	if (!l->o->bytes)
		say_dead(l, v, choice);
	else if (passed_by(l))
		say_passed_by(l, v, choice);
	else if (l->n_cpus && is_full(&l->cpu[0]))
		say_cpu(l, v, choice);
	else if (l->conn.valid && cause.share >= OVL_CONN_SHARE)
		say_connection(l, &cause, v, choice);
	else
		say_unknown(l, v, choice);
	choice->cpu = l->n_cpus ? (int)l->cpu[0].state->cpu : -1;
}

void ovl_verdict_build(const struct ovl_model_state *state, const struct ovl_facts *facts,
		       struct ovl_verdict *v, struct ovl_choice *choice)
{
	struct lanes l = {
		.state = state, .facts = facts, .o = &state->path[OVL_PHASE_OVERLAY].conn};

	memset(v, 0, sizeof(*v));
	memset(choice, 0, sizeof(*choice));
	choice->cpu = -1;
	if (ovl_facts_rr(facts)) {
		v->confidence_ratio = NAN;
		ovl_str_copy(
			v->sentence, sizeof(v->sentence),
			"Round trips, one at a time: they tell the latency of a path, not what "
			"limits its throughput (--load iperf-like does).");
		ovl_str_copy(choice->why_not, sizeof(choice->why_not),
			     "round trips, one at a time, have no throughput to lose: --load "
			     "iperf-like has");
		v->limit = OVL_LIMIT_UNKNOWN;
		return;
	}
	if (facts->load.valid) {
		say_load(&l, v, choice);
		return;
	}
	ovl_str_copy(choice->why_not, sizeof(choice->why_not),
		     "no load of ours ran (--load), and without the goodput of both paths nothing "
		     "can be divided");
	ovl_node_verdict(state, facts, v, &choice->cpu);
}
