#include "model/cpu.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "model/ledger.h"
#include "model/wake.h"

/* The busy clock counts in 10 ms: a share of less busy time than this says nothing. */
#define SELF_BUSY_MIN_NS 100000000

/* Sums over all CPUs. */
struct totals {
	uint64_t ns[OVL_STAGE_COUNT], n[OVL_STAGE_COUNT];
	uint64_t wake[OVL_STAGE_COUNT],
		taken[OVL_STAGE_COUNT]; /* wake samples: all, the busy ones */
	uint64_t samples;
};

static uint64_t sum_of(const uint64_t *v, size_t n)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += v[i];
	return sum;
}

static int top_stage(const uint64_t *n)
{
	int top = -1;

	for (int i = 0; i < OVL_STAGE_COUNT; i++)
		if (n[i] && (top < 0 || n[i] > n[top]))
			top = i;
	return top;
}

static int by_cpu(const void *a, const void *b)
{
	const struct ovl_cpu_load *x = a, *y = b;

	return x->cpu < y->cpu ? -1 : x->cpu > y->cpu;
}

/* A CPU's samples by stage, wake samples settled. Returns their sum. */
static uint64_t settled(const struct ovl_cpu_acc *a, uint32_t hz, uint64_t n[OVL_STAGE_COUNT],
			uint64_t taken[OVL_STAGE_COUNT])
{
	ovl_wake_settle(&a->lane, hz, taken);
	for (int i = 0; i < OVL_STAGE_COUNT; i++)
		n[i] = a->n_stage[i] + taken[i];
	return sum_of(n, OVL_STAGE_COUNT);
}

/* Share a CPU's busy time out to its stages. */
static void add_stages(const struct ovl_cpu_acc *a, uint32_t hz, struct totals *total)
{
	uint64_t ns[OVL_STAGE_COUNT], n[OVL_STAGE_COUNT], taken[OVL_STAGE_COUNT];
	uint64_t busy = ovl_acc_busy_ns(&a->lane);

	total->samples += settled(a, hz, n, taken);
	/* busy time that no sample hit has no stage */
	if (ovl_ledger_share(busy, n, OVL_STAGE_COUNT, ns) != busy)
		ns[OVL_STAGE_UNCLASSIFIED] = busy;
	for (int i = 0; i < OVL_STAGE_COUNT; i++) {
		total->ns[i] += ns[i];
		total->n[i] += n[i];
		total->wake[i] += a->lane.wake[i];
		total->taken[i] += taken[i];
	}
}

static void fill_cpu(uint32_t number, const struct ovl_cpu_acc *a, uint32_t hz,
		     struct ovl_cpu_load *load)
{
	uint64_t n[OVL_STAGE_COUNT], taken[OVL_STAGE_COUNT], busy = ovl_acc_busy_ns(&a->lane);
	uint64_t all = settled(a, hz, n, taken), wall_ns = a->lane.wall_ns;
	uint64_t idle = a->lane.idle_ns < wall_ns ? a->lane.idle_ns : wall_ns;
	double wall = (double)wall_ns;

	load->cpu = number;
	load->busy_ratio = wall > 0 ? (double)busy / wall : NAN;
	load->steal_ratio = wall > 0 ? (double)(wall_ns - idle - busy) / wall : NAN;
	load->softirq_ratio = all ? load->busy_ratio * (double)a->n_softirq / (double)all : NAN;
	load->top_stage = top_stage(n);
}

static int add_cpu(const struct ovl_cpu_state *cpu, const struct ovl_cpu_acc *a, uint32_t hz,
		   struct ovl_cpu_model *out)
{
	uint64_t busy = ovl_acc_busy_ns(&a->lane);
	uint64_t idle = a->lane.idle_ns < a->lane.wall_ns ? a->lane.idle_ns : a->lane.wall_ns;
	struct ovl_cpu_load *load = ovl_vec_push(&out->per_cpu);

