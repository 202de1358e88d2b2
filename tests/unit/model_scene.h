/* Synthetic facts and samples for the model's tests: two CPUs, a sender on 0, a receiver on 1. */
#ifndef OVL_TESTS_MODEL_SCENE_H
#define OVL_TESTS_MODEL_SCENE_H

#include <math.h>
#include <string.h>

#include "base/str.h"
#include "bpf/abi.h"
#include "model/model.h"

#define SECOND UINT64_C(1000000000)
#define MS     UINT64_C(1000000)

/** What one slice looks like; busy = 1000 ms − idle − steal, hits in samples at 1000 Hz. */
struct scene_cpu {
	uint32_t idle_ms, steal_ms;
	uint32_t task, task_stage; /* in the load's own class */
	uint32_t softirq, softirq_stage;
	uint32_t other; /* of tasks that are not the load's */
};

struct scene_slice {
	struct scene_cpu cpu[2];
	uint64_t bytes;
	uint32_t busy_ms, rwnd_ms, sndbuf_ms, retransmits;
	uint8_t task_class[2]; /* 0: LOAD_TX on CPU 0, LOAD_RX on CPU 1 */
};

static inline void scene_facts(struct ovl_facts *f, bool load)
{
	struct ovl_link *link;

	*f = (struct ovl_facts){.cpus = 2, .sample_hz = 1000, .iface = 0, .interval_ns = SECOND};
	f->sample_cost_ns = 2000;
	f->drop_cost_ns = 300;
	f->retransmit_cost_ns = 300;
	f->progs_attached = 3;
	ovl_str_copy(((struct ovl_ns *)ovl_vec_push(&f->ns))->name, OVL_NAME_MAX, "node1");
	link = ovl_vec_push(&f->links);
	ovl_str_copy(link->name, sizeof(link->name), "flannel.1");
	ovl_str_copy(link->kind, sizeof(link->kind), "vxlan");
	link->lower = link->master = -1;
	f->load.valid = f->load.has_underlay = load;
	f->load.cpu_sender = 0;
	f->load.cpu_receiver = 1;
	f->load.streams = 1;
}

static inline void scene_clock(struct ovl_sample *s, uint32_t cpu, uint64_t wall_ms,
			       uint64_t idle_ms, uint64_t steal_ms)
{
	struct ovl_cpu_clock *c = ovl_vec_push(&s->cpus);

	*c = (struct ovl_cpu_clock){cpu, wall_ms * MS, idle_ms * MS, steal_ms * MS, 0};
}

static inline void scene_hit(struct ovl_sample *s, uint32_t cpu, int stage, int ctx, int class,
			     uint32_t count)
{
	struct ovl_hit *h;

	if (!count)
		return;
	h = ovl_vec_push(&s->hits);
	*h = (struct ovl_hit){cpu,	    (uint8_t)stage,  OVL_WORK_OTHER,
			      (uint8_t)ctx, (uint8_t) class, count};
}

static inline void scene_link(struct ovl_sample *s, uint64_t rx_bytes, uint64_t rx_pkts,
			      uint64_t tx_bytes, uint64_t tx_pkts)
{
	struct ovl_link_delta *d = ovl_vec_push(&s->links);

	*d = (struct ovl_link_delta){
		.rx_bytes = rx_bytes, .rx_pkts = rx_pkts, .tx_bytes = tx_bytes, .tx_pkts = tx_pkts};
}

static inline void scene_self(struct ovl_sample *s, uint32_t cpu, uint64_t user_ns, uint64_t runs)
{
	struct ovl_self_delta *d = ovl_vec_push(&s->self);

	*d = (struct ovl_self_delta){.cpu = cpu, .user_ns = user_ns, .runs = {runs}};
}

static inline void scene_drop(struct ovl_sample *s, const char *reason, const char *symbol,
			      bool benign, uint64_t pkts, uint64_t segs)
{
	struct ovl_drop *d = ovl_vec_push(&s->drops);

	ovl_str_copy(d->reason, sizeof(d->reason), reason);
	ovl_str_copy(d->symbol, sizeof(d->symbol), symbol);
	d->stage = OVL_STAGE_UNCLASSIFIED;
	d->benign = benign;
	d->pkts = pkts;
	d->segs = segs;
}

/** One interval of a second in a phase; continue it with the functions above. */
static inline void scene_begin(struct ovl_sample *s, enum ovl_phase phase, uint32_t pair)
{
	uint64_t start = s->end_ts_ns ? s->end_ts_ns : SECOND;

	ovl_sample_clear(s);
	s->start_ts_ns = start;
	s->end_ts_ns = start + SECOND;
	s->phase = (uint8_t)phase;
	s->pair = pair;
}

static inline void scene_load(struct ovl_sample *s, const struct scene_slice *d)
{
	s->load = (struct ovl_load_delta){
		.valid = true,
		.wall_ns = SECOND,
		.bytes = d->bytes,
		.retransmits = d->retransmits,
		.busy_us = d->busy_ms * 1000,
		.rwnd_us = d->rwnd_ms * 1000,
		.sndbuf_us = d->sndbuf_ms * 1000,
		.sender_cpu_ns = SECOND / 2,
		.receiver_cpu_ns = SECOND / 4,
		.rtt_n = 2,
		.rtt_us = {100, 300},
		.cwnd_segs = 40,
		.mss_bytes = 1398,
	};
}

/** One whole slice. */
static inline void scene_slice(struct ovl_sample *s, enum ovl_phase phase, uint32_t pair,
			       const struct scene_slice *d)
{
	scene_begin(s, phase, pair);
	for (uint32_t i = 0; i < 2; i++) {
		const struct scene_cpu *c = &d->cpu[i];
		int own = i ? OVL_TASK_LOAD_RX : OVL_TASK_LOAD_TX;

		scene_clock(s, i, 1000, c->idle_ms, c->steal_ms);
		scene_hit(s, i, (int)c->task_stage, OVL_CTX_TASK,
			  d->task_class[i] ? d->task_class[i] : own, c->task);
		scene_hit(s, i, (int)c->softirq_stage, OVL_CTX_SOFTIRQ, OVL_TASK_OTHER, c->softirq);
		scene_hit(s, i, OVL_STAGE_USER_OTHER, OVL_CTX_USER, OVL_TASK_OTHER, c->other);
	}
	scene_load(s, d);
}

/** Does the verdict carry this evidence? Its value, else NAN. */
static inline double scene_evidence(const struct ovl_verdict *v, const char *key)
{
	for (uint32_t i = 0; i < v->n_evidence; i++)
		if (!strcmp(v->evidence[i].key, key))
			return v->evidence[i].value;
	return NAN;
}

static inline const struct ovl_term *scene_term(const struct ovl_waterfall *w, const char *key)
{
	ovl_vec_each(t, &w->terms)
		if (!strcmp(t->key, key))
			return t;
	return NULL;
}

/** round(underlay) − round(overlay) − Σ terms − unexplained: must be 0. */
static inline long long scene_identity(const struct ovl_waterfall *w)
{
	long long left = llround(w->underlay_bps) - llround(w->overlay_bps) - w->unexplained_bps;

	ovl_vec_each(t, &w->terms)
		left -= t->bps;
	return left;
}

#endif
