#include "view/json_model.h"

#include <math.h>
#include <stdio.h>

#include "bpf/abi.h"

static void put_rtt(ovl_json o, const struct ovl_quantiles *q)
{
	ovl_json rtt;

	if (!q->valid) {
		ovl_json_null(o, "rtt_ns");
		return;
	}
	rtt = ovl_json_object(o, "rtt_ns");
	ovl_json_u64(rtt, "p50", q->p50_ns);
	ovl_json_u64(rtt, "p90", q->p90_ns);
	ovl_json_u64(rtt, "p99", q->p99_ns);
	ovl_json_u64(rtt, "max", q->max_ns);
}

static void put_switches(ovl_json o, const char *key, const struct ovl_switches *switches)
{
	ovl_json s;

	if (isnan(switches->voluntary_per_mib)) {
		ovl_json_null(o, key);
		return;
	}
	s = ovl_json_object(o, key);
	ovl_json_number(s, "voluntary", switches->voluntary_per_mib);
	ovl_json_number(s, "involuntary", switches->involuntary_per_mib);
}

/* Round trips; null: none were made. */
static void put_latency(ovl_json o, const char *key, const struct ovl_latency *l)
{
	ovl_json latency;

	if (!l->valid) {
		ovl_json_null(o, key);
		return;
	}
	latency = ovl_json_object(o, key);
	ovl_json_u64(latency, "count", l->count);
	ovl_json_u64(latency, "min", l->min_ns);
	ovl_json_u64(latency, "mean", (uint64_t)(l->mean_ns + 0.5));
	ovl_json_u64(latency, "p50", l->p50_ns);
	ovl_json_u64(latency, "p90", l->p90_ns);
	ovl_json_u64(latency, "p99", l->p99_ns);
	ovl_json_u64(latency, "p999", l->p999_ns);
	ovl_json_u64(latency, "max", l->max_ns);
}

static void put_count(ovl_json o, const char *key, bool known, uint64_t v)
{
	if (known)
		ovl_json_u64(o, key, v);
	else
		ovl_json_null(o, key);
}

static void put_load_path(ovl_json o, const char *key, const struct ovl_load_path *path)
{
	const bool bulk = !isnan(path->goodput_bps); /* else round trips */
	ovl_json p, cost, switches, limited;

	if (!path->valid) {
		ovl_json_null(o, key);
		return;
	}
	p = ovl_json_object(o, key);
	ovl_json_bps(p, "goodput_bps", path->goodput_bps);
	put_count(p, "bytes", bulk, path->bytes);
	ovl_json_u64(p, "wall_ns", path->wall_ns);
	ovl_json_number(p, "retransmits", path->retransmits);
	put_rtt(p, &path->rtt);
	put_latency(p, "latency_idle_ns", &path->idle);
	put_latency(p, "latency_loaded_ns", &path->loaded);
	ovl_json_number(p, "transactions_ps", path->transactions_ps);
	cost = ovl_json_object(p, "cpu_ns_per_kib");
	ovl_json_number(cost, "sender", path->sender_ns_per_kib);
	ovl_json_number(cost, "receiver", path->receiver_ns_per_kib);
	switches = ovl_json_object(p, "ctx_switches_per_mib");
	put_switches(switches, "sender", &path->sender_switches);
	put_switches(switches, "receiver", &path->receiver_switches);
	limited = ovl_json_object(p, "limited");
	ovl_json_number(limited, "busy_ratio", path->busy_ratio);
	ovl_json_number(limited, "rwnd_ratio", path->rwnd_ratio);
	ovl_json_number(limited, "sndbuf_ratio", path->sndbuf_ratio);
	ovl_json_number(p, "cwnd_segs", path->cwnd_segs);
	put_count(p, "mss_bytes", bulk, path->mss_bytes);
}

static void put_cpu_number(ovl_json o, const char *key, int cpu)
{
	if (cpu >= 0)
		ovl_json_i64(o, key, cpu);
	else
		ovl_json_null(o, key);
}

void ovl_json_load(ovl_json o, const struct ovl_facts *f, const struct ovl_model *m)
{
	ovl_json load, cpus;

	if (!f->load.valid) {
		ovl_json_null(o, "load");
		return;
	}
	load = ovl_json_object(o, "load");
	ovl_json_text(load, "kind", f->load.kind);
	ovl_json_text_or_null(load, "peer_kind", f->load.peer_kind);
	ovl_json_u64(load, "streams", f->load.streams);
	ovl_json_text_or_null(load, "congestion", f->load.congestion);
	cpus = ovl_json_object(load, "cpus");
	put_cpu_number(cpus, "sender", f->load.cpu_sender);
	put_cpu_number(cpus, "receiver", f->load.cpu_receiver);
	ovl_json_text_or_null(load, "where", f->load.where);
	if (m->load.valid) {
		ovl_json_u64(load, "pairs", m->load.pairs);
		put_load_path(load, "overlay", &m->load.overlay);
		put_load_path(load, "underlay", &m->load.underlay);
		ovl_json_text_or_null(load, "disturbed", m->load.disturbed);
	} else {
		ovl_json_null(load, "pairs");
		ovl_json_null(load, "overlay");
		ovl_json_null(load, "underlay");
		ovl_json_null(load, "disturbed");
	}
}

