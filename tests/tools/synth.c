/*
 * Writes synthetic recordings, so that every view can be looked at and tested without root, kernel
 * or traffic: `synth SCENARIO FILE`. Everything in them is made up, and the same on every run.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "base/version.h"
#include "collect/recording.h"
#include "synth_plans.h"

struct out {
	struct ovl_recorder *recorder;
	struct ovl_sample s;
	uint64_t ts_ns;
};

/* ---- facts ---- */

/* Pushing fails only without memory, which a test tool need not survive. */
#define PUSH(vec) \
	({ \
		__typeof__(ovl_vec_push(vec)) pushed = ovl_vec_push(vec); \
		if (!pushed) \
			abort(); \
		pushed; \
	})
#define COPY(dst, src) ovl_str_copy(dst, sizeof(dst), src)

static void add_features(struct ovl_link *link)
{
	static const struct ovl_feature features[] = {
		{"tx-checksum-ip-generic", true},
		{"tx-tcp-segmentation", true},
		{"tx-udp_tnl-segmentation", false},
		{"tx-udp_tnl-csum-segmentation", false},
		{"rx-gro", true},
		{"rx-udp-gro-forwarding", false},
	};

	for (size_t i = 0; i < sizeof(features) / sizeof(features[0]); i++)
		*PUSH(&link->features) = features[i];
}

static void add_path(struct ovl_facts *f)
{
	static const char *const ends[] = {"node1", "pod1", "node2", "pod2"};

	for (uint32_t i = 0; i < 4; i++) {
		struct ovl_ns *ns = PUSH(&f->ns);

		snprintf(ns->name, sizeof(ns->name), "ovl-flannel-vxlan-%s", ends[i]);
		ns->inode = 4026532000u + i;
	}
	for (int i = 0; i < LINKS; i++) {
		struct ovl_link *link = PUSH(&f->links);

		link->ns = links[i].ns;
		link->ifindex = i + 2;
		COPY(link->name, links[i].name);
		COPY(link->kind, links[i].kind);
		link->mtu = links[i].mtu;
		link->lower = links[i].lower;
		link->master = -1;
		link->up = true;
		add_features(link);
	}
}

static void add_load(struct ovl_facts *f)
{
	f->load = (struct ovl_load_facts){.valid = true,
					  .kind = "iperf-like",
					  .peer_kind = "lab",
					  .streams = 1,
					  .congestion = "cubic",
					  .cpu_sender = 0,
					  .cpu_receiver = 1,
					  .has_underlay = true,
					  .where = "lab flannel-vxlan, both nodes on this host"};
}

static void facts_init(struct ovl_facts *f, uint32_t cpus)
{
	struct ovl_setting *setting;

	memset(f, 0, sizeof(*f));
	COPY(f->tool_version, OVL_VERSION);
	COPY(f->libbpf_version, "1.1.2");
	COPY(f->kernel, "6.12.0-synthetic");
	COPY(f->arch, "x86_64");
	COPY(f->nodename, "synthetic");
	f->cpus = cpus;
	f->start_unix_ns = 1700000000ull * 1000 * MS;
	add_path(f);
	f->iface = 1;
	f->vxlan = (struct ovl_vxlan){
		.valid = true, .vni = 1, .port = 8472, .local = "10.99.0.1", .dev = "eth0"};
	f->load.cpu_sender = f->load.cpu_receiver = -1;
	f->sample_hz = SAMPLE_HZ;
	f->interval_ns = 1000 * MS;
	f->sample_cost_ns = 1500;
	f->drop_cost_ns = 400;
	f->retransmit_cost_ns = 300;
	f->progs_attached = 3;
	setting = PUSH(&f->config);
	COPY(setting->name, "iface");
	COPY(setting->value, "flannel.1");
}

