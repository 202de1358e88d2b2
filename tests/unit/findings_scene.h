/*
 * A node with a tunnel and a pod, healthy and under load, for the tests of rules: links 0 flannel.1
 * (on eth0), 1 eth0, 2 cni0, 3 vethp1 and, in the pod's namespace, 4 eth0. One second.
 */
#ifndef OVL_TESTS_FINDINGS_SCENE_H
#define OVL_TESTS_FINDINGS_SCENE_H

#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "model/model.h"
#include "model/stage.h"

#define NODE   0u
#define POD    1u
#define SECOND UINT64_C(1000000000)

enum { TUNNEL, UNDERLAY, BRIDGE, PORT, POD_ETH0, LINKS };

struct scene {
	struct ovl_facts facts;
	struct ovl_sample sample;
	uint64_t before_ns; /* length of a sample before, for which no evidence was read */
};

static inline void scene_feature(struct ovl_link *link, const char *name, bool on)
{
	struct ovl_feature *f;

	ovl_vec_each(have, &link->features)
		if (!strcmp(have->name, name)) {
			have->on = on;
			return;
		}
	f = ovl_vec_push(&link->features);
	ovl_str_copy(f->name, sizeof(f->name), name);
	f->on = on;
}

static inline void scene_add_link(struct scene *s, uint32_t ns, const char *name, const char *kind,
				  uint32_t mtu, int lower, int master)
{
	static const char *const on[] = {"tx-tcp-segmentation",	    "tx-generic-segmentation",
					 "tx-scatter-gather",	    "tx-checksum-ip-generic",
					 "tx-udp_tnl-segmentation", "rx-gro"};
	struct ovl_link *link = ovl_vec_push(&s->facts.links);

	link->ns = ns;
	link->ifindex = (int)s->facts.links.n + 1;
	link->mtu = mtu;
	link->lower = lower;
	link->master = master;
	link->up = true;
	ovl_str_copy(link->name, sizeof(link->name), name);
	ovl_str_copy(link->kind, sizeof(link->kind), kind);
	for (size_t i = 0; i < sizeof(on) / sizeof(on[0]); i++)
		scene_feature(link, on[i], true);
}

/** Traffic of a device in both directions: bytes in packets of a mean size. */
static inline void scene_traffic(struct scene *s, uint32_t link, uint64_t rx, uint64_t rx_mean,
				 uint64_t tx, uint64_t tx_mean)
{
	struct ovl_link_delta *d = NULL;

	ovl_vec_each(have, &s->sample.links)
		if (have->link == link)
			d = have;
	d = d ? d : ovl_vec_push(&s->sample.links);
	*d = (struct ovl_link_delta){
		.link = link,
		.rx_bytes = rx,
		.rx_pkts = rx_mean ? rx / rx_mean : 0,
		.tx_bytes = tx,
		.tx_pkts = tx_mean ? tx / tx_mean : 0,
	};
}

static inline void scene_counter(struct scene *s, uint32_t ns, const char *group, const char *name,
				 int64_t delta)
{
	struct ovl_counter *c = ovl_vec_push(&s->sample.counters);

	c->ns = ns;
	c->delta = delta;
	ovl_str_copy(c->group, sizeof(c->group), group);
	ovl_str_copy(c->name, sizeof(c->name), name);
}

static inline void scene_drop(struct scene *s, const char *reason, const char *symbol, uint32_t ns,
			      const char *iface, uint64_t pkts, bool benign)
{
	struct ovl_drop *d = ovl_vec_push(&s->sample.drops);

	d->ns = ns;
	d->pkts = d->segs = pkts;
	d->stage = OVL_STAGE_UNCLASSIFIED;
	d->benign = benign;
	ovl_str_copy(d->reason, sizeof(d->reason), reason);
	ovl_str_copy(d->symbol, sizeof(d->symbol), symbol);
	ovl_str_copy(d->iface, sizeof(d->iface), iface);
}

