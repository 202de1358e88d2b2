/* Work that a CPU need not do, or that it has to do alone. */
#include <math.h>
#include <string.h>

#include "base/str.h"
#include "model/acc.h"
#include "model/diag.h"

#define SHARE_LEAST 0.15 /* of the packet path's CPU time: worth a finding */
#define RULES_MANY  500	 /* of one chain */
#define FULL_RATIO  0.90
#define SPARE_RATIO 0.85 /* another CPU less busy than this could help */
#define SOFTIRQ	    0.60
#define HEAVY_RATIO 0.10 /* of all bytes: a connection that counts */
#define PATH_LEAST  0.05 /* of one CPU: below, shares of the packet path are shares of nothing */

/* The longest chain of the path's namespaces. */
static const struct ovl_reading *longest(const struct ovl_diag *d)
{
	const struct ovl_reading *most = NULL;

	ovl_vec_each(r, &d->m->readings)
		if (!strcmp(r->kind, "chain") && !strcmp(r->name, "rules") &&
		    (!most || r->value > most->value))
			most = r;
	return most;
}

/* Do frames cross the bridge of the path from port to port rather than into the node? */
static bool bridged(const struct ovl_diag *d, const struct ovl_link **bridge)
{
	for (size_t i = 0; i < d->facts->links.n; i++) {
		const struct ovl_link *link = &d->facts->links.v[i];
		const struct ovl_device *own = ovl_diag_device(d, (int)i);
		double ports = 0;

		if (strcmp(link->kind, "bridge") != 0 || !own)
			continue;
		for (size_t p = 0; p < d->facts->links.n; p++) {
			const struct ovl_device *dev = ovl_diag_device(d, (int)p);

			if (d->facts->links.v[p].master == (int)i && dev)
				ports += (double)dev->rx.bytes;
		}
		*bridge = link;
		if (ports > 1e6 * d->seconds && (double)own->rx.bytes < ports / 2)
			return true;
	}
	return false;
}

static void rule_bridge(struct ovl_diag *d, double share)
{
	const struct ovl_link *bridge = NULL;
	struct ovl_finding *f;
	char in[96];

	if (!bridged(d, &bridge) ||
	    ovl_diag_setting(d, bridge->ns, "sysctl", "bridge", "nf_call_iptables") != 1)
		return;
	f = ovl_diag_find(d, OVL_RULE_BRIDGE_NETFILTER, 0.9, bridge->ns, bridge->name);
	ovl_diag_title(
		f,
		"frames that only cross %s pass the packet filter, because "
		"bridge-nf-call-iptables is 1: it takes %.0f %% of the packet path's CPU time",
		bridge->name, share * 100);
	ovl_diag_evidence(f, "netfilter_share", share, "ratio", "sampler");
	ovl_diag_evidence(f, "bridge-nf-call-iptables", 1, "", "sysctl");
	ovl_diag_fix(f, "%ssysctl -w net.bridge.bridge-nf-call-iptables=0",
		     ovl_diag_in(d, bridge->ns, in, sizeof(in)));
	ovl_diag_risk(
		f, "network policies and Services between pods of one node no longer apply where "
		   "they rest on it");
	ovl_diag_verify(f, "the share of netfilter falls");
	ovl_diag_cost(f, share * 0.8, fmin(0.9, share * 1.2));
}

static void rule_rules(struct ovl_diag *d, double share)
{
	const struct ovl_reading *chain = longest(d);
	struct ovl_finding *f;

	if (!chain || chain->value < RULES_MANY)
		return;
	f = ovl_diag_find(d, OVL_RULE_NETFILTER_RULE_SCALE, 0.9, chain->ns, "");
	ovl_diag_title(
		f,
		"chain %s has %lld rules that packets are tried against one after the other: "
		"the packet filter takes %.0f %% of the packet path's CPU time",
		chain->object, (long long)chain->value, share * 100);
	ovl_diag_evidence(f, "rules", (double)chain->value, "rules", "nf_tables");
	ovl_diag_evidence(f, "netfilter_share", share, "ratio", "sampler");
	ovl_diag_fix(f,
		     "accept established connections first: nft insert rule %s ct state "
		     "established,related accept",
		     chain->object);
	ovl_diag_fix(f,
		     "sets and maps instead of lists (ipset, nft maps, kube-proxy nftables or ipvs "
		     "mode)");
	ovl_diag_risk(f, "an early accept skips rules that were meant for open connections");
	ovl_diag_verify(f, "the share of netfilter falls");
	ovl_diag_cost(f, share * 0.7, fmin(0.9, share * 1.1));
}

