#include "model/matrix.h"

#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "model/stage.h"

static const struct {
	const char *key, *label;
} parts[OVL_MATRIX_PARTS] = {
	[OVL_MATRIX_BYTES] = {"bytes", "copies and checksums"},
	[OVL_MATRIX_SWITCHES] = {"switches", "system calls, daemons, switches"},
	[OVL_MATRIX_PACKETS] = {"packets", "network stack, by the packet"},
	[OVL_MATRIX_OTHER] = {"other", "other"},
};

const char *ovl_matrix_part_key(enum ovl_matrix_part part)
{
	return parts[part].key;
}

const char *ovl_matrix_part_label(enum ovl_matrix_part part)
{
	return parts[part].label;
}

/* What a stage's time is by, but for the copies and checksums in it; -1: not the load's. */
static int part_of(unsigned stage)
{
	switch (stage) {
	case OVL_STAGE_USER_OTHER:
	case OVL_STAGE_OTHER_TASKS:
	case OVL_STAGE_OVLTRACE:
	case OVL_STAGE_KERNEL_OTHER: return -1;
	case OVL_STAGE_COPY_FROM_USER:
	case OVL_STAGE_COPY_TO_USER:
	case OVL_STAGE_CHECKSUM: return OVL_MATRIX_BYTES;
	case OVL_STAGE_USER_DAEMON:
	case OVL_STAGE_USER_PROXY:
	case OVL_STAGE_SYSCALL:
	case OVL_STAGE_WAKEUP: return OVL_MATRIX_SWITCHES;
	case OVL_STAGE_APPLICATION:
	case OVL_STAGE_IRQ_OTHER:
	case OVL_STAGE_UNCLASSIFIED: return OVL_MATRIX_OTHER;
	}
	return OVL_MATRIX_PACKETS;
}

static void take_cost(struct ovl_matrix_turn *turn, const struct ovl_model *model)
{
	double total = 0;

	for (int i = 0; i < OVL_MATRIX_PARTS; i++)
		turn->ns_per_kib[i] = 0;
	ovl_vec_each(s, &model->cpu.stages) {
		uint64_t bytes_ns = s->work_ns[OVL_WORK_COPY] + s->work_ns[OVL_WORK_CHECKSUM];
		const int part = part_of(s->stage);
		double per_kib = s->ns_per_kib, by_byte;

		if (!s->ns || isnan(per_kib) || part < 0)
			continue;
		by_byte = fmin(1, (double)bytes_ns / (double)s->ns) * per_kib;
		turn->ns_per_kib[OVL_MATRIX_BYTES] += by_byte;
		turn->ns_per_kib[part] += per_kib - by_byte;
		total += per_kib;
	}
	turn->busy_cpus = total * turn->goodput_bps / 8 / 1024 / 1e9;
}

static double packet_size(const struct ovl_traffic *t)
{
	const bool rx = t->rx_bytes > t->tx_bytes;
	const uint64_t pkts = rx ? t->rx_pkts : t->tx_pkts;

	return t->valid && pkts ? (double)(rx ? t->rx_bytes : t->tx_bytes) / (double)pkts : NAN;
}

static void take_losses(struct ovl_matrix_turn *turn, const struct ovl_waterfall *w)
{
	/* without a measured underlay there is nothing that was lost */
	if (!w->valid || w->basis != OVL_BASIS_MEASURED)
		return;
	ovl_vec_each(t, &w->terms) {
		struct ovl_matrix_loss *loss = &turn->top[turn->n_top];

		if (turn->n_top == OVL_MATRIX_TOP || t->bps <= 0)
			break;
		/* what chance alone makes is not named */
		if (t->stderr_bps >= 0 && (double)t->bps < 2 * t->stderr_bps)
			continue;
		ovl_str_copy(loss->key, sizeof(loss->key), t->key);
		ovl_str_copy(loss->label, sizeof(loss->label), t->label);
		loss->bps = (double)t->bps;
		turn->n_top++;
	}
}

