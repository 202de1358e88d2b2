/* Packets that somebody on the node drops on purpose or for want of an entry. */
#include <math.h>
#include <string.h>

#include "base/str.h"
#include "model/diag.h"

#define FEW	   3	 /* packets: fewer may be chance */
#define SOME_RATIO 0.001 /* of what a device got: worth a warning */
#define MOST_RATIO 0.2	 /* it stops what it hits */
#define FULL_RATIO 0.9	 /* of a table's limit */

/* Hook of a rule's words ("input: udp dport 8472 drops") or of its chain. */
static bool at_hook(const struct ovl_diag *d, const struct ovl_reading *r, const char *hook)
{
	const struct ovl_reading *words = ovl_diag_reading(
		d, r->ns, r->kind, r->object, !strcmp(r->kind, "chain") ? "hook" : "words");

	return words && ovl_str_starts(words->text, hook);
}

/* Dropped packets of rules and policies at a hook; *at: the one that dropped most. */
static double filtered(const struct ovl_diag *d, const char *hook, bool invalid, bool limits,
		       const struct ovl_reading **at)
{
	double sum = 0;

	*at = NULL;
	ovl_vec_each(r, &d->m->readings) {
		bool rule = !strcmp(r->kind, "rule") &&
			    (!strcmp(r->name, limits ? "polices" : "drops") ||
			     (!limits && !strcmp(r->name, "rejects")));
		bool policy = !invalid && !limits && !strcmp(r->kind, "chain") &&
			      !strcmp(r->name, "policy_drops");
		bool of_invalid =
			rule && ovl_diag_reading(d, r->ns, "rule", r->object, "ct_invalid") != NULL;

		if ((!rule && !policy) || r->delta <= 0 || of_invalid != invalid ||
		    (*hook && !at_hook(d, r, hook)))
			continue;
		sum += (double)r->delta;
		if (!*at || r->delta > (*at)->delta)
			*at = r;
	}
	return sum;
}

static uint64_t got(const struct ovl_diag *d, int link)
{
	const struct ovl_device *dev = ovl_diag_device(d, link);

	return dev ? dev->rx.pkts : 0;
}

/* How grave it is that `lost` of `all` packets are dropped. */
static void weigh(struct ovl_finding *f, double lost, double all)
{
	const double ratio = all > 0 ? lost / all : 1;

	if (ratio < MOST_RATIO)
		f->level = ratio < SOME_RATIO ? OVL_LEVEL_INFO : OVL_LEVEL_WARNING;
}

static void fix_rule(struct ovl_diag *d, struct ovl_finding *f, const struct ovl_reading *at)
{
	const char *handle = strstr(at->object, " handle ");
	char in[96];

	ovl_diag_in(d, at->ns, in, sizeof(in));
	if (!strcmp(at->kind, "rule") && handle)
		ovl_diag_fix(f, "%snft delete rule %s", in, at->object);
	else
		ovl_diag_fix(f, "%snft chain %s '{ policy accept; }'", in, at->object);
}

