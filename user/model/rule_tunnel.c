/* The tunnel's own tables and parameters, and what it rests on. */
#include <math.h>
#include <string.h>

#include "base/str.h"
#include "model/diag.h"

#define FEW	      3	  /* packets: fewer may be chance */
#define SOME	      10  /* packets: fewer may be anybody's */
#define HALF_RATIO    0.5 /* of what came: it is what came */
#define MANY_RATIO    0.2 /* of what a device got: most of it is affected */
#define BULK_BPS      5e6
#define MERGED_BYTES  4000 /* a mean packet above is aggregated */
#define ENTROPY_PORTS 8
#define PATH_RATIO    0.7 /* CPUs in the packet path: above, they may be what limits */
#define RTT_LEAST_US  5000
#define LOSS_LEAST    0.0003
#define REPEATED      20 /* segments */
#define RTT_GROWN     4	 /* times the least: a queue beyond this node */

static bool is_vxlan(const struct ovl_diag *d)
{
	return d->iface && !strcmp(d->iface->kind, "vxlan");
}

/* A next hop behind the tunnel without an entry; NULL: all have one, or are not known. */
static const struct ovl_reading *entry_missing(const struct ovl_diag *d)
{
	ovl_vec_each(r, &d->m->readings)
		if (!strcmp(r->kind, "vtep") && !r->value &&
		    (!strcmp(r->name, "neighbour") || !strcmp(r->name, "forwarding")))
			return r;
	return NULL;
}

/* Neighbour discovery and the like that the tunnel device drops and its counter counts. */
static uint64_t benign_drops(const struct ovl_diag *d)
{
	uint64_t pkts = 0;

	ovl_vec_each(drop, &d->m->drops)
		if (drop->benign && drop->ns == d->iface->ns &&
		    !strcmp(drop->iface, d->iface->name) && ovl_str_starts(drop->symbol, "vxlan_"))
			pkts += drop->pkts;
	return pkts;
}

static void rule_entries(struct ovl_diag *d)
{
	const struct ovl_reading *r = entry_missing(d);
	const struct ovl_device *dev = ovl_diag_device(d, d->iface_at);
	uint64_t no_target, no_neigh, dropped, counted, benign;
	struct ovl_finding *f;
	char in[96];

	if (!d->tunnel || !dev)
		return;
	no_target = ovl_diag_drops(d, "NO_TX_TARGET", "vxlan_", d->iface->name, NULL);
	no_neigh = ovl_diag_drops(d, "NEIGH_FAILED", "", d->iface->name, NULL) +
		   ovl_diag_drops(d, "NEIGH_QUEUEFULL", "", d->iface->name, NULL) +
		   ovl_diag_drops(d, "NEIGH_CREATEFAIL", "", d->iface->name, NULL);
	benign = benign_drops(d);
	counted = dev->tx.drops > benign ? dev->tx.drops - benign : 0;
	dropped = no_target + no_neigh > counted ? no_target + no_neigh : counted;
	if ((!is_vxlan(d) && !no_neigh) || (!r && no_target + no_neigh < FEW) ||
	    (r && dropped < FEW && !no_neigh))
		return;
	f = ovl_diag_find(d, OVL_RULE_FDB_OR_NEIGHBOUR_MISSING, r ? 0.95 : 0.8, d->iface->ns,
			  d->iface->name);
	ovl_diag_title(f,
		       "%s has no %s for %s: %llu packets were dropped inside the tunnel device, "
		       "before any left the node",
		       d->iface->name,
		       no_neigh || (r && !strcmp(r->name, "neighbour")) ? "neighbour entry"
									: "forwarding entry",
		       r ? r->object : "a destination", (unsigned long long)dropped);
	ovl_diag_evidence(f, "no_tx_target", (double)no_target, "pkts", "skb:kfree_skb");
	ovl_diag_evidence(f, "neighbour_failed", (double)no_neigh, "pkts", "skb:kfree_skb");
	ovl_diag_evidence(f, "tx_dropped", (double)dev->tx.drops, "pkts", "rtnetlink");
	ovl_diag_in(d, d->iface->ns, in, sizeof(in));
	ovl_diag_fix(f, "%sbridge fdb replace MAC_OF_PEER dev %s dst ADDRESS_OF_PEER", in,
		     d->iface->name);
	ovl_diag_fix(f, "%sip neigh replace NEXT_HOP lladdr MAC_OF_PEER dev %s nud permanent", in,
		     d->iface->name);
	ovl_diag_risk(f,
		      "a wrong entry sends this peer's packets elsewhere: the CNI agent's restart "
		      "writes the right ones");
	ovl_diag_verify(f, "%sip -s link show %s: TX dropped stands still", in, d->iface->name);
	ovl_diag_weigh(d, f, (double)dropped, (double)(dev->tx.pkts + dropped));
	ovl_diag_explains(d, f, OVL_SYMPTOM_DEAD | OVL_SYMPTOM_LOSS);
}

