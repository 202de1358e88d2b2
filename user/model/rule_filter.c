/* Packets that rules of the node's packet filter drop. */
#include <math.h>
#include <string.h>

#include "base/str.h"
#include "model/diag.h"

#define FEW	   3   /* packets: fewer may be chance */
#define SOME	   10  /* packets: fewer may be anybody's */
#define MOST_RATIO 0.2 /* of what the tunnel got: it is not what is dropped */
#define HALF_RATIO 0.5 /* of what came: it is what is dropped */

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

/* Could the packet filter's rules be listed? Without, none that drops is not known. */
static bool is_listed(const struct ovl_diag *d, uint32_t ns)
{
	return ovl_diag_reading(d, ns, "nf_tables", "all", "rules") != NULL;
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

/* What the packet filter drops that may be the tunnel's. */
struct blocked {
	double named;		      /* by rules for the tunnel's own port */
	double any;		      /* by rules and policies for any port */
	double other;		      /* by rules for something else */
	const struct ovl_reading *at; /* what dropped most of the first kind, else of the second */
};

/* Is it a rule for another port or protocol than the tunnel's, or for INVALID packets? */
static bool is_for_others(const struct ovl_diag *d, const struct ovl_reading *r, double dport)
{
	const struct ovl_reading *words = ovl_diag_reading(d, r->ns, "rule", r->object, "words");

	return (d->facts->vxlan.port && dport > 0 && dport != d->facts->vxlan.port) ||
	       (words && strstr(words->text, " tcp") != NULL) ||
	       ovl_diag_reading(d, r->ns, "rule", r->object, "ct_invalid") != NULL;
}

static void count_blocked(const struct ovl_diag *d, const struct ovl_reading *r, struct blocked *b)
{
	static const char *const hooks[] = {"input", "prerouting", "ingress", "output", "egress"};
	const bool policy = !strcmp(r->kind, "chain");
	double dport = policy ? NAN : ovl_diag_setting(d, r->ns, "rule", r->object, "dport");
	const bool named = d->facts->vxlan.port && dport == d->facts->vxlan.port;
	bool here = named;

	for (size_t i = 0; i < sizeof(hooks) / sizeof(hooks[0]); i++)
		here |= at_hook(d, r, hooks[i]);
	if (!here)
		return;
	if (!policy && is_for_others(d, r, dport)) {
		b->other += (double)r->delta;
		return;
	}
	if (named ? !b->named || r->delta > b->at->delta
		  : !b->named && (!b->at || r->delta > b->at->delta))
		b->at = r;
	*(named ? &b->named : &b->any) += (double)r->delta;
}

static struct blocked blocked(const struct ovl_diag *d)
{
	struct blocked b = {.named = 0};

	ovl_vec_each(r, &d->m->readings) {
		const bool rule = !strcmp(r->kind, "rule") &&
				  (!strcmp(r->name, "drops") || !strcmp(r->name, "rejects"));
		const bool policy = !strcmp(r->kind, "chain") && !strcmp(r->name, "policy_drops");

		if ((rule || policy) && r->delta > 0 && r->ns == d->underlay->ns)
			count_blocked(d, r, &b);
	}
	return b;
}

static void say_blocked(struct ovl_diag *d, const struct blocked *b, double lost, double dropped,
			double confidence)
{
	struct ovl_finding *f = ovl_diag_find(d, OVL_RULE_TUNNEL_PORT_BLOCKED, confidence,
					      d->underlay->ns, d->underlay->name);
	char port[32] = "";

	if (d->facts->vxlan.port)
		ovl_text_set(port, " (UDP port %u)", d->facts->vxlan.port);
	ovl_diag_title(
		f,
		"the node's own packet filter drops what %s the tunnel%s: %.0f packets%s%s, and "
		"nothing left %s",
		b->named >= FEW ? "comes for" : "may be of", port, lost, b->at ? " by " : "",
		b->at ? b->at->object : "", d->iface->name);
	if (is_listed(d, d->underlay->ns) || b->named + b->any > 0)
		ovl_diag_evidence(f, "dropped_by_rules", b->named + b->any, "pkts", "nf_tables");
	ovl_diag_evidence(f, "netfilter_drop", dropped, "pkts", "skb:kfree_skb");
	ovl_diag_evidence(f, "decapsulated", (double)ovl_diag_got(d, d->iface_at), "pkts",
			  "rtnetlink");
	ovl_diag_evidence(f, "got_by_underlay", (double)ovl_diag_got(d, d->underlay_at), "pkts",
			  "rtnetlink");
	if (b->at)
		fix_rule(d, f, b->at);
	if (d->facts->vxlan.port)
		ovl_diag_fix(f,
			     "nft insert rule inet filter input udp dport %u accept (or iptables "
			     "-I INPUT -p udp --dport %u -j ACCEPT)",
			     d->facts->vxlan.port, d->facts->vxlan.port);
	else
		ovl_diag_fix(f, "accept the tunnel's packets before this rule");
	ovl_diag_risk(f, "anyone who reaches the port can send into the overlay: allow the nodes' "
			 "addresses only");
	ovl_diag_verify(f, "rx packets of %s grow", d->iface->name);
	/* on a path at rest even a rule of its own may only meet strangers */
	if (!d->waits && (b->named < FEW || lost < SOME))
		f->level = OVL_LEVEL_WARNING;
	ovl_diag_explains(d, f, OVL_SYMPTOM_DEAD | OVL_SYMPTOM_LOSS);
}

/* What the tunnel's outer packets meet: a rule at the input, or any drop before decapsulation. */
static void rule_blocked(struct ovl_diag *d)
{
	double dropped, lost, came, decapsulated = (double)ovl_diag_got(d, d->iface_at);
	struct blocked b;
	bool waits;

	if (!d->tunnel || !d->underlay)
		return;
	b = blocked(d);
	dropped = (double)ovl_diag_drops(d, "NETFILTER_DROP", "", d->underlay->name, NULL);
	dropped = fmax(0, dropped - b.other);
	/* conntrack drops under the same reason */
	if (ovl_diag_growth(d, d->underlay->ns, "conntrack", "drop") > 0)
		dropped = 0;
	lost = fmax(b.named + b.any, dropped);
	/* drops that leave the tunnel alone are of other traffic */
	if (lost < FEW || decapsulated > MOST_RATIO * lost)
		return;
	/*
	 * A host's firewall always drops something: it is the tunnel's if a rule says so, if
	 * somebody waits for an answer through it, or if hardly anything else came.
	 */
	came = (double)ovl_diag_got(d, d->underlay_at);
	waits = d->waits && ovl_diag_sent(d, d->iface_at) >= FEW;
	if (b.named < FEW && !waits && (lost < SOME || lost < HALF_RATIO * came))
		return;
	say_blocked(d, &b, lost, dropped,
		    b.named >= FEW ? (dropped > 0 ? 0.95 : 0.8)
		    : waits	   ? 0.75
				   : 0.5);
}

/* Dropped packets that were on no way through the node. */
static double elsewhere(const struct ovl_diag *d)
{
	static const char *const hooks[] = {"input", "prerouting", "ingress"};
	const struct ovl_reading *at;
	double sum = 0;

	for (size_t i = 0; i < sizeof(hooks) / sizeof(hooks[0]); i++)
		sum += filtered(d, hooks[i], false, false, &at) +
		       filtered(d, hooks[i], false, true, &at);
	return sum;
}

/* The setting that keeps the node from forwarding; NULL: none is known. */
static const char *forwarding_off(const struct ovl_diag *d, uint32_t ns)
{
	if (ovl_diag_setting(d, ns, "sysctl", "ipv4", "ip_forward") == 0)
		return "ip_forward";
	if (d->iface && ovl_diag_setting(d, ns, "sysctl", d->iface->name, "forwarding") == 0)
		return "forwarding of the device";
	return NULL;
}

static void rule_forward(struct ovl_diag *d)
{
	const struct ovl_reading *at;
	const uint32_t ns = d->iface ? d->iface->ns : 0;
	double by_rules = filtered(d, "forward", false, false, &at);
	double addr_errors = ovl_diag_counter(d, ns, "Ip", "InAddrErrors");
	const char *off = forwarding_off(d, ns);
	double dropped = 0, lost;
	struct ovl_finding *f;

	/* a drop at a device behind the input hook, where no counter of nf_tables says so */
	ovl_vec_each(drop, &d->m->drops)
		if (drop->ns == ns && !strcmp(drop->reason, "NETFILTER_DROP") && *drop->iface &&
		    ovl_diag_link(d, ns, drop->iface) >= 0 &&
		    (!d->underlay || strcmp(drop->iface, d->underlay->name) != 0))
			dropped += (double)drop->pkts;
	dropped = fmax(0, dropped - elsewhere(d));
	if (ovl_diag_growth(d, ns, "conntrack", "drop") > 0 ||
	    ovl_diag_growth(d, ns, "conntrack", "insert_failed") > 0 ||
	    filtered(d, "", true, false, &(const struct ovl_reading *){NULL}) > 0)
		dropped = 0;
	if (by_rules < FEW && dropped < FEW && !(off && addr_errors >= FEW))
		return;
	lost = fmax(fmax(by_rules, dropped), off ? addr_errors : 0);
	f = ovl_diag_find(d, OVL_RULE_FORWARD_REFUSED, at || off ? 0.95 : 0.7, at ? at->ns : ns,
			  d->iface ? d->iface->name : "");
	if (off && addr_errors >= FEW)
		ovl_diag_title(f, "%s is 0: %.0f packets for other addresses were refused", off,
			       addr_errors);
	else
		ovl_diag_title(f, "the packet filter refuses to forward: %.0f packets%s%s%s",
			       fmax(by_rules, dropped), at ? " by " : "", at ? at->object : "",
			       at && !strcmp(at->kind, "chain") ? " (its policy is drop)" : "");
	if (at || is_listed(d, ns))
		ovl_diag_evidence(f, "dropped_by_rules", by_rules, "pkts", "nf_tables");
	ovl_diag_evidence(f, "netfilter_drop", dropped, "pkts", "skb:kfree_skb");
	ovl_diag_evidence(f, "address_errors", addr_errors, "pkts", "/proc/net/snmp");
	ovl_diag_evidence(f, "received_by_device", (double)ovl_diag_got(d, d->iface_at), "pkts",
			  "rtnetlink");
	if (off)
		ovl_diag_fix(f, "sysctl -w net.ipv4.ip_forward=1 (it sets every device's own)");
	else if (at)
		fix_rule(d, f, at);
	ovl_diag_fix(f, "accept the pods' networks alone: iptables -I FORWARD -s POD_CIDR -j "
			"ACCEPT; iptables -I FORWARD -d POD_CIDR -j ACCEPT");
	ovl_diag_risk(f, "an accepting policy forwards everything that no other rule stops");
	ovl_diag_verify(f, "IpForwDatagrams grows and the pods answer");
	ovl_diag_weigh(
		d, f, lost,
		fmax((double)ovl_diag_got(d, d->iface_at), ovl_diag_received(d, at ? at->ns : ns)));
	ovl_diag_explains(d, f, OVL_SYMPTOM_DEAD | OVL_SYMPTOM_LOSS);
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
	ovl_diag_weigh(d, f, dropped, ovl_diag_received(d, at->ns));
	ovl_diag_explains(d, f, OVL_SYMPTOM_DEAD | OVL_SYMPTOM_LOSS);
}

static void rule_policer(struct ovl_diag *d)
{
	const struct ovl_reading *at;
	double dropped = filtered(d, "", false, true, &at), allowance = 0, limit;
	struct ovl_finding *f;

	ovl_vec_each(r, &d->m->readings)
		if (!strcmp(r->kind, "nic") && strstr(r->name, "allowance_exceeded"))
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
	if (dropped + allowance >= SOME)
		ovl_diag_cost(f, 0.3, 0.8);
	else
		f->level = OVL_LEVEL_INFO;
	ovl_diag_explains(d, f, OVL_SYMPTOM_LOSS | OVL_SYMPTOM_RATE);
}

void ovl_rule_filter(struct ovl_diag *d)
{
	rule_invalid(d);
	rule_blocked(d);
	rule_forward(d);
	rule_policer(d);
}