void ovl_json_traffic(ovl_json o, const struct ovl_model *m)
{
	const struct ovl_traffic *t = &m->traffic;
	ovl_json traffic, rx, tx;

	if (!t->valid) {
		ovl_json_null(o, "traffic");
		return;
	}
	traffic = ovl_json_object(o, "traffic");
	rx = ovl_json_object(traffic, "rx");
	ovl_json_u64(rx, "bytes", t->rx_bytes);
	ovl_json_u64(rx, "pkts", t->rx_pkts);
	ovl_json_bps(rx, "bps", t->rx_bps);
	ovl_json_count(rx, "segs", m->packets.run_rx_segs);
	tx = ovl_json_object(traffic, "tx");
	ovl_json_u64(tx, "bytes", t->tx_bytes);
	ovl_json_u64(tx, "pkts", t->tx_pkts);
	ovl_json_bps(tx, "bps", t->tx_bps);
	ovl_json_count(tx, "segs", m->packets.run_tx_segs);
}

/* One direction of a device; NULL: its counters were not read. */
static void put_counts(ovl_json o, const char *key, const struct ovl_device_counts *counts)
{
	ovl_json one;

	if (!counts) {
		ovl_json_null(o, key);
		return;
	}
	one = ovl_json_object(o, key);
	ovl_json_u64(one, "bytes", counts->bytes);
	ovl_json_u64(one, "pkts", counts->pkts);
	ovl_json_u64(one, "drops", counts->drops);
	ovl_json_u64(one, "errors", counts->errors);
}

/* Another device of the facts, which may be in another namespace; null for none. */
static void put_link(ovl_json o, const char *key, const struct ovl_facts *f, int link)
{
	ovl_json one;

	if (link < 0 || (size_t)link >= f->links.n) {
		ovl_json_null(o, key);
		return;
	}
	one = ovl_json_object(o, key);
	ovl_json_text(one, "iface", f->links.v[link].name);
	ovl_json_netns(one, f, f->links.v[link].ns);
}

void ovl_json_devices(ovl_json o, const struct ovl_facts *f, const struct ovl_model *m)
{
	ovl_json list = ovl_json_array(o, "devices");

	for (size_t i = 0; i < f->links.n; i++) {
		const struct ovl_link *link = &f->links.v[i];
		const bool valid = i < m->devices.n && m->devices.v[i].valid;
		const struct ovl_device *d = valid ? &m->devices.v[i] : NULL;
		ovl_json one = ovl_json_element(list);

		ovl_json_text(one, "iface", link->name);
		ovl_json_netns(one, f, link->ns);
		ovl_json_text(one, "kind", ovl_facts_kind(link));
		ovl_json_u64(one, "mtu", link->mtu);
		ovl_json_i64(one, "ifindex", link->ifindex);
		ovl_json_bool(one, "up", link->up);
		put_link(one, "master", f, link->master);
		put_link(one, "lower", f, link->lower);
		put_counts(one, "rx", d ? &d->rx : NULL);
		put_counts(one, "tx", d ? &d->tx : NULL);
	}
}

void ovl_json_verdict(ovl_json o, const struct ovl_model *m)
{
	const struct ovl_verdict *v = &m->verdict;
	ovl_json verdict = ovl_json_object(o, "verdict"), list;

	ovl_json_text(verdict, "limit", ovl_limit_key(v->limit));
	ovl_json_text_or_null(verdict, "side", v->side);
	ovl_json_number(verdict, "confidence_ratio", v->confidence_ratio);
	ovl_json_text_or_null(verdict, "sentence", v->sentence);
	list = ovl_json_array(verdict, "evidence");
	for (uint32_t i = 0; i < v->n_evidence && i < 8; i++) {
		ovl_json e = ovl_json_element(list);

		ovl_json_text(e, "key", v->evidence[i].key);
		ovl_json_number(e, "value", v->evidence[i].value);
		ovl_json_text(e, "unit", v->evidence[i].unit);
	}
}

