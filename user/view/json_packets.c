#include "view/json_packets.h"

#include <math.h>

#include "bpf/abi.h"
#include "bpf/hist.h"

/* A count as seen, for the whole of the time. */
static void put_scaled(ovl_json o, const char *key, const struct ovl_packets_model *p,
		       uint64_t seen)
{
	ovl_json_u64(o, key, p->exact ? seen : (uint64_t)round((double)seen * p->scale));
}

static void put_basis(ovl_json o, const struct ovl_packets_model *p)
{
	ovl_json_text(o, "basis",
		      ovl_basis_name(p->exact ? OVL_BASIS_MEASURED : OVL_BASIS_ESTIMATED));
}

/* iface and netns of a device, null for none. */
static void put_device(ovl_json o, const struct ovl_facts *f, uint32_t link)
{
	if (link >= f->links.n) {
		ovl_json_null(o, "iface");
		ovl_json_null(o, "netns");
		return;
	}
	ovl_json_text(o, "iface", f->links.v[link].name);
	ovl_json_netns(o, f, f->links.v[link].ns);
}

static const char *dir_name(int dir)
{
	return dir == OVL_DIR_DATA ? "data" : dir == OVL_DIR_ACK ? "ack" : "";
}

static void put_path_hop(ovl_json list, const struct ovl_facts *f,
			 const struct ovl_packets_model *p, const struct ovl_path_hop *hop)
{
	ovl_json one = ovl_json_element(list), lost;

	put_device(one, f, hop->link);
	ovl_json_text(one, "kind", ovl_facts_kind(&f->links.v[hop->link]));
	ovl_json_u64(one, "mtu", f->links.v[hop->link].mtu);
	ovl_json_text(one, "side", hop->received ? "rx" : "tx");
	put_scaled(one, "pkts", p, hop->pkts);
	put_scaled(one, "bytes", p, hop->bytes);
	ovl_json_number(one, "segs_per_pkt",
			hop->pkts ? (double)hop->segs / (double)hop->pkts : NAN);
	lost = ovl_json_array(one, "features_lost");
	for (uint32_t i = 0; i < hop->n_lost; i++)
		json_object_array_add(lost, json_object_new_string(hop->lost[i]));
}

void ovl_json_paths(ovl_json o, const struct ovl_facts *f, const struct ovl_model *m)
{
	const struct ovl_packets_model *p = &m->packets;
	ovl_json list;

	if (!p->valid) {
		ovl_json_null(o, "paths");
		return;
	}
	list = ovl_json_array(o, "paths");
	ovl_vec_each(path, &p->paths) {
		ovl_json one = ovl_json_element(list), hops;

		ovl_json_text_or_null(one, "side", path->side ? path->side : "");
		ovl_json_text(one, "dir", dir_name((int)path->dir));
		put_basis(one, p);
		hops = ovl_json_array(one, "hops");
		for (uint32_t i = 0; i < path->n; i++)
			put_path_hop(hops, f, p, &path->hops[i]);
	}
}

void ovl_json_segmentation(ovl_json o, const struct ovl_facts *f, const struct ovl_model *m)
{
	const struct ovl_packets_model *p = &m->packets;
	ovl_json list;

	if (!p->valid) {
		ovl_json_null(o, "segmentation");
		return;
	}
	list = ovl_json_array(o, "segmentation");
	ovl_vec_each(s, &p->segmentation) {
		ovl_json one = ovl_json_element(list);

		put_device(one, f, s->link);
		ovl_json_text(one, "dir", dir_name((int)s->dir));
		put_basis(one, p);
		put_scaled(one, "gso_in_pkts", p, s->gso_in_pkts);
		put_scaled(one, "gso_out_segs", p, s->gso_out_segs);
		if (s->gro) {
			put_scaled(one, "gro_in_pkts", p, s->gro_in_pkts);
			put_scaled(one, "gro_out_pkts", p, s->gro_out_pkts);
		} else {
			ovl_json_null(one, "gro_in_pkts");
			ovl_json_null(one, "gro_out_pkts");
		}
		ovl_json_bool(one, "software", s->gso_in_pkts > 0);
	}
}

static void put_latency(ovl_json list, const struct ovl_facts *f, const struct ovl_wait_spread *l)
{
	ovl_json one = ovl_json_element(list), buckets;

	ovl_json_text(one, "key", ovl_packets_wait_key(l->kind));
	put_device(one, f, l->link);
	ovl_json_text_or_null(one, "dir", dir_name(l->dir));
	ovl_json_u64(one, "count", l->count);
	ovl_json_u64(one, "sum_ns", l->sum_ns);
	ovl_json_u64(one, "p50_ns", l->p50_ns);
	ovl_json_u64(one, "p90_ns", l->p90_ns);
	ovl_json_u64(one, "p99_ns", l->p99_ns);
	ovl_json_u64(one, "max_ns", l->max_ns);
	buckets = ovl_json_array(one, "buckets");
	for (uint32_t i = 0; i < OVL_WAIT_BUCKETS; i++) {
		uint64_t upper = i + 1 < OVL_WAIT_BUCKETS ? ovl_wait_upper_ns(i) : l->max_ns + 1;
		ovl_json pair = l->n[i] ? json_object_new_array() : NULL;

		if (!pair)
			continue;
		json_object_array_add(pair, json_object_new_uint64(upper));
		json_object_array_add(pair, json_object_new_uint64(l->n[i]));
		json_object_array_add(buckets, pair);
	}
}