	if (!load)
		return -ENOMEM;
	out->wall_ns += a->lane.wall_ns;
	out->busy_ns += busy;
	out->idle_ns += idle;
	out->steal_ns += a->lane.wall_ns - idle - busy;
	fill_cpu(cpu->cpu, a, hz, load);
	return 0;
}

int ovl_cpu_last(const struct ovl_model_state *state, const struct ovl_facts *facts,
		 struct ovl_last *last)
{
	ovl_vec_clear(&last->per_cpu);
	ovl_vec_each(cpu, &state->cpus) {
		struct ovl_cpu_load *load;

		if (!cpu->last.lane.wall_ns)
			continue;
		load = ovl_vec_push(&last->per_cpu);
		if (!load)
			return -ENOMEM;
		fill_cpu(cpu->cpu, &cpu->last, facts->sample_hz, load);
	}
	if (last->per_cpu.n)
		qsort(last->per_cpu.v, last->per_cpu.n, sizeof(*last->per_cpu.v), by_cpu);
	return 0;
}

/* A slice's samples in one stage; of its wake samples as large a part as of all slices'. */
static double slice_n(const struct ovl_slice *slice, const struct totals *t, int stage)
{
	double n = (double)slice->n[stage], wake = (double)slice->wake[stage];

	return t->wake[stage] ? n + wake * (double)t->taken[stage] / (double)t->wake[stage] : n;
}

static double slice_all(const struct ovl_slice *slice, const struct totals *t)
{
	double sum = 0;

	for (int i = 0; i < OVL_STAGE_COUNT; i++)
		sum += slice_n(slice, t, i);
	return sum;
}

/* One standard error of a stage's share of the samples: never below the binomial one. */
static double share_error(const struct ovl_model_state *state, int stage, double share,
			  const struct totals *t)
{
	double x[OVL_PAIRS_KEPT], n = 0, all = 0, floor = ovl_stats_binomial(share, t->samples);
	double jackknife;
	size_t kept = state->slices < OVL_PAIRS_KEPT ? state->slices : OVL_PAIRS_KEPT, m = 0;

	for (size_t i = 0; i < kept; i++) {
		n += slice_n(&state->slice[i], t, stage);
		all += slice_all(&state->slice[i], t);
	}
	for (size_t i = 0; i < kept; i++) {
		double rest = all - slice_all(&state->slice[i], t);

		if (rest > 0)
			x[m++] = (n - slice_n(&state->slice[i], t, stage)) / rest;
	}
	jackknife = ovl_stats_jackknife(x, m);
	if (!isfinite(jackknife))
		return floor;
	return fmax(floor, jackknife * sqrt((double)m / fmax((double)m, (double)state->slices)));
}

/* Keep the largest symbols of a stage, largest first. */
static void add_symbol(struct ovl_stage_time *t, const struct ovl_merged_symbol *sym, uint64_t ns)
{
	uint32_t at = t->n_symbols;

	while (at > 0 && t->symbols[at - 1].ns < ns)
		at--;
	if (at == OVL_TOP_SYMBOLS)
		return;
	if (t->n_symbols < OVL_TOP_SYMBOLS)
		t->n_symbols++;
	memmove(&t->symbols[at + 1], &t->symbols[at],
		(t->n_symbols - 1 - at) * sizeof(t->symbols[0]));
	t->symbols[at].ns = ns;
	ovl_str_copy(t->symbols[at].name, sizeof(t->symbols[at].name), sym->name);
}

static void fill_symbols(const struct ovl_model_state *state, struct ovl_cpu_model *out)
{
	struct ovl_stage_time *of[OVL_STAGE_COUNT] = {0};

	ovl_vec_each(t, &out->stages)
		of[t->stage] = t;
	ovl_vec_each(sym, &state->merge.symbols) {
		struct ovl_stage_time *t = of[sym->stage];
		double part = t && t->samples ? (double)sym->count / (double)t->samples : 0;

		if (part > 0)
			add_symbol(t, sym, (uint64_t)(fmin(1, part) * (double)t->ns));
	}
}

