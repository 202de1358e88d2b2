#include "model/packets.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "model/traffic.h"

const char *ovl_packets_wait_key(uint8_t kind)
{
	static const char *const keys[OVL_WAITS] = {
		[OVL_WAIT_ENCAP] = "encap",	     [OVL_WAIT_DECAP_GRO] = "decap_gro",
		[OVL_WAIT_SOFTIRQ] = "softirq_wait", [OVL_WAIT_QDISC] = "qdisc_wait",
		[OVL_WAIT_SEGMENT] = "segment",	     [OVL_WAIT_TUN] = "tun_wait",
		[OVL_WAIT_SOCKET] = "socket_wait",   [OVL_WAIT_RAISE] = "softirq_raise",
		[OVL_WAIT_WAKE] = "daemon_wake",
	};

	return kind < OVL_WAITS ? keys[kind] : "?";
}

/* All counters of a hop are of one type and size: they are added as such. */
static void add_words(void *to, const void *from, size_t bytes)
{
	uint64_t a, b;

	for (size_t at = 0; at + sizeof(a) <= bytes; at += sizeof(a)) {
		memcpy(&a, (char *)to + at, sizeof(a));
		memcpy(&b, (const char *)from + at, sizeof(b));
		a += b;
		memcpy((char *)to + at, &a, sizeof(a));
	}
}

static int add_hop(struct ovl_packets_acc *acc, const struct ovl_hop_delta *d)
{
	struct ovl_hop_delta *to;

	ovl_vec_each(have, &acc->hops) {
		if (have->link == d->link) {
			add_words(&have->n, &d->n, sizeof(have->n));
			return 0;
		}
	}
	to = ovl_vec_push(&acc->hops);
	if (!to)
		return -ENOMEM;
	*to = *d;
	return 0;
}

static int add_step(struct ovl_packets_acc *acc, const struct ovl_step *d)
{
	struct ovl_step *to;

	ovl_vec_each(have, &acc->steps) {
		if (have->from == d->from && have->to == d->to) {
			add_words(have->skbs, d->skbs, sizeof(have->skbs));
			return 0;
		}
	}
	to = ovl_vec_push(&acc->steps);
	if (!to)
		return -ENOMEM;
	*to = *d;
	return 0;
}

static int add_wait(struct ovl_packets_acc *acc, const struct ovl_wait *d)
{
	struct ovl_wait *to;

	ovl_vec_each(have, &acc->waits) {
		if (have->link != d->link || have->kind != d->kind || have->dir != d->dir)
			continue;
		have->sum_ns += d->sum_ns;
		if (d->max_ns > have->max_ns)
			have->max_ns = d->max_ns;
		add_words(have->n, d->n, sizeof(have->n));
		return 0;
	}
	to = ovl_vec_push(&acc->waits);
	if (!to)
		return -ENOMEM;
	*to = *d;
	return 0;
}

/* UINT64_MAX is unknown, and makes the sum unknown. */
static uint64_t add_known(uint64_t a, uint64_t b)
{
	return a == UINT64_MAX || b == UINT64_MAX ? UINT64_MAX : a + b;
}

static int add_daemon(struct ovl_packets_acc *acc, const struct ovl_daemon_delta *d)
{
	struct ovl_daemon_delta *to;

	ovl_vec_each(have, &acc->daemons) {
		if (have->daemon != d->daemon)
			continue;
		add_words(&have->n, &d->n, sizeof(have->n));
		have->user_ns = add_known(have->user_ns, d->user_ns);
		have->kernel_ns = add_known(have->kernel_ns, d->kernel_ns);
		return 0;
	}
	to = ovl_vec_push(&acc->daemons);
	if (!to)
		return -ENOMEM;
	*to = *d;
	return 0;
}

static int add_syscall(struct ovl_packets_acc *acc, const struct ovl_syscall *d)
{
	struct ovl_syscall *to;

	ovl_vec_each(have, &acc->syscalls) {
		if (have->daemon != d->daemon || strcmp(have->name, d->name) != 0)
			continue;
		have->calls += d->calls;
		have->failed += d->failed;
		have->bytes = add_known(have->bytes, d->bytes);
		return 0;
	}
	to = ovl_vec_push(&acc->syscalls);
	if (!to)
		return -ENOMEM;
	*to = *d;
	return 0;
}

static uint64_t point_segs(const struct ovl_hop_counts *n, enum ovl_hop_point point)
{
	return n->at[point][OVL_DIR_DATA].segs + n->at[point][OVL_DIR_ACK].segs;
}

