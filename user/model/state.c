#include "model/state.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define NS_MAX (UINT64_C(86400) * 1000000000) /* longest believable interval: a day */

enum ovl_phase ovl_state_main(const struct ovl_facts *facts)
{
	return facts->load.valid ? OVL_PHASE_OVERLAY : OVL_PHASE_OBSERVE;
}

const struct ovl_cpu_state *ovl_state_cpu(const struct ovl_model_state *state, int cpu)
{
	if (cpu < 0 || cpu >= OVL_CPU_MAX || !state->cpu_index[cpu])
		return NULL;
	return &state->cpus.v[state->cpu_index[cpu] - 1];
}

struct ovl_model_state *ovl_model_new(void)
{
	struct ovl_model_state *state = calloc(1, sizeof(*state));

	if (!state)
		return NULL;
	state->traffic.last_rx_bps = NAN;
	state->traffic.last_tx_bps = NAN;
	state->traffic.last_through_bps = NAN;
	state->last = (struct ovl_last_acc){NAN, NAN, NAN, NAN};
	return state;
}

void ovl_model_free(struct ovl_model_state *state)
{
	if (!state)
		return;
	ovl_vec_fini(&state->cpus);
	ovl_vec_fini(&state->devices);
	ovl_vec_fini(&state->copies.funcs);
	ovl_merge_fini(&state->merge);
	ovl_gather_fini(&state->gather);
	ovl_packets_acc_fini(&state->packets);
	free(state);
}

/* *cpu is NULL for a number that cannot be (counted); -ENOMEM without memory */
static int cpu_get(struct ovl_model_state *state, uint32_t cpu, struct ovl_cpu_state **out)
{
	struct ovl_cpu_state *made;

	*out = NULL;
	if (cpu >= OVL_CPU_MAX) {
		state->damaged++;
		return 0;
	}
	if (!state->cpu_index[cpu]) {
		made = ovl_vec_push(&state->cpus);
		if (!made)
			return -ENOMEM;
		made->cpu = cpu;
		state->cpu_index[cpu] = (uint16_t)state->cpus.n;
	}
	*out = &state->cpus.v[state->cpu_index[cpu] - 1];
	return 0;
}

/* What one sample is added to. */
struct adding {
	struct ovl_model_state *state;
	const struct ovl_facts *facts;
	const struct ovl_sample *sample;
	uint64_t length_ns;
	enum ovl_phase phase;
	bool rows, main;       /* rows are counted; this is the phase that cpu.stages describes */
	struct ovl_pair *pair; /* NULL: not a slice */
};

/* The pair's lane of this CPU: sender's or receiver's, NULL for other CPUs. */
static struct ovl_lane_acc *pair_lane(const struct adding *a, uint32_t cpu)
{
	if (!a->pair)
		return NULL;
	if (a->facts->load.cpu_sender >= 0 && cpu == (uint32_t)a->facts->load.cpu_sender)
		return &a->pair->lane[a->phase][0];
	if (a->facts->load.cpu_receiver >= 0 && cpu == (uint32_t)a->facts->load.cpu_receiver)
		return &a->pair->lane[a->phase][1];
	return NULL;
}

static int add_clocks(const struct adding *a)
{
	ovl_vec_each(clock, &a->sample->cpus) {
		struct ovl_lane_acc one = {0}, *lane;
		struct ovl_cpu_state *cpu;
		int rc;

		if (clock->wall_ns > NS_MAX || clock->idle_ns > NS_MAX ||
		    clock->steal_ns > NS_MAX) {
			a->state->damaged++;
			continue;
		}
		rc = cpu_get(a->state, clock->cpu, &cpu);
		if (rc)
			return rc;
		if (!cpu)
			continue;
		ovl_acc_clock(&one, clock);
		cpu->busy_ns += ovl_acc_busy_ns(&one);
		if (!a->rows)
			continue;
		ovl_acc_clock(&cpu->phase[a->phase].lane, clock);
		if (a->main)
			ovl_acc_clock(&cpu->last.lane, clock);
		lane = pair_lane(a, clock->cpu);
		if (lane)
			ovl_acc_clock(lane, clock);
	}
	return 0;
}

/*
 * Stage of a sample in the cost table. With load its costs are per KiB of the load's payload: other
 * people's tasks must not be among the datapath's stages there.
 */
static int cost_stage(const struct ovl_facts *facts, const struct ovl_hit *hit)
{
	bool task = hit->ctx == OVL_CTX_TASK || hit->ctx == OVL_CTX_USER;
	bool other = hit->task_class == OVL_TASK_OTHER || hit->task_class == OVL_TASK_SELF;

	if (!facts->load.valid || !task || !other)
		return hit->stage;
	return hit->task_class == OVL_TASK_SELF ? OVL_STAGE_OVLTRACE : OVL_STAGE_OTHER_TASKS;
}

