/* Packet sizes: what is too large for the path, too small for it, or travels in pieces. */
#include <math.h>
#include <stdlib.h>
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
#define WORLD_MTU     1500
#define CLAMP_NEAR    12    /* bytes that options take from a clamped MSS */
#define YOUNG_BYTES   65536 /* a connection that has got less across never worked well */

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
	ovl_diag_explains(d, f, failed > 0 ? OVL_SYMPTOM_LOSS : 0);
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

/* A rule that clamps to about this flow's MSS; NULL: none. */
static const struct ovl_reading *clamp(const struct ovl_diag *d, const struct ovl_flow *flow)
{
	ovl_vec_each(r, &d->m->readings)
		if (!strcmp(r->kind, "rule") && !strcmp(r->name, "mss") &&
		    llabs(r->value - (long long)flow->mss_bytes) <= CLAMP_NEAR)
			return r;
	return NULL;
}

/* Is the flow's other end seen as well? Then it stays on the path looked at. */
static bool is_of_path(const struct ovl_diag *d, const struct ovl_flow *flow)
{
	ovl_vec_each(s, &d->m->flows)
		if (!strcmp(s->f.src, flow->dst) && !strcmp(s->f.dst, flow->src))
			return true;
	return false;
}

/* What a flow's path carries, as far as is known: others may leave a jumbo network for the world's.
 */
static uint32_t mtu_for(const struct ovl_diag *d, const struct ovl_flow *flow)
{
	const uint32_t mtu = mtu_of(d, flow->ns);

	return mtu > WORLD_MTU && !is_of_path(d, flow) ? WORLD_MTU : mtu;
}

static void rule_clamped(struct ovl_diag *d)
{
	ovl_vec_each(s, &d->m->flows) {
		const struct ovl_flow *flow = &s->f;
		const struct ovl_reading *rule = clamp(d, flow);
		uint32_t mtu = mtu_for(d, flow), whole = flow->mss_bytes + HEADERS;
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

/* Did handshakes with this flow's other end come about meanwhile? Then small packets pass. */
static bool small_pass(const struct ovl_diag *d, const struct ovl_flow *flow)
{
	ovl_vec_each(a, &d->m->attempts)
		if (a->ns == flow->ns && a->answered && ovl_diag_is_host(flow->dst, a->dst))
			return true;
	return false;
}

struct standing {
	uint32_t all, of_size; /* connections that stand still; those whose size is why */
	const struct ovl_flow_sum *one;
};

/*
 * A dead peer leaves connections behind that stand still as well. Size is why only if more than a
 * segment waits, the connection never got much across, and small packets do pass: its own handshake
 * and nothing since, or those of others meanwhile.
 */
static struct standing standing(const struct ovl_diag *d, bool too_big)
{
	struct standing st = {.all = 0};

	ovl_vec_each(s, &d->m->flows) {
		const struct ovl_flow *flow = &s->f;
		const double waits = (double)flow->unacked_segs * flow->mss_bytes;
		bool of_size;

		if (!ovl_diag_stands(s) || flow->state == STATE_CONNECT || s->closed)
			continue;
		st.all++;
		of_size = flow->unsent_bytes + waits > flow->mss_bytes &&
			  (too_big || (flow->total_acked_bytes < YOUNG_BYTES &&
				       (flow->total_acked_bytes <= 1 || small_pass(d, flow))));
		if (!st.one || (of_size && !st.of_size))
			st.one = s;
		st.of_size += of_size;
	}
	return st;
}

static void say_standing(struct ovl_diag *d, const struct standing *st)
{
	const struct ovl_flow *flow = &st->one->f;
	struct ovl_finding *f = ovl_diag_find(d, OVL_RULE_STALL, 0.5, flow->ns, "");

	ovl_diag_title(f,
		       "%u connection%s (%s to %s) stand%s still: nothing answers any more, the "
		       "other end may be gone",
		       st->all, st->all > 1 ? "s" : "", flow->src, flow->dst,
		       st->all > 1 ? "" : "s");
	ovl_diag_evidence(f, "connections_stuck", st->all, "connections", "sock_diag");
	ovl_diag_evidence(f, "timeouts", flow->timeouts, "", "sock_diag");
	ovl_diag_verify(f, "ss -tno at the other end: does it know the connection?");
	f->level = OVL_LEVEL_INFO;
}

static void say_blackhole(struct ovl_diag *d, const struct standing *st, double too_big)
{
	const struct ovl_flow *one = &st->one->f;
	const uint32_t n = st->of_size;
	struct ovl_finding *f = ovl_diag_find(d, OVL_RULE_MTU_BLACKHOLE, d->answered ? 0.85 : 0.6,
					      one->ns, d->iface ? d->iface->name : "");

	ovl_diag_title(
		f,
		"%u connection%s (%s to %s) stand%s still after the handshake: segments of %u "
		"bytes are never acknowledged while small packets pass, so packets above some "
		"size vanish and nobody says so",
		n, n > 1 ? "s" : "", one->src, one->dst, n > 1 ? "" : "s", one->mss_bytes);
	ovl_diag_evidence(f, "connections_stuck", n, "connections", "sock_diag");
	ovl_diag_evidence(f, "handshakes_answered", (double)d->answered, "connections",
			  "sock:inet_sock_set_state");
	ovl_diag_evidence(f, "acknowledged", (double)one->total_acked_bytes, "bytes", "sock_diag");
	ovl_diag_evidence(f, "waiting",
			  (double)one->unacked_segs * one->mss_bytes + one->unsent_bytes, "bytes",
			  "sock_diag");
	ovl_diag_evidence(f, "timeouts", ovl_diag_counter(d, OVL_ANY_NS, "TcpExt", "TCPTimeouts"),
			  "", "/proc/net/netstat");
	ovl_diag_evidence(f, "mss", one->mss_bytes, "bytes", "sock_diag");
	ovl_diag_evidence(f, "packet_too_big", too_big, "pkts", "skb:kfree_skb, /proc/net/snmp");
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
	ovl_diag_explains(d, f, OVL_SYMPTOM_DEAD | OVL_SYMPTOM_LOSS);
}

/* Established connections that stand still after their handshake, while others come about. */
static void rule_blackhole(struct ovl_diag *d)
{
	double too_big = fmax((double)ovl_diag_drops(d, "PKT_TOO_BIG", "", "", NULL),
			      ovl_diag_counter(d, OVL_ANY_NS, "Ip", "FragFails"));
	struct standing st = standing(d, too_big >= FEW);

	/* where not even handshakes come about, size is not what matters */
	if (!st.all || d->explained & (OVL_SYMPTOM_DEAD | OVL_SYMPTOM_LOSS) ||
	    (!d->answered && d->unanswered))
		return;
	if (st.of_size)
		say_blackhole(d, &st, too_big);
	else
		say_standing(d, &st);
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