/*
 * CPU time of the packet path in BPF programs that are not ours, by their symbols, against the
 * whole path's; *most: the program that takes most, "" if its symbol is not known.
 */
static double program_share(const struct ovl_diag *d, const char **most)
{
	uint64_t most_ns = 0;
	double ns = 0;

	*most = "";
	ovl_vec_each(t, &d->m->cpu.stages) {
		for (uint32_t i = 0; i < t->n_symbols && i < OVL_TOP_SYMBOLS; i++) {
			const char *name = t->symbols[i].name;
			const bool program =
				ovl_str_starts(name, "bpf_prog_") && !strstr(name, "_ovl_");

			if (!ovl_acc_path_stage(t->stage) ||
			    (!program && !ovl_str_starts(name, "bpf_loop") &&
			     strcmp(name, "skb_ensure_writable") != 0 &&
			     strcmp(name, "bpf_skb_pull_data") != 0))
				continue;
			ns += (double)t->symbols[i].ns;
			if (program && t->symbols[i].ns > most_ns) {
				most_ns = t->symbols[i].ns;
				*most = name;
			}
		}
	}
	return d->path_ns > 0 ? fmin(1, ns / d->path_ns) : 0;
}

/* "a BPF program at eth0 xdp (id 7, name)", or how many there are and which symbol takes most. */
static void name_programs(const struct ovl_diag *d, const struct ovl_reading *prog, uint32_t n,
			  const char *symbol, char *to, size_t room)
{
	const struct ovl_reading *name =
		prog ? ovl_diag_reading(d, prog->ns, "bpf", prog->object, "name") : NULL;
	struct ovl_buf b = {0};

	if (prog)
		ovl_buf_printf(&b, "a BPF program at %s (id %lld%s%s) works", prog->object,
			       (long long)prog->value, name ? ", " : "", name ? name->text : "");
	else
		ovl_buf_printf(&b, "%u BPF programs%s%s work", n, *symbol ? ", above all " : "",
			       symbol);
	ovl_str_copy(to, room, ovl_buf_str(&b));
	ovl_buf_fini(&b);
}

static void rule_programs(struct ovl_diag *d)
{
	const struct ovl_reading *prog;
	const char *symbol;
	double share = program_share(d, &symbol);
	struct ovl_finding *f;
	char device[OVL_IF_MAX] = "", who[192];
	uint32_t n;

	/* with several on the path the costly one is not known by its id */
	prog = ovl_diag_program(d, OVL_ANY_NS, "", &n);
	if (!n || share < SHARE_LEAST / 2)
		return;
	for (size_t i = 0;
	     prog && prog->object[i] && prog->object[i] != ' ' && i + 1 < sizeof(device); i++)
		device[i] = prog->object[i];
	f = ovl_diag_find(d, OVL_RULE_BPF_ON_PATH, prog ? 0.85 : 0.7,
			  prog	     ? prog->ns
			  : d->iface ? d->iface->ns
				     : 0,
			  device);
	name_programs(d, prog, n, symbol, who, sizeof(who));
	ovl_diag_title(f, "%s on every packet: programs take %.0f %% of the packet path's CPU time",
		       who, share * 100);
	ovl_diag_evidence(f, "program_share", share, "ratio", "sampler");
	ovl_diag_evidence(f, "programs", n, "", "rtnetlink");
	ovl_diag_evidence(f, "program_id", prog ? (double)prog->value : NAN, "", "rtnetlink");
	if (prog)
		ovl_diag_fix(f,
			     "bpftool prog show id %lld: disable it, let it sample, or use "
			     "tracepoints",
			     (long long)prog->value);
	else
		ovl_diag_fix(f, "bpftool net show; bpftool prog show: disable the costly one, let "
				"it sample, or use tracepoints");
	ovl_diag_risk(f, "what it measures or enforces is lost");
	ovl_diag_verify(f, "the program's share falls");
	ovl_diag_cost(f, share * 0.7, fmin(0.9, share * 1.3));
	ovl_diag_explains(d, f, OVL_SYMPTOM_CPU);
}

/* Is this the other end of a connection that stands before it? */
static bool is_second_end(const struct ovl_diag *d, const struct ovl_flow_sum *s)
{
	for (const struct ovl_flow_sum *f = d->m->flows.v; f < s; f++)
		if (!strcmp(f->f.src, s->f.dst) && !strcmp(f->f.dst, s->f.src))
			return true;
	return false;
}

