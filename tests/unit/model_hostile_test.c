/* Samples that cannot be, and more of them than there is room for. */
#include <stdlib.h>

#include "model/text.h"
#include "model_run.h"
#include "tap.h"

static uint64_t seed = 42;

static uint64_t rnd(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed % 5 == 0 ? UINT64_MAX - seed % 3 : seed % 7 == 0 ? 0 : seed >> seed % 64;
}

/* Every word of it at random; indices mostly near those that exist. */
static void hostile_packets(struct ovl_packets_delta *p)
{
	p->open_ns = rnd();
	p->windows = (uint32_t)rnd();
	for (int i = 0; i < 3; i++) {
		struct ovl_hop_delta *hop = ovl_vec_push(&p->hops);
		struct ovl_wait *wait = ovl_vec_push(&p->waits);

		memset(&hop->n, (int)(rnd() % 256), sizeof(hop->n));
		hop->link = (uint32_t)(rnd() % 3);
		memset(wait->n, (int)(rnd() % 256), sizeof(wait->n));
		wait->link = (uint32_t)(rnd() % 3);
		wait->kind = (uint8_t)(rnd() % 12);
		wait->dir = (uint8_t)(rnd() % 3);
		wait->sum_ns = rnd();
		wait->max_ns = rnd();
		*ovl_vec_push(&p->steps) = (struct ovl_step){
			(uint32_t)(rnd() % 6), (uint32_t)(rnd() % 6), {rnd(), rnd()}};
		*ovl_vec_push(&p->daemons) = (struct ovl_daemon_delta){
			.daemon = (uint32_t)(rnd() % 3), .user_ns = rnd()};
		*ovl_vec_push(&p->syscalls) =
			(struct ovl_syscall){.daemon = (uint32_t)(rnd() % 3), .calls = rnd()};
	}
}

/* Every field anything, every index anywhere. */
static void hostile_sample(struct ovl_sample *s)
{
	ovl_sample_clear(s);
	s->start_ts_ns = rnd();
	s->end_ts_ns = rnd();
	s->phase = (uint8_t)(rnd() % 7);
	s->pair = (uint32_t)rnd();
	for (int i = 0; i < 4; i++) {
		struct ovl_func_delta *f;
		struct ovl_self_delta *self;
		struct ovl_counter *c;
		struct ovl_drop *d;

		*ovl_vec_push(&s->cpus) = (struct ovl_cpu_clock){
			(uint32_t)(rnd() % 4 ? (unsigned)i : rnd()), rnd(), rnd(), rnd(), rnd()};
		*ovl_vec_push(&s->hits) =
			(struct ovl_hit){(uint32_t)(rnd() % 4 ? (unsigned)i : rnd()),
					 (uint8_t)rnd(),
					 (uint8_t)rnd(),
					 (uint8_t)(rnd() % 4),
					 (uint8_t)(rnd() % 8),
					 (uint32_t)rnd()};
		*ovl_vec_push(&s->links) = (struct ovl_link_delta){(uint32_t)(rnd() % 3),
								   rnd(),
								   rnd(),
								   rnd(),
								   rnd(),
								   rnd(),
								   rnd(),
								   rnd(),
								   rnd(),
								   rnd() % 2};
		self = ovl_vec_push(&s->self);
		*self = (struct ovl_self_delta){
			(uint32_t)rnd(), rnd(), {rnd(), rnd(), rnd()}, {rnd(), rnd()}, rnd()};
		f = ovl_vec_push(&s->funcs);
		*f = (struct ovl_func_delta){.func = (uint8_t)rnd(),
					     .ns = (uint32_t)rnd() % 3,
					     .calls = rnd(),
					     .bytes = rnd(),
					     .segs = rnd(),
					     .timed = rnd(),
					     .incl_ns = rnd(),
					     .excl_ns = rnd()};
		memset(f->iface, 'i', sizeof(f->iface));
		c = ovl_vec_push(&s->counters);
		c->delta = (int64_t)rnd();
		memset(c->name, 'x', sizeof(c->name));
		memset(c->group, 'y', sizeof(c->group));
		d = ovl_vec_push(&s->drops);
		memset(d->reason, 'z', sizeof(d->reason));
		memset(d->symbol, (int)(rnd() % 200), sizeof(d->symbol));
		memset(d->iface, 'i', sizeof(d->iface));
		d->stage = (uint8_t)(rnd() % 50);
		d->pkts = rnd();
		d->segs = rnd();
		memset(ovl_vec_push(&s->symbols), (int)(rnd() % 256),
		       sizeof(struct ovl_symbol_hit));
	}
	hostile_packets(&s->packets);
	s->funcs_valid = rnd() % 2;
	s->retransmits = rnd();
	s->retransmits_valid = rnd() % 2;
	s->load = (struct ovl_load_delta){.valid = rnd() % 4,
					  .wall_ns = rnd(),
					  .bytes = rnd(),
					  .retransmits = rnd(),
					  .busy_us = rnd(),
					  .rwnd_us = rnd(),
					  .sndbuf_us = rnd(),
					  .sender_cpu_ns = rnd(),
					  .receiver_cpu_ns = rnd(),
					  .rtt_n = (uint32_t)rnd(),
					  .cwnd_segs = (uint32_t)rnd()};
	for (int i = 0; i < OVL_LOST_COUNT; i++)
		s->lost[i] = rnd();
}