/* Segments that came out of a device, before any were put together. */
static uint64_t rx_segs(const struct ovl_hop_counts *n)
{
	uint64_t gro = point_segs(n, OVL_POINT_GRO), backlog = point_segs(n, OVL_POINT_BACKLOG);

	return gro ? gro : backlog ? backlog : point_segs(n, OVL_POINT_RX);
}

/* Is this device, or as a bridge's port, the interface looked at? */
static bool is_iface(const struct ovl_facts *facts, uint32_t link)
{
	if (ovl_traffic_by_ports(facts))
		return facts->links.v[link].master == facts->iface;
	return (int)link == facts->iface;
}

static int add_main(struct ovl_packets_acc *acc, const struct ovl_facts *facts,
		    const struct ovl_packets_delta *p, uint64_t *damaged)
{
	int rc = 0;

	ovl_vec_each(d, &p->hops) {
		if (d->link < facts->links.n)
			rc = rc ? rc : add_hop(acc, d);
	}
	ovl_vec_each(d, &p->steps) {
		if (d->from / 2 < facts->links.n && d->to / 2 < facts->links.n)
			rc = rc ? rc : add_step(acc, d);
		else
			++*damaged;
	}
	ovl_vec_each(d, &p->waits) {
		if ((d->link < facts->links.n || d->link == OVL_LINK_NONE) && d->kind < OVL_WAITS &&
		    d->dir < OVL_DIRS)
			rc = rc ? rc : add_wait(acc, d);
		else
			++*damaged;
	}
	ovl_vec_each(d, &p->daemons) {
		if (d->daemon < facts->daemons.n)
			rc = rc ? rc : add_daemon(acc, d);
		else
			++*damaged;
	}
	ovl_vec_each(d, &p->syscalls) {
		if (d->daemon < facts->daemons.n)
			rc = rc ? rc : add_syscall(acc, d);
		else
			++*damaged;
	}
	return rc;
}

int ovl_packets_add(struct ovl_packets_acc *acc, const struct ovl_facts *facts,
		    const struct ovl_sample *sample, bool main, uint64_t length_ns,
		    uint64_t *damaged)
{
	const struct ovl_packets_delta *p = &sample->packets;

	if (!facts->packets.valid)
		return 0;
	acc->run_open_ns += p->open_ns;
	acc->run_span_ns += length_ns;
	acc->windows += p->windows;
	acc->windows_lost += p->windows_lost;
	ovl_vec_each(d, &p->hops) {
		if (d->link >= facts->links.n) {
			++*damaged;
		} else if (is_iface(facts, d->link)) {
			acc->run_rx_segs += rx_segs(&d->n);
			acc->run_tx_segs += point_segs(&d->n, OVL_POINT_XMIT);
		}
	}
	if (!main)
		return 0;
	acc->open_ns += p->open_ns;
	acc->span_ns += length_ns;
	return add_main(acc, facts, p, damaged);
}

static uint64_t less(uint64_t a, uint64_t b)
{
	return a > b ? a - b : 0;
}

static int build_segmentation(const struct ovl_hop_delta *hop, struct ovl_packets_model *out)
{
	for (int dir = 0; dir < OVL_DIRS; dir++) {
		const struct ovl_point_value *queue = &hop->n.at[OVL_POINT_QUEUE][dir];
		const struct ovl_point_value *xmit = &hop->n.at[OVL_POINT_XMIT][dir];
		const struct ovl_point_value *gro = &hop->n.at[OVL_POINT_GRO][dir];
		const struct ovl_point_value *rx = &hop->n.at[OVL_POINT_RX][dir];
		uint64_t in = less(queue->gso_skbs, xmit->gso_skbs);
		uint64_t made = less(xmit->skbs - xmit->gso_skbs, queue->skbs - queue->gso_skbs);
		struct ovl_segmentation *s;

		if (!queue->skbs && !xmit->skbs && !gro->skbs && !rx->skbs)
			continue;
		s = ovl_vec_push(&out->segmentation);
		if (!s)
			return -ENOMEM;
		*s = (struct ovl_segmentation){
			.link = hop->link,
			.dir = (enum ovl_dir)dir,
			.gro = hop->n.at[OVL_POINT_GRO][0].skbs + hop->n.at[OVL_POINT_GRO][1].skbs,
			.gro_in_pkts = gro->skbs,
			.gro_out_pkts = rx->skbs,
		};
		/*
		 * aggregates that a queue dropped went in and did not come out either, but then
		 * nothing new came out
		 */
		if (made > in) {
			s->gso_in_pkts = in;
			s->gso_out_segs = made;
		}
	}
	return 0;
}

