#include "view/report_packets.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/str.h"
#include "base/units.h"
#include "view/plain.h"

#define PATHS_SHOWN 4
#define WAITS_SHOWN 16
#define CALLS_SHOWN 4

/* A count as seen, for the whole time; an estimate is marked as one. */
static const char *count(char s[OVL_UNITS_MAX], const struct ovl_packets_model *p, uint64_t seen)
{
	double n = (double)seen * p->scale;
	char text[OVL_UNITS_MAX];

	ovl_units_text(text, n, ovl_units_count(n), true);
	snprintf(s, OVL_UNITS_MAX, "%s%.22s", p->exact || !seen ? "" : "~", text);
	return s;
}

/* "namespace:device" from the right, where names differ. */
static void device(char *s, size_t n, const struct ovl_facts *f, uint32_t link, size_t most)
{
	char name[OVL_NAME_MAX + OVL_IF_MAX + 2];
	size_t len;

	if (link >= f->links.n) {
		snprintf(s, n, "-");
		return;
	}
	snprintf(name, sizeof(name), "%s:%s", ovl_facts_ns(f, f->links.v[link].ns),
		 f->links.v[link].name);
	len = strlen(name);
	ovl_str_copy(s, n, len > most ? name + len - most : name);
}

static const struct ovl_segmentation *at(const struct ovl_packets_model *p, uint32_t link,
					 enum ovl_dir dir)
{
	ovl_vec_each(s, &p->segmentation) {
		if (s->link == link && s->dir == dir)
			return s;
	}
	return NULL;
}

static void put_hop(struct ovl_buf *b, const struct ovl_facts *f, const struct ovl_packets_model *p,
		    const struct ovl_path_hop *hop, enum ovl_dir dir)
{
	const struct ovl_segmentation *s = at(p, hop->link, dir);
	const struct ovl_unit ratio = {1, "", 1};
	char name[64], n[OVL_UNITS_MAX], per[OVL_UNITS_MAX], work[64] = "";

	device(name, sizeof(name), f, hop->link, 34);
	if (s && !hop->received && s->gso_in_pkts)
		snprintf(work, sizeof(work), "cut in software: 1 : %.1f",
			 (double)s->gso_out_segs / (double)s->gso_in_pkts);
	else if (s && hop->received && s->gro && s->gro_out_pkts)
		snprintf(work, sizeof(work), "GRO %.1f : 1",
			 (double)s->gro_in_pkts / (double)s->gro_out_pkts);
	ovl_buf_printf(b, "  %-35s%-3s%8s", name, hop->received ? "rx" : "tx",
		       count(n, p, hop->pkts));
	ovl_buf_printf(b, "%7s%s%s\n",
		       ovl_units_number(per,
					hop->pkts ? (double)hop->segs / (double)hop->pkts : NAN,
					ratio, true),
		       *work ? "  " : "", work);
}

static void put_paths(struct ovl_buf *b, const struct ovl_facts *f,
		      const struct ovl_packets_model *p)
{
	for (size_t i = 0; i < p->paths.n && i < PATHS_SHOWN; i++) {
		const struct ovl_hop_path *path = &p->paths.v[i];

		ovl_buf_printf(b, "  %-38s%8s%7s\n",
			       path->dir == OVL_DIR_ACK ? "path of the ACKs" : "path of the data",
			       "packets", "segs");
		for (uint32_t h = 0; h < path->n; h++)
			put_hop(b, f, p, &path->hops[h], path->dir);
	}
	if (p->paths.n > PATHS_SHOWN)
		ovl_buf_printf(b, "  and %zu more paths\n", p->paths.n - PATHS_SHOWN);
}

static void put_waits(struct ovl_buf *b, const struct ovl_facts *f,
		      const struct ovl_packets_model *p)
{
	static const char *const labels[OVL_WAITS] = {
		[OVL_WAIT_ENCAP] = "encapsulation",  [OVL_WAIT_DECAP_GRO] = "decap + GRO",
		[OVL_WAIT_SOFTIRQ] = "softirq",	     [OVL_WAIT_QDISC] = "qdisc",
		[OVL_WAIT_SEGMENT] = "segmentation", [OVL_WAIT_TUN] = "tun ring",
		[OVL_WAIT_SOCKET] = "socket",	     [OVL_WAIT_RAISE] = "NET_RX raised",
		[OVL_WAIT_WAKE] = "daemon woken",
	};
	uint64_t most = 0;
	size_t shown = 0;

	ovl_vec_each(l, &p->latency)
		most = l->kind != OVL_WAIT_RAISE && l->count > most ? l->count : most;
	if (p->latency.n)
		ovl_buf_printf(b, "  %-14s%-26s%8s%10s%10s%10s\n", "wait", "at", "seen", "p50",
			       "p99", "max");
	ovl_vec_each(l, &p->latency) {
		char name[64], n[OVL_UNITS_MAX], t[OVL_UNITS_MAX];
		const double times[] = {(double)l->p50_ns, (double)l->p99_ns, (double)l->max_ns};

		/* a handful beside thousands: the JSON document has them */
		if (l->count < most / 100 || shown++ >= WAITS_SHOWN)
			continue;
		device(name, sizeof(name), f, l->link, 21);
		ovl_buf_printf(b, "  %-14s%-22s%-4s%8s", labels[l->kind], name,
			       l->dir == OVL_DIR_DATA  ? "data"
			       : l->dir == OVL_DIR_ACK ? "ack"
						       : "",
			       ovl_units_text(n, (double)l->count,
					      ovl_units_count((double)l->count), true));
		for (int i = 0; i < 3; i++)
			ovl_buf_printf(
				b, "%10s",
				ovl_units_text(t, times[i], ovl_units_time(times[i], true), true));
		ovl_buf_puts(b, "\n");
	}
	if (shown > WAITS_SHOWN)
		ovl_buf_printf(b, "  and %zu more\n", shown - WAITS_SHOWN);
}