/* What the tunnel's outer packets meet: a rule at the input, or any drop before decapsulation. */
static void rule_blocked(struct ovl_diag *d)
{
	static const char *const hooks[] = {"input", "prerouting", "ingress", "output", "egress"};
	const struct ovl_reading *at = NULL, *one;
	uint64_t dropped, decapsulated = got(d, d->iface_at);
	double by_rules = 0;
	struct ovl_finding *f;

	if (!d->tunnel || !d->underlay)
		return;
	dropped = ovl_diag_drops(d, "NETFILTER_DROP", "", d->underlay->name, NULL);
	for (size_t i = 0; i < sizeof(hooks) / sizeof(hooks[0]); i++) {
		by_rules += filtered(d, hooks[i], false, false, &one);
		at = one && (!at || one->delta > at->delta) ? one : at;
	}
	/* conntrack drops under the same reason */
	if (ovl_diag_growth(d, d->underlay->ns, "conntrack", "drop") > 0)
		dropped = 0;
	if (by_rules < FEW && dropped < FEW)
		return;
	/* drops that leave the tunnel alone are of other traffic */
	if ((double)decapsulated > MOST_RATIO * fmax(by_rules, (double)dropped))
		return;
	f = ovl_diag_find(d, OVL_RULE_TUNNEL_PORT_BLOCKED, at && dropped ? 0.95 : 0.8,
			  d->underlay->ns, d->underlay->name);
	ovl_diag_title(
		f,
		"the node's own packet filter drops what comes for the tunnel (UDP port %u): "
		"%.0f packets%s%s, and nothing left %s",
		d->facts->vxlan.port, fmax(by_rules, (double)dropped), at ? " by " : "",
		at ? at->object : "", d->iface->name);
	ovl_diag_evidence(f, "dropped_by_rules", by_rules, "pkts", "nf_tables");
	ovl_diag_evidence(f, "netfilter_drop", (double)dropped, "pkts", "skb:kfree_skb");
	ovl_diag_evidence(f, "decapsulated", (double)decapsulated, "pkts", "rtnetlink");
	if (at)
		fix_rule(d, f, at);
	ovl_diag_fix(f,
		     "nft insert rule inet filter input udp dport %u accept (or iptables -I INPUT "
		     "-p udp --dport %u -j ACCEPT)",
		     d->facts->vxlan.port, d->facts->vxlan.port);
	ovl_diag_risk(f, "anyone who reaches the port can send into the overlay: allow the nodes' "
			 "addresses only");
	ovl_diag_verify(f, "rx packets of %s grow", d->iface->name);
	d->explained |= OVL_SYMPTOM_DEAD | OVL_SYMPTOM_LOSS;
}

static void rule_forward(struct ovl_diag *d)
{
	const struct ovl_reading *at;
	const uint32_t ns = d->iface ? d->iface->ns : 0;
	double by_rules = filtered(d, "forward", false, false, &at);
	double addr_errors = ovl_diag_counter(d, ns, "Ip", "InAddrErrors");
	bool off = ovl_diag_setting(d, ns, "sysctl", "ipv4", "ip_forward") == 0;
	uint64_t dropped = 0;
	struct ovl_finding *f;

	/* a drop at a device behind the input hook, where no counter of nf_tables says so */
	ovl_vec_each(drop, &d->m->drops)
		if (drop->ns == ns && !strcmp(drop->reason, "NETFILTER_DROP") && *drop->iface &&
		    (!d->underlay || strcmp(drop->iface, d->underlay->name) != 0))
			dropped += drop->pkts;
	if (ovl_diag_growth(d, ns, "conntrack", "drop") > 0 ||
	    ovl_diag_growth(d, ns, "conntrack", "insert_failed") > 0 ||
	    filtered(d, "", true, false, &(const struct ovl_reading *){NULL}) > 0)
		dropped = 0;
	if (by_rules < FEW && dropped < FEW && !(off && addr_errors >= FEW))
		return;
	f = ovl_diag_find(d, OVL_RULE_FORWARD_REFUSED, at || off ? 0.95 : 0.7, at ? at->ns : ns,
			  d->iface ? d->iface->name : "");
	if (off && addr_errors >= FEW)
		ovl_diag_title(f, "ip_forward is 0: %.0f packets for other addresses were refused",
			       addr_errors);
	else
		ovl_diag_title(f, "the packet filter refuses to forward: %.0f packets%s%s%s",
			       fmax(by_rules, (double)dropped), at ? " by " : "",
			       at ? at->object : "",
			       at && !strcmp(at->kind, "chain") ? " (its policy is drop)" : "");
	ovl_diag_evidence(f, "dropped_by_rules", by_rules, "pkts", "nf_tables");
	ovl_diag_evidence(f, "netfilter_drop", (double)dropped, "pkts", "skb:kfree_skb");
	ovl_diag_evidence(f, "address_errors", addr_errors, "pkts", "/proc/net/snmp");
	ovl_diag_evidence(f, "received_by_device", (double)got(d, d->iface_at), "pkts",
			  "rtnetlink");
	if (off)
		ovl_diag_fix(f, "sysctl -w net.ipv4.ip_forward=1");
	else if (at)
		fix_rule(d, f, at);
	ovl_diag_fix(f, "accept the pods' networks alone: iptables -I FORWARD -s POD_CIDR -j "
			"ACCEPT; iptables -I FORWARD -d POD_CIDR -j ACCEPT");
	ovl_diag_risk(f, "an accepting policy forwards everything that no other rule stops");
	ovl_diag_verify(f, "IpForwDatagrams grows and the pods answer");
	weigh(f, fmax(fmax(by_rules, (double)dropped), addr_errors), (double)got(d, d->iface_at));
	d->explained |= f->level > OVL_LEVEL_INFO ? OVL_SYMPTOM_DEAD | OVL_SYMPTOM_LOSS : 0;
}