static int by_ns(const void *a, const void *b)
{
	const struct ovl_stage_time *x = a, *y = b;

	if (x->ns != y->ns)
		return x->ns < y->ns ? 1 : -1;
	if (x->underlay_ns_per_kib != y->underlay_ns_per_kib && !isnan(x->underlay_ns_per_kib))
		return x->underlay_ns_per_kib < y->underlay_ns_per_kib ? 1 : -1;
	return x->stage < y->stage ? -1 : x->stage > y->stage;
}

/* What the stages are set against: the main phase, and the underlay beside it. */
struct sums {
	struct totals main, underlay;
	double main_bytes, underlay_bytes; /* NAN: unknown, not measured */
};

static double per_kib(uint64_t ns, double bytes)
{
	return bytes > 0 ? (double)ns * 1024 / bytes : NAN;
}

static void add_work(const struct ovl_model_state *state, const struct totals *sums,
		     struct ovl_stage_time *t)
{
	uint64_t n[OVL_WORK_COUNT];

	ovl_ledger_share(sums->taken[t->stage], state->wake_work[t->stage], OVL_WORK_COUNT, n);
	for (int i = 0; i < OVL_WORK_COUNT; i++)
		n[i] += state->work[t->stage][i];
	if (ovl_ledger_share(t->ns, n, OVL_WORK_COUNT, t->work_ns) != t->ns)
		t->work_ns[OVL_WORK_OTHER] = t->ns;
}

static int add_stage(const struct ovl_model_state *state, const struct sums *sums, int stage,
		     struct ovl_cpu_model *out)
{
	struct ovl_stage_time *t = ovl_vec_push(&out->stages);

	if (!t)
		return -ENOMEM;
	t->stage = (uint8_t)stage;
	t->ns = sums->main.ns[stage];
	t->samples = sums->main.n[stage];
	t->share_ratio = out->busy_ns ? (double)t->ns / (double)out->busy_ns : NAN;
	t->stderr_ratio = share_error(state, stage, t->share_ratio, &sums->main);
	t->ns_per_kib = per_kib(t->ns, sums->main_bytes);
	t->underlay_ns_per_kib = per_kib(sums->underlay.ns[stage], sums->underlay_bytes);
	add_work(state, &sums->main, t);
	return 0;
}

static int add_all_stages(const struct ovl_model_state *state, const struct sums *sums,
			  struct ovl_cpu_model *out)
{
	for (int i = 0; i < OVL_STAGE_COUNT; i++) {
		int rc = 0;

		if (sums->main.ns[i] || sums->main.n[i] || sums->underlay.ns[i] ||
		    sums->underlay.n[i])
			rc = add_stage(state, sums, i, out);
		if (rc)
			return rc;
	}
	if (out->stages.n)
		qsort(out->stages.v, out->stages.n, sizeof(*out->stages.v), by_ns);
	return 0;
}

/*
 * The underlay's slices, where it was measured: its bytes arrived and the CPUs' clocks were read.
 */
static void add_underlay(const struct ovl_model_state *state, const struct ovl_facts *facts,
			 struct sums *sums)
{
	uint64_t bytes = state->path[OVL_PHASE_UNDERLAY].conn.bytes;
	bool clock = false;

	sums->underlay_bytes = NAN;
	if (!facts->load.valid || !facts->load.has_underlay || !bytes)
		return;
	ovl_vec_each(cpu, &state->cpus) {
		if (!cpu->phase[OVL_PHASE_UNDERLAY].lane.wall_ns)
			continue;
		add_stages(&cpu->phase[OVL_PHASE_UNDERLAY], facts->sample_hz, &sums->underlay);
		clock = true;
	}
	if (clock)
		sums->underlay_bytes = (double)bytes;
}

/* Shares of busy time that no function names: no stage at all, or only a context. */
static void fill_vague(const struct totals *t, struct ovl_cpu_model *out)
{
	uint64_t context = t->ns[OVL_STAGE_SYSCALL] + t->ns[OVL_STAGE_SOFTIRQ_OTHER] +
			   t->ns[OVL_STAGE_IRQ_OTHER] + t->ns[OVL_STAGE_KERNEL_OTHER];

	if (!out->busy_ns)
		return;
	out->unclassified_ratio = (double)t->ns[OVL_STAGE_UNCLASSIFIED] / (double)out->busy_ns;
	out->catch_all_ratio = (double)context / (double)out->busy_ns;
}

