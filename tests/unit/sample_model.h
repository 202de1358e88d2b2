/* Facts and models made by hand, for the tests of views. The figures are invented, but add up. */
#ifndef OVL_TESTS_SAMPLE_MODEL_H
#define OVL_TESTS_SAMPLE_MODEL_H

#include <math.h>
#include <stdlib.h>
#include <stdio.h>
#include <string.h>

#include "model/facts.h"
#include "model/model.h"

#define copy_str(dst, src) snprintf(dst, sizeof(dst), "%s", src)

static inline void sample_link(struct ovl_facts *f, uint32_t ns, const char *name, const char *kind,
			       uint32_t mtu)
{
	struct ovl_link *link = ovl_vec_push(&f->links);

	link->ns = ns;
	link->ifindex = (int)f->links.n + 1;
	copy_str(link->name, name);
	copy_str(link->kind, kind);
	link->mtu = mtu;
	link->lower = link->master = -1;
	link->up = true;
}

static inline void sample_facts(struct ovl_facts *f, bool load)
{
	struct ovl_feature *feature;
	struct ovl_setting *setting;
	struct ovl_missing *missing;

	*f = (struct ovl_facts){.cpus = 2, .iface = 0, .sample_hz = 997, .interval_ns = 1000000000};
	copy_str(f->tool_version, "0.1.0");
	copy_str(f->libbpf_version, "1.1.2");
	copy_str(f->kernel, "6.12.30");
	copy_str(f->arch, "x86_64");
	copy_str(f->nodename, "node-a");
	f->start_unix_ns = 1700000000000000000ull;
	copy_str(((struct ovl_ns *)ovl_vec_push(&f->ns))->name, "ovl-flannel-vxlan-node1");
	f->ns.v[0].inode = 4026532001;
	copy_str(((struct ovl_ns *)ovl_vec_push(&f->ns))->name, "net:[4026532002]");
	sample_link(f, 0, "flannel.1", "vxlan", 1450);
	sample_link(f, 0, "eth0", "veth", 1500);
	f->links.v[0].lower = 1;
	feature = ovl_vec_push(&f->links.v[0].features);
	copy_str(feature->name, "tx-checksum-ip-generic");
	feature = ovl_vec_push(&f->links.v[0].features);
	copy_str(feature->name, "tx-generic-segmentation");
	feature->on = true;
	f->vxlan = (struct ovl_vxlan){.valid = true, .vni = 1, .port = 8472};
	copy_str(f->vxlan.local, "10.99.0.1");
	copy_str(f->vxlan.dev, "eth0");
	f->progs_attached = 2;
	missing = ovl_vec_push(&f->missing);
	copy_str(missing->hook, "skb:kfree_skb");
	copy_str(missing->reason, "the kernel has no such tracepoint");
	copy_str(missing->lost, "drops by reason");
	setting = ovl_vec_push(&f->config);
	copy_str(setting->name, "iface");
	copy_str(setting->value, "flannel.1");
	if (!load)
		return;
	f->load = (struct ovl_load_facts){
		.valid = true, .streams = 1, .cpu_receiver = 1, .has_underlay = true};
	copy_str(f->load.kind, "iperf-like");
	copy_str(f->load.peer_kind, "lab");
	copy_str(f->load.congestion, "cubic");
	copy_str(f->load.where,
		 "between the pods of the lab flannel-vxlan (CPU only: no NIC, no wire)");
}

static inline void sample_stage(struct ovl_model *m, int stage, double share, const char *symbol)
{
	struct ovl_stage_time *t = ovl_vec_push(&m->cpu.stages);

	t->stage = (uint8_t)stage;
	t->ns = (uint64_t)(share * (double)m->cpu.busy_ns);
	t->samples = (uint64_t)(share * (double)m->cpu.samples);
	t->share_ratio = share;
	t->stderr_ratio = sqrt(share * (1 - share) / (double)m->cpu.samples);
	t->ns_per_kib = share * 1600;
	t->underlay_ns_per_kib = NAN;
	t->work_ns[OVL_WORK_COPY] = t->ns / 2;
	t->work_ns[OVL_WORK_OTHER] = t->ns - t->ns / 2;
	t->n_symbols = 1;
	copy_str(t->symbols[0].name, symbol);
	t->symbols[0].ns = t->ns / 3;
}