static void rule_rp_filter(struct ovl_diag *d)
{
	const struct ovl_drop *at = NULL;
	double refused = ovl_diag_counter(d, OVL_ANY_NS, "TcpExt", "IPReversePathFilter");
	uint32_t ns = d->iface ? d->iface->ns : 0;
	const char *dev = d->iface ? d->iface->name : "";
	struct ovl_finding *f;
	uint64_t pkts;

	pkts = ovl_diag_drops(d, "IP_RPFILTER", "", "", &at);
	if (refused < FEW && pkts < FEW)
		return;
	if (at) {
		ns = at->ns;
		dev = *at->iface ? at->iface : dev;
	}
	f = ovl_diag_find(d, OVL_RULE_RP_FILTER, 0.95, ns, dev);
	ovl_diag_title(
		f,
		"the reverse-path filter refused %.0f packets from %s: the route back to their "
		"sender leaves by another device",
		fmax(refused, (double)pkts), *dev ? dev : "a device");
	ovl_diag_evidence(f, "reverse_path_filter", refused, "pkts", "/proc/net/netstat");
	ovl_diag_evidence(f, "rp_filter_all", ovl_diag_setting(d, ns, "sysctl", "all", "rp_filter"),
			  "", "sysctl");
	ovl_diag_evidence(f, "rp_filter_device",
			  ovl_diag_setting(d, ns, "sysctl", dev, "rp_filter"), "", "sysctl");
	ovl_diag_fix(f, "route the sender's network back by %s (ip route replace NETWORK dev %s)",
		     dev, dev);
	ovl_diag_fix(f, "sysctl -w net.ipv4.conf.all.rp_filter=2 net.ipv4.conf.%s.rp_filter=2",
		     dev);
	ovl_diag_risk(f, "a loose filter lets forged senders of known networks in");
	ovl_diag_verify(f, "TcpExtIPReversePathFilter stands still");
	weigh(f, fmax(refused, (double)pkts), (double)got(d, ovl_diag_link(d, ns, dev)));
	d->explained |= OVL_SYMPTOM_DEAD | OVL_SYMPTOM_LOSS;
}

static void rule_table_full(struct ovl_diag *d, uint32_t ns)
{
	double drop = ovl_diag_growth(d, ns, "conntrack", "drop");
	double failed = ovl_diag_growth(d, ns, "conntrack", "insert_failed");
	double entries = ovl_diag_setting(d, ns, "conntrack", "table", "entries");
	double limit = ovl_diag_setting(d, ns, "conntrack", "table", "limit");
	double early = ovl_diag_growth(d, ns, "conntrack", "early_drop");
	bool full = (limit > 0 && entries >= FULL_RATIO * limit) || early > 0;
	struct ovl_finding *f;

	/* insert_failed counts as a drop too, but the table has room */
	if (drop - failed < FEW || (failed > 0 && !full))
		return;
	f = ovl_diag_find(d, OVL_RULE_CONNTRACK_FULL, full ? 0.95 : 0.75, ns, "");
	ovl_diag_title(
		f,
		"the connection-tracking table is full (%.0f of %.0f entries): %.0f packets of "
		"new connections were dropped, open ones carry on",
		entries, limit, drop);
	ovl_diag_evidence(f, "conntrack_drop", drop, "pkts", "/proc/net/stat/nf_conntrack");
	ovl_diag_evidence(f, "early_drop", early, "entries", "/proc/net/stat/nf_conntrack");
	ovl_diag_evidence(f, "entries", entries, "entries", "nf_conntrack_count");
	ovl_diag_evidence(f, "limit", limit, "entries", "nf_conntrack_max");
	ovl_diag_fix(f, "sysctl -w net.netfilter.nf_conntrack_max=%.0f", fmax(262144, 4 * limit));
	ovl_diag_fix(f, "sysctl -w net.netfilter.nf_conntrack_tcp_timeout_time_wait=30 (and the "
			"other timeouts), or NOTRACK for the tunnel's port");
	ovl_diag_risk(f, "about 320 bytes of kernel memory for each entry");
	ovl_diag_verify(f, "the column drop of /proc/net/stat/nf_conntrack stands still");
	d->explained |= OVL_SYMPTOM_DEAD | OVL_SYMPTOM_LOSS;
}