static const struct ovl_hop_delta *hop_of(const struct ovl_packets_acc *acc, uint32_t link)
{
	ovl_vec_each(hop, &acc->hops) {
		if (hop->link == link)
			return hop;
	}
	return NULL;
}

static void tun_device(const struct ovl_hop_delta *hop, struct ovl_tun_model *t)
{
	for (int dir = 0; hop && dir < OVL_DIRS; dir++) {
		const struct ovl_point_value *tx = &hop->n.at[OVL_POINT_XMIT][dir];
		const struct ovl_point_value *rx = &hop->n.at[OVL_POINT_RX][dir];

		t->tx_pkts += tx->skbs;
		t->tx_segs += tx->segs;
		t->tx_bytes += tx->bytes;
		t->rx_pkts += rx->skbs;
		t->rx_segs += rx->segs;
		t->rx_bytes += rx->bytes;
	}
}

static double known(uint64_t ns)
{
	return ns == UINT64_MAX ? NAN : (double)ns;
}

static int build_tuns(const struct ovl_packets_acc *acc, const struct ovl_facts *facts,
		      struct ovl_packets_model *out)
{
	for (size_t i = 0; i < acc->daemons.n; i++) {
		const struct ovl_daemon_delta *d = &acc->daemons.v[i];
		struct ovl_tun_model *t = ovl_vec_push(&out->tuns);

		if (!t)
			return -ENOMEM;
		t->daemon = d->daemon;
		t->seen = d->n;
		t->user_ns = known(d->user_ns);
		t->kernel_ns = known(d->kernel_ns);
		t->per_s = acc->span_ns ? 1e9 / (double)acc->span_ns : NAN;
		tun_device(hop_of(acc, facts->daemons.v[d->daemon].link), t);
		ovl_vec_each(call, &acc->syscalls) {
			struct ovl_syscall *made =
				call->daemon == d->daemon ? ovl_vec_push(&t->syscalls) : NULL;

			if (call->daemon == d->daemon && !made)
				return -ENOMEM;
			if (made)
				*made = *call;
		}
	}
	return 0;
}

static void clear_tuns(struct ovl_packets_model *m)
{
	ovl_vec_each(t, &m->tuns)
		ovl_vec_fini(&t->syscalls);
	ovl_vec_clear(&m->tuns);
}

int ovl_packets_build(const struct ovl_packets_acc *acc, const struct ovl_facts *facts,
		      struct ovl_packets_model *out)
{
	const bool deep = facts->packets.deep;
	int rc = 0;

	ovl_vec_clear(&out->hops);
	ovl_vec_clear(&out->segmentation);
	ovl_vec_clear(&out->paths);
	ovl_vec_clear(&out->latency);
	clear_tuns(out);
	out->valid = facts->packets.valid && acc->open_ns > 0;
	out->exact = out->valid && deep;
	out->scale = !out->valid ? NAN : deep ? 1 : (double)acc->span_ns / (double)acc->open_ns;
	out->open_ns = acc->open_ns;
	out->span_ns = acc->span_ns;
	out->windows = acc->windows;
	out->windows_lost = acc->windows_lost;
	out->run_rx_segs = out->run_tx_segs = NAN;
	if (acc->run_open_ns && facts->iface >= 0) {
		double all = deep ? 1 : (double)acc->run_span_ns / (double)acc->run_open_ns;

		out->run_rx_segs = (double)acc->run_rx_segs * all;
		out->run_tx_segs = (double)acc->run_tx_segs * all;
	}
	if (!out->valid)
		return 0;
	ovl_vec_each(hop, &acc->hops) {
		struct ovl_hop_model *h = ovl_vec_push(&out->hops);

		if (!h)
			return -ENOMEM;
		h->link = hop->link;
		h->seen = hop->n;
		rc = rc ? rc : build_segmentation(hop, out);
	}
	rc = rc ? rc : ovl_paths_build(acc, facts, out);
	rc = rc ? rc : ovl_latency_build(acc, out);
	return rc ? rc : build_tuns(acc, facts, out);
}

void ovl_packets_acc_fini(struct ovl_packets_acc *acc)
{
	ovl_vec_fini(&acc->hops);
	ovl_vec_fini(&acc->steps);
	ovl_vec_fini(&acc->waits);
	ovl_vec_fini(&acc->daemons);
	ovl_vec_fini(&acc->syscalls);
}

void ovl_packets_model_fini(struct ovl_packets_model *m)
{
	clear_tuns(m);
	ovl_vec_fini(&m->tuns);
	ovl_vec_fini(&m->hops);
	ovl_vec_fini(&m->segmentation);
	ovl_vec_fini(&m->paths);
	ovl_vec_fini(&m->latency);
}