void ovl_json_latency(ovl_json o, const struct ovl_facts *f, const struct ovl_model *m)
{
	ovl_json list;

	if (!m->packets.valid) {
		ovl_json_null(o, "latency");
		return;
	}
	list = ovl_json_array(o, "latency");
	ovl_vec_each(l, &m->packets.latency)
		put_latency(list, f, l);
}

static void put_hop(ovl_json list, const struct ovl_facts *f, const struct ovl_packets_model *p,
		    const struct ovl_hop_model *hop)
{
	static const char *const points[OVL_POINTS] = {"queue", "xmit", "backlog", "gro", "rx"};
	ovl_json one = ovl_json_element(list), changed;

	put_device(one, f, hop->link);
	ovl_json_text(one, "kind", ovl_facts_kind(&f->links.v[hop->link]));
	put_basis(one, p);
	for (int at = 0; at < OVL_POINTS; at++) {
		ovl_json point = ovl_json_object(one, points[at]);

		for (int dir = 0; dir < OVL_DIRS; dir++) {
			const struct ovl_point_value *v = &hop->seen.at[at][dir];
			ovl_json way = ovl_json_object(point, dir_name(dir));

			put_scaled(way, "pkts", p, v->skbs);
			put_scaled(way, "bytes", p, v->bytes);
			put_scaled(way, "segs", p, v->segs);
			put_scaled(way, "gso_pkts", p, v->gso_skbs);
		}
	}
	changed = ovl_json_object(one, "changed");
	put_scaled(changed, "head_moved", p, hop->seen.head_moved);
	put_scaled(changed, "linearised", p, hop->seen.linearised);
	put_scaled(changed, "checksummed", p, hop->seen.checksummed);
	put_scaled(one, "xmit_refused", p, hop->seen.xmit_refused);
}

static void put_way(ovl_json o, const char *key, const struct ovl_packets_model *p, uint64_t pkts,
		    uint64_t segs, uint64_t bytes)
{
	ovl_json way = ovl_json_object(o, key);

	put_scaled(way, "pkts", p, pkts);
	put_scaled(way, "segs", p, segs);
	put_scaled(way, "bytes", p, bytes);
}

static void put_tun(ovl_json list, const struct ovl_facts *f, const struct ovl_packets_model *p,
		    const struct ovl_tun_model *t)
{
	const struct ovl_daemon *d = &f->daemons.v[t->daemon];
	const uint64_t pkts = t->tx_pkts + t->rx_pkts;
	const double per = pkts ? 1 / (double)pkts : NAN;
	ovl_json one = ovl_json_element(list), part, calls;
	uint64_t n = 0;

	put_device(one, f, d->link);
	put_basis(one, p);
	part = ovl_json_object(one, "daemon");
	ovl_json_i64(part, "pid", d->pid);
	ovl_json_text(part, "name", d->name);
	if (d->vnet_header < 0)
		ovl_json_null(one, "vnet_header");
	else
		ovl_json_bool(one, "vnet_header", d->vnet_header > 0);
	put_way(one, "tx", p, t->tx_pkts, t->tx_segs, t->tx_bytes);
	put_way(one, "rx", p, t->rx_pkts, t->rx_segs, t->rx_bytes);
	calls = ovl_json_array(one, "syscalls");
	ovl_vec_each(call, &t->syscalls) {
		part = ovl_json_element(calls);
		ovl_json_text(part, "name", call->name);
		put_scaled(part, "calls", p, call->calls);
		put_scaled(part, "failed", p, call->failed);
		if (call->bytes == UINT64_MAX)
			ovl_json_null(part, "bytes");
		else
			put_scaled(part, "bytes", p, call->bytes);
		ovl_json_number(part, "per_pkt", (double)call->calls * per);
		n += call->calls;
	}
	put_scaled(one, "wakeups", p, t->seen.wakeups);
	put_scaled(one, "switches", p, t->seen.switches);
	put_scaled(one, "preemptions", p, t->seen.preemptions);
	part = ovl_json_object(one, "per_pkt");
	ovl_json_number(part, "syscalls", (double)n * per);
	ovl_json_number(part, "wakeups", (double)t->seen.wakeups * per);
	ovl_json_number(part, "switches", (double)t->seen.switches * per);
	part = ovl_json_object(one, "cpu");
	ovl_json_number(part, "user_ns", t->user_ns);
	ovl_json_number(part, "kernel_ns", t->kernel_ns);
	ovl_json_number(part, "user_ratio", t->user_ns * t->per_s / 1e9);
	ovl_json_number(part, "kernel_ratio", t->kernel_ns * t->per_s / 1e9);
}

void ovl_json_packets(ovl_json o, const struct ovl_facts *f, const struct ovl_model *m)
{
	const struct ovl_packets_model *p = &m->packets;
	ovl_json packets, list;

	if (!p->valid) {
		ovl_json_null(o, "packets");
		ovl_json_null(o, "hops");
		ovl_json_null(o, "tun");
		return;
	}
	packets = ovl_json_object(o, "packets");
	ovl_json_text(packets, "mode", p->exact ? "deep" : "window");
	put_basis(packets, p);
	ovl_json_u64(packets, "windows", p->windows);
	ovl_json_u64(packets, "window_ns", f->packets.window_ns);
	ovl_json_u64(packets, "open_ns", p->open_ns);
	ovl_json_u64(packets, "of_ns", p->span_ns);
	list = ovl_json_array(o, "hops");
	ovl_vec_each(hop, &p->hops)
		put_hop(list, f, p, hop);
	list = ovl_json_array(o, "tun");
	ovl_vec_each(t, &p->tuns)
		put_tun(list, f, p, t);
}