static inline void scene_reading(struct scene *s, uint32_t ns, const char *kind, const char *object,
				 const char *name, int64_t value, int64_t delta)
{
	struct ovl_reading *r = ovl_vec_push(&s->sample.readings);

	r->ns = ns;
	r->value = value;
	r->delta = delta;
	ovl_str_copy(r->kind, sizeof(r->kind), kind);
	ovl_str_copy(r->object, sizeof(r->object), object);
	ovl_str_copy(r->name, sizeof(r->name), name);
}

static inline void scene_words(struct scene *s, uint32_t ns, const char *kind, const char *object,
			       const char *name, const char *text)
{
	scene_reading(s, ns, kind, object, name, 0, 0);
	ovl_str_copy(s->sample.readings.v[s->sample.readings.n - 1].text,
		     sizeof(s->sample.readings.v[0].text), text);
}

static inline void scene_rule(struct scene *s, const char *object, const char *words,
			      const char *does, int64_t pkts)
{
	scene_words(s, NODE, "rule", object, "words", words);
	scene_reading(s, NODE, "rule", object, does, pkts, pkts);
}

/** The first connection of the sample, made if there is none. */
static inline struct ovl_flow *scene_flow(struct scene *s)
{
	struct ovl_flow *f = s->sample.flows.n ? s->sample.flows.v : ovl_vec_push(&s->sample.flows);

	if (f->ns)
		return f;
	f->ns = POD;
	f->state = 1;
	ovl_str_copy(f->src, sizeof(f->src), "10.244.1.2:40000");
	ovl_str_copy(f->dst, sizeof(f->dst), "10.244.2.2:5201");
	f->acked_bytes = f->total_acked_bytes = 500000000;
	f->sent_segs = 357000;
	f->busy_us = 1000000;
	f->rtt_us = 120;
	f->min_rtt_us = 60;
	f->cwnd_segs = 100;
	f->unacked_segs = 90;
	f->unsent_bytes = 1000000;
	f->mss_bytes = 1398;
	f->pmtu_bytes = 1450;
	f->snd_wnd_bytes = 3000000;
	return f;
}

static inline void scene_attempts(struct scene *s, const char *dst, uint32_t port, uint64_t tried,
				  uint64_t answered)
{
	struct ovl_attempt *a = ovl_vec_push(&s->sample.attempts);

	a->ns = POD;
	a->port = port;
	a->tried = tried;
	a->answered = answered;
	a->unanswered = tried - answered;
	a->repeated_segs = tried - answered;
	ovl_str_copy(a->dst, sizeof(a->dst), dst);
}

/** Samples of one CPU in a stage, of 1000 a second. */
static inline void scene_stage(struct scene *s, uint32_t cpu, int stage, uint32_t count)
{
	struct ovl_hit *h = ovl_vec_push(&s->sample.hits);

	*h = (struct ovl_hit){
		.cpu = cpu, .stage = (uint8_t)stage, .ctx = OVL_CTX_SOFTIRQ, .count = count};
}

static inline void scene_clocks(struct scene *s, uint64_t idle_0_ms, uint64_t idle_1_ms)
{
	const uint64_t idle[] = {idle_0_ms, idle_1_ms};

	ovl_vec_clear(&s->sample.cpus);
	for (uint32_t cpu = 0; cpu < 2; cpu++) {
		struct ovl_cpu_clock *c = ovl_vec_push(&s->sample.cpus);

		*c = (struct ovl_cpu_clock){
			.cpu = cpu, .wall_ns = SECOND, .idle_ns = idle[cpu] * 1000000};
	}
}