static void rule_mac(struct ovl_diag *d)
{
	uint64_t got = ovl_diag_got(d, d->iface_at), other;
	const struct ovl_reading *mac;
	struct ovl_finding *f;

	if (!is_vxlan(d))
		return;
	other = ovl_diag_drops(d, "OTHERHOST", "", d->iface->name, NULL);
	if (other < FEW || (double)other < MANY_RATIO * (double)got)
		return;
	mac = ovl_diag_reading(d, d->iface->ns, "device", d->iface->name, "mac");
	f = ovl_diag_find(d, OVL_RULE_VTEP_MAC_MISMATCH, 0.95, d->iface->ns, d->iface->name);
	ovl_diag_title(
		f,
		"%llu of %llu packets left %s for a MAC address that is not its own (%s): the "
		"peers know another one",
		(unsigned long long)other, (unsigned long long)got, d->iface->name,
		mac ? mac->text : "?");
	ovl_diag_evidence(f, "otherhost", (double)other, "pkts", "skb:kfree_skb");
	ovl_diag_evidence(f, "decapsulated", (double)got, "pkts", "rtnetlink");
	ovl_diag_fix(f,
		     "on the peers: ip neigh replace NEXT_HOP lladdr %s dev %s nud permanent; "
		     "bridge fdb replace %s dev %s dst %s",
		     mac ? mac->text : "MAC", d->iface->name, mac ? mac->text : "MAC",
		     d->iface->name, *d->facts->vxlan.local ? d->facts->vxlan.local : "THIS_NODE");
	ovl_diag_fix(f, "give %s its old MAC back (systemd: MACAddressPolicy=none)",
		     d->iface->name);
	ovl_diag_risk(f, "none beyond this tunnel");
	ovl_diag_verify(f, "IpForwDatagrams grows with the packets of %s", d->iface->name);
	ovl_diag_weigh(d, f, (double)other, (double)got);
	ovl_diag_explains(d, f, OVL_SYMPTOM_DEAD);
}

static void say_port(struct ovl_diag *d, double wrong, double no_port, bool vni, double confidence)
{
	struct ovl_finding *f = ovl_diag_find(d, OVL_RULE_TUNNEL_PORT_OR_VNI_MISMATCH, confidence,
					      d->iface->ns, d->iface->name);
	const double got = (double)ovl_diag_got(d, d->iface_at);

	if (wrong >= FEW)
		ovl_diag_title(f,
			       "%.0f tunnel packets came with %s: %s is VNI %u, the peer sends "
			       "another%s",
			       wrong, vni ? "a VNI that no device has" : "flags that do not fit",
			       d->iface->name, d->facts->vxlan.vni,
			       vni ? "" : " kind of header (GBP, GPE)");
	else
		ovl_diag_title(
			f,
			"%.0f datagrams came for a UDP port where nobody listens and nothing "
			"left the tunnel: %s listens on port %u, the peer sends to another",
			no_port, d->iface->name, d->facts->vxlan.port);
	ovl_diag_evidence(f, "no_ports", no_port, "pkts", "/proc/net/snmp");
	ovl_diag_evidence(f, "vni_not_found", wrong, "pkts", "skb:kfree_skb");
	ovl_diag_evidence(f, "decapsulated", got, "pkts", "rtnetlink");
	ovl_diag_evidence(f, "got_by_underlay", (double)ovl_diag_got(d, d->underlay_at), "pkts",
			  "rtnetlink");
	ovl_diag_fix(f, "set the same port and VNI on all nodes (flannel: Backend.Port and "
			"Backend.VNI), then let the agent make the device anew");
	ovl_diag_risk(f, "the tunnel is down while it is made anew");
	ovl_diag_verify(f, "ip -d link show %s on both nodes: id and dstport agree",
			d->iface->name);
	ovl_diag_weigh(d, f, fmax(wrong, no_port), wrong >= FEW ? wrong + got : fmax(no_port, 1));
	ovl_diag_explains(d, f, OVL_SYMPTOM_DEAD);
}

