#include "model/metrics.h"

#include <math.h>
#include <string.h>

static const struct ovl_metric_info infos[] = {
#define METRIC(KEY, name, unit, better, tolerance, floor, text) \
	{#name, OVL_METRIC_##unit, OVL_METRIC_##better, tolerance, floor, text},
#include "model/metrics.def"
};

const struct ovl_metric_info *ovl_metric_info(enum ovl_metric metric)
{
	return &infos[metric];
}

int ovl_metric_find(const char *name)
{
	for (int i = 0; i < OVL_METRIC_COUNT; i++)
		if (!strcmp(infos[i].name, name))
			return i;
	return -1;
}

static double path_value(const struct ovl_load_path *p, enum ovl_metric metric)
{
	if (!p->valid)
		return NAN;
	switch (metric) {
	case OVL_METRIC_GOODPUT: return p->goodput_bps;
	case OVL_METRIC_LATENCY_IDLE: return p->idle.valid ? (double)p->idle.p50_ns : NAN;
	case OVL_METRIC_LATENCY_LOADED: return p->loaded.valid ? (double)p->loaded.p50_ns : NAN;
	case OVL_METRIC_RTT_P50: return p->rtt.valid ? (double)p->rtt.p50_ns : NAN;
	case OVL_METRIC_RTT_P99: return p->rtt.valid ? (double)p->rtt.p99_ns : NAN;
	case OVL_METRIC_SENDER_COST: return p->sender_ns_per_kib;
	case OVL_METRIC_RECEIVER_COST: return p->receiver_ns_per_kib;
	default: return NAN;
	}
}

static double underlay(const struct ovl_model *m)
{
	if (m->load.underlay.valid)
		return m->load.underlay.goodput_bps;
	return m->waterfall.valid ? m->waterfall.underlay_bps : NAN;
}

static double path_cost(const struct ovl_model *m)
{
	double sum = NAN;

	ovl_vec_each(t, &m->cpu.stages)
		if (!isnan(t->ns_per_kib))
			sum = (isnan(sum) ? 0 : sum) + t->ns_per_kib;
	return m->cpu.valid ? sum : NAN;
}

static double busiest(const struct ovl_model *m)
{
	double most = NAN;

	ovl_vec_each(c, &m->cpu.per_cpu)
		most = fmax(most, c->busy_ratio); /* of NAN and a number: the number */
	return most;
}

static double alarms(const struct ovl_model *m)
{
	double n = 0;

	ovl_vec_each(f, &m->findings)
		n += f->level > OVL_LEVEL_INFO;
	return n;
}

double ovl_metric_get(const struct ovl_model *m, enum ovl_metric metric)
{
	switch (metric) {
	case OVL_METRIC_UNDERLAY: return underlay(m);
	case OVL_METRIC_LOSS:
		return underlay(m) > 0
			       ? 1 - path_value(&m->load.overlay, OVL_METRIC_GOODPUT) / underlay(m)
			       : NAN;
	case OVL_METRIC_RETRANSMITS: return m->retransmits_ps;
	case OVL_METRIC_DROPS: return m->drops_ps;
	case OVL_METRIC_PATH_COST: return path_cost(m);
	case OVL_METRIC_FINDINGS: return ovl_findings_looked(m) ? alarms(m) : NAN;
	case OVL_METRIC_RX: return m->traffic.valid ? m->traffic.rx_bps : NAN;
	case OVL_METRIC_TX: return m->traffic.valid ? m->traffic.tx_bps : NAN;
	case OVL_METRIC_BUSY: return busiest(m);
	case OVL_METRIC_UNCLASSIFIED: return m->cpu.valid ? m->cpu.unclassified_ratio : NAN;
	case OVL_METRIC_OWN_COST: return m->self.cpu_ratio;
	default: return path_value(&m->load.overlay, metric);
	}
}

int ovl_metric_judge(enum ovl_metric metric, double a, double b)
{
	const struct ovl_metric_info *info = &infos[metric];
	const double change = b - a;

	if (isnan(change) || info->better == OVL_METRIC_NEITHER || fabs(change) <= info->floor ||
	    fabs(change) <= info->tolerance_ratio * fabs(a))
		return 0;
	return (change > 0) == (info->better == OVL_METRIC_UP) ? 1 : -1;
}