/* NAN is an answer, infinity is none. */
static bool no_infinity(const struct ovl_model *m)
{
	const double plain[] = {
		m->traffic.rx_bps,
		m->traffic.last_tx_bps,
		m->drops_ps,
		m->retransmits_ps,
		m->self.cpu_ratio,
		m->verdict.confidence_ratio,
		m->waterfall.underlay_bps,
		m->waterfall.ledger_error_ratio,
		m->cpu.unclassified_ratio,
		m->load.overlay.goodput_bps,
		m->load.overlay.sender_ns_per_kib,
		m->load.underlay.rwnd_ratio,
	};

	for (size_t i = 0; i < sizeof(plain) / sizeof(plain[0]); i++)
		if (isinf(plain[i]))
			return false;
	ovl_vec_each(t, &m->waterfall.terms)
		if (isinf(t->stderr_bps) || isinf(t->if_removed_bps) ||
		    isinf(t->if_removed_high_bps) || isinf(t->ns_per_kib))
			return false;
	ovl_vec_each(t, &m->cpu.stages)
		if (isinf(t->share_ratio) || isinf(t->stderr_ratio) || isinf(t->ns_per_kib) ||
		    isinf(t->underlay_ns_per_kib))
			return false;
	ovl_vec_each(c, &m->cpu.per_cpu)
		if (isinf(c->busy_ratio) || isinf(c->softirq_ratio))
			return false;
	return true;
}

static void test_hostile(void)
{
	int failed = 0, infinite = 0, unequal = 0, confident = 0;
	struct ovl_model m = {0};
	uint64_t damaged = 0;

	for (int run_nr = 0; run_nr < 150; run_nr++) {
		struct ovl_model_state *state = ovl_model_new();
		struct ovl_sample s = {0};
		struct ovl_facts f;

		scene_facts(&f, run_nr % 4);
		f.iface = run_nr % 3 - 1;
		f.load.cpu_receiver = run_nr % 5 ? 1 : (int)rnd();
		f.load.has_underlay = run_nr % 3;
		f.sample_hz = run_nr % 2 ? 1000 : (uint32_t)rnd();
		for (int i = 0; i < 20; i++) {
			hostile_sample(&s);
			if (run_nr % 2)
				scene_slice(&s, i % 2 ? OVL_PHASE_OVERLAY : OVL_PHASE_UNDERLAY,
					    (uint32_t)i / 2, i % 2 ? &run_overlay : &run_underlay);
			failed += ovl_model_add(state, &f, &s) != 0;
			hostile_sample(&s);
			failed += ovl_model_add(state, &f, &s) != 0;
		}
		failed += ovl_model_build(state, &f, &m) != 0;
		infinite += !no_infinity(&m);
		unequal += m.waterfall.valid && scene_identity(&m.waterfall) != 0;
		confident += !(m.verdict.confidence_ratio >= 0 && m.verdict.confidence_ratio <= 1);
		damaged += m.damaged_records;
		ovl_sample_fini(&s);
		ovl_facts_fini(&f);
		ovl_model_free(state);
	}
	is_int(failed, 0, "6000 hostile samples are taken");
	is_int(infinite, 0, "nothing is infinite");
	is_int(unequal, 0, "a waterfall that is drawn adds up");
	is_int(confident, 0, "confidence stays within 0 and 1");
	ok(damaged > 1000, "what cannot be is counted (%llu)", (unsigned long long)damaged);
	ovl_model_fini(&m);
}

static void test_bounded(void)
{
	struct ovl_model_state *state = ovl_model_new();
	struct ovl_sample s = {0};
	struct ovl_facts f;
	struct ovl_model m = {0};

	scene_facts(&f, false);
	for (uint32_t i = 0; i < 3000; i++) {
		scene_begin(&s, OVL_PHASE_OBSERVE, 0);
		scene_drop(&s, "R", "f", false, 1, 1);
		ovl_text_set(s.drops.v[0].iface, "if%u", i);
		ovl_model_add(state, &f, &s);
	}
	ovl_model_build(state, &f, &m);
	is_int(m.drops.n, 2048, "tables are bounded");
	is_int(m.table_overflow, 3000 - 2048, "what has no room is counted");
	is_int(m.damaged_records, 0, "but is not damaged");
	ok(fabs(m.drops_ps - 1) < 1e-9, "and is in the totals");
	is_str(ovl_limit_key(OVL_LIMIT_COUNT), "?", "a limit that is none");
	is_str(ovl_basis_name(OVL_BASIS_ESTIMATED), "estimated", "a basis in words");
	is_str(ovl_basis_name((enum ovl_basis)9), "?", "a basis that is none");
	ovl_sample_fini(&s);
	ovl_facts_fini(&f);
	ovl_model_free(state);
	ovl_model_fini(&m);
	ovl_model_free(NULL);
}

int main(void)
{
	test_hostile();
	test_bounded();
	return tap_done();
}
