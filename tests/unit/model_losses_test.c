/* Losses by the kernel's own counters: which counters they are, and that each is taken once. */
#include "model/losses.h"

#include "base/str.h"
#include "model/model.h"
#include "tap.h"

static void counter(struct ovl_model *m, uint32_t ns, const char *group, const char *name,
		    int64_t delta)
{
	struct ovl_counter *c = ovl_vec_push(&m->counters);

	c->ns = ns;
	c->delta = delta;
	ovl_str_copy(c->group, sizeof(c->group), group);
	ovl_str_copy(c->name, sizeof(c->name), name);
}

static void reading(struct ovl_model *m, const char *kind, const char *object, const char *name,
		    int64_t delta)
{
	struct ovl_reading *r = ovl_vec_push(&m->readings);

	r->delta = delta;
	ovl_str_copy(r->kind, sizeof(r->kind), kind);
	ovl_str_copy(r->object, sizeof(r->object), object);
	ovl_str_copy(r->name, sizeof(r->name), name);
}

static uint64_t lost(const struct ovl_model *m, const char *source, const char *object,
		     const char *name)
{
	uint64_t pkts = 0;

	ovl_vec_each(loss, &m->losses)
		if (!strcmp(loss->source, source) && !strcmp(loss->object, object) &&
		    !strcmp(loss->name, name))
			pkts += loss->pkts;
	return pkts;
}

int main(void)
{
	struct ovl_facts facts = {0};
	struct ovl_model m = {0};
	struct ovl_link *link = ovl_vec_push(&facts.links);
	struct ovl_device *device = ovl_vec_push(&m.devices);

	ovl_str_copy(link->name, sizeof(link->name), "tn0");
	ok(!ovl_losses_build(&facts, &m) && !m.losses.n, "nothing was lost: no rows");

	*device = (struct ovl_device){.valid = true, .tx = {.pkts = 9, .drops = 53}};
	counter(&m, 0, "link", "eth0:rx_missed_errors", 7);
	counter(&m, 0, "Udp", "RcvbufErrors", 41);
	counter(&m, 0, "Udp", "InDatagrams", 1000);
	counter(&m, 0, "TcpExt", "TCPBacklogDrop", -3);
	counter(&m, OVL_NS_MACHINE, "softnet", "dropped", 2);
	counter(&m, OVL_NS_MACHINE, "softnet", "time_squeeze", 2);
	reading(&m, "qdisc", "eth0 tbf 7:0", "drops", 35);
	reading(&m, "qdisc", "eth0 tbf 7:0", "overlimits", 99);
	reading(&m, "qdisc", "eth0 htb class 1:10", "drops", 35);
	reading(&m, "nic", "eth0", "rx_queue_0_drops", 3);
	reading(&m, "nic", "eth0", "rx_crc_errors_phy", 4);
	reading(&m, "rule", "filter forward handle 7", "drops", 5);
	ok(!ovl_losses_build(&facts, &m), "built");
	is_int(lost(&m, "device", "tn0", "tx_dropped"), 53, "what a device dropped");
	is_int(lost(&m, "link", "eth0", "rx_missed_errors"), 7, "what its statistics count apart");
	is_int(lost(&m, "protocol", "Udp", "RcvbufErrors"), 41, "what protocols drop");
	is_int(lost(&m, "backlog", "softnet", "dropped"), 2, "a CPU's backlog");
	is_int(lost(&m, "qdisc", "eth0 tbf 7:0", "drops"), 35, "a discipline, but not its classes");
	is_int(lost(&m, "nic", "eth0", "rx_queue_0_drops"), 3, "what a driver dropped");
	is_int(m.losses.n, 6, "and nothing else: traffic, errors, limits, rules, what fell");
	is_int(m.losses.v[0].pkts, 53, "most first");
	ovl_facts_fini(&facts);
	ovl_model_fini(&m);
	return tap_done();
}