static void main_hit(const struct adding *a, struct ovl_cpu_state *cpu, const struct ovl_hit *hit,
		     int row)
{
	struct ovl_slice *slice = &a->state->slice[(a->state->slices - 1) % OVL_PAIRS_KEPT];
	int stage = cost_stage(a->facts, hit);

	ovl_acc_cpu_hit(&cpu->last, hit, row, stage);
	if (hit->ctx == OVL_CTX_WAKE) {
		slice->wake[stage] += hit->count;
		a->state->wake_work[stage][hit->work] += hit->count;
	} else {
		slice->n[stage] += hit->count;
		a->state->work[stage][hit->work] += hit->count;
	}
}

static int add_hits(const struct adding *a)
{
	if (!a->rows)
		return 0;
	if (a->main) {
		struct ovl_slice *slice = &a->state->slice[a->state->slices++ % OVL_PAIRS_KEPT];

		memset(slice, 0, sizeof(*slice));
	}
	ovl_vec_each(hit, &a->sample->hits) {
		struct ovl_lane_acc *lane = pair_lane(a, hit->cpu);
		struct ovl_cpu_state *cpu;
		int row = ovl_row_of(hit), rc;

		if (row < 0 || hit->work >= OVL_WORK_COUNT) {
			a->state->damaged++;
			continue;
		}
		rc = cpu_get(a->state, hit->cpu, &cpu);
		if (rc)
			return rc;
		if (!cpu)
			continue;
		ovl_acc_cpu_hit(&cpu->phase[a->phase], hit, row, cost_stage(a->facts, hit));
		if (lane)
			ovl_acc_lane_hit(lane, hit, row);
		if (a->main)
			main_hit(a, cpu, hit, row);
	}
	return 0;
}

static int add_symbols(const struct adding *a)
{
	if (!a->rows || !a->main)
		return 0;
	ovl_vec_each(hit, &a->sample->symbols) {
		int rc = 0;

		if (hit->stage >= OVL_STAGE_COUNT)
			a->state->damaged++;
		else
			rc = ovl_merge_symbol(&a->state->merge, hit);
		if (rc)
			return rc;
	}
	return 0;
}

static int add_counters(const struct adding *a)
{
	ovl_vec_each(c, &a->sample->counters) {
		int rc = ovl_merge_counter(&a->state->merge, c);

		if (rc)
			return rc;
		if (a->pair && c->delta > 0 && !strcmp(c->group, "softnet") &&
		    !strcmp(c->name, "dropped"))
			a->state->softnet_drops += (uint64_t)c->delta;
	}
	return 0;
}

/* *real: drops of this sample that lost something on the path; elsewhere they are only listed */
static int add_drops(const struct adding *a, uint64_t *real)
{
	struct ovl_model_state *st = a->state;

	*real = 0;
	ovl_vec_each(d, &a->sample->drops) {
		int rc;

		if (d->pkts > OVL_COUNT_MAX || d->segs > OVL_COUNT_MAX ||
		    d->stage >= OVL_STAGE_COUNT) {
			st->damaged++;
			continue;
		}
		rc = ovl_merge_drop(&st->merge, d);
		if (rc)
			return rc;
		st->drops_seen = true;
		if (!ovl_facts_on_path(a->facts, d->ns))
			continue;
		*real += d->benign ? 0 : d->pkts;
		if (a->pair && !strcmp(d->reason, "CPU_BACKLOG"))
			st->backlog_drops += d->pkts;
	}
	st->drop_pkts += *real;
	if (a->pair && a->phase == OVL_PHASE_OVERLAY)
		st->drop_pkts_overlay += *real;
	return 0;
}

static int add_self(const struct adding *a)
{
	ovl_vec_each(self, &a->sample->self) {
		struct ovl_cpu_state *cpu;
		int rc = cpu_get(a->state, self->cpu, &cpu);

		if (rc)
			return rc;
		if (!cpu)
			continue;
		cpu->self_seen = true;
		for (int i = 0; i < OVL_PROG_COUNT; i++)
			cpu->runs[i] += self->runs[i];
		for (int i = 0; i < OVL_PACKET_PROGS; i++)
			cpu->packet_runs[i] += self->packet_runs[i];
		cpu->func_runs += self->func_runs;
		/* UINT64_MAX: unknown; anything else above a day is damage and as unknown */
		if (self->user_ns > NS_MAX)
			cpu->user_unknown = true;
		else
			cpu->user_ns += self->user_ns;
	}
	for (int i = 0; i < OVL_LOST_COUNT; i++)
		a->state->lost[i] += a->sample->lost[i];
	return 0;
}