static void rule_port(struct ovl_diag *d)
{
	double vni, header, no_port, got = (double)ovl_diag_got(d, d->iface_at);
	bool waits, mostly;

	if (!is_vxlan(d))
		return;
	vni = (double)ovl_diag_drops(d, "VXLAN_VNI_NOT_FOUND", "", "", NULL);
	header = (double)ovl_diag_drops(d, "VXLAN_INVALID_HDR", "", "", NULL);
	no_port = ovl_diag_counter(d, d->iface->ns, "Udp", "NoPorts") +
		  ovl_diag_counter(d, d->iface->ns, "Udp6", "NoPorts");
	if (vni + header >= FEW) {
		say_port(d, vni + header, no_port, vni >= header, 0.95);
		return;
	}
	/*
	 * Strays for closed ports come to every host: they are the tunnel's if somebody waits for
	 * an answer through it, or if hardly anything else came.
	 */
	waits = d->waits && ovl_diag_sent(d, d->iface_at) >= FEW;
	mostly = no_port >= SOME && no_port >= HALF_RATIO * (double)ovl_diag_got(d, d->underlay_at);
	if (no_port < FEW || got > no_port || (!waits && !mostly))
		return;
	say_port(d, 0, no_port, false, mostly ? 0.85 : 0.6);
}

/* Do routers say that the tunnel's own packets expired? */
static bool expired_there(const struct ovl_diag *d)
{
	char about[32];

	ovl_text_set(about, "about udp %u", d->facts->vxlan.port);
	ovl_vec_each(r, &d->m->readings) {
		const char *at = strstr(r->object, "about udp ");

		if (!strcmp(r->kind, "icmp") && r->delta > 0 &&
		    ovl_str_starts(r->object, "11/0 ") && at && !strcmp(at, about))
			return true;
	}
	return false;
}

static void rule_ttl(struct ovl_diag *d)
{
	double expired, ttl;
	struct ovl_finding *f;

	if (!d->tunnel)
		return;
	expired = ovl_diag_counter(d, d->iface->ns, "Icmp", "InTimeExcds");
	ttl = ovl_diag_setting(d, d->iface->ns, "tunnel", d->iface->name, "ttl");
	/* the counter alone may be a traceroute's */
	if (expired < 1 || !(ttl > 0 && ttl < 64) || (!expired_there(d) && !d->waits))
		return;
	f = ovl_diag_find(d, OVL_RULE_OUTER_TTL_TOO_SMALL, 0.95, d->iface->ns, d->iface->name);
	ovl_diag_title(f,
		       "routers report that packets expired (%.0f messages): %s sends its tunnel "
		       "packets with TTL %.0f",
		       expired, d->iface->name, ttl);
	ovl_diag_evidence(f, "time_exceeded", expired, "messages", "/proc/net/snmp");
	ovl_diag_evidence(f, "ttl", ttl, "hops", "rtnetlink");
	ovl_diag_fix(f, "ip link set %s type vxlan ttl 64", d->iface->name);
	ovl_diag_risk(f, "none");
	ovl_diag_verify(f, "IcmpInTimeExcds stands still and the peer answers");
	ovl_diag_explains(d, f, OVL_SYMPTOM_DEAD);
}