static void rule_insert_failed(struct ovl_diag *d, uint32_t ns)
{
	double failed = ovl_diag_growth(d, ns, "conntrack", "insert_failed");
	uint64_t repeated = 0;
	struct ovl_finding *f;

	if (failed < 1)
		return;
	ovl_vec_each(a, &d->m->attempts)
		repeated += a->repeated_segs;
	f = ovl_diag_find(d, OVL_RULE_SNAT_INSERT_FAILED, failed < FEW ? 0.7 : 0.9, ns, "");
	/* a single one is a connection that waits a second: it counts if somebody waited */
	if (failed < FEW)
		f->level = repeated || d->unanswered ? OVL_LEVEL_WARNING : OVL_LEVEL_INFO;
	ovl_diag_title(
		f,
		"%.0f connections could not be entered into the connection-tracking table "
		"although it has room: their translated ports are taken, or two packets raced",
		failed);
	ovl_diag_evidence(f, "insert_failed", failed, "entries", "/proc/net/stat/nf_conntrack");
	ovl_diag_evidence(f, "conntrack_drop", ovl_diag_growth(d, ns, "conntrack", "drop"), "pkts",
			  "/proc/net/stat/nf_conntrack");
	ovl_diag_evidence(f, "entries", ovl_diag_setting(d, ns, "conntrack", "table", "entries"),
			  "entries", "nf_conntrack_count");
	ovl_diag_fix(f, "masquerade with --random-fully and without a narrow --to-ports range");
	ovl_diag_fix(f, "do not masquerade traffic between pods; more source addresses where one "
			"destination takes all connections");
	ovl_diag_risk(f, "none");
	ovl_diag_verify(f, "the column insert_failed of /proc/net/stat/nf_conntrack stands still");
	ovl_diag_evidence(f, "syn_repeated", (double)repeated, "segs", "tcp:tcp_retransmit_skb");
	d->explained |= failed < FEW ? 0 : OVL_SYMPTOM_DEAD | OVL_SYMPTOM_LOSS;
}

static void rule_invalid(struct ovl_diag *d)
{
	const struct ovl_reading *at;
	double dropped = filtered(d, "", true, false, &at);
	struct ovl_finding *f;

	if (dropped < FEW)
		return;
	f = ovl_diag_find(d, OVL_RULE_CONNTRACK_INVALID, 0.9, at->ns, "");
	ovl_diag_title(
		f,
		"%.0f packets that connection tracking calls INVALID were dropped by %s: it has "
		"not seen the other direction, or they are outside its window",
		dropped, at->object);
	ovl_diag_evidence(f, "dropped_as_invalid", dropped, "pkts", "nf_tables");
	ovl_diag_evidence(f, "conntrack_invalid",
			  ovl_diag_growth(d, at->ns, "conntrack", "invalid"), "pkts",
			  "/proc/net/stat/nf_conntrack");
	ovl_diag_fix(f, "let both directions be tracked: no NOTRACK for one of them, one path for "
			"both");
	ovl_diag_fix(f,
		     "sysctl -w net.netfilter.nf_conntrack_tcp_be_liberal=1 (where they are only "
		     "outside its window)");
	ovl_diag_risk(f, "liberal tracking accepts forged segments of a known connection");
	ovl_diag_verify(f, "the counter of %s stands still", at->object);
	d->explained |= OVL_SYMPTOM_DEAD | OVL_SYMPTOM_LOSS;
}