static bool load_sane(const struct ovl_load_delta *d)
{
	return d->wall_ns && d->wall_ns <= NS_MAX && d->bytes < OVL_COUNT_MAX &&
	       d->busy_us < NS_MAX && d->rwnd_us < NS_MAX && d->sndbuf_us < NS_MAX &&
	       d->sender_cpu_ns < OVL_COUNT_MAX && d->receiver_cpu_ns < OVL_COUNT_MAX &&
	       d->rtt_n <= sizeof(d->rtt_us) / sizeof(*d->rtt_us);
}

static void add_switches(struct ovl_switches_acc *acc, bool known, uint64_t voluntary,
			 uint64_t involuntary)
{
	if (!known || voluntary >= OVL_COUNT_MAX || involuntary >= OVL_COUNT_MAX) {
		acc->unknown = true;
		return;
	}
	acc->voluntary += voluntary;
	acc->involuntary += involuntary;
}

static void add_load(const struct adding *a)
{
	const struct ovl_load_delta *d = &a->sample->load;
	struct ovl_path_acc *path = &a->state->path[a->phase];

	const struct ovl_conn_acc conn = {
		.wall_ns = d->wall_ns,
		.bytes = d->bytes,
		.retransmits = d->retransmits < OVL_COUNT_MAX ? d->retransmits : 0,
		.busy_us = d->busy_us,
		.rwnd_us = d->rwnd_us,
		.sndbuf_us = d->sndbuf_us,
	};

	ovl_acc_conn_add(&path->conn, &conn);
	ovl_acc_conn_add(&a->pair->conn[a->phase], &conn);
	path->sender_cpu_ns += d->sender_cpu_ns;
	path->receiver_cpu_ns += d->receiver_cpu_ns;
	if (!d->receiver_cpu_ns && d->bytes)
		path->receiver_unknown = true;
	add_switches(&path->sender_switches, d->sender_switches, d->sender_voluntary,
		     d->sender_involuntary);
	add_switches(&path->receiver_switches, d->receiver_switches, d->receiver_voluntary,
		     d->receiver_involuntary);
	path->cwnd_segs = d->cwnd_segs;
	path->mss_bytes = d->mss_bytes;
	for (uint32_t i = 0; i < d->rtt_n; i++)
		ovl_stats_hist_add(&path->rtt_us, d->rtt_us[i]);
}

static void add_latency(struct ovl_model_state *state, const struct ovl_latency_delta *d)
{
	struct ovl_path_acc *path = &state->path[d->path % OVL_PHASES];

	if (!d->valid)
		return;
	if ((d->path != OVL_PHASE_UNDERLAY && d->path != OVL_PHASE_OVERLAY) ||
	    !ovl_hist_sane(&d->rtt)) {
		state->damaged++;
		return;
	}
	ovl_hist_merge(&path->latency[d->loaded], &d->rtt);
	path->message_bytes[d->loaded] = d->message_bytes;
}

/* The pair that a slice belongs to; an older one in its place is forgotten. */
static struct ovl_pair *pair_get(struct ovl_model_state *state, uint32_t number,
				 enum ovl_phase phase)
{
	struct ovl_pair *pair = &state->pair[number % OVL_PAIRS_KEPT];
	bool was;

	if (pair->number != number) {
		memset(pair, 0, sizeof(*pair));
		pair->number = number;
	}
	was = pair->has[OVL_PHASE_UNDERLAY] && pair->has[OVL_PHASE_OVERLAY];
	pair->has[phase] = true;
	if (!was && pair->has[OVL_PHASE_UNDERLAY] && pair->has[OVL_PHASE_OVERLAY])
		state->pairs++;
	return pair;
}

static double mean_rtt_ns(const struct ovl_sample *s)
{
	const struct ovl_load_delta *d = &s->load;
	double sum = 0;

	if (s->latency.valid && s->latency.rtt.count)
		return (double)s->latency.rtt.sum_ns / (double)s->latency.rtt.count;

	for (uint32_t i = 0; i < d->rtt_n; i++)
		sum += d->rtt_us[i];
	return d->rtt_n ? sum * 1e3 / d->rtt_n : NAN;
}

/* Of a slice; round trips have none. */
static double goodput_bps(const struct adding *a)
{
	const struct ovl_load_delta *d = &a->sample->load;

	return a->pair && !ovl_facts_rr(a->facts) ? (double)d->bytes * 8e9 / (double)d->wall_ns
						  : NAN;
}

static void add_point(const struct adding *a, uint64_t real_drops)
{
	struct ovl_model_state *st = a->state;
	struct ovl_point *p = &st->history[st->points % OVL_HISTORY];

	if (!a->rows || !a->main || (a->facts->load.valid && !a->pair))
		return;
	st->points++;
	*p = (struct ovl_point){.bps = NAN, .drops_ps = NAN, .rtt_ns = NAN};
	if (a->pair) {
		p->bps = goodput_bps(a);
		p->rtt_ns = mean_rtt_ns(a->sample);
	} else if (st->traffic.seen) {
		p->bps = st->traffic.last_through_bps;
	}
	if (a->length_ns)
		p->drops_ps = (double)real_drops * 1e9 / (double)a->length_ns;
}