static void rule_nested(struct ovl_diag *d)
{
	static const char *const kinds[] = {"vxlan", "tun", "geneve", "wireguard", "gre", "ipip"};
	struct ovl_finding *f;
	bool nested = false;

	for (size_t i = 0; d->underlay && i < sizeof(kinds) / sizeof(kinds[0]); i++)
		nested |= !strcmp(d->underlay->kind, kinds[i]);
	if (!d->tunnel || !nested || !(d->rate_bps >= BULK_BPS))
		return;
	f = ovl_diag_find(d, OVL_RULE_NESTED_TUNNEL, 0.9, d->iface->ns, d->iface->name);
	ovl_diag_title(f,
		       "%s (%s) runs inside %s (%s): every packet is wrapped twice, and offloads "
		       "understand one level",
		       d->iface->name, d->iface->kind, d->underlay->name, d->underlay->kind);
	ovl_diag_evidence(f, "tunnels", 2, "levels", "rtnetlink");
	ovl_diag_evidence(f, "encap_share", ovl_diag_stage(d, OVL_STAGE_VXLAN_ENCAP), "ratio",
			  "sampler");
	ovl_diag_fix(f, "route natively inside %s (flannel: host-gw), or carry %s over the NIC",
		     d->underlay->name, d->iface->name);
	ovl_diag_risk(f, "without %s its packets are not protected by it", d->underlay->name);
	ovl_diag_verify(f, "ip -d link show %s names the NIC as dev", d->iface->name);
	ovl_diag_cost(f, 0.2, 0.5);
}

static void rule_userspace(struct ovl_diag *d)
{
	const struct ovl_device *dev = ovl_diag_device(d, d->iface_at);
	struct ovl_finding *f;
	double mean;

	if (!d->iface || strcmp(d->iface->kind, "tun") != 0 || !dev || !(d->rate_bps >= BULK_BPS))
		return;
	mean = ovl_diag_mean_bytes(dev->tx.bytes > dev->rx.bytes ? &dev->tx : &dev->rx);
	f = ovl_diag_find(d, OVL_RULE_USERSPACE_TUNNEL, mean < MERGED_BYTES ? 0.95 : 0.5,
			  d->iface->ns, d->iface->name);
	ovl_diag_title(
		f,
		"%s is a process behind a tun device: every packet (%.0f bytes on average) is "
		"copied to it and back, with two system calls and a wake-up",
		d->iface->name, mean);
	ovl_diag_evidence(f, "packet_bytes", mean, "bytes", "rtnetlink");
	ovl_diag_evidence(f, "rate", d->rate_bps, "bps", "rtnetlink");
	ovl_diag_evidence(f, "daemon_user_share", ovl_diag_stage(d, OVL_STAGE_USER_DAEMON), "ratio",
			  "sampler");
	ovl_diag_fix(f,
		     "use a tunnel of the kernel: flannel's vxlan or host-gw backend, WireGuard");
	ovl_diag_fix(f,
		     "where it must stay: IFF_VNET_HDR with segmentation offload, several queues");
	ovl_diag_risk(f, "nodes of both kinds cannot talk while the cluster changes over");
	ovl_diag_verify(f, "the path has no device of kind tun");
	/* reports and the lab: 0.03 to 0.25 of the kernel's tunnel */
	ovl_diag_cost(f, mean < MERGED_BYTES ? 0.75 : 0.1, mean < MERGED_BYTES ? 0.97 : 0.5);
}

/* The connection that carried most, if its packets queue or get lost beyond this node. */
static const struct ovl_flow_sum *held_back(const struct ovl_diag *d)
{
	const struct ovl_flow_sum *f = d->m->flows.n ? d->m->flows.v : NULL;

	if (!f || !f->f.acked_bytes)
		return NULL;
	if (f->f.rtt_us > RTT_LEAST_US && f->f.rtt_us > RTT_GROWN * f->f.min_rtt_us)
		return f;
	return (double)f->f.retrans_segs > LOSS_LEAST * (double)f->f.sent_segs &&
			       f->f.retrans_segs > REPEATED
		       ? f
		       : NULL;
}

/* Does the device of this name carry `link`, at any depth: below it, or as the bridge or bond it is
 * a port of? */