static inline void sample_cpu(struct ovl_model *m)
{
	struct ovl_cpu_load *cpu;

	m->cpu.valid = true;
	m->cpu.wall_ns = 84000000000;
	m->cpu.busy_ns = 66360000000;
	m->cpu.idle_ns = 17640000000;
	m->cpu.samples = 66100;
	m->cpu.unclassified_ratio = 0.012;
	m->cpu.catch_all_ratio = 0.008;
	sample_stage(m, OVL_STAGE_GSO, 0.213, "skb_segment");
	sample_stage(m, OVL_STAGE_GRO, 0.164, "dev_gro_receive");
	sample_stage(m, OVL_STAGE_COPY_TO_USER, 0.131, "rep_movs_alternative");
	sample_stage(m, OVL_STAGE_COPY_FROM_USER, 0.118, "rep_movs_alternative");
	sample_stage(m, OVL_STAGE_TCP_RX, 0.082, "tcp_rcv_established");
	sample_stage(m, OVL_STAGE_TCP_TX, 0.061, "tcp_write_xmit");
	sample_stage(m, OVL_STAGE_VXLAN_ENCAP, 0.055, "vxlan_xmit_one");
	sample_stage(m, OVL_STAGE_VXLAN_DECAP, 0.043, "vxlan_rcv");
	sample_stage(m, OVL_STAGE_IP, 0.038, "fib_table_lookup");
	sample_stage(m, OVL_STAGE_BRIDGE, 0.027, "br_handle_frame");
	sample_stage(m, OVL_STAGE_VETH, 0.021, "veth_xmit");
	sample_stage(m, OVL_STAGE_NETFILTER, 0.014, "nf_hook_slow");
	sample_stage(m, OVL_STAGE_WAKEUP, 0.013, "try_to_wake_up");
	sample_stage(m, OVL_STAGE_UNCLASSIFIED, 0.012, "0xffffffffc0a01000");
	sample_stage(m, OVL_STAGE_SOFTIRQ_OTHER, 0.008, "__do_softirq");
	cpu = ovl_vec_push(&m->cpu.per_cpu);
	*cpu = (struct ovl_cpu_load){0, 0.97, 0.541, 0, OVL_STAGE_GSO};
	cpu = ovl_vec_push(&m->cpu.per_cpu);
	*cpu = (struct ovl_cpu_load){1, 0.61, 0.402, 0.012, OVL_STAGE_GRO};
}

/** The last interval: a little above the mean. */
static inline void sample_last(struct ovl_model *m, bool load)
{
	struct ovl_cpu_load *cpu;

	m->last.goodput_bps = load ? 6.42e9 : NAN;
	m->last.drops_ps = 14.2;
	m->last.retransmits_ps = 2;
	m->last.rtt_ns = load ? 305000 : NAN;
	cpu = ovl_vec_push(&m->last.per_cpu);
	*cpu = (struct ovl_cpu_load){0, 0.98, 0.551, 0, OVL_STAGE_GSO};
	cpu = ovl_vec_push(&m->last.per_cpu);
	*cpu = (struct ovl_cpu_load){1, 0.62, 0.412, 0.012, OVL_STAGE_GRO};
}

/** What the stages cost over the underlay: some nothing, and one stage that the overlay lacks. */
static inline void sample_underlay(struct ovl_model *m)
{
	static const double ns_per_kib[OVL_STAGE_COUNT] = {
		[OVL_STAGE_GRO] = 12.6,
		[OVL_STAGE_COPY_TO_USER] = 201.4,
		[OVL_STAGE_COPY_FROM_USER] = 190.9,
		[OVL_STAGE_TCP_RX] = 118.2,
		[OVL_STAGE_TCP_TX] = 88.1,
		[OVL_STAGE_IP] = 30.2,
		[OVL_STAGE_VETH] = 15.9,
		[OVL_STAGE_NETFILTER] = 10.1,
		[OVL_STAGE_WAKEUP] = 18,
		[OVL_STAGE_SOFTIRQ_OTHER] = 8,
		[OVL_STAGE_QDISC] = 4.2,
	};
	struct ovl_stage_time *qdisc = ovl_vec_push(&m->cpu.stages);

	qdisc->stage = OVL_STAGE_QDISC;
	ovl_vec_each(t, &m->cpu.stages)
		t->underlay_ns_per_kib = ns_per_kib[t->stage];
}

