#include "model/model.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "model/cpu.h"
#include "model/fall.h"
#include "model/state.h"
#include "model/text.h"
#include "model/verdict.h"

const char *ovl_basis_name(enum ovl_basis basis)
{
	static const char *const names[] = {"measured", "recorded", "estimated", "arithmetic"};

	return (unsigned)basis < sizeof(names) / sizeof(names[0]) ? names[basis] : "?";
}

static const char *const limits[OVL_LIMIT_COUNT] = {
#define LIMIT(KEY, key) #key,
#include "model/limits.def"
};

const char *ovl_limit_key(enum ovl_limit limit)
{
	return (unsigned)limit < OVL_LIMIT_COUNT ? limits[limit] : "?";
}

static void build_quantiles(const struct ovl_stats_hist *us, struct ovl_quantiles *q)
{
	q->valid = us->n > 0;
	q->p50_ns = ovl_stats_hist_quantile(us, 0.50) * UINT64_C(1000);
	q->p90_ns = ovl_stats_hist_quantile(us, 0.90) * UINT64_C(1000);
	q->p99_ns = ovl_stats_hist_quantile(us, 0.99) * UINT64_C(1000);
	q->max_ns = us->max * UINT64_C(1000);
}

static double per_kib(uint64_t ns, uint64_t bytes)
{
	return bytes ? (double)ns * 1024 / (double)bytes : NAN;
}

static struct ovl_switches build_switches(const struct ovl_switches_acc *acc, uint64_t bytes)
{
	const double mib = bytes && !acc->unknown ? (double)bytes / (1 << 20) : NAN;

	return (struct ovl_switches){
		.voluntary_per_mib = (double)acc->voluntary / mib,
		.involuntary_per_mib = (double)acc->involuntary / mib,
	};
}

static void build_latency(const struct ovl_path_acc *acc, bool loaded, struct ovl_latency *l)
{
	const struct ovl_hist *h = &acc->latency[loaded];

	*l = (struct ovl_latency){.valid = h->count > 0};
	if (!l->valid)
		return;
	l->count = h->count;
	l->min_ns = h->min_ns;
	l->max_ns = h->max_ns;
	l->mean_ns = (double)h->sum_ns / (double)h->count;
	l->message_bytes = acc->message_bytes[loaded];
	ovl_hist_quantile(h, 0.50, &l->p50_ns);
	ovl_hist_quantile(h, 0.90, &l->p90_ns);
	ovl_hist_quantile(h, 0.99, &l->p99_ns);
	ovl_hist_quantile(h, 0.999, &l->p999_ns);
}

static void build_path(const struct ovl_facts *facts, const struct ovl_path_acc *acc,
		       struct ovl_load_path *p)
{
	const struct ovl_conn_acc *c = &acc->conn;
	const bool rr = ovl_facts_rr(facts);
	/* a sender that carried bytes was busy: it is its TCP that cannot be asked */
	const bool told = c->wall_ns && (c->busy_us || !c->bytes);
	double wall_us = (double)c->wall_ns / 1e3;

	p->valid = c->wall_ns > 0;
	build_latency(acc, false, &p->idle);
	build_latency(acc, true, &p->loaded);
	p->goodput_bps = p->valid && !rr ? (double)c->bytes * 8e9 / (double)c->wall_ns : NAN;
	p->transactions_ps =
		rr && p->valid ? (double)p->idle.count * 1e9 / (double)c->wall_ns : NAN;
	p->bytes = c->bytes;
	p->wall_ns = c->wall_ns;
	p->retransmits = ovl_facts_sends(facts) && !rr ? (double)c->retransmits : NAN;
	build_quantiles(&acc->rtt_us, &p->rtt);
	p->sender_ns_per_kib = acc->sender_cpu_ns ? per_kib(acc->sender_cpu_ns, c->bytes) : NAN;
	p->receiver_ns_per_kib =
		acc->receiver_unknown ? NAN : per_kib(acc->receiver_cpu_ns, c->bytes);
	p->sender_switches = build_switches(&acc->sender_switches, c->bytes);
	p->receiver_switches = build_switches(&acc->receiver_switches, c->bytes);
	p->busy_ratio = told && !rr ? fmin(1, (double)c->busy_us / wall_us) : NAN;
	p->rwnd_ratio = told && !rr ? fmin(1, (double)c->rwnd_us / wall_us) : NAN;
	p->sndbuf_ratio = told && !rr ? fmin(1, (double)c->sndbuf_us / wall_us) : NAN;
	p->cwnd_segs = acc->cwnd_segs && !rr ? acc->cwnd_segs : NAN;
	p->mss_bytes = acc->mss_bytes;
}