void ovl_matrix_turn_init(struct ovl_matrix_turn *turn, uint32_t number)
{
	*turn = (struct ovl_matrix_turn){
		.turn = number,
		.goodput_bps = NAN,
		.host_bps = NAN,
		.latency_ns = NAN,
		.copies_per_pkt = NAN,
		.segs_ps = NAN,
		.bytes_per_pkt = NAN,
		.retransmits_ps = NAN,
		.busy_cpus = NAN,
	};
	for (int i = 0; i < OVL_MATRIX_PARTS; i++)
		turn->ns_per_kib[i] = NAN;
}

/* They are sorted: problems first. */
static void take_finding(struct ovl_matrix_turn *turn, const struct ovl_model *model)
{
	const struct ovl_finding *first = model->findings.v;

	if (model->findings.n && first->level > OVL_LEVEL_INFO)
		ovl_str_copy(turn->top_finding, sizeof(turn->top_finding),
			     ovl_rule_info(first->rule)->key);
}

void ovl_matrix_take(struct ovl_matrix_turn *turn, const struct ovl_facts *facts,
		     const struct ovl_model *model)
{
	const struct ovl_load_path *over = &model->load.overlay, *under = &model->load.underlay;

	if (!over->valid)
		return;
	turn->goodput_bps = over->goodput_bps;
	if (facts->load.has_underlay && under->valid)
		turn->host_bps = under->goodput_bps;
	if (over->mss_bytes)
		turn->segs_ps = over->goodput_bps / 8 / over->mss_bytes;
	if (over->wall_ns)
		turn->retransmits_ps = (double)over->retransmits * 1e9 / (double)over->wall_ns;
	if (!model->cpu.valid)
		return;
	turn->traced = true;
	turn->limit = model->verdict.limit;
	ovl_str_copy(turn->side, sizeof(turn->side), model->verdict.side);
	ovl_str_copy(turn->sentence, sizeof(turn->sentence), model->verdict.sentence);
	turn->bytes_per_pkt = packet_size(&model->traffic);
	take_finding(turn, model);
	take_losses(turn, &model->waterfall);
	take_cost(turn, model);
}

