/* Release what sample_model.h made, and the cases that goldens and JSON tests share. */
#ifndef OVL_TESTS_SAMPLE_FREE_H
#define OVL_TESTS_SAMPLE_FREE_H

#include "sample_model.h"

static inline void sample_free(struct ovl_facts *f, struct ovl_model *m)
{
	ovl_facts_fini(f);
	ovl_vec_fini(&m->cpu.stages);
	ovl_vec_fini(&m->cpu.per_cpu);
	ovl_vec_fini(&m->waterfall.terms);
	ovl_vec_fini(&m->last.per_cpu);
	ovl_vec_fini(&m->devices);
	ovl_vec_fini(&m->drops);
	ovl_vec_fini(&m->losses);
	ovl_vec_fini(&m->counters);
	ovl_vec_fini(&m->readings);
	ovl_vec_fini(&m->flows);
	ovl_vec_fini(&m->attempts);
	ovl_vec_fini(&m->findings);
}

/** Numbers far beyond what machines do today, and the longest names. */
static inline void sample_huge(struct ovl_facts *f, struct ovl_model *m)
{
	struct ovl_waterfall *w = &m->waterfall;
	int64_t sum = 0;

	sample_facts(f, true);
	sample_model(m, true);
	f->load.streams = 4000000000u;
	f->interval_ns = 3600000000000;
	memset(f->links.v[0].name, 'w', OVL_IF_MAX - 1);
	memset(f->links.v[1].name, 'u', OVL_IF_MAX - 1);
	memset(f->nodename, 'n', OVL_NAME_MAX - 1);
	memset(f->ns.v[0].name, 's', OVL_NAME_MAX - 1);
	f->vxlan.vni = 16777215;
	f->links.v[0].mtu = f->links.v[1].mtu = UINT32_MAX;
	m->duration_ns = UINT64_MAX;
	w->underlay_bps *= 1e6;
	w->overlay_bps *= 1e6;
	w->ledger_error_ratio = 0.4;
	w->uncertain = true;
	ovl_vec_each(t, &w->terms) {
		t->bps *= 1000000;
		t->stderr_bps *= 1e6;
		t->ns_per_kib *= 1e6;
		memset(t->label, 'l', sizeof(t->label) - 1);
		sum += t->bps;
	}
	w->unexplained_bps = llround(w->underlay_bps) - llround(w->overlay_bps) - sum;
	ovl_vec_each(t, &m->cpu.stages) {
		t->ns_per_kib *= 1e6;
		t->underlay_ns_per_kib *= 1e6;
	}
	m->drops_ps = m->last.drops_ps = 1e12;
	m->retransmits_ps = m->last.retransmits_ps = 1e15;
	m->last.goodput_bps = 6.42e15;
	m->last.rtt_ns = 3.6e12;
	m->self.cpu_ratio = 12.5;
	m->self.cpu = 1023;
	m->self.lost_events[0] = 1ull << 60;
	m->load.overlay.cwnd_segs = UINT32_MAX;
	m->load.overlay.rtt = (struct ovl_quantiles){true, 1, 1u << 31, UINT64_MAX, UINT64_MAX};
	m->cpu.per_cpu.v[0].cpu = m->last.per_cpu.v[0].cpu = 1023;
	memset(m->verdict.sentence, 'x', sizeof(m->verdict.sentence) - 1);
	m->n_history = OVL_HISTORY;
	for (int i = 0; i < OVL_HISTORY; i++)
		m->history[i] = (struct ovl_point){i % 7 ? 1e15 * i : NAN, 1e9 * i, 1e12 * i};
	m->drops.v[0].segs = UINT64_MAX / 4;
	memset(m->drops.v[0].reason, 'R', OVL_NAME_MAX - 1);
	copy_str(m->drops.v[1].symbol, "\x1b[31m\xff\xc3");
}

#endif
