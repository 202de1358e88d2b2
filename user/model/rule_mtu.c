/* Packet sizes: what is too large for the path, too small for it, or travels in pieces. */
#include <math.h>
#include <string.h>

#include "base/str.h"
#include "model/diag.h"

#define FEW	      3
#define MANY	      100
#define BULK_BPS      200e6 /* below, the cost of a packet hardly matters */
#define HEADERS	      52    /* IPv4 and TCP with timestamps */
#define OVERHEAD      50    /* of vxlan over IPv4 */
#define SMALL_RATIO   0.75  /* of the MTU: segments below are clamped */
#define JUMBO_RATIO   1.5   /* the underlay carries that much more */
#define STATE_CONNECT 2	    /* TCP_SYN_SENT */

static void rule_fragments(struct ovl_diag *d)
{
	double made = 0, put = 0, failed = 0;
	struct ovl_finding *f;

	if (!d->iface)
		return;
	made = ovl_diag_counter(d, d->iface->ns, "Ip", "FragCreates");
	put = ovl_diag_counter(d, d->iface->ns, "Ip", "ReasmReqds");
	failed = ovl_diag_counter(d, d->iface->ns, "Ip", "ReasmFails");
	if (made < MANY && put < MANY)
		return;
	f = ovl_diag_find(d, OVL_RULE_OUTER_FRAGMENTATION, 0.95, d->iface->ns, d->iface->name);
	ovl_diag_title(
		f,
		"packets travel in fragments (%.0f made here, %.0f got here): %s has MTU %u, and "
		"with the tunnel's header that is more than a hop carries",
		made, put, d->iface->name, d->iface->mtu);
	ovl_diag_evidence(f, "fragments_made", made, "pkts", "/proc/net/snmp");
	ovl_diag_evidence(f, "fragments_got", put, "pkts", "/proc/net/snmp");
	ovl_diag_evidence(f, "reassembly_failed", failed, "pkts", "/proc/net/snmp");
	ovl_diag_evidence(f, "mtu", d->iface->mtu, "bytes", "rtnetlink");
	if (d->underlay)
		ovl_diag_evidence(f, "underlay_mtu", d->underlay->mtu, "bytes", "rtnetlink");
	ovl_diag_fix(f,
		     "ip link set %s mtu %u, and the same for bridges and pods (CNI configuration)",
		     d->iface->name, d->underlay ? d->underlay->mtu - OVERHEAD : 1450);
	ovl_diag_risk(f, "open connections keep their size until they are made anew");
	ovl_diag_verify(f, "IpFragCreates and IpReasmReqds stand still");
	ovl_diag_cost(f, 0.3, 0.6);
	d->explained |= failed > 0 ? OVL_SYMPTOM_LOSS : 0;
}

static void rule_too_small(struct ovl_diag *d)
{
	struct ovl_finding *f;
	double ratio;

	if (!d->tunnel || !d->underlay || !strcmp(d->underlay->kind, "loopback") ||
	    !(d->rate_bps >= BULK_BPS))
		return;
	ratio = ((double)d->underlay->mtu - OVERHEAD) / fmax(1, d->iface->mtu);
	if (ratio < JUMBO_RATIO)
		return;
	f = ovl_diag_find(d, OVL_RULE_MTU_TOO_SMALL, 0.8, d->iface->ns, d->iface->name);
	ovl_diag_title(f,
		       "%s has MTU %u although %s carries %u: packets could be %.1f times as large",
		       d->iface->name, d->iface->mtu, d->underlay->name, d->underlay->mtu, ratio);
	ovl_diag_evidence(f, "mtu", d->iface->mtu, "bytes", "rtnetlink");
	ovl_diag_evidence(f, "underlay_mtu", d->underlay->mtu, "bytes", "rtnetlink");
	ovl_diag_fix(f,
		     "ip link set %s mtu %u, and the same for bridges and pods (CNI configuration)",
		     d->iface->name, d->underlay->mtu - OVERHEAD);
	ovl_diag_risk(f,
		      "every hop between the nodes must carry %u bytes, or large packets vanish: "
		      "ping -M do -s %u PEER tells",
		      d->underlay->mtu, d->underlay->mtu - 28);
	ovl_diag_verify(f, "mss of new connections is %u", d->underlay->mtu - OVERHEAD - HEADERS);
	ovl_diag_cost(f, 0.15, 0.45);
}

/* MTU of the device that a namespace's connections leave by: the largest but loopback's. */
static uint32_t mtu_of(const struct ovl_diag *d, uint32_t ns)
{
	uint32_t most = 0;

	ovl_vec_each(link, &d->facts->links)
		if (link->ns == ns && strcmp(ovl_facts_kind(link), "loopback") != 0 &&
		    link->mtu > most)
			most = link->mtu;
	return d->iface && d->tunnel && d->iface->mtu < most ? d->iface->mtu : most;
}

static const struct ovl_reading *clamp(const struct ovl_diag *d)
{
	return ovl_diag_reading(d, OVL_ANY_NS, "rule", NULL, "mss");
}

