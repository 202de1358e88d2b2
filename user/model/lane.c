#include "model/lane.h"

#include <math.h>
#include <string.h>

#include "model/ledger.h"
#include "model/wake.h"

static uint64_t min_u64(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* part of `from` carried over to `to`, at most max */
static uint64_t scaled(uint64_t part, uint64_t from, uint64_t to, uint64_t max)
{
	long double x = from ? (long double)part * to / from : 0;

	return x < (long double)max ? min_u64((uint64_t)(x + 0.5L), max) : max;
}

void ovl_lane_cpu_rows(const struct ovl_lane_acc *a, uint32_t hz, uint64_t wall_ns, uint64_t *rows)
{
	uint64_t wall = wall_ns ? wall_ns : a->wall_ns;
	uint64_t n[OVL_ROWS_SAMPLED], taken[OVL_STAGE_COUNT], busy;

	memcpy(n, a->n, sizeof(n));
	ovl_wake_settle(a, hz, taken);
	for (int i = 0; i < OVL_STAGE_COUNT; i++)
		n[i] += taken[i];
	memset(rows, 0, OVL_ROWS_CPU * sizeof(*rows));
	rows[OVL_ROW_IDLE] = scaled(a->idle_ns, a->wall_ns, wall, wall);
	rows[OVL_ROW_STEAL] = scaled(a->steal_ns, a->wall_ns, wall, wall - rows[OVL_ROW_IDLE]);
	busy = wall - rows[OVL_ROW_IDLE] - rows[OVL_ROW_STEAL];
	if (ovl_ledger_share(busy, n, OVL_ROWS_SAMPLED, rows) != busy)
		rows[OVL_STAGE_UNCLASSIFIED] = busy;
}

void ovl_lane_conn_rows(const struct ovl_conn_acc *c, uint64_t *rows)
{
	uint64_t busy = c->wall_ns, rwnd, sndbuf;

	if (c->busy_us < c->wall_ns / 1000)
		busy = c->busy_us * 1000;
	rwnd = min_u64(c->rwnd_us, busy / 1000) * 1000;
	sndbuf = min_u64(c->sndbuf_us, (busy - rwnd) / 1000) * 1000;
	rows[OVL_ROW_APP - OVL_ROW_APP] = c->wall_ns - busy;
	rows[OVL_ROW_RWND - OVL_ROW_APP] = rwnd;
	rows[OVL_ROW_SNDBUF - OVL_ROW_APP] = sndbuf;
	rows[OVL_ROW_NET - OVL_ROW_APP] = busy - rwnd - sndbuf;
}

void ovl_lane_cpu_shares(const struct ovl_cpu_acc *a, uint32_t hz, struct ovl_lane_shares *out)
{
	uint64_t taken[OVL_STAGE_COUNT];
	double wall = (double)a->lane.wall_ns, n, per;

	out->idle = wall > 0 ? (double)min_u64(a->lane.idle_ns, a->lane.wall_ns) / wall : NAN;
	out->busy = wall > 0 ? (double)ovl_acc_busy_ns(&a->lane) / wall : NAN;
	out->steal = wall > 0 ? fmax(0, 1 - out->idle - out->busy) : NAN;
	n = (double)(ovl_acc_samples(&a->lane) + ovl_wake_settle(&a->lane, hz, taken));
	per = n > 0 ? out->busy / n : NAN; /* share of wall time per sample */
	out->softirq = per * (double)a->n_softirq;
	out->softirq_rx = per * (double)a->n_softirq_rx;
	out->tx = per * (double)a->n_class[OVL_TASK_LOAD_TX];
	out->rx = per * (double)a->n_class[OVL_TASK_LOAD_RX];
	out->daemon = per * (double)a->n_class[OVL_TASK_DAEMON];
	out->proxy = per * (double)a->n_class[OVL_TASK_PROXY];
	out->other = per * (double)a->n_class[OVL_TASK_OTHER];
	out->task = out->tx + out->rx + out->daemon + out->proxy;
	out->path_task = per * (double)a->n_path_task;
	out->path_softirq = per * (double)a->n_path_softirq;
}

void ovl_lane_conn_shares(const struct ovl_conn_acc *c, struct ovl_lane_states *out)
{
	uint64_t rows[OVL_ROWS_CONN];
	double wall = (double)c->wall_ns;

	/* a connection that carried or tried anything was busy at some time */
	*out = (struct ovl_lane_states){.valid = c->wall_ns && c->busy_us};
	if (!out->valid)
		return;
	ovl_lane_conn_rows(c, rows);
	out->app = (double)rows[0] / wall;
	out->rwnd = (double)rows[1] / wall;
	out->sndbuf = (double)rows[2] / wall;
	out->net = (double)rows[3] / wall;
}

double ovl_lane_idle_stderr(const struct ovl_model_state *state, int which)
{
	double x[OVL_PAIRS_KEPT], wall = 0, idle = 0;
	size_t m = 0;

	for (int i = 0; i < OVL_PAIRS_KEPT; i++) {
		const struct ovl_lane_acc *a = &state->pair[i].lane[OVL_PHASE_OVERLAY][which];

		wall += (double)a->wall_ns;
		idle += (double)min_u64(a->idle_ns, a->wall_ns);
	}
	for (int i = 0; i < OVL_PAIRS_KEPT; i++) {
		const struct ovl_lane_acc *a = &state->pair[i].lane[OVL_PHASE_OVERLAY][which];

		if (!a->wall_ns || wall - (double)a->wall_ns <= 0)
			continue;
		x[m++] = (idle - (double)min_u64(a->idle_ns, a->wall_ns)) /
			 (wall - (double)a->wall_ns);
	}
	return ovl_stats_jackknife(x, m);
}