/** 4 Gbit/s from the pod to the other node in packets of 30 kB; a CPU is full, nothing is wrong. */
static inline void scene_healthy(struct scene *s)
{
	struct ovl_facts *f = &s->facts;

	memset(s, 0, sizeof(*s));
	f->cpus = 2;
	f->sample_hz = 1000;
	f->interval_ns = SECOND;
	f->progs_attached = 3;
	ovl_str_copy(((struct ovl_ns *)ovl_vec_push(&f->ns))->name, OVL_NAME_MAX, "node1");
	ovl_str_copy(((struct ovl_ns *)ovl_vec_push(&f->ns))->name, OVL_NAME_MAX, "pod1");
	scene_add_link(s, NODE, "flannel.1", "vxlan", 1450, UNDERLAY, -1);
	scene_add_link(s, NODE, "eth0", "", 1500, -1, -1);
	scene_add_link(s, NODE, "cni0", "bridge", 1450, -1, -1);
	scene_add_link(s, NODE, "vethp1", "veth", 1450, POD_ETH0, BRIDGE);
	scene_add_link(s, POD, "eth0", "veth", 1450, PORT, -1);
	f->vxlan.valid = true;
	f->vxlan.vni = 1;
	f->vxlan.port = 8472;
	s->sample.end_ts_ns = SECOND;
	s->sample.flows_valid = s->sample.attempts_valid = true;
	scene_traffic(s, TUNNEL, 2000000, 60, 500000000, 30000);
	scene_traffic(s, UNDERLAY, 4000000, 120, 520000000, 30000);
	scene_traffic(s, BRIDGE, 500000000, 30000, 2000000, 60);
	scene_traffic(s, PORT, 500000000, 30000, 2000000, 60);
	scene_traffic(s, POD_ETH0, 2000000, 60, 500000000, 30000);
	scene_clocks(s, 0, 300);
	scene_stage(s, 0, OVL_STAGE_VXLAN_ENCAP, 300);
	scene_stage(s, 0, OVL_STAGE_TCP_TX, 400);
	scene_stage(s, 1, OVL_STAGE_TCP_RX, 200);
	scene_flow(s);
	scene_words(s, NODE, "route", "default", "device", "eth0");
	scene_reading(s, NODE, "conntrack", "table", "entries", 10, 0);
	scene_reading(s, NODE, "conntrack", "table", "limit", 262144, 0);
	scene_reading(s, NODE, "sysctl", "ipv4", "ip_forward", 1, 0);
	scene_reading(s, NODE, "vtep", "10.244.2.0 flannel.1", "neighbour", 1, 0);
	scene_reading(s, NODE, "vtep", "10.244.2.0 flannel.1", "forwarding", 1, 0);
	scene_drop(s, "TCP_OLD_DATA", "tcp_data_queue", POD, "", 3, true);
	scene_drop(s, "QUEUE_PURGE", "skb_queue_purge", NODE, "", 5, true);
}

/** Nothing moves: connections are tried and none is answered; the tunnel sent so many packets. */
static inline void scene_dead(struct scene *s, uint64_t sent, uint64_t got)
{
	for (uint32_t i = 0; i < LINKS; i++)
		scene_traffic(s, i, got * 60, 60, sent * 60, 60);
	ovl_vec_clear(&s->sample.flows);
	ovl_vec_clear(&s->sample.attempts);
	scene_attempts(s, "10.244.2.2", 7000, 12, 0);
	scene_clocks(s, 800, 800);
}

/** The node receives what it sent before. */
static inline void scene_turn(struct scene *s)
{
	ovl_vec_each(d, &s->sample.links) {
		const struct ovl_link_delta was = *d;

		d->rx_bytes = was.tx_bytes;
		d->rx_pkts = was.tx_pkts;
		d->tx_bytes = was.rx_bytes;
		d->tx_pkts = was.rx_pkts;
	}
	scene_flow(s)->received_bytes = scene_flow(s)->acked_bytes;
	scene_flow(s)->acked_bytes = scene_flow(s)->sent_segs = 0;
}

static inline void scene_free(struct scene *s)
{
	ovl_facts_fini(&s->facts);
	ovl_sample_fini(&s->sample);
}

#endif