/* Every name as long as it can be, and something missing. */
static void facts_widen(struct ovl_facts *f)
{
	struct ovl_missing *missing = PUSH(&f->missing);

	memset(f->nodename, 'n', sizeof(f->nodename) - 1);
	memset(f->kernel, '6', sizeof(f->kernel) - 1);
	memset(f->load.where, 'w', sizeof(f->load.where) - 1);
	ovl_vec_each(ns, &f->ns)
		memset(ns->name + strlen(ns->name), 'x', sizeof(ns->name) - 1 - strlen(ns->name));
	ovl_vec_each(link, &f->links)
		memset(link->name + strlen(link->name), '9',
		       sizeof(link->name) - 1 - strlen(link->name));
	memset(missing->hook, 'h', sizeof(missing->hook) - 1);
	memset(missing->reason, 'r', sizeof(missing->reason) - 1);
	memset(missing->lost, 'l', sizeof(missing->lost) - 1);
	f->vxlan.vni = 16777215;
	f->vxlan.port = 65535;
}

/* ---- samples ---- */

static void fail(const char *what, const struct ovl_err *err)
{
	fprintf(stderr, "synth: %s: %s\n", what, err->text);
	exit(1);
}

static void begin(struct out *o, uint8_t phase, uint32_t pair, uint64_t wall_ns)
{
	ovl_sample_clear(&o->s);
	o->s.start_ts_ns = o->ts_ns;
	o->ts_ns += wall_ns;
	o->s.end_ts_ns = o->ts_ns;
	o->s.phase = phase;
	o->s.pair = pair;
	o->s.retransmits_valid = true;
	o->s.self_cpu_ns = wall_ns / 200;
}

static void emit(struct out *o)
{
	struct ovl_err err = OVL_ERR_INIT;

	if (ovl_recorder_add(o->recorder, &o->s, &err))
		fail("sample", &err);
}

/* What of `total` falls between two instants of a phase of `whole`: parts add up exactly. */
static uint64_t part(uint64_t total, uint32_t from, uint32_t to, uint32_t whole)
{
	return (uint64_t)((unsigned __int128)total * to / whole -
			  (unsigned __int128)total * from / whole);
}

static void add_traffic(struct ovl_sample *s, uint32_t link, uint64_t rx_bytes, uint64_t tx_bytes)
{
	struct ovl_link_delta *delta = PUSH(&s->links);

	delta->link = link;
	delta->rx_bytes = rx_bytes;
	delta->rx_pkts = rx_bytes / 1400;
	delta->tx_bytes = tx_bytes;
	delta->tx_pkts = tx_bytes / 60000;
}

static void add_drop(struct ovl_sample *s, uint64_t pkts, bool huge)
{
	struct ovl_drop *drop = PUSH(&s->drops);
	struct ovl_counter *counter = PUSH(&s->counters);

	COPY(drop->reason, "CPU_BACKLOG");
	COPY(drop->symbol, "enqueue_to_backlog");
	COPY(drop->iface, "eth0");
	drop->ns = 2;
	drop->stage = OVL_STAGE_BACKLOG;
	drop->pkts = pkts;
	drop->segs = pkts * 20;
	counter->ns = OVL_NS_MACHINE;
	COPY(counter->group, "softnet");
	COPY(counter->name, "dropped");
	counter->delta = (int64_t)pkts;
	drop = PUSH(&s->drops);
	COPY(drop->reason, "NOT_SPECIFIED");
	COPY(drop->symbol, "unix_release_sock");
	drop->ns = OVL_NS_MACHINE;
	drop->stage = OVL_STAGE_UNCLASSIFIED;
	drop->benign = true;
	drop->pkts = drop->segs = 12;
	if (!huge)
		return;
	drop = PUSH(&s->drops);
	memset(drop->reason, 'R', sizeof(drop->reason) - 1);
	memset(drop->symbol, 's', sizeof(drop->symbol) - 1);
	memset(drop->iface, 'i', sizeof(drop->iface) - 1);
	drop->ns = 3;
	drop->stage = OVL_STAGE_VXLAN_ENCAP;
	drop->pkts = drop->segs = 9ull * 1000 * 1000 * 1000 * 1000;
	counter = PUSH(&s->counters);
	COPY(counter->group, "TcpExtension_01");
	memset(counter->name, 'C', sizeof(counter->name) - 1);
	counter->delta = INT64_MAX / 4096;
}