static void build_load(const struct ovl_model_state *state, const struct ovl_facts *facts,
		       struct ovl_load_model *l)
{
	uint64_t backlog = state->backlog_drops > state->softnet_drops ? state->backlog_drops
								       : state->softnet_drops;

	memset(l, 0, sizeof(*l));
	l->valid = facts->load.valid;
	if (!l->valid)
		return;
	build_path(facts, &state->path[OVL_PHASE_UNDERLAY], &l->underlay);
	build_path(facts, &state->path[OVL_PHASE_OVERLAY], &l->overlay);
	l->pairs = state->pairs;
	ovl_text_set(l->disturbed, "%s", facts->load.disagreement);
	if (backlog)
		ovl_text_set(
			l->disturbed,
			"%llu packets were dropped in the measured turns because a CPU's "
			"backlog was full (net.core.netdev_max_backlog): the goodputs are lower "
			"than these paths allow",
			(unsigned long long)backlog);
}

/*
 * Payload that the CPU time is set against: with load what the receiving application got over the
 * overlay, else a guess from the interface's counters.
 */
static double payload_bytes(const struct ovl_model_state *state, const struct ovl_facts *facts)
{
	uint64_t carried = state->path[OVL_PHASE_OVERLAY].conn.bytes;

	if (ovl_facts_rr(facts))
		return NAN;
	if (facts->load.valid)
		return carried ? (double)carried : NAN;
	return ovl_traffic_payload_bytes(state);
}

static int by_segs(const void *a, const void *b)
{
	const struct ovl_drop *x = a, *y = b;

	if (x->benign != y->benign)
		return x->benign ? 1 : -1;
	if (x->segs != y->segs)
		return x->segs < y->segs ? 1 : -1;
	return strcmp(x->reason, y->reason);
}

static int build_tables(const struct ovl_model_state *state, struct ovl_model *out)
{
	ovl_vec_clear(&out->drops);
	ovl_vec_clear(&out->counters);
	ovl_vec_each(d, &state->merge.drops) {
		struct ovl_drop *made = ovl_vec_push(&out->drops);

		if (!made)
			return -ENOMEM;
		*made = *d;
	}
	if (out->drops.n)
		qsort(out->drops.v, out->drops.n, sizeof(*out->drops.v), by_segs);
	ovl_vec_each(c, &state->merge.counters) {
		struct ovl_counter *made = c->delta ? ovl_vec_push(&out->counters) : NULL;

		if (!made && c->delta)
			return -ENOMEM;
		if (made)
			*made = *c;
	}
	return 0;
}

static int by_bytes(const void *a, const void *b)
{
	const struct ovl_flow_sum *x = a, *y = b;
	const uint64_t m = x->f.acked_bytes + x->f.received_bytes;
	const uint64_t n = y->f.acked_bytes + y->f.received_bytes;

	if (m != n)
		return m > n ? -1 : 1;
	return strcmp(x->f.src, y->f.src);
}

/* Copy a table; -ENOMEM without memory. */
#define copy_table(to, from) \
	do { \
		ovl_vec_clear(to); \
		ovl_vec_each(it_, from) { \
			__typeof__((to)->v) made_ = ovl_vec_push(to); \
			if (!made_) \
				return -ENOMEM; \
			*made_ = *it_; \
		} \
	} while (0)

static int build_evidence(const struct ovl_model_state *state, const struct ovl_facts *facts,
			  struct ovl_model *out)
{
	out->flows_valid = state->gather.flows_valid;
	out->attempts_valid = state->gather.attempts_valid;
	copy_table(&out->readings, &state->gather.readings);
	copy_table(&out->flows, &state->gather.flows);
	copy_table(&out->attempts, &state->gather.attempts);
	if (ovl_losses_build(facts, out))
		return -ENOMEM;
	if (out->flows.n)
		qsort(out->flows.v, out->flows.n, sizeof(*out->flows.v), by_bytes);
	return ovl_findings_build(out, facts, &out->findings);
}