static void rule_clamped(struct ovl_diag *d)
{
	const struct ovl_reading *rule = clamp(d);

	ovl_vec_each(s, &d->m->flows) {
		const struct ovl_flow *flow = &s->f;
		uint32_t mtu = mtu_of(d, flow->ns), whole = flow->mss_bytes + HEADERS;
		struct ovl_finding *f;

		/* the first MSS of a connection is a guess: few segments prove nothing */
		if (flow->sent_segs < MANY || !flow->mss_bytes || flow->state == STATE_CONNECT ||
		    whole > SMALL_RATIO * mtu || s->stuck)
			continue;
		f = ovl_diag_find(d, OVL_RULE_MSS_CLAMPED, rule ? 0.95 : 0.7,
				  rule ? rule->ns : flow->ns, "");
		ovl_diag_title(
			f, "segments of %s to %s carry %u bytes, but the path's MTU is %u: %s%s",
			flow->src, flow->dst, flow->mss_bytes, mtu,
			rule ? "clamped by " : "a clamp, a locked route or the peer's MTU",
			rule ? rule->object : "");
		ovl_diag_evidence(f, "mss", flow->mss_bytes, "bytes", "sock_diag");
		ovl_diag_evidence(f, "pmtu", flow->pmtu_bytes, "bytes", "sock_diag");
		ovl_diag_evidence(f, "mtu", mtu, "bytes", "rtnetlink");
		if (rule)
			ovl_diag_fix(f,
				     "nft delete rule %s (or iptables -t mangle -D …), or clamp to "
				     "the path's MTU: -j TCPMSS --clamp-mss-to-pmtu",
				     rule->object);
		else
			ovl_diag_fix(f,
				     "ip route show cache; ip route flush cache; look for mtu lock "
				     "and advmss in ip route");
		ovl_diag_risk(f, "if the clamp hid a smaller MTU on the way, large packets vanish");
		ovl_diag_verify(f, "ss -ti: mss of new connections");
		ovl_diag_cost(f, 0.2, 0.6);
		return;
	}
}

/* Established connections that stand still after their handshake, while others come about. */
static void rule_blackhole(struct ovl_diag *d)
{
	double too_big = (double)ovl_diag_drops(d, "PKT_TOO_BIG", "", "", NULL);
	double frag_fails = ovl_diag_counter(d, OVL_ANY_NS, "Ip", "FragFails");
	double timeouts = ovl_diag_counter(d, OVL_ANY_NS, "TcpExt", "TCPTimeouts");
	const struct ovl_flow_sum *one = NULL;
	struct ovl_finding *f;
	uint32_t stuck = 0;

	ovl_vec_each(s, &d->m->flows) {
		if (!s->stuck || s->f.state == STATE_CONNECT || s->closed)
			continue;
		stuck++;
		one = one ? one : s;
	}
	/* where not even handshakes come about, size is not what matters */
	if (!stuck || d->explained & (OVL_SYMPTOM_DEAD | OVL_SYMPTOM_LOSS) ||
	    (!d->answered && d->unanswered))
		return;
	f = ovl_diag_find(d, OVL_RULE_MTU_BLACKHOLE, d->answered ? 0.85 : 0.6, one->f.ns,
			  d->iface ? d->iface->name : "");
	ovl_diag_title(
		f,
		"%u connection%s (%s to %s) stand%s still after the handshake: segments of %u "
		"bytes are never acknowledged while small packets pass, so packets above some "
		"size vanish and nobody says so",
		stuck, stuck > 1 ? "s" : "", one->f.src, one->f.dst, stuck > 1 ? "" : "s",
		one->f.mss_bytes);
	ovl_diag_evidence(f, "connections_stuck", stuck, "connections", "sock_diag");
	ovl_diag_evidence(f, "handshakes_answered", (double)d->answered, "connections",
			  "sock:inet_sock_set_state");
	ovl_diag_evidence(f, "timeouts", timeouts, "", "/proc/net/netstat");
	ovl_diag_evidence(f, "mss", one->f.mss_bytes, "bytes", "sock_diag");
	ovl_diag_evidence(f, "packet_too_big", fmax(too_big, frag_fails), "pkts",
			  "skb:kfree_skb, /proc/net/snmp");
	ovl_diag_fix(f,
		     "find the size that passes: ping -M do -s SIZE PEER_POD; set the MTU of %s, "
		     "bridges and pods to it + 28",
		     d->iface ? d->iface->name : "the tunnel");
	ovl_diag_fix(f,
		     "until then: iptables -t mangle -A FORWARD -p tcp --tcp-flags SYN,RST SYN -j "
		     "TCPMSS --clamp-mss-to-pmtu, or sysctl -w net.ipv4.tcp_mtu_probing=1");
	ovl_diag_fix(f, "let ICMP type 3 code 4 pass between the nodes");
	ovl_diag_risk(f, "a clamp helps TCP only");
	ovl_diag_verify(f, "the same transfer goes through; TcpExtTCPTimeouts stands still");
	d->explained |= OVL_SYMPTOM_DEAD | OVL_SYMPTOM_LOSS;
}

void ovl_rule_mtu(struct ovl_diag *d)
{
	rule_fragments(d);
	rule_too_small(d);
	rule_clamped(d);
}

void ovl_rule_stuck(struct ovl_diag *d)
{
	rule_blackhole(d);
}