/* Median as a histogram would say: the lower one of an even number. NAN without readings. */
static double median_rtt_ns(const struct ovl_sample *s)
{
	const struct ovl_load_delta *d = &s->load;
	uint32_t v[sizeof(d->rtt_us) / sizeof(d->rtt_us[0])];
	uint64_t ns;

	if (s->latency.valid && ovl_hist_quantile(&s->latency.rtt, 0.5, &ns))
		return (double)ns;

	for (uint32_t i = 0; i < d->rtt_n; i++) {
		uint32_t at = i;

		for (; at > 0 && v[at - 1] > d->rtt_us[i]; at--)
			v[at] = v[at - 1];
		v[at] = d->rtt_us[i];
	}
	return d->rtt_n ? v[(d->rtt_n - 1) / 2] * 1e3 : NAN;
}

static void keep_last(const struct adding *a, uint64_t real_drops)
{
	const struct ovl_sample *s = a->sample;
	double per_s = a->length_ns ? 1e9 / (double)a->length_ns : NAN;
	bool retransmits = s->retransmits_valid && s->retransmits < OVL_COUNT_MAX;

	a->state->last = (struct ovl_last_acc){
		.goodput_bps = goodput_bps(a),
		.drops_ps = (double)real_drops * per_s,
		.retransmits_ps = retransmits ? (double)s->retransmits * per_s : NAN,
		.rtt_ns = a->pair ? median_rtt_ns(s) : NAN,
	};
}

/* What this sample is: its length, its phase, and whether its rows count. */
static void classify(struct adding *a)
{
	const struct ovl_sample *s = a->sample;
	bool path = s->phase == OVL_PHASE_UNDERLAY || s->phase == OVL_PHASE_OVERLAY;

	if (s->end_ts_ns > s->start_ts_ns)
		a->length_ns = s->end_ts_ns - s->start_ts_ns;
	if (a->length_ns > NS_MAX) {
		a->length_ns = 0;
		a->state->damaged++;
	}
	a->phase = s->phase < OVL_PHASE_COUNT ? (enum ovl_phase)s->phase : OVL_PHASE_SETTLE;
	a->state->damaged += s->phase >= OVL_PHASE_COUNT;
	a->rows = a->phase < OVL_PHASES;
	if (path && (!s->load.valid || !load_sane(&s->load))) {
		/* its time cannot be set against bytes */
		a->state->damaged += s->load.valid;
		a->rows = false;
	}
	a->main = a->rows && a->phase == ovl_state_main(a->facts);
	if (path && a->rows)
		a->pair = pair_get(a->state, s->pair, a->phase);
}

int ovl_model_add(struct ovl_model_state *state, const struct ovl_facts *facts,
		  const struct ovl_sample *sample)
{
	struct adding a = {.state = state, .facts = facts, .sample = sample};
	uint64_t real_drops;
	int rc;

	classify(&a);
	state->duration_ns += a.length_ns;
	if (a.length_ns || !(sample->latency.valid || sample->effect.n_quads)) /* else alone */
		state->intervals++;
	if (a.phase == ovl_state_main(facts))
		state->main_ns += a.length_ns;
	if (a.main)
		ovl_vec_each(cpu, &state->cpus)
			memset(&cpu->last, 0, sizeof(cpu->last));
	rc = add_clocks(&a);
	rc = rc ? rc : add_hits(&a);
	rc = rc ? rc : add_symbols(&a);
	rc = rc ? rc : add_counters(&a);
	rc = rc ? rc : add_drops(&a, &real_drops);
	rc = rc ? rc : add_self(&a);
	rc = rc ? rc : ovl_gather_add(&state->gather, sample, a.length_ns);
	rc = rc ? rc
		: ovl_traffic_add(state, facts, sample,
				  a.phase == ovl_state_main(facts) ? a.length_ns : 0);
	rc = rc ? rc
		: ovl_packets_add(&state->packets, facts, sample, a.main, a.length_ns,
				  &state->damaged);
	if (!rc && a.main)
		rc = ovl_copies_add(&state->copies, facts, sample);
	if (rc)
		return rc;
	if (sample->retransmits_valid && sample->retransmits < OVL_COUNT_MAX) {
		state->retransmits += sample->retransmits;
		state->retransmits_ns += a.length_ns;
	}
	if (a.pair)
		add_load(&a);
	add_latency(state, &sample->latency);
	ovl_effect_keep(&state->effect, &sample->effect);
	add_point(&a, real_drops);
	if (a.main)
		keep_last(&a, real_drops);
	return 0;
}