static uint32_t heavy_flows(const struct ovl_diag *d)
{
	uint64_t all = 0;
	uint32_t n = 0;

	ovl_vec_each(s, &d->m->flows)
		all += s->f.acked_bytes + s->f.received_bytes;
	ovl_vec_each(s, &d->m->flows)
		n += all &&
		     (double)(s->f.acked_bytes + s->f.received_bytes) >=
			     HEAVY_RATIO * (double)all &&
		     !is_second_end(d, s);
	return n;
}

static void rule_one_core(struct ovl_diag *d)
{
	const struct ovl_cpu_load *full = NULL;
	double spare = 1;
	struct ovl_finding *f;
	uint32_t flows = heavy_flows(d);

	ovl_vec_each(cpu, &d->m->cpu.per_cpu)
		if (!full || cpu->softirq_ratio > full->softirq_ratio)
			full = cpu;
	ovl_vec_each(cpu, &d->m->cpu.per_cpu)
		if (cpu != full)
			spare = fmin(spare, cpu->busy_ratio);
	if (d->explained & OVL_SYMPTOM_CPU || !full || flows < 2 ||
	    !(full->busy_ratio >= FULL_RATIO) || !(full->softirq_ratio >= SOFTIRQ) ||
	    spare > SPARE_RATIO)
		return;
	f = ovl_diag_find(d, OVL_RULE_SOFTIRQ_SINGLE_CORE, 0.85, d->iface ? d->iface->ns : 0,
			  d->underlay ? d->underlay->name : "");
	ovl_diag_title(
		f,
		"CPU %u is full with receive work (%.0f %% of its time) of %u connections while "
		"another has time: they all arrive in one queue",
		full->cpu, full->softirq_ratio * 100, flows);
	ovl_diag_evidence(f, "softirq", full->softirq_ratio, "ratio", "sampler");
	ovl_diag_evidence(f, "busy", full->busy_ratio, "ratio", "/proc/stat");
	ovl_diag_evidence(f, "idlest_cpu_busy", spare, "ratio", "/proc/stat");
	ovl_diag_evidence(f, "connections", flows, "connections", "sock_diag");
	ovl_diag_fix(f,
		     "more receive queues: ethtool -L %s combined N; ethtool -N %s rx-flow-hash "
		     "udp4 sdfn",
		     d->underlay ? d->underlay->name : "NIC",
		     d->underlay ? d->underlay->name : "NIC");
	ovl_diag_fix(f, "spread in software: echo MASK > /sys/class/net/%s/queues/rx-0/rps_cpus",
		     d->underlay ? d->underlay->name : "NIC");
	ovl_diag_risk(f, "one connection may be reordered while its queue changes");
	ovl_diag_verify(f, "softirq time spreads over the CPUs");
	ovl_diag_cost(f, 0.15, 0.5);
	ovl_diag_explains(d, f, OVL_SYMPTOM_CPU);
}

static bool is_idle(const struct ovl_diag *d)
{
	return d->path_ns < PATH_LEAST * 1e9 * d->seconds;
}

void ovl_rule_cpu(struct ovl_diag *d)
{
	double share = ovl_diag_stage(d, OVL_STAGE_NETFILTER);

	if (is_idle(d))
		return;
	if (share >= SHARE_LEAST) {
		rule_bridge(d, share);
		rule_rules(d, share);
	}
	rule_programs(d);
	rule_one_core(d);
}

void ovl_rule_stage(struct ovl_diag *d)
{
	const struct ovl_stage_time *top = NULL;
	struct ovl_finding *f;

	ovl_vec_each(t, &d->m->cpu.stages)
		if (ovl_acc_path_stage(t->stage) && (!top || t->ns > top->ns))
			top = t;
	if (!top || is_idle(d) || !(d->busy_ratio >= FULL_RATIO) ||
	    top->share_ratio < SHARE_LEAST / 2)
		return;
	f = ovl_diag_find(d, OVL_RULE_CPU_STAGE, 0.6, OVL_NS_MACHINE, "");
	ovl_diag_title(f,
		       "a CPU is full; of the packet path's CPU time most (%.0f %%) goes to %s%s%s",
		       (double)top->ns / d->path_ns * 100,
		       ovl_stage_info((enum ovl_stage)top->stage)->label,
		       top->n_symbols ? ", above all in " : "",
		       top->n_symbols ? top->symbols[0].name : "");
	ovl_diag_evidence(f, "busy", d->busy_ratio, "ratio", "/proc/stat");
	ovl_diag_evidence(f, "stage_share", (double)top->ns / d->path_ns, "ratio", "sampler");
	ovl_diag_verify(f, "the table of CPU cost by stage");
}