static void add_hit(struct ovl_sample *s, const struct row *row, uint32_t cpu, uint32_t count)
{
	struct ovl_hit *hit = PUSH(&s->hits);
	struct ovl_symbol_hit *symbol;

	*hit = (struct ovl_hit){cpu, row->stage, row->work, row->ctx, row->task_class, count};
	if (!row->symbol)
		return;
	symbol = PUSH(&s->symbols);
	symbol->stage = row->stage;
	COPY(symbol->name, row->symbol);
	symbol->count = count;
}

/* One CPU's hits and clock: idle is what the hits leave of the slice. */
static void add_cpu(struct ovl_sample *s, const struct plan *p, uint32_t cpu, uint32_t from,
		    uint32_t whole)
{
	uint32_t wall_ms = p->wall_ms[s->pair], busy_ms = 0, seen = 0;
	bool overlay = s->phase == OVL_PHASE_OVERLAY;
	struct ovl_self_delta *self = PUSH(&s->self);
	struct ovl_cpu_clock *clock = PUSH(&s->cpus);

	for (size_t i = 0; i < p->n_rows; i++) {
		const struct row *row = &p->rows[i];
		uint32_t total = overlay ? row->o_ms : row->u_ms;
		uint32_t ms = (uint32_t)part(total, from, from + wall_ms, whole);

		if (row->cpu != cpu % 2)
			continue;
		/* pairs differ a little, so that standard errors are not 0; the sum stays */
		if (seen++ < 2 && total >= 600)
			ms = s->pair % 2 ? ms - 4 : ms + 4;
		if (ms)
			add_hit(s, row, cpu, ms);
		busy_ms += ms;
		if (row->task_class == OVL_TASK_SELF)
			self->user_ns = ms * MS;
	}
	clock->cpu = self->cpu = cpu;
	clock->wall_ns = wall_ms * MS;
	clock->idle_ns = (wall_ms - busy_ms) * MS;
	clock->softirq_handled = p->huge ? INT64_MAX / 1000000 : busy_ms * 900ull;
	self->runs[OVL_PROG_SAMPLER] = busy_ms;
}

static void add_conn(struct ovl_sample *s, const struct plan *p, uint32_t from, uint32_t whole)
{
	const struct conn *c = &p->conn[s->phase == OVL_PHASE_OVERLAY];
	uint32_t wall_ms = p->wall_ms[s->pair], to = from + wall_ms;
	struct ovl_load_delta *load = &s->load;

	load->valid = true;
	load->wall_ns = wall_ms * MS;
	load->bytes = part(c->bytes, from, to, whole);
	load->retransmits = s->retransmits = c->retransmits;
	load->busy_us = part(c->busy_ms * 1000ull, from, to, whole);
	load->rwnd_us = part(c->rwnd_ms * 1000ull, from, to, whole);
	load->sndbuf_us = part(c->sndbuf_ms * 1000ull, from, to, whole);
	load->sender_cpu_ns = load->wall_ns / 2;
	load->receiver_cpu_ns = load->wall_ns / 3;
	for (load->rtt_n = 0; load->rtt_n < wall_ms / 100; load->rtt_n++)
		load->rtt_us[load->rtt_n] = c->rtt_us + load->rtt_n % 5 * (c->rtt_us / 40);
	load->cwnd_segs = c->cwnd_segs;
	load->mss_bytes = s->phase == OVL_PHASE_OVERLAY ? 1398 : 1448;
}

static void write_slice(struct out *o, const struct plan *p, uint8_t phase, uint32_t pair)
{
	uint32_t from = 0, whole = 0;
	struct ovl_sample *s = &o->s;

	for (uint32_t i = 0; i < PAIRS; i++) {
		from += i < pair ? p->wall_ms[i] : 0;
		whole += p->wall_ms[i];
	}
	begin(o, phase, pair, p->wall_ms[pair] * MS);
	for (uint32_t cpu = 0; cpu < p->cpus; cpu++)
		add_cpu(s, p, cpu, from, whole);
	add_conn(s, p, from, whole);
	add_traffic(s, 0, s->load.bytes / 90, s->load.bytes + s->load.bytes / 16);
	if (phase == OVL_PHASE_OVERLAY) {
		add_traffic(s, 1, s->load.bytes / 100, s->load.bytes + s->load.bytes / 20);
		if (p->drops)
			add_drop(s, p->drops, p->huge);
		s->lost[OVL_LOST_STACK] = p->lost;
		s->lost[OVL_LOST_DROP_BUDGET] = p->huge ? INT64_MAX / 1000000 : p->lost / 5;
	}
	emit(o);
	if (!p->settle)
		return;
	begin(o, OVL_PHASE_SETTLE, pair, 200 * MS);
	add_traffic(s, 1, 30000, 3000000);
	emit(o);
}