static inline void sample_term(struct ovl_model *m, const char *key, const char *label, int64_t bps,
			       double ns_per_kib, double stderr_bps)
{
	struct ovl_term *t = ovl_vec_push(&m->waterfall.terms);
	double y_o = 8e9 / m->waterfall.overlay_bps, d = ns_per_kib / 1024;

	copy_str(t->key, key);
	copy_str(t->label, label);
	t->bps = bps;
	t->stderr_bps = stderr_bps;
	t->low_bps = t->if_removed_high_bps = NAN;
	t->ns_per_kib = ns_per_kib;
	t->if_removed_bps = isnan(d) || d >= y_o ? NAN : 8e9 / (y_o - d);
}

static inline void sample_waterfall(struct ovl_model *m)
{
	struct ovl_waterfall *w = &m->waterfall;
	int64_t sum = 0;

	w->valid = true;
	w->underlay_bps = 9411234567.4;
	w->overlay_bps = 6351000000.2;
	copy_str(w->lane, "cpu0");
	w->lane_purity_ratio = 0.973;
	w->low_underlay_bps = NAN;
	w->stderr_pairs = 6;
	w->ledger_error_ratio = 0.008;
	w->wake_ratio = 0.093;
	sample_term(m, "gso", "segmentation in software (GSO)", 1060000000, 205.1, 31e6);
	sample_term(m, "vxlan_encap", "vxlan encap", 510000000, 100.2, 24e6);
	sample_term(m, "checksum", "checksum in software", 390000000, 75.3, 20e6);
	sample_term(m, "veth", "veth", 340000000, 66.0, 18e6);
	sample_term(m, "ip", "IP and routing", 330000000, 63.9, 17e6);
	sample_term(m, "netfilter", "netfilter", 210000000, 40.4, 15e6);
	sample_term(m, "bridge", "bridge", 140000000, 27.1, 14e6);
	sample_term(m, "wakeup", "wakeup and scheduler", 52000000, 12.7, 11e6);
	sample_term(m, "ovltrace", "ovltrace itself", 11000000, 8.2, 9e6);
	sample_term(m, "skb_free", "skb alloc and free", 9000000, 21.0, 12e6);
	sample_term(m, "copy_from_user", "copy from user", -4000000, 143.4, 19e6);
	sample_term(m, "slack", "slack used up first", -88000000, NAN, 21e6);
	ovl_vec_each(t, &w->terms)
		sum += t->bps;
	w->unexplained_bps = llround(w->underlay_bps) - llround(w->overlay_bps) - sum;
	w->n_runners_up = 1;
	copy_str(w->runners_up[0], "cpu1");
}

static inline void sample_load_path(struct ovl_load_path *path, double bps, uint64_t p50_ns)
{
	*path = (struct ovl_load_path){
		.valid = true,
		.goodput_bps = bps,
		.bytes = (uint64_t)(bps / 8 * 20),
		.wall_ns = 20000000000,
		.retransmits = 22,
		.rtt = {true, p50_ns, p50_ns * 3 / 2, p50_ns * 2, p50_ns * 9},
		.sender_ns_per_kib = 1204.5,
		.sender_switches = {0.21, 0.07},
		.receiver_switches = {NAN, NAN},
		.receiver_ns_per_kib = NAN,
		.busy_ratio = 0.99,
		.rwnd_ratio = 0.021,
		.sndbuf_ratio = 0.004,
		.cwnd_segs = 241,
		.mss_bytes = 1398,
	};
}

static inline void sample_drop(struct ovl_model *m, const char *reason, const char *iface,
			       uint64_t segs, bool benign)
{
	struct ovl_drop *d = ovl_vec_push(&m->drops);

	copy_str(d->reason, reason);
	copy_str(d->symbol, "__dev_xmit_skb");
	copy_str(d->iface, iface);
	d->ns = 0;
	d->stage = *iface ? OVL_STAGE_QDISC : OVL_STAGE_UNCLASSIFIED;
	d->benign = benign;
	d->pkts = segs / 2 + 1;
	d->segs = segs;
}

