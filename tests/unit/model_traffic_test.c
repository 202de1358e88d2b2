/* What an interface carries by its kind, and what each device of the run counted. */
#include "model_run.h"
#include "tap.h"

/* One run: facts, samples and what comes of them. */
struct run {
	struct ovl_facts f;
	struct ovl_sample s;
	struct ovl_model m;
	struct ovl_model_state *state;
};

/* The interface (link 0) is of this kind; more devices follow by add_device. */
static void run_init(struct run *r, const char *name, const char *kind, int ifindex)
{
	*r = (struct run){.state = ovl_model_new()};
	scene_facts(&r->f, false);
	ovl_str_copy(r->f.links.v[0].name, OVL_IF_MAX, name);
	ovl_str_copy(r->f.links.v[0].kind, OVL_IF_MAX, kind);
	r->f.links.v[0].ifindex = ifindex;
}

static void run_fini(struct run *r)
{
	ovl_sample_fini(&r->s);
	ovl_facts_fini(&r->f);
	ovl_model_free(r->state);
	ovl_model_fini(&r->m);
}

static void add_device(struct run *r, const char *name, const char *kind, int master)
{
	struct ovl_link *link = ovl_vec_push(&r->f.links);

	ovl_str_copy(link->name, sizeof(link->name), name);
	ovl_str_copy(link->kind, sizeof(link->kind), kind);
	link->ifindex = (int)r->f.links.n + 1;
	link->lower = -1;
	link->master = master;
}

/* An interval of a second, CPU 0 full with packets. */
static void begin(struct run *r)
{
	scene_begin(&r->s, OVL_PHASE_OBSERVE, 0);
	scene_clock(&r->s, 0, 1000, 10, 0);
	scene_clock(&r->s, 1, 1000, 1000, 0);
	scene_hit(&r->s, 0, OVL_STAGE_GRO, OVL_CTX_SOFTIRQ, OVL_TASK_OTHER, 990);
}

static void counted(struct run *r, uint32_t link, uint64_t rx_bytes, uint64_t rx_pkts,
		    uint64_t tx_bytes, uint64_t tx_pkts)
{
	scene_link(&r->s, rx_bytes, rx_pkts, tx_bytes, tx_pkts);
	r->s.links.v[r->s.links.n - 1].link = link;
}

static void end(struct run *r)
{
	is_int(ovl_model_add(r->state, &r->f, &r->s), 0, "a sample is taken");
	is_int(ovl_model_build(r->state, &r->f, &r->m), 0, "and the model built");
}

static void is_traffic(const struct run *r, uint64_t rx, uint64_t tx, const char *name)
{
	is_int(r->m.traffic.rx_bytes, rx, "%s: rx", name);
	is_int(r->m.traffic.tx_bytes, tx, "%s: tx", name);
}

static double last_bps(const struct run *r)
{
	return r->m.n_history ? r->m.history[r->m.n_history - 1].bps : NAN;
}

/* docker0 with two containers, and a port of another bridge. */
static void bridge_init(struct run *r)
{
	run_init(r, "docker0", "bridge", 2);
	add_device(r, "vethc1", "veth", 0);
	add_device(r, "vethc2", "veth", 0);
	add_device(r, "br-1", "bridge", -1);
	add_device(r, "vethu1", "veth", 3);
}

static void test_bridge(void)
{
	struct run r;

	bridge_init(&r);
	begin(&r);
	counted(&r, 0, 28, 1, 42, 1);
	counted(&r, 1, 1000000, 700, 20000, 300);
	counted(&r, 2, 20000, 300, 1000000, 700);
	counted(&r, 4, 5000000, 5000, 7000000, 7000);
	end(&r);
	ok(r.m.traffic.valid, "a bridge carries what its ports do");
	is_traffic(&r, 1020000, 1020000, "container to container");
	is_int(r.m.traffic.rx_pkts, 1000, "its packets");
	ok(fabs(r.m.traffic.last_rx_bps - 8160000) < 1, "its rate");
	ok(fabs(last_bps(&r) - (1020000 + 42) * 8.0) < 1,
	   "what passed it is counted once, and the host's own with it");
	is_str(ovl_limit_key(r.m.verdict.limit), "receiver_softirq_cpu",
	       "both ends are here: the kind of work decides whose it is");
	ok(fabs(r.m.cpu.stages.v[0].ns_per_kib / (990e6 * 1024 / (1020000 - 66 * 1000)) - 1) < 1e-6,
	   "cost per KiB of what crossed it, less headers");
	begin(&r);
	counted(&r, 0, 0, 0, 4000000, 3000);
	counted(&r, 1, 30000, 500, 4000000, 3000);
	counted(&r, 2, 0, 0, 0, 0);
	end(&r);
	is_traffic(&r, 1050000, 5020000, "and then host to container");
	ok(fabs(last_bps(&r) - 4030000 * 8.0) < 1, "counted once as well");
	is_str(ovl_limit_key(r.m.verdict.limit), "sender_softirq_cpu",
	       "one direction far ahead decides");
	run_fini(&r);
}