void ovl_json_waterfall(ovl_json o, const struct ovl_model *m)
{
	const struct ovl_waterfall *w = &m->waterfall;
	ovl_json water, list;

	if (!w->valid) {
		ovl_json_null(o, "waterfall");
		return;
	}
	water = ovl_json_object(o, "waterfall");
	/* rounded here, so that underlay − overlay = Σ terms + unexplained holds in integers */
	ovl_json_bps(water, "underlay_bps", w->underlay_bps);
	ovl_json_bps(water, "overlay_bps", w->overlay_bps);
	ovl_json_text(water, "basis", ovl_basis_name(w->basis));
	ovl_json_text_or_null(water, "lane", w->lane);
	ovl_json_number(water, "lane_purity_ratio", w->lane_purity_ratio);
	ovl_json_number(water, "ledger_error_ratio", w->ledger_error_ratio);
	ovl_json_number(water, "wake_ratio", w->wake_ratio);
	ovl_json_bool(water, "uncertain", w->uncertain);
	ovl_json_i64(water, "unexplained_bps", w->unexplained_bps);
	ovl_json_bps(water, "low_underlay_bps", w->low_underlay_bps);
	ovl_json_u64(water, "stderr_pairs", w->stderr_pairs);
	list = ovl_json_array(water, "terms");
	ovl_vec_each(t, &w->terms) {
		ovl_json term = ovl_json_element(list);

		ovl_json_text(term, "key", t->key);
		ovl_json_text(term, "label", t->label);
		ovl_json_i64(term, "bps", t->bps);
		ovl_json_bps(term, "stderr_bps", t->stderr_bps);
		ovl_json_bps(term, "if_removed_bps", t->if_removed_bps);
		ovl_json_bps(term, "if_removed_high_bps", t->if_removed_high_bps);
		ovl_json_bps(term, "low_bps", t->low_bps);
		ovl_json_number(term, "ns_per_kib", t->ns_per_kib);
		ovl_json_text(term, "basis", ovl_basis_name(t->basis));
	}
	list = ovl_json_array(water, "runners_up");
	for (uint32_t i = 0; i < w->n_runners_up && i < 4; i++)
		json_object_array_add(list, json_object_new_string(w->runners_up[i]));
}

static void put_stage(ovl_json list, const struct ovl_stage_time *t)
{
	const struct ovl_stage_info *info = ovl_stage_info(
		t->stage < OVL_STAGE_COUNT ? (enum ovl_stage)t->stage : OVL_STAGE_UNCLASSIFIED);
	ovl_json stage = ovl_json_element(list), work, symbols;

	ovl_json_text(stage, "key", info->key);
	ovl_json_text(stage, "side", info->side);
	ovl_json_null(stage, "iface");
	ovl_json_null(stage, "netns");
	ovl_json_null(stage, "dir");
	ovl_json_u64(stage, "ns", t->ns);
	ovl_json_number(stage, "share_ratio", t->share_ratio);
	ovl_json_number(stage, "stderr_ratio", t->stderr_ratio);
	ovl_json_number(stage, "ns_per_kib", t->ns_per_kib);
	ovl_json_number(stage, "underlay_ns_per_kib", t->underlay_ns_per_kib);
	work = ovl_json_object(stage, "work");
	for (int i = 0; i < OVL_WORK_COUNT; i++)
		ovl_json_u64(work, ovl_work_key((enum ovl_work)i), t->work_ns[i]);
	symbols = ovl_json_array(stage, "symbols");
	for (uint32_t i = 0; i < t->n_symbols && i < OVL_TOP_SYMBOLS; i++) {
		ovl_json symbol = ovl_json_element(symbols);

		ovl_json_text(symbol, "name", t->symbols[i].name);
		ovl_json_u64(symbol, "ns", t->symbols[i].ns);
	}
}

static void put_per_cpu(ovl_json o, const struct ovl_cpu_model *cpu)
{
	ovl_json list = ovl_json_array(o, "per_cpu");

	ovl_vec_each(c, &cpu->per_cpu) {
		ovl_json one = ovl_json_element(list);

		ovl_json_u64(one, "cpu", c->cpu);
		ovl_json_number(one, "busy_ratio", c->busy_ratio);
		ovl_json_number(one, "softirq_ratio", c->softirq_ratio);
		ovl_json_number(one, "steal_ratio", c->steal_ratio);
		if (c->top_stage >= 0 && c->top_stage < OVL_STAGE_COUNT)
			ovl_json_text(one, "top_stage",
				      ovl_stage_info((enum ovl_stage)c->top_stage)->key);
		else
			ovl_json_null(one, "top_stage");
	}
}