static bool carries(const struct ovl_diag *d, int link, const char *name)
{
	for (int depth = 0; link >= 0 && (size_t)link < d->facts->links.n && depth < 8; depth++) {
		const struct ovl_link *at = &d->facts->links.v[link];

		if (!strcmp(at->name, name) ||
		    (at->master >= 0 && !strcmp(d->facts->links.v[at->master].name, name)))
			return true;
		link = !strcmp(at->kind, "veth") ? -1 : at->lower;
	}
	return false;
}

static void rule_nic(struct ovl_diag *d)
{
	const struct ovl_reading *own;
	const struct ovl_flow_sum *flow = held_back(d);
	struct ovl_finding *f;

	if (!d->tunnel || !d->underlay || d->receives == 1)
		return;
	own = ovl_diag_reading(d, d->underlay->ns, "route", "default", "device");
	if (!own || !*own->text || carries(d, d->underlay_at, own->text) || !flow ||
	    !(d->rate_bps > 0) || d->path_ns > PATH_RATIO * 1e9 * d->seconds)
		return;
	f = ovl_diag_find(d, OVL_RULE_WRONG_UNDERLAY_NIC, 0.65, d->underlay->ns, d->underlay->name);
	ovl_diag_title(f,
		       "%s sends by %s, but the node's own network is behind %s, and something "
		       "beyond %s holds it to %.3g Mbit/s",
		       d->iface->name, d->underlay->name, own->text, d->underlay->name,
		       d->rate_bps / 1e6);
	ovl_diag_evidence(f, "rate", d->rate_bps, "bps", "rtnetlink");
	ovl_diag_evidence(f, "rtt_under_load", flow->f.rtt_us * 1e3, "ns", "sock_diag");
	ovl_diag_evidence(f, "rtt_least", flow->f.min_rtt_us * 1e3, "ns", "sock_diag");
	ovl_diag_evidence(f, "retransmits", (double)flow->f.retrans_segs, "segs", "sock_diag");
	ovl_diag_fix(f, "flanneld --iface=%s (k3s: --flannel-iface=%s, kubelet: --node-ip)",
		     own->text, own->text);
	ovl_diag_risk(f, "all nodes must be reachable by that network");
	ovl_diag_verify(f, "ip -d link show %s names %s as dev, and the outer packets leave there",
			d->iface->name, own->text);
	ovl_diag_cost(f, 0.5, 0.95);
	ovl_diag_explains(d, f, OVL_SYMPTOM_LOSS | OVL_SYMPTOM_QUEUE | OVL_SYMPTOM_RATE);
}

static void rule_entropy(struct ovl_diag *d)
{
	double ports;
	struct ovl_finding *f;

	if (!is_vxlan(d))
		return;
	ports = ovl_diag_setting(d, d->iface->ns, "tunnel", d->iface->name, "source_ports");
	if (!(ports > 0 && ports <= ENTROPY_PORTS) || !(d->rate_bps >= BULK_BPS))
		return;
	f = ovl_diag_find(d, OVL_RULE_NO_SOURCE_PORT_ENTROPY, 0.9, d->iface->ns, d->iface->name);
	ovl_diag_title(
		f,
		"%s sends from %.0f source port%s only: receivers, links of a bond and equal "
		"paths see all its connections as one",
		d->iface->name, ports, ports > 1 ? "s" : "");
	ovl_diag_evidence(f, "source_ports", ports, "", "rtnetlink");
	ovl_diag_fix(f,
		     "make %s anew without srcport (the kernel then takes net.ipv4."
		     "ip_local_port_range)",
		     d->iface->name);
	ovl_diag_risk(f, "a firewall that allows only these ports must allow the range");
	ovl_diag_verify(f, "receive work spreads over the CPUs of the other node");
}

void ovl_rule_tunnel(struct ovl_diag *d)
{
	rule_entries(d);
	rule_mac(d);
	rule_port(d);
	rule_ttl(d);
	rule_nested(d);
	rule_userspace(d);
	rule_nic(d);
	rule_entropy(d);
}
