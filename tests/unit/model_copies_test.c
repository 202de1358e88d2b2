/* The copies ledger: sums, what they are set against, the floor, and what is unknown. */
#include "model_run.h"
#include "tap.h"

struct run {
	struct ovl_facts f;
	struct ovl_sample s;
	struct ovl_model m;
	struct ovl_model_state *state;
};

static void run_init(struct run *r, bool load)
{
	*r = (struct run){.state = ovl_model_new()};
	scene_facts(&r->f, load);
}

static void run_fini(struct run *r)
{
	ovl_sample_fini(&r->s);
	ovl_facts_fini(&r->f);
	ovl_model_free(r->state);
	ovl_model_fini(&r->m);
}

static void probe(struct run *r, uint32_t func, enum ovl_tier tier)
{
	struct ovl_func_probe *p = ovl_vec_push(&r->f.funcs);

	*p = (struct ovl_func_probe){(uint8_t)func, (uint8_t)tier};
}

static void probe_all(struct run *r, enum ovl_tier tier)
{
	for (uint32_t i = 0; i < OVL_FUNC_COUNT; i++)
		probe(r, i, tier);
}

static void calls(struct run *r, uint32_t func, uint32_t ns, uint64_t n, uint64_t bytes)
{
	struct ovl_func_delta *d = ovl_vec_push(&r->s.funcs);

	*d = (struct ovl_func_delta){.func = (uint8_t)func, .ns = ns, .calls = n, .bytes = bytes};
	r->s.funcs_valid = true;
}

/* An interval in which so many packets of so many bytes left by the interface. */
static void begin(struct run *r, uint64_t bytes, uint64_t pkts)
{
	scene_begin(&r->s, OVL_PHASE_OBSERVE, 0);
	ovl_vec_clear(&r->s.funcs);
	r->s.funcs_valid = false;
	scene_link(&r->s, 0, 0, bytes, pkts);
}

static void end(struct run *r)
{
	is_int(ovl_model_add(r->state, &r->f, &r->s), 0, "a sample is taken");
	is_int(ovl_model_build(r->state, &r->f, &r->m), 0, "and the model built");
}

static const struct ovl_copy_site *site(const struct run *r, uint32_t func)
{
	ovl_vec_each(s, &r->m.copies.sites)
		if (s->func == func)
			return s;
	return NULL;
}

static void counted(void)
{
	const struct ovl_copies *c;
	struct run r;

	run_init(&r, false);
	probe_all(&r, OVL_TIER_FENTRY);
	for (int i = 0; i < 2; i++) {
		begin(&r, 1452 * 1000, 1000);
		calls(&r, OVL_FUNC_UDP_SEND, 0, 500, 700000);
		calls(&r, OVL_FUNC_UDP_SEND, 0, 500, 700000);
		calls(&r, OVL_FUNC_COPY_OUT, 0, 1000, 1400000);
		calls(&r, OVL_FUNC_EXPAND_HEAD, 0, 1000, 200000);
		calls(&r, OVL_FUNC_CSUM_HELP, 0, 1000, 1400000);
		calls(&r, OVL_FUNC_VXLAN_XMIT, 0, 1000, 1500000);
		calls(&r, OVL_FUNC_COPY_OUT, OVL_NS_MACHINE, 9, 900);
		end(&r);
	}
	c = &r.m.copies;
	ok(c->valid && c->counted, "the ledger is there");
	is_int(c->sites.n, 4, "one row for each place of the path that touches bytes");
	is_int(c->pkts, 2000, "set against the interface's packets");
	is_int(site(&r, OVL_FUNC_UDP_SEND)->calls, 2000, "intervals and rows are summed");
	is_int(site(&r, OVL_FUNC_COPY_OUT)->bytes, 2800000, "what is not on the path is left out");
	ok(site(&r, OVL_FUNC_EXPAND_HEAD)->per_pkt == 1, "one header copy for each packet");
	ok(c->per_pkt > 1.99 && c->per_pkt < 2.01, "payload is copied twice: %g", c->per_pkt);
	is_int(c->floor, 2, "both ends are in view");
	ok(!c->unknown[OVL_TOUCH_PAYLOAD] && !c->unknown[OVL_TOUCH_HEADER] &&
		   !c->unknown[OVL_TOUCH_READ],
	   "nothing is unknown");
	is_int(c->funcs.n, 6, "the functions are listed, off the path too");
	ok(c->sites.v[0].func != OVL_FUNC_CSUM_HELP && c->sites.v[3].func == OVL_FUNC_CSUM_HELP,
	   "payload first, passes last");
	run_fini(&r);
}

static void partly(void)
{
	struct run r;

	run_init(&r, false);
	probe(&r, OVL_FUNC_COPY_OUT, OVL_TIER_TRACEPOINT);
	begin(&r, 1452 * 1000, 1000);
	calls(&r, OVL_FUNC_COPY_OUT, 0, 1000, 1400000);
	end(&r);
	is_int(r.m.copies.floor, 1, "one end is in view");
	ok(r.m.copies.unknown[OVL_TOUCH_PAYLOAD] && r.m.copies.unknown[OVL_TOUCH_HEADER] &&
		   r.m.copies.unknown[OVL_TOUCH_READ],
	   "what was not probed is unknown, not 0");
	begin(&r, 1452, 1);
	calls(&r, OVL_FUNC_COUNT, 0, 1, 1);
	calls(&r, OVL_FUNC_COPY_OUT, 0, UINT64_MAX, 1);
	end(&r);
	is_int(r.m.copies.sites.n, 1, "rows that cannot be are left out");
	is_int(r.m.copies.sites.v[0].calls, 1000, "and spoil nothing");
	run_fini(&r);
}

/* Nothing was probed: a tun device's own counters tell what was copied for its daemon. */
static void arithmetic(void)
{
	struct run r;

	run_init(&r, false);
	ovl_str_copy(r.f.links.v[0].kind, OVL_IF_MAX, "tun");
	begin(&r, 5000, 10);
	r.s.links.v[r.s.links.n - 1].rx_bytes = 700;
	r.s.links.v[r.s.links.n - 1].rx_pkts = 7;
	end(&r);
	ok(r.m.copies.valid && !r.m.copies.counted, "known, but not counted");
	is_int(site(&r, OVL_FUNC_TUN_READ)->bytes, 5000, "what the daemon reads");
	is_int(site(&r, OVL_FUNC_TUN_WRITE)->bytes, 700, "what it writes");
	is_int(site(&r, OVL_FUNC_TUN_READ)->tier, OVL_TIER_AUTO, "marked as arithmetic");
	ok(isnan(r.m.copies.per_pkt), "how often payload is copied is unknown");
	run_fini(&r);
	run_init(&r, false);
	begin(&r, 5000, 10);
	end(&r);
	ok(!r.m.copies.valid, "without counts, tun or load nothing is known");
	run_fini(&r);
}

int main(void)
{
	counted();
	partly();
	arithmetic();
	return tap_done();
}