static void write_plan(struct out *o, const struct plan *p)
{
	for (uint32_t pair = 0; pair < PAIRS; pair++) {
		bool overlay_first = pair % 2; /* ABBA */

		write_slice(o, p, overlay_first ? OVL_PHASE_OVERLAY : OVL_PHASE_UNDERLAY, pair);
		write_slice(o, p, overlay_first ? OVL_PHASE_UNDERLAY : OVL_PHASE_OVERLAY, pair);
	}
}

/*
 * No load of ours: somebody's bulk transfer through flannel.1 with a few losses, or nothing at all.
 */
static void write_observed(struct out *o, bool traffic)
{
	for (int i = 0; i < (traffic ? 10 : 5); i++) {
		struct ovl_sample *s = &o->s;

		begin(o, OVL_PHASE_OBSERVE, 0, 1000 * MS);
		for (uint32_t cpu = 0; cpu < 2; cpu++) {
			struct ovl_cpu_clock *clock = PUSH(&s->cpus);
			struct ovl_self_delta *self = PUSH(&s->self);
			uint32_t busy_ms = 0;

			for (size_t r = 0; traffic && r < sizeof(vector_a) / sizeof(vector_a[0]);
			     r++) {
				struct row row = vector_a[r];

				/* a task that is not known to serve a load is any task */
				row.task_class = OVL_TASK_OTHER;
				if (row.cpu == cpu && row.o_ms)
					add_hit(s, &row, cpu, row.o_ms / 5 + (uint32_t)i % 3);
				if (row.cpu == cpu && row.o_ms)
					busy_ms += row.o_ms / 5 + (uint32_t)i % 3;
			}
			clock->cpu = self->cpu = cpu;
			clock->wall_ns = 1000 * MS;
			busy_ms = busy_ms < 998 ? busy_ms + 2 : 1000;
			clock->idle_ns = (1000 - busy_ms) * MS;
			self->user_ns = MS;
			self->runs[OVL_PROG_SAMPLER] = busy_ms;
		}
		add_traffic(s, 0, traffic ? 10000000 : 0, traffic ? 660000000 : 0);
		add_traffic(s, 1, traffic ? 9000000 : 0, traffic ? 625000000 : 0);
		if (traffic && i % 3 == 1)
			add_drop(s, 17, false);
		s->retransmits = traffic ? (uint64_t)(i % 4) : 0;
		emit(o);
	}
}

static int usage(void)
{
	fprintf(stderr, "usage: synth vector-a|window|no-load|idle|lossy|wide FILE\n");
	return 2;
}

int main(int argc, char **argv)
{
	bool no_load = argc == 3 && !strcmp(argv[1], "no-load");
	bool idle = argc == 3 && !strcmp(argv[1], "idle");
	struct out o = {.ts_ns = START_TS_NS};
	struct ovl_err err = OVL_ERR_INIT;
	const struct plan *plan = NULL;
	struct ovl_facts facts;

	for (size_t i = 0; argc == 3 && i < sizeof(plans) / sizeof(plans[0]); i++)
		if (!strcmp(argv[1], plans[i].name))
			plan = &plans[i];
	if (!plan && !no_load && !idle)
		return usage();
	facts_init(&facts, plan ? plan->cpus : 2);
	if (plan)
		add_load(&facts);
	if (plan && plan->huge)
		facts_widen(&facts);
	o.recorder = ovl_recorder_open(argv[2], &facts, &err);
	if (!o.recorder)
		fail("open", &err);
	if (plan)
		write_plan(&o, plan);
	else
		write_observed(&o, no_load);
	if (ovl_recorder_close(o.recorder, &err))
		fail("close", &err);
	ovl_sample_fini(&o.s);
	ovl_facts_fini(&facts);
	return 0;
}
