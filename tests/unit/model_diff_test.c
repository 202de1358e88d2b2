/* What changed between two runs: devices, ledger, counters, drops. */
#include "model/diff.h"

#include <math.h>

#include "model_scene.h"
#include "tap.h"

struct side {
	struct ovl_facts facts;
	struct ovl_model model;
};

static struct ovl_link *add_link(struct ovl_facts *f, const char *name, uint32_t mtu)
{
	struct ovl_link *l = ovl_vec_push(&f->links);

	ovl_str_copy(l->name, sizeof(l->name), name);
	ovl_str_copy(l->kind, sizeof(l->kind), "veth");
	l->mtu = mtu;
	l->up = true;
	l->lower = l->master = -1;
	return l;
}

static void add_feature(struct ovl_link *l, const char *name, bool on)
{
	struct ovl_feature *x = ovl_vec_push(&l->features);

	ovl_str_copy(x->name, sizeof(x->name), name);
	x->on = on;
}

static void add_stage(struct side *s, int stage, double ns_per_kib, double error)
{
	struct ovl_stage_time *t = ovl_vec_push(&s->model.cpu.stages);

	t->stage = (uint8_t)stage;
	t->ns_per_kib = ns_per_kib;
	t->share_ratio = 0.1;
	t->stderr_ratio = 0.1 * error;
}

static void add_counter(struct side *s, const char *name, int64_t delta)
{
	struct ovl_counter *c = ovl_vec_push(&s->model.counters);

	ovl_str_copy(c->group, sizeof(c->group), "TcpExt");
	ovl_str_copy(c->name, sizeof(c->name), name);
	c->delta = delta;
}

static void add_drop(struct side *s, uint64_t segs, bool benign)
{
	struct ovl_drop *d = ovl_vec_push(&s->model.drops);

	ovl_str_copy(d->reason, sizeof(d->reason), "QDISC_DROP");
	ovl_str_copy(d->symbol, sizeof(d->symbol), "tbf_enqueue");
	d->segs = segs;
	d->benign = benign;
}

static void begin(struct side *s, const char *netns, uint64_t seconds)
{
	memset(s, 0, sizeof(*s));
	scene_facts(&s->facts, false);
	ovl_str_copy(s->facts.ns.v[0].name, OVL_NAME_MAX, netns);
	s->model.duration_ns = seconds * SECOND;
	s->model.cpu.valid = true;
}

static void end(struct side *s)
{
	ovl_vec_fini(&s->model.cpu.stages);
	ovl_vec_fini(&s->model.counters);
	ovl_vec_fini(&s->model.drops);
	ovl_facts_fini(&s->facts);
}

static const struct ovl_diff_device *device(const struct ovl_diff *d, const char *iface,
					    const char *what)
{
	ovl_vec_each(x, &d->devices)
		if (!strcmp(x->iface, iface) && !strcmp(x->what, what))
			return x;
	return NULL;
}

static void fill(struct side *a, struct side *b)
{
	struct ovl_link *l = add_link(&a->facts, "eth0", 1500);

	add_feature(l, "tx-gso", true);
	add_feature(l, "only-here", true);
	add_link(&a->facts, "left", 1500);
	l = add_link(&b->facts, "eth0", 9000);
	add_feature(l, "tx-gso", false);
	add_link(&b->facts, "right", 1500);
	add_stage(a, OVL_STAGE_GSO, 100, 0.01);
	add_stage(b, OVL_STAGE_GSO, 300, 0.01);
	add_stage(a, OVL_STAGE_GRO, 100, 0.5);
	add_stage(b, OVL_STAGE_GRO, 120, 0.5);
	add_stage(a, OVL_STAGE_BRIDGE, 50, 0.01);
	add_counter(a, "TCPTimeouts", 1);
	add_counter(b, "TCPTimeouts", 400);
	add_counter(a, "Calm", 1000);
	add_counter(b, "Calm", 2010); /* over twice the time */
	add_drop(b, 100, false);
	add_drop(b, 7, true);
}

static void check(struct side *a, struct side *b, const char *how)
{
	const struct ovl_diff_side sa = {&a->facts, &a->model}, sb = {&b->facts, &b->model};
	const struct ovl_diff_device *d;
	struct ovl_diff diff = {0};

	is_int(ovl_diff_make(&sa, &sb, &diff), 0, "%s: compared", how);
	d = device(&diff, "eth0", "mtu");
	ok(d && !strcmp(d->a, "1500") && !strcmp(d->b, "9000"), "%s: the MTU changed", how);
	d = device(&diff, "eth0", "feature tx-gso");
	ok(d && !strcmp(d->a, "on") && !strcmp(d->b, "off"), "%s: a feature went off", how);
	ok(!device(&diff, "eth0", "feature only-here"), "%s: one kernel's bit is no change", how);
	d = device(&diff, "left", "device");
	ok(d && !strcmp(d->b, "-"), "%s: a device is gone", how);
	d = device(&diff, "right", "device");
	ok(d && !strcmp(d->a, "-"), "%s: another has come", how);
	is_int(diff.devices.n, 4, "%s: and nothing else", how);
	is_int(diff.stages.v[0].stage, OVL_STAGE_GSO, "%s: the costliest stage first", how);
	ok(ovl_diff_stands_out(&diff.stages.v[0]), "%s: beyond noise", how);
	is_int(diff.stages.v[1].stage, OVL_STAGE_BRIDGE, "%s: one that went", how);
	ok(diff.stages.v[1].b_ns_per_kib == 0, "%s: costs nothing now", how);
	is_int(diff.stages.v[2].stage, OVL_STAGE_GRO, "%s: noise last", how);
	ok(!ovl_diff_stands_out(&diff.stages.v[2]), "%s: and called so", how);
	is_int(diff.counters.n, 1, "%s: a counter of the same rate is no change", how);
	ok(diff.counters.n && !strcmp(diff.counters.v[0].name, "TcpExt.TCPTimeouts") &&
		   fabs(diff.counters.v[0].b_ps - 20) < 1e-9,
	   "%s: one of another is, a second", how);
	is_int(diff.drops.n, 1, "%s: drops, benign frees left out", how);
	ok(diff.drops.n && fabs(diff.drops.v[0].b_ps - 5) < 1e-9, "%s: a second", how);
	ovl_diff_fini(&diff);
}

int main(void)
{
	struct side a, b;

	begin(&a, "node1", 10);
	begin(&b, "node1", 20);
	fill(&a, &b);
	check(&a, &b, "one namespace");
	ovl_str_copy(b.facts.ns.v[0].name, OVL_NAME_MAX, "net:[77]");
	check(&a, &b, "namespaces of other names");
	end(&a);
	end(&b);
	begin(&a, "node1", 10);
	begin(&b, "node1", 0);
	fill(&a, &b);
	{
		const struct ovl_diff_side sa = {&a.facts, &a.model}, sb = {&b.facts, &b.model};
		struct ovl_diff diff = {0};

		is_int(ovl_diff_make(&sa, &sb, &diff), 0, "a run of no time is compared");
		is_int(diff.counters.n + diff.drops.n, 0, "but has no rates");
		ovl_diff_fini(&diff);
	}
	end(&a);
	end(&b);
	return tap_done();
}