static void test_idle_bridge(void)
{
	struct run r;

	bridge_init(&r);
	begin(&r);
	for (uint32_t i = 0; i < 5; i++)
		counted(&r, i, i == 4, i == 4, 0, 0);
	end(&r);
	is_str(ovl_limit_key(r.m.verdict.limit), "no_traffic", "no port saw a packet");
	is_str(r.m.verdict.sentence, "no packet crossed docker0 while it was watched",
	       "and that is said");
	run_fini(&r);
	bridge_init(&r);
	begin(&r);
	counted(&r, 1, 100, 1, 0, 0);
	counted(&r, 2, 0, 0, 0, 0);
	r.s.links.v[1].gone = true;
	end(&r);
	ok(r.m.verdict.limit != OVL_LIMIT_NO_TRAFFIC, "one packet by a port is traffic");
	is_traffic(&r, 100, 0, "with a port that has gone");
	run_fini(&r);
	run_init(&r, "docker0", "bridge", 2);
	begin(&r);
	counted(&r, 0, 0, 0, 0, 0);
	end(&r);
	is_str(ovl_limit_key(r.m.verdict.limit), "no_traffic", "a bridge without ports");
	ok(strstr(r.m.verdict.sentence, "no port of it is known"), "is said to be one: %s",
	   r.m.verdict.sentence);
	begin(&r);
	counted(&r, 0, 0, 0, 4200, 100);
	end(&r);
	is_traffic(&r, 0, 4200, "what the host sends to nobody");
	run_fini(&r);
}

/* Ports matter to a bridge alone; indices may be anything. */
static void test_other_kinds(void)
{
	static const char *const kinds[] = {"bond", "vxlan", "veth", "vrf", ""};
	struct run r;

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		run_init(&r, "dev0", kinds[i], 2);
		add_device(&r, "port", "", 0);
		begin(&r);
		counted(&r, 0, 3000, 3, 500, 2);
		counted(&r, 1, 9000, 9, 9000, 9);
		end(&r);
		is_traffic(&r, 3000, 500, *kinds[i] ? kinds[i] : "physical");
		ok(fabs(last_bps(&r) - 28000) < 1, "both ways pass it");
		run_fini(&r);
	}
	run_init(&r, "br0", "bridge", 2);
	add_device(&r, "port", "veth", 77);
	r.f.links.v[0].master = 0;
	begin(&r);
	counted(&r, 0, 10, 1, 20, 1);
	counted(&r, 1, 1000, 1, 1000, 1);
	end(&r);
	is_traffic(&r, 10, 20, "a bridge that is its own port, a port of nothing");
	run_fini(&r);
}

static void test_loopback(void)
{
	struct run r;

	run_init(&r, "lo", "", 1);
	is_str(ovl_facts_kind(&r.f.links.v[0]), "loopback", "lo of an older recording");
	begin(&r);
	counted(&r, 0, 1000000, 100, 1000000, 100);
	end(&r);
	is_traffic(&r, 1000000, 1000000, "loopback counts each packet twice");
	ok(fabs(last_bps(&r) - 8000000) < 1, "it passed once");
	ok(fabs(r.m.cpu.stages.v[0].ns_per_kib / (990e6 * 1024 / (1000000 - 52 * 100)) - 1) < 1e-6,
	   "and has no Ethernet header");
	is_str(ovl_limit_key(r.m.verdict.limit), "receiver_softirq_cpu", "both ends are here");
	run_fini(&r);
}

static void test_devices(void)
{
	const struct ovl_device *d;
	struct run r;

	bridge_init(&r);
	ovl_model_build(r.state, &r.f, &r.m);
	is_int(r.m.devices.n, 5, "every device is listed before the first sample");
	ok(!r.m.devices.v[0].valid, "with unknown counters");
	for (int i = 0; i < 2; i++) {
		begin(&r);
		counted(&r, 1, 1000, 10, 200, 2);
		r.s.links.v[0].rx_dropped = 3;
		r.s.links.v[0].rx_errors = 4;
		r.s.links.v[0].tx_dropped = 5;
		r.s.links.v[0].tx_errors = 6;
		counted(&r, 4, 7, 1, 0, 0);
		r.s.links.v[1].gone = i == 1;
		counted(&r, 2, 0, 0, 0, 0);
		r.s.links.v[2].tx_errors = UINT64_MAX - 5;
		end(&r);
	}
	d = &r.m.devices.v[1];
	is_int(r.m.devices.n, 5, "none twice");
	ok(d->valid && d->rx.bytes == 2000 && d->rx.pkts == 20 && d->rx.drops == 6 &&
		   d->rx.errors == 8,
	   "received over the run");
	ok(d->tx.bytes == 400 && d->tx.pkts == 4 && d->tx.drops == 10 && d->tx.errors == 12,
	   "sent over the run");
	ok(!r.m.devices.v[0].valid && !r.m.devices.v[3].valid, "those not read stay unknown");
	ok(r.m.devices.v[4].valid && r.m.devices.v[4].rx.bytes == 7, "one that went keeps its sum");
	ok(!r.m.devices.v[2].valid && r.m.damaged_records == 2, "counters that cannot be are not");
	run_fini(&r);
}

int main(void)
{
	test_bridge();
	test_idle_bridge();
	test_other_kinds();
	test_loopback();
	test_devices();
	return tap_done();
}