int ovl_cpu_build(const struct ovl_model_state *state, const struct ovl_facts *facts,
		  double payload_bytes, struct ovl_cpu_model *out)
{
	struct ovl_cpu_model fresh = {.unclassified_ratio = NAN, .catch_all_ratio = NAN};
	enum ovl_phase main = ovl_state_main(facts);
	struct sums sums = {.main_bytes = payload_bytes};
	int rc;

	fresh.stages.v = out->stages.v;
	fresh.stages.cap = out->stages.cap;
	fresh.per_cpu.v = out->per_cpu.v;
	fresh.per_cpu.cap = out->per_cpu.cap;
	*out = fresh;
	ovl_vec_each(cpu, &state->cpus) {
		if (!cpu->phase[main].lane.wall_ns)
			continue;
		add_stages(&cpu->phase[main], facts->sample_hz, &sums.main);
		rc = add_cpu(cpu, &cpu->phase[main], facts->sample_hz, out);
		if (rc)
			return rc;
	}
	out->samples = sums.main.samples;
	out->valid = facts->sample_hz || sums.main.samples;
	if (out->per_cpu.n)
		qsort(out->per_cpu.v, out->per_cpu.n, sizeof(*out->per_cpu.v), by_cpu);
	if (!out->valid)
		return 0;
	add_underlay(state, facts, &sums);
	rc = add_all_stages(state, &sums, out);
	if (rc)
		return rc;
	fill_symbols(state, out);
	fill_vague(&sums.main, out);
	return 0;
}

static const struct ovl_cpu_state *busiest(const struct ovl_model_state *state)
{
	const struct ovl_cpu_state *best = NULL;

	ovl_vec_each(cpu, &state->cpus)
		if (cpu->busy_ns && (!best || cpu->busy_ns > best->busy_ns))
			best = cpu;
	return best;
}

void ovl_cpu_self(const struct ovl_model_state *state, const struct ovl_facts *facts, int cpu,
		  struct ovl_self_model *out)
{
	const uint64_t cost_ns[OVL_PROG_COUNT] = {
		[OVL_PROG_SAMPLER] = facts->sample_cost_ns,
		[OVL_PROG_DROPS] = facts->drop_cost_ns,
		[OVL_PROG_RETRANSMIT] = facts->retransmit_cost_ns,
		/* rare, and like the drop program: a look-up by a key made of a few reads */
		[OVL_PROG_CONNECT] = facts->drop_cost_ns,
	};
	const struct ovl_cpu_state *c = cpu < 0 ? busiest(state) : ovl_state_cpu(state, cpu);
	double ns;

	memset(out, 0, sizeof(*out));
	memcpy(out->lost_events, state->lost, sizeof(state->lost));
	out->cpu_ratio = NAN;
	out->cpu = c ? (int)c->cpu : -1;
	if (!c || c->busy_ns < SELF_BUSY_MIN_NS || !c->self_seen || c->user_unknown)
		return;
	ns = (double)c->user_ns;
	for (int i = 0; i < OVL_PROG_COUNT; i++) {
		if (c->runs[i] && !cost_ns[i])
			return; /* not calibrated: the whole is unknown */
		ns += (double)c->runs[i] * (double)cost_ns[i];
	}
	for (int i = 0; i < OVL_PACKET_PROGS; i++) {
		if (c->packet_runs[i] && !facts->packets.cost_ns[i])
			return;
		ns += (double)c->packet_runs[i] * (double)facts->packets.cost_ns[i];
	}
	if (c->func_runs && !facts->func_cost_ns)
		return;
	ns += (double)c->func_runs * (double)facts->func_cost_ns;
	out->cpu_ratio = ns / (double)c->busy_ns;
}