static void rule_local_policer(struct ovl_diag *d)
{
	const struct ovl_reading *at;
	double dropped = filtered(d, "", false, true, &at), allowance = 0, limit;
	struct ovl_finding *f;

	ovl_vec_each(r, &d->m->readings)
		if (!strcmp(r->kind, "nic") && strstr(r->name, "allowance"))
			allowance += (double)r->delta;
	if (dropped < FEW && allowance < FEW)
		return;
	f = ovl_diag_find(d, OVL_RULE_POLICER, 0.9, at ? at->ns : 0, "");
	limit = at ? ovl_diag_setting(d, at->ns, "rule", at->object, "limit_bps") : NAN;
	ovl_diag_title(f, "%.0f packets beyond a limit were dropped by %s", dropped + allowance,
		       at ? at->object : "the cloud's allowance for this NIC");
	ovl_diag_evidence(f, "policed", dropped, "pkts", "nf_tables");
	ovl_diag_evidence(f, "allowance_exceeded", allowance, "pkts", "ethtool -S");
	ovl_diag_evidence(f, "limit", limit, "bps", "nf_tables");
	ovl_diag_fix(f,
		     "shape instead (tc tbf or fq with a rate), or raise the limit and its burst "
		     "to bandwidth x RTT");
	ovl_diag_risk(f, "a shaper's queue adds delay");
	ovl_diag_verify(f, "the counter stands still and retransmissions end");
	ovl_diag_cost(f, 0.3, 0.8);
	d->explained |= OVL_SYMPTOM_LOSS | OVL_SYMPTOM_RATE;
}

static void rule_bpf(struct ovl_diag *d)
{
	static const char *const reasons[] = {"TC_INGRESS", "TC_EGRESS", "XDP",
					      "BPF_CGROUP_EGRESS"};
	const struct ovl_reading *prog = ovl_diag_reading(d, OVL_ANY_NS, "bpf", NULL, "id");
	const struct ovl_drop *at = NULL, *one;
	double xdp = 0, dropped = 0, by_tc = 0;
	struct ovl_finding *f;
	char where[OVL_IF_MAX] = "";

	ovl_vec_each(r, &d->m->readings) {
		if (strcmp(r->kind, "nic") != 0 || !strstr(r->name, "xdp_drops") || r->delta <= 0)
			continue;
		xdp += (double)r->delta;
		ovl_str_copy(where, sizeof(where), r->object);
		prog = ovl_diag_reading(d, r->ns, "bpf", NULL, "id");
	}
	for (size_t i = 0; i < sizeof(reasons) / sizeof(reasons[0]); i++) {
		double pkts = (double)ovl_diag_drops(d, reasons[i], "", "", &one);

		dropped += pkts;
		/* other actions of tc drop under the same reason */
		by_tc += ovl_str_starts(reasons[i], "TC_") ? pkts : 0;
		at = one ? one : at;
	}
	dropped += (double)ovl_diag_drops(d, "NOT_SPECIFIED", "do_xdp_generic", "", &one);
	at = one ? one : at;
	if (xdp < FEW && (prog ? dropped : dropped - by_tc) < FEW)
		return;
	if (!*where && at)
		ovl_str_copy(where, sizeof(where), at->iface);
	f = ovl_diag_find(d, OVL_RULE_BPF_DROP, 0.95, prog ? prog->ns : 0, where);
	ovl_diag_title(
		f,
		"a BPF program (%s, id %lld) dropped %.0f packets%s%s: one dropped before it is "
		"cut or after it is merged is many segments",
		prog ? prog->object : "not listed", prog ? (long long)prog->value : 0,
		xdp + dropped, *where ? " at " : "", where);
	ovl_diag_evidence(f, "xdp_drops", xdp, "pkts", "ethtool -S");
	ovl_diag_evidence(f, "program_drops", dropped, "pkts", "skb:kfree_skb");
	ovl_diag_fix(f,
		     "bpftool prog show id %lld: ask its owner why it drops; ip link set %s xdp "
		     "off, or tc filter del dev %s, takes it away",
		     prog ? (long long)prog->value : 0, where, where);
	ovl_diag_risk(f, "what the program protected or measured is no longer");
	ovl_diag_verify(f, "its drop counter stands still and retransmissions end");
	ovl_diag_cost(f, 0.3, 0.9);
	d->explained |= OVL_SYMPTOM_LOSS;
}

void ovl_rule_drop(struct ovl_diag *d)
{
	rule_invalid(d);
	rule_blocked(d);
	rule_forward(d);
	rule_rp_filter(d);
	for (uint32_t ns = 0; ns < d->facts->ns.n; ns++) {
		rule_table_full(d, ns);
		rule_insert_failed(d, ns);
	}
	rule_local_policer(d);
	rule_bpf(d);
}