/* Were drops counted at all? A drop seen proves it, else the program must have been attached. */
static bool drops_counted(const struct ovl_model_state *state, const struct ovl_facts *facts)
{
	if (state->drops_seen)
		return true;
	ovl_vec_each(m, &facts->missing)
		if (strstr(m->hook, "kfree_skb"))
			return false;
	return facts->progs_attached > 0;
}

static void build_rates(const struct ovl_model_state *state, const struct ovl_facts *facts,
			struct ovl_model *out)
{
	out->drops_ps = NAN;
	out->retransmits_ps = NAN;
	if (state->duration_ns && drops_counted(state, facts))
		out->drops_ps = (double)state->drop_pkts * 1e9 / (double)state->duration_ns;
	if (state->retransmits_ns)
		out->retransmits_ps =
			(double)state->retransmits * 1e9 / (double)state->retransmits_ns;
}

static int build_last(const struct ovl_model_state *state, const struct ovl_facts *facts,
		      struct ovl_last *last)
{
	last->goodput_bps = state->last.goodput_bps;
	last->drops_ps = drops_counted(state, facts) ? state->last.drops_ps : NAN;
	last->retransmits_ps = state->last.retransmits_ps;
	last->rtt_ns = state->last.rtt_ns;
	return ovl_cpu_last(state, facts, last);
}

static void build_history(const struct ovl_model_state *state, bool drops, struct ovl_model *out)
{
	uint64_t n = state->points < OVL_HISTORY ? state->points : OVL_HISTORY;

	out->n_history = (uint32_t)n;
	for (uint64_t i = 0; i < n; i++) {
		out->history[i] = state->history[(state->points - n + i) % OVL_HISTORY];
		if (!drops)
			out->history[i].drops_ps = NAN;
	}
}

int ovl_model_build(const struct ovl_model_state *state, const struct ovl_facts *facts,
		    struct ovl_model *out)
{
	struct ovl_choice choice;
	int rc;

	out->duration_ns = state->duration_ns;
	out->intervals = state->intervals;
	out->damaged_records = state->damaged;
	out->table_overflow = state->merge.overflow + state->gather.overflow;
	ovl_traffic_build(state, &out->traffic);
	build_load(state, facts, &out->load);
	build_rates(state, facts, out);
	build_history(state, drops_counted(state, facts), out);
	ovl_verdict_build(state, facts, &out->verdict, &choice);
	ovl_cpu_self(state, facts, choice.cpu, &out->self);
	out->self.effect = state->effect;
	rc = ovl_cpu_build(state, facts, payload_bytes(state, facts), &out->cpu);
	rc = rc ? rc : ovl_fall_build(state, facts, &choice, &out->waterfall);
	rc = rc ? rc : ovl_copies_build(state, facts, payload_bytes(state, facts), &out->copies);
	rc = rc ? rc : build_last(state, facts, &out->last);
	rc = rc ? rc : ovl_traffic_devices(state, facts, out);
	rc = rc ? rc : ovl_packets_build(&state->packets, facts, &out->packets);
	rc = rc ? rc : build_tables(state, out);
	return rc ? rc : build_evidence(state, facts, out);
}

void ovl_model_fini(struct ovl_model *m)
{
	ovl_vec_fini(&m->cpu.stages);
	ovl_vec_fini(&m->cpu.per_cpu);
	ovl_vec_fini(&m->waterfall.terms);
	ovl_copies_fini(&m->copies);
	ovl_vec_fini(&m->last.per_cpu);
	ovl_vec_fini(&m->devices);
	ovl_packets_model_fini(&m->packets);
	ovl_vec_fini(&m->drops);
	ovl_vec_fini(&m->counters);
	ovl_vec_fini(&m->losses);
	ovl_vec_fini(&m->readings);
	ovl_vec_fini(&m->flows);
	ovl_vec_fini(&m->attempts);
	ovl_vec_fini(&m->findings);
	memset(m, 0, sizeof(*m));
}