static inline void sample_verdict(struct ovl_model *m)
{
	struct ovl_verdict *v = &m->verdict;

	v->limit = OVL_LIMIT_SENDER_SOFTIRQ_CPU;
	copy_str(v->side, "sender");
	v->confidence_ratio = 0.87;
	copy_str(v->sentence,
		 "The overlay is limited by the sender's softirq: CPU 0 is full, and segmentation "
		 "in software takes the most of what is lost.");
	v->n_evidence = 3;
	v->evidence[0] = (struct ovl_evidence){"cpu0_idle", 0.03, "ratio"};
	v->evidence[1] = (struct ovl_evidence){"softirq_share", 0.541, "ratio"};
	v->evidence[2] = (struct ovl_evidence){"gso_loss", 1.06e9, "bps"};
}

static inline void sample_counter(struct ovl_model *m, uint32_t ns, const char *group,
				  const char *name, int64_t delta)
{
	struct ovl_counter *c = ovl_vec_push(&m->counters);

	c->ns = ns;
	copy_str(c->group, group);
	copy_str(c->name, name);
	c->delta = delta;
}

static inline void sample_loss(struct ovl_model *m, uint32_t ns, const char *source,
			       const char *object, const char *name, uint64_t pkts)
{
	struct ovl_loss *loss = ovl_vec_push(&m->losses);

	loss->ns = ns;
	loss->source = source;
	loss->pkts = pkts;
	copy_str(loss->object, object);
	copy_str(loss->name, name);
}

/** A model with everything known; with load also the waterfall. */
static inline void sample_model(struct ovl_model *m, bool load)
{
	*m = (struct ovl_model){.duration_ns = 42000000000, .intervals = 42, .flows_valid = true};
	m->traffic = (struct ovl_traffic){true,	    1048576,	  16384,  33343000000, 23100000,
					  199728.8, 6351047619.0, 210000, 6411000000};
	sample_cpu(m);
	sample_last(m, load);
	m->drops_ps = 13.9;
	m->retransmits_ps = 0.52;
	sample_drop(m, "QDISC_DROP", "eth0", 402, false);
	sample_drop(m, "SOCKET_RCVBUFF", "", 160, false);
	sample_drop(m, "QDISC_DROP", "flannel.1", 22, false);
	sample_drop(m, "NO_SOCKET", "", 31, false);
	m->drops.v[3].ns = OVL_NS_MACHINE;
	sample_drop(m, "TCP_OFOMERGE", "", 12, true);
	sample_loss(m, 0, "qdisc", "eth0 tbf 8001:0", "drops", 201);
	sample_loss(m, OVL_NS_MACHINE, "backlog", "softnet", "dropped", 3);
	sample_counter(m, 0, "Tcp", "RetransSegs", 22);
	sample_counter(m, OVL_NS_MACHINE, "softnet", "time_squeeze", 117);
	m->self = (struct ovl_self_model){.cpu_ratio = 0.0081, .cpu = 0};
	m->n_history = 42;
	for (int i = 0; i < 42; i++)
		m->history[i] = (struct ovl_point){
			.bps = 6.35e9 + 2e8 * sin(i * 0.7),
			.drops_ps = i % 9 ? 0 : 92,
			.rtt_ns = 310000 + 40000 * cos(i * 1.3),
		};
	sample_verdict(m);
	if (!load)
		return;
	m->load.valid = true;
	m->load.pairs = 6;
	sample_load_path(&m->load.underlay, 9411234567.4, 180000);
	sample_load_path(&m->load.overlay, 6351000000.2, 310000);
	sample_underlay(m);
	sample_waterfall(m);
}

/** Nothing is known: before the first interval, or every instrument refused. */
static inline void sample_unknown(struct ovl_model *m)
{
	*m = (struct ovl_model){.drops_ps = NAN, .retransmits_ps = NAN};
	m->traffic = (struct ovl_traffic){
		.rx_bps = NAN, .tx_bps = NAN, .last_rx_bps = NAN, .last_tx_bps = NAN};
	m->cpu.unclassified_ratio = m->cpu.catch_all_ratio = NAN;
	m->self = (struct ovl_self_model){.cpu_ratio = NAN, .cpu = -1};
	m->waterfall = (struct ovl_waterfall){.underlay_bps = NAN,
					      .overlay_bps = NAN,
					      .lane_purity_ratio = NAN,
					      .ledger_error_ratio = NAN,
					      .wake_ratio = NAN};
	m->last.goodput_bps = m->last.drops_ps = NAN;
	m->last.retransmits_ps = m->last.rtt_ns = NAN;
	m->verdict.confidence_ratio = NAN;
}

#endif
