/* Packets that the node drops by other hands than its packet filter's rules. */
#include <math.h>
#include <string.h>

#include "base/str.h"
#include "model/diag.h"

#define FEW	   3   /* packets: fewer may be chance */
#define FULL_RATIO 0.9 /* of a table's limit */

/* Packets refused by the reverse-path filter on devices of the path. */
static uint64_t martians(const struct ovl_diag *d, const struct ovl_drop **at)
{
	uint64_t pkts = 0;

	*at = NULL;
	ovl_vec_each(drop, &d->m->drops) {
		if (strcmp(drop->reason, "IP_RPFILTER") != 0 ||
		    ovl_diag_link(d, drop->ns, drop->iface) < 0)
			continue;
		pkts += drop->pkts;
		*at = !*at || drop->pkts > (*at)->pkts ? drop : *at;
	}
	return pkts;
}

static void rule_rp_filter(struct ovl_diag *d)
{
	const struct ovl_drop *at = NULL;
	double refused = ovl_diag_counter(d, OVL_ANY_NS, "TcpExt", "IPReversePathFilter");
	uint32_t ns = d->iface ? d->iface->ns : 0;
	const char *dev = d->iface ? d->iface->name : "";
	struct ovl_finding *f;
	uint64_t pkts = martians(d, &at), anywhere = ovl_diag_drops(d, "IP_RPFILTER", "", "", NULL);

	/* the counter knows no device: where the drops do, they decide */
	if (anywhere ? pkts < FEW : refused < FEW)
		return;
	if (at) {
		ns = at->ns;
		dev = at->iface;
		refused = (double)pkts;
	}
	f = ovl_diag_find(d, OVL_RULE_RP_FILTER, 0.95, ns, dev);
	ovl_diag_title(
		f,
		"the reverse-path filter refused %.0f packets from %s: the route back to their "
		"sender leaves by another device",
		refused, *dev ? dev : "a device");
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
	ovl_diag_weigh(d, f, refused, (double)ovl_diag_got(d, ovl_diag_link(d, ns, dev)));
	ovl_diag_explains(d, f, OVL_SYMPTOM_DEAD | OVL_SYMPTOM_LOSS);
}

static void say_table(struct ovl_finding *f, bool full, double entries, double limit, double drop)
{
	char room[64] = "";

	if (isfinite(entries) && limit > 0)
		ovl_text_set(room, " (%.0f of %.0f entries)", entries, limit);
	if (full) {
		ovl_diag_title(f,
			       "the connection-tracking table is full%s: %.0f packets of new "
			       "connections were dropped, open ones carry on",
			       room, drop);
		return;
	}
	/* it may have been full for a moment, or a helper refused them */
	ovl_diag_title(f,
		       "connection tracking dropped %.0f packets, although its table has room at "
		       "the end%s",
		       drop, room);
	f->level = OVL_LEVEL_WARNING;
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
	f = ovl_diag_find(d, OVL_RULE_CONNTRACK_FULL, full ? 0.95 : 0.5, ns, "");
	say_table(f, full, entries, limit, drop);
	ovl_diag_evidence(f, "conntrack_drop", drop, "pkts", "/proc/net/stat/nf_conntrack");
	ovl_diag_evidence(f, "early_drop", early, "entries", "/proc/net/stat/nf_conntrack");
	ovl_diag_evidence(f, "entries", entries, "entries", "nf_conntrack_count");
	ovl_diag_evidence(f, "limit", limit, "entries", "nf_conntrack_max");
	ovl_diag_fix(f, "sysctl -w net.netfilter.nf_conntrack_max=%.0f",
		     isfinite(limit) ? fmax(262144, 4 * limit) : 262144.0);
	ovl_diag_fix(f, "sysctl -w net.netfilter.nf_conntrack_tcp_timeout_time_wait=30 (and the "
			"other timeouts), or NOTRACK for the tunnel's port");
	ovl_diag_risk(f, "about 320 bytes of kernel memory for each entry");
	ovl_diag_verify(f, "the column drop of /proc/net/stat/nf_conntrack stands still");
	ovl_diag_explains(d, f, OVL_SYMPTOM_DEAD | OVL_SYMPTOM_LOSS);
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
	ovl_diag_explains(d, f, failed < FEW ? 0 : OVL_SYMPTOM_DEAD | OVL_SYMPTOM_LOSS);
}