static void put_tun(struct ovl_buf *b, const struct ovl_facts *f, const struct ovl_packets_model *p,
		    const struct ovl_tun_model *t)
{
	const struct ovl_daemon *d = &f->daemons.v[t->daemon];
	const double per = t->tx_pkts + t->rx_pkts ? 1 / (double)(t->tx_pkts + t->rx_pkts) : NAN;
	char a[OVL_UNITS_MAX], c[OVL_UNITS_MAX], name[64];
	struct ovl_buf line = {0};
	int shown = 0;

	device(name, sizeof(name), f, d->link, 48);
	ovl_buf_printf(&line, "%s is served by %s (pid %d): %s packets to it, %s from it", name,
		       *d->name ? d->name : "a process", d->pid, count(a, p, t->tx_pkts),
		       count(c, p, t->rx_pkts));
	if (!d->vnet_header)
		ovl_buf_puts(&line, ", no aggregates (no vnet header)");
	if (!isnan(per))
		ovl_buf_printf(&line, "; a packet costs %.2f wake-ups, %.2f switches",
			       (double)t->seen.wakeups * per, (double)t->seen.switches * per);
	ovl_vec_each(call, &t->syscalls) {
		if (!isnan(per) && shown++ < CALLS_SHOWN)
			ovl_buf_printf(&line, ", %.2f %s", (double)call->calls * per, call->name);
	}
	ovl_buf_printf(&line, "; CPU user %s, kernel %s",
		       ovl_units_text(a, t->user_ns * t->per_s / 1e9, ovl_units_share(), true),
		       ovl_units_text(c, t->kernel_ns * t->per_s / 1e9, ovl_units_share(), true));
	ovl_plain_wrapped(b, ovl_buf_str(&line));
	ovl_buf_fini(&line);
}

static void put_basis(struct ovl_buf *b, const struct ovl_model *m)
{
	const struct ovl_packets_model *p = &m->packets;
	const uint64_t *lost = m->self.lost_events;
	const uint64_t no_room = lost[OVL_LOST_PACKET_MAP] + lost[OVL_LOST_PACKET_DEPTH];
	char a[OVL_UNITS_MAX], c[OVL_UNITS_MAX];
	struct ovl_buf line = {0};

	if (p->exact)
		ovl_buf_puts(&line, "every packet was counted (--deep)");
	else
		ovl_buf_printf(&line,
			       "~: estimated from what passed in %s of %s (--deep counts all); "
			       "waits: as seen",
			       ovl_units_text(a, (double)p->open_ns,
					      ovl_units_time((double)p->open_ns, true), true),
			       ovl_units_text(c, (double)p->span_ns,
					      ovl_units_time((double)p->span_ns, true), true));
	ovl_buf_puts(&line, "; segs: wire segments in a packet");
	if (p->windows_lost || lost[OVL_LOST_PACKET_SPAN] || no_room || lost[OVL_LOST_RUN])
		ovl_buf_printf(&line,
			       "; lost: %u windows, %llu waits, %llu for want of room, %llu runs",
			       p->windows_lost, (unsigned long long)lost[OVL_LOST_PACKET_SPAN],
			       (unsigned long long)no_room, (unsigned long long)lost[OVL_LOST_RUN]);
	ovl_plain_wrapped(b, ovl_buf_str(&line));
	ovl_buf_fini(&line);
}

void ovl_report_packets(struct ovl_buf *b, const struct ovl_facts *f, const struct ovl_model *m)
{
	const struct ovl_packets_model *p = &m->packets;

	if (!f->packets.valid)
		return;
	ovl_buf_puts(b, "\nSEGMENTS AND WAITS PER HOP\n");
	if (!p->valid) {
		ovl_plain_wrapped(
			b, p->windows_lost ? "Not known: the kernel refused to attach what counts."
					   : "Not known: no window was open while it counted.");
		return;
	}
	if (!p->paths.n && !p->latency.n)
		ovl_plain_wrapped(b, "No packet passed while they were counted.");
	put_paths(b, f, p);
	put_waits(b, f, p);
	ovl_vec_each(t, &p->tuns)
		put_tun(b, f, p, t);
	put_basis(b, m);
}