static int ascending(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* Median of n values, which are sorted; *spread: half of their range, NAN for fewer than two. */
static double median(double *v, size_t n, double *spread)
{
	if (spread)
		*spread = NAN;
	if (!n)
		return NAN;
	qsort(v, n, sizeof(*v), ascending);
	if (spread && n > 1)
		*spread = (v[n - 1] - v[0]) / 2;
	return n % 2 ? v[n / 2] : (v[n / 2 - 1] + v[n / 2]) / 2;
}

#define VALUES_MAX 64

/* Median over a row's turns of the figure at this offset of a turn. */
static double figure(const struct ovl_matrix_row *row, size_t at, double *spread)
{
	double values[VALUES_MAX];
	size_t n = 0;

	ovl_vec_each(t, &row->turns) {
		const double v = *(const double *)((const char *)t + at);

		if (n < VALUES_MAX && !isnan(v))
			values[n++] = v;
	}
	return median(values, n, spread);
}

#define FIGURE(row, member, spread) figure(row, offsetof(struct ovl_matrix_turn, member), spread)

/* The host's goodput that belongs to a turn of a row. */
static double host_in(const struct ovl_matrix *m, const struct ovl_matrix_row *row,
		      const struct ovl_matrix_turn *turn)
{
	if (row->host < 0)
		return turn->host_bps;
	ovl_vec_each(t, &m->rows[row->host].turns)
		if (t->turn == turn->turn)
			return t->goodput_bps;
	return NAN;
}

static void compare(const struct ovl_matrix *m, const struct ovl_matrix_row *row,
		    struct ovl_matrix_summary *out)
{
	double host[VALUES_MAX], ratio[VALUES_MAX];
	size_t n = 0;

	ovl_vec_each(t, &row->turns) {
		const double bps = host_in(m, row, t);

		if (n == VALUES_MAX || !(bps > 0) || isnan(t->goodput_bps))
			continue;
		host[n] = bps;
		ratio[n++] = t->goodput_bps / bps;
	}
	out->host_bps = median(host, n, NULL);
	out->of_host_ratio = median(ratio, n, NULL);
}

void ovl_matrix_summarise(const struct ovl_matrix *m, const struct ovl_matrix_row *row,
			  struct ovl_matrix_summary *out)
{
	*out = (struct ovl_matrix_summary){.n = 0};
	out->goodput_bps = FIGURE(row, goodput_bps, &out->goodput_spread_bps);
	out->latency_ns = FIGURE(row, latency_ns, &out->latency_spread_ns);
	out->segs_ps = FIGURE(row, segs_ps, NULL);
	out->bytes_per_pkt = FIGURE(row, bytes_per_pkt, NULL);
	out->retransmits_ps = FIGURE(row, retransmits_ps, NULL);
	out->copies_per_pkt = FIGURE(row, copies_per_pkt, NULL);
	compare(m, row, out);
	ovl_vec_each(t, &row->turns) {
		if (isnan(t->goodput_bps))
			continue;
		out->n++;
		if (!out->middle || fabs(t->goodput_bps - out->goodput_bps) <
					    fabs(out->middle->goodput_bps - out->goodput_bps))
			out->middle = t;
	}
}

/* Mean cost and goodput of a row's traced turns; goodput NAN without any. */
static double mean_cost(const struct ovl_matrix_row *row, double ns_per_kib[OVL_MATRIX_PARTS])
{
	double goodput_bps = 0;
	uint32_t n = 0;

	for (int i = 0; i < OVL_MATRIX_PARTS; i++)
		ns_per_kib[i] = 0;
	ovl_vec_each(t, &row->turns) {
		if (!t->traced || isnan(t->busy_cpus))
			continue;
		n++;
		goodput_bps += t->goodput_bps;
		for (int i = 0; i < OVL_MATRIX_PARTS; i++)
			ns_per_kib[i] += t->ns_per_kib[i];
	}
	for (int i = 0; i < OVL_MATRIX_PARTS; i++)
		ns_per_kib[i] /= n ? n : 1;
	return n ? goodput_bps / n : NAN;
}

void ovl_matrix_explain(const struct ovl_matrix *m, const struct ovl_matrix_row *row,
			struct ovl_matrix_why *out)
{
	double own_bps, other_bps, own = 0, other = 0;

	*out = (struct ovl_matrix_why){.valid = false};
	if (row->against < 0)
		return;
	own_bps = mean_cost(row, out->own_ns_per_kib);
	other_bps = mean_cost(&m->rows[row->against], out->other_ns_per_kib);
	for (int i = 0; i < OVL_MATRIX_PARTS; i++) {
		own += out->own_ns_per_kib[i];
		other += out->other_ns_per_kib[i];
	}
	if (!(own_bps > 0 && other_bps > own_bps && own > other && other > 0))
		return;
	out->valid = true;
	out->ratio = other_bps / own_bps;
	out->cost_factor = own / other;
	out->waits_factor = out->ratio / out->cost_factor;
	out->own_cpus = own * own_bps / 8 / 1024 / 1e9;
	out->other_cpus = other * other_bps / 8 / 1024 / 1e9;
	for (int i = 0; i < OVL_MATRIX_PARTS; i++)
		out->part_ratio[i] =
			(out->own_ns_per_kib[i] - out->other_ns_per_kib[i]) / (own - other);
}

void ovl_matrix_fini(struct ovl_matrix *m)
{
	for (uint32_t i = 0; i < m->n_rows; i++)
		ovl_vec_fini(&m->rows[i].turns);
	m->n_rows = 0;
	ovl_facts_fini(&m->host);
}