static void rule_bpf(struct ovl_diag *d)
{
	static const char *const reasons[] = {"TC_INGRESS", "TC_EGRESS", "XDP",
					      "BPF_CGROUP_EGRESS"};
	const struct ovl_reading *prog;
	const struct ovl_drop *at = NULL, *one;
	double xdp = 0, dropped = 0, by_tc = 0;
	uint32_t n, ns = OVL_ANY_NS;
	struct ovl_finding *f;
	char where[OVL_IF_MAX] = "", who[128];

	ovl_vec_each(r, &d->m->readings) {
		if (strcmp(r->kind, "nic") != 0 || !strstr(r->name, "xdp_drops") || r->delta <= 0)
			continue;
		xdp += (double)r->delta;
		ovl_str_copy(where, sizeof(where), r->object);
		ns = r->ns;
	}
	for (size_t i = 0; i < sizeof(reasons) / sizeof(reasons[0]); i++) {
		double pkts = (double)ovl_diag_drops(d, reasons[i], "", "", &one);

		dropped += pkts;
		/* other actions of tc drop under the same reason */
		by_tc += ovl_str_starts(reasons[i], "TC_") ? pkts : 0;
		at = one && (!at || one->pkts > at->pkts) ? one : at;
	}
	dropped += (double)ovl_diag_drops(d, "NOT_SPECIFIED", "do_xdp_generic", "", &one);
	at = one ? one : at;
	if (!*where && at) {
		ovl_str_copy(where, sizeof(where), at->iface);
		ns = at->ns;
	}
	prog = ovl_diag_program(d, ns, where, &n);
	if (xdp < FEW && (n ? dropped : dropped - by_tc) < FEW)
		return;
	f = ovl_diag_find(d, OVL_RULE_BPF_DROP, prog ? 0.95 : 0.8,
			  prog		     ? prog->ns
			  : ns == OVL_ANY_NS ? 0
					     : ns,
			  where);
	if (prog)
		ovl_text_set(who, "a BPF program (%s, id %lld)", prog->object,
			     (long long)prog->value);
	else if (n)
		ovl_text_set(who, "one of %u BPF programs", n);
	else
		ovl_text_set(who, "a BPF program (not listed)");
	ovl_diag_title(f,
		       "%s dropped %.0f packets%s%s: one dropped before it is cut or after it is "
		       "merged is many segments",
		       who, xdp + dropped, *where ? " at " : "", where);
	ovl_diag_evidence(f, "xdp_drops", xdp, "pkts", "ethtool -S");
	ovl_diag_evidence(f, "program_drops", dropped, "pkts", "skb:kfree_skb");
	if (prog)
		ovl_diag_fix(
			f,
			"bpftool prog show id %lld: ask its owner why it drops; ip link set %s "
			"xdp off, or tc filter del dev %s, takes it away",
			(long long)prog->value, where, where);
	else
		ovl_diag_fix(f, "bpftool net show; bpftool cgroup tree: ask the owners of these "
				"programs which one drops");
	ovl_diag_risk(f, "what the program protected or measured is no longer");
	ovl_diag_verify(f, "its drop counter stands still and retransmissions end");
	ovl_diag_cost(f, 0.3, 0.9);
	ovl_diag_explains(d, f, OVL_SYMPTOM_LOSS);
}

void ovl_rule_drop(struct ovl_diag *d)
{
	rule_rp_filter(d);
	for (uint32_t ns = 0; ns < d->facts->ns.n; ns++) {
		rule_table_full(d, ns);
		rule_insert_failed(d, ns);
	}
	rule_bpf(d);
}