void ovl_json_cpu(ovl_json o, const struct ovl_facts *f, const struct ovl_model *m)
{
	const struct ovl_cpu_model *cpu = &m->cpu;
	ovl_json c, list;

	if (!cpu->valid && !cpu->wall_ns) { /* neither sampler nor clocks */
		ovl_json_null(o, "cpu");
		return;
	}
	c = ovl_json_object(o, "cpu");
	ovl_json_u64(c, "wall_ns", cpu->wall_ns);
	ovl_json_u64(c, "busy_ns", cpu->busy_ns);
	ovl_json_u64(c, "idle_ns", cpu->idle_ns);
	ovl_json_u64(c, "steal_ns", cpu->steal_ns);
	ovl_json_number(c, "unclassified_ratio", cpu->valid ? cpu->unclassified_ratio : NAN);
	ovl_json_number(c, "catch_all_ratio", cpu->valid ? cpu->catch_all_ratio : NAN);
	ovl_json_number(c, "samples", cpu->valid ? (double)cpu->samples : NAN);
	ovl_json_number(c, "hz", f->sample_hz ? (double)f->sample_hz : NAN);
	if (cpu->valid) {
		list = ovl_json_array(c, "stages");
		ovl_vec_each(t, &cpu->stages)
			put_stage(list, t);
	} else {
		ovl_json_null(c, "stages");
	}
	put_per_cpu(c, cpu);
	ovl_json_null(c, "softirq_handoffs_per_pkt");
}

void ovl_json_last(ovl_json o, const struct ovl_model *m)
{
	ovl_json last = ovl_json_object(o, "last"), list;

	ovl_json_number(last, "drops_ps", m->last.drops_ps);
	ovl_json_number(last, "retransmits_ps", m->last.retransmits_ps);
	ovl_json_number(last, "rtt_ns", m->last.rtt_ns);
	list = ovl_json_array(last, "per_cpu");
	ovl_vec_each(c, &m->last.per_cpu) {
		ovl_json one = ovl_json_element(list);

		ovl_json_u64(one, "cpu", c->cpu);
		ovl_json_number(one, "busy_ratio", c->busy_ratio);
		ovl_json_number(one, "softirq_ratio", c->softirq_ratio);
	}
	ovl_json_bps(last, "goodput_bps", m->last.goodput_bps);
}

void ovl_json_drops(ovl_json o, const struct ovl_facts *f, const struct ovl_model *m)
{
	ovl_json list;

	if (isnan(m->drops_ps) && !m->drops.n) { /* nobody counted */
		ovl_json_null(o, "drops");
		return;
	}
	list = ovl_json_array(o, "drops");
	ovl_vec_each(d, &m->drops) {
		ovl_json drop = ovl_json_element(list);

		ovl_json_text(drop, "reason", d->reason);
		if (d->stage < OVL_STAGE_COUNT && d->stage != OVL_STAGE_UNCLASSIFIED)
			ovl_json_text(drop, "stage", ovl_stage_info((enum ovl_stage)d->stage)->key);
		else
			ovl_json_null(drop, "stage");
		ovl_json_text_or_null(drop, "iface", d->iface);
		ovl_json_netns(drop, f, d->ns);
		ovl_json_text_or_null(drop, "symbol", d->symbol);
		ovl_json_u64(drop, "pkts", d->pkts);
		ovl_json_u64(drop, "segs", d->segs);
		ovl_json_bool(drop, "benign", d->benign);
	}
}

void ovl_json_losses(ovl_json o, const struct ovl_facts *f, const struct ovl_model *m)
{
	ovl_json list;

	if (!m->intervals || !f->ns.n) { /* no namespace: nothing was read */
		ovl_json_null(o, "losses");
		return;
	}
	list = ovl_json_array(o, "losses");
	ovl_vec_each(loss, &m->losses) {
		ovl_json one = ovl_json_element(list);

		ovl_json_netns(one, f, loss->ns);
		ovl_json_text(one, "source", loss->source);
		ovl_json_text(one, "object", loss->object);
		ovl_json_text(one, "name", loss->name);
		ovl_json_u64(one, "pkts", loss->pkts);
	}
}

void ovl_json_counters(ovl_json o, const struct ovl_facts *f, const struct ovl_model *m)
{
	ovl_json list;

	if (!m->intervals || !f->ns.n) { /* no namespace: none was read */
		ovl_json_null(o, "counters");
		return;
	}
	list = ovl_json_array(o, "counters");
	ovl_vec_each(counter, &m->counters) {
		ovl_json one = ovl_json_element(list);

		ovl_json_netns(one, f, counter->ns);
		ovl_json_text(one, "group", counter->group);
		ovl_json_text(one, "name", counter->name);
		ovl_json_i64(one, "delta", counter->delta);
	}
}
