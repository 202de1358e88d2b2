/* Losses and silence: where counters tell, and what is left where none does. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "model/diag.h"

#define FEW	     3
#define SOME	     10
#define LOSS_LEAST   0.0003 /* of the segments: less is benign */
#define REPEATED     20	    /* segments */
#define BURST	     8	    /* segments repeated in one recovery: a bucket ran empty */
#define LOCAL_RATIO  0.1    /* drops here ÷ segments repeated: below, they were lost elsewhere */
#define RTT_GROWN    10
#define RTT_LEAST_US 5000

static double loss_ratio(const struct ovl_diag *d)
{
	return d->sent_segs ? (double)d->retrans_segs / (double)d->sent_segs : 0;
}

/* How much a loss rate of p costs a connection of cubic, roughly; never all of it. */
static void cost_of_loss(struct ovl_finding *f, double p)
{
	ovl_diag_cost(f, p > 0.001 ? 0.3 : 0.06, p > 0.001 ? 0.9 : 0.4);
}

static void rule_backlog(struct ovl_diag *d)
{
	double dropped = ovl_diag_counter(d, OVL_NS_MACHINE, "softnet", "dropped");
	struct ovl_finding *f;

	if (dropped < SOME)
		return;
	f = ovl_diag_find(d, OVL_RULE_BACKLOG_OVERFLOW, 0.95, OVL_NS_MACHINE, "");
	ovl_diag_title(f,
		       "%.0f packets were dropped because a CPU's backlog was full "
		       "(net.core.netdev_max_backlog): veth and RPS traffic waits there",
		       dropped);
	ovl_diag_evidence(f, "softnet_dropped", dropped, "pkts", "/proc/net/softnet_stat");
	ovl_diag_evidence(f, "cpu_backlog", (double)ovl_diag_drops(d, "CPU_BACKLOG", "", "", NULL),
			  "pkts", "skb:kfree_skb");
	ovl_diag_evidence(f, "time_squeeze",
			  ovl_diag_counter(d, OVL_NS_MACHINE, "softnet", "time_squeeze"), "",
			  "/proc/net/softnet_stat");
	ovl_diag_fix(
		f, "sysctl -w net.core.netdev_max_backlog=10000 net.core.netdev_budget_usecs=8000");
	ovl_diag_fix(f, "spread the packets over more CPUs (RPS), or free the one that is starved");
	ovl_diag_risk(f, "a longer queue adds delay when a CPU cannot keep up at all");
	ovl_diag_verify(f, "the second column of /proc/net/softnet_stat stands still");
	ovl_diag_cost(f, 0.1, 0.5);
	ovl_diag_explains(d, f, OVL_SYMPTOM_LOSS);
}

/* Cost of a lossy queue before or behind a userspace tunnel: by its share of packets. */
static void cost_of_drops(struct ovl_finding *f, double dropped, double passed)
{
	double p = dropped / fmax(1, dropped + passed);

	ovl_diag_cost(f, p > 0.002 ? 0.2 : 0.01, p > 0.002 ? 0.6 : 0.2);
}

static void rule_tun(struct ovl_diag *d)
{
	const struct ovl_device *dev = ovl_diag_device(d, d->iface_at);
	double ring, queue;
	struct ovl_finding *f;

	if (!d->iface || strcmp(d->iface->kind, "tun") != 0 || !dev)
		return;
	ring = (double)ovl_diag_drops(d, "FULL_RING", "", d->iface->name, NULL);
	ring = fmax(ring, (double)dev->tx.drops);
	if (ring < FEW)
		return;
	queue = ovl_diag_setting(d, d->iface->ns, "device", d->iface->name, "queue_pkts");
	f = ovl_diag_find(d, OVL_RULE_TUN_QUEUE_FULL, 0.95, d->iface->ns, d->iface->name);
	ovl_diag_title(
		f,
		"%.0f packets were dropped before the tunnel: the queue of %s holds %.0f, and "
		"its process reads too slowly",
		ring, d->iface->name, queue);
	ovl_diag_evidence(f, "tx_dropped", (double)dev->tx.drops, "pkts", "rtnetlink");
	ovl_diag_evidence(f, "tx_packets", (double)dev->tx.pkts, "pkts", "rtnetlink");
	ovl_diag_evidence(f, "queue", queue, "pkts", "rtnetlink");
	ovl_diag_fix(f, "ip link set %s txqueuelen %.0f", d->iface->name, fmax(1000, 2 * queue));
	ovl_diag_fix(f, "a faster process: several queues, batches, more CPU time");
	ovl_diag_risk(f, "a longer queue adds delay");
	ovl_diag_verify(f, "ip -s link show %s: TX dropped stands still", d->iface->name);
	cost_of_drops(f, ring, (double)dev->tx.pkts);
	ovl_diag_explains(d, f, OVL_SYMPTOM_LOSS);
}

static void rule_rcvbuf(struct ovl_diag *d)
{
	const struct ovl_device *dev = ovl_diag_device(d, d->iface_at);
	const struct ovl_reading *port = NULL;
	double errors;
	struct ovl_finding *f;

	if (!d->iface || strcmp(d->iface->kind, "tun") != 0 || !dev)
		return;
	errors = ovl_diag_counter(d, d->iface->ns, "Udp", "RcvbufErrors");
	ovl_vec_each(r, &d->m->readings)
		if (!strcmp(r->kind, "udp") && !strcmp(r->name, "drops") && r->delta > 0 &&
		    (!port || r->delta > port->delta))
			port = r;
	if (errors < FEW)
		return;
	f = ovl_diag_find(d, OVL_RULE_TUNNEL_DAEMON_RCVBUF, port ? 0.95 : 0.8, d->iface->ns,
			  d->iface->name);
	ovl_diag_title(f,
		       "%.0f tunnel packets were dropped at the UDP socket of the tunnel's process "
		       "(%s): its receive buffer was full",
		       errors, port ? port->object : "port unknown");
	ovl_diag_evidence(f, "rcvbuf_errors", errors, "pkts", "/proc/net/snmp");
	ovl_diag_evidence(f, "socket_drops", port ? (double)port->delta : NAN, "pkts",
			  "/proc/net/udp");
	ovl_diag_evidence(f, "packets_got", (double)dev->rx.pkts, "pkts", "rtnetlink");
	ovl_diag_fix(f, "sysctl -w net.core.rmem_default=4194304 and restart the process (raising "
			"rmem_max alone changes nothing unless it asks for more)");
	ovl_diag_fix(f, "a process that reads in batches (recvmmsg), or a tunnel of the kernel");
	ovl_diag_risk(f, "a longer queue adds delay");
	ovl_diag_verify(f, "UdpRcvbufErrors stands still");
	cost_of_drops(f, errors, (double)dev->rx.pkts);
	ovl_diag_explains(d, f, OVL_SYMPTOM_LOSS);
}

static void rule_checksum(struct ovl_diag *d)
{
	double outer = ovl_diag_counter(d, OVL_ANY_NS, "Udp", "InCsumErrors");
	double inner = ovl_diag_counter(d, OVL_ANY_NS, "Tcp", "InCsumErrors");
	const int at = outer >= inner && d->underlay ? d->underlay_at : d->iface_at;
	struct ovl_finding *f;

	if (outer + inner < FEW)
		return;
	f = ovl_diag_find(d, OVL_RULE_OUTER_CHECKSUM_BAD, 0.95, d->iface ? d->iface->ns : 0,
			  d->underlay ? d->underlay->name : "");
	ovl_diag_title(f,
		       "%.0f packets came with a wrong %s checksum and were dropped: a NIC or a "
		       "translation on the way computes it wrongly",
		       outer + inner, outer >= inner ? "outer UDP" : "inner TCP");
	ovl_diag_evidence(f, "udp_checksum_errors", outer, "pkts", "/proc/net/snmp");
	ovl_diag_evidence(f, "tcp_checksum_errors", inner, "pkts", "/proc/net/snmp");
	ovl_diag_fix(f,
		     "at the sender: ethtool -K %s tx-checksum-ip-generic off (the tunnel alone)",
		     d->iface ? d->iface->name : "flannel.1");
	ovl_diag_fix(f, "ethtool -K NIC tx off, if the NIC is to blame; kube-proxy with "
			"--random-fully on kernels before 5.7");
	ovl_diag_risk(
		f, "without the offload the sender pays for checksums and small packets: measure "
		   "both");
	ovl_diag_verify(f, "UdpInCsumErrors stands still");
	ovl_diag_weigh(d, f, outer + inner, (double)ovl_diag_got(d, at));
	if (f->level > OVL_LEVEL_INFO)
		ovl_diag_cost(f, 0.4, 0.95);
	ovl_diag_explains(d, f, OVL_SYMPTOM_LOSS | OVL_SYMPTOM_DEAD);
}

/* Real drops of the path, by the node's own hand. */
static uint64_t local_drops(const struct ovl_diag *d, const struct ovl_drop **most)
{
	uint64_t segs = 0;

	*most = NULL;
	ovl_vec_each(drop, &d->m->drops) {
		if (drop->benign || !ovl_facts_on_path(d->facts, drop->ns))
			continue;
		segs += drop->segs;
		if (!*most || drop->segs > (*most)->segs)
			*most = drop;
	}
	return segs;
}

/* Does a queue stand on the way? */
static bool waits(const struct ovl_flow *f)
{
	return f->min_rtt_us && f->rtt_us > RTT_LEAST_US && f->rtt_us > RTT_GROWN * f->min_rtt_us;
}

/* Lost in bursts behind a long queue, and not here: it overflows somewhere on the way. */
static void say_queue(struct ovl_diag *d, double p, double burst)
{
	const struct ovl_flow *flow = &d->m->flows.v[0].f;
	struct ovl_finding *f = ovl_diag_find(d, OVL_RULE_QUEUE_DROPS, 0.6, flow->ns,
					      d->underlay ? d->underlay->name : "");

	ovl_diag_title(
		f,
		"a queue beyond this node overflows at about %.3g Mbit/s: RTT is %.3g ms under "
		"load (%.3g ms at best), and %.2f %% of the segments are lost in bursts",
		d->rate_bps / 1e6, flow->rtt_us / 1e3, flow->min_rtt_us / 1e3, p * 100);
	ovl_diag_evidence(f, "rtt_under_load", flow->rtt_us * 1e3, "ns", "sock_diag");
	ovl_diag_evidence(f, "rtt_least", flow->min_rtt_us * 1e3, "ns", "sock_diag");
	ovl_diag_evidence(f, "loss", p, "ratio", "sock_diag");
	ovl_diag_evidence(f, "segments_in_one_recovery", burst, "segs", "/proc/net/netstat");
	ovl_diag_verify(f, "tc -s qdisc on routers and hosts of the way: drops and backlog");
	cost_of_loss(f, p);
	ovl_diag_explains(d, f, OVL_SYMPTOM_LOSS | OVL_SYMPTOM_QUEUE);
}

static void say_policer(struct ovl_diag *d, double p, double burst)
{
	const struct ovl_flow_sum *s = &d->m->flows.v[0];
	struct ovl_finding *f = ovl_diag_find(d, OVL_RULE_POLICER, 0.7, s->f.ns,
					      d->underlay ? d->underlay->name : "");

	ovl_diag_title(
		f,
		"the network drops what exceeds about %.3g Mbit/s: %.2f %% of the segments are "
		"lost in bursts (%.0f in one recovery), no queue builds up, and no counter on "
		"this node moves",
		d->rate_bps / 1e6, p * 100, burst);
	ovl_diag_evidence(f, "loss", p, "ratio", "sock_diag");
	ovl_diag_evidence(f, "segments_in_one_recovery", burst, "segs", "/proc/net/netstat");
	ovl_diag_evidence(f, "rate", d->rate_bps, "bps", "rtnetlink");
	ovl_diag_evidence(f, "rtt_under_load", s->f.rtt_us * 1e3, "ns", "sock_diag");
	ovl_diag_fix(f,
		     "pace below the limit: tc qdisc replace dev NIC root tbf rate RATE burst 256k "
		     "latency 20ms, or bbr");
	ovl_diag_fix(f,
		     "a larger allowance (instance type), or a burst of at least bandwidth x RTT");
	ovl_diag_risk(f, "a shaper's queue adds delay");
	ovl_diag_verify(f, "retransmissions end at the same rate");
	cost_of_loss(f, p);
	ovl_diag_explains(d, f, OVL_SYMPTOM_LOSS);
}

static void say_loss(struct ovl_diag *d, double p, double dsack, double burst)
{
	struct ovl_finding *f =
		ovl_diag_find(d, OVL_RULE_UNDERLAY_LOSS, 0.75, d->m->flows.v[0].f.ns,
			      d->underlay ? d->underlay->name : "");

	ovl_diag_title(f,
		       "the network loses %.2f %% of the segments one by one (%llu repeated), and "
		       "nothing on this node drops them",
		       p * 100, (unsigned long long)d->retrans_segs);
	ovl_diag_evidence(f, "loss", p, "ratio", "sock_diag");
	ovl_diag_evidence(f, "repeated", (double)d->retrans_segs, "segs", "sock_diag");
	ovl_diag_evidence(f, "repeated_in_vain", dsack, "segs", "sock_diag");
	ovl_diag_evidence(f, "segments_in_one_recovery", burst, "segs", "/proc/net/netstat");
	ovl_diag_fix(
		f, "look at the way between the nodes: ethtool -S NIC (crc, missed), switch ports, "
		   "cables; ping -f between the nodes' own addresses");
	ovl_diag_fix(f, "meanwhile sysctl -w net.ipv4.tcp_congestion_control=bbr in the pods");
	ovl_diag_risk(f, "bbr takes more than its share from cubic");
	ovl_diag_verify(f, "TcpRetransSegs stands still");
	cost_of_loss(f, p);
	ovl_diag_explains(d, f, OVL_SYMPTOM_LOSS);
}

static void rule_elsewhere(struct ovl_diag *d)
{
	const struct ovl_drop *most;
	double p = loss_ratio(d), recoveries, burst, dsack = 0;
	uint64_t here = local_drops(d, &most);

	if (d->explained & (OVL_SYMPTOM_LOSS | OVL_SYMPTOM_DEAD) || !d->m->flows.n ||
	    d->retrans_segs < REPEATED || p < LOSS_LEAST ||
	    (double)here > LOCAL_RATIO * (double)d->retrans_segs)
		return;
	ovl_vec_each(s, &d->m->flows)
		dsack += (double)s->f.dsack_segs;
	/* a tunnel's process on the other node may drop as well as the network */
	if (d->iface && !strcmp(d->iface->kind, "tun"))
		return;
	/* repeated although they had arrived: reordering or delay, no loss */
	if (dsack > (double)d->retrans_segs / 2)
		return;
	recoveries = ovl_diag_counter(d, OVL_ANY_NS, "TcpExt", "TCPSackRecovery") +
		     ovl_diag_counter(d, OVL_ANY_NS, "TcpExt", "TCPRenoRecovery") +
		     ovl_diag_counter(d, OVL_ANY_NS, "TcpExt", "TCPTimeouts");
	burst = (double)d->retrans_segs / fmax(1, recoveries);
	if (burst >= BURST && waits(&d->m->flows.v[0].f))
		say_queue(d, p, burst);
	else if (burst >= BURST)
		say_policer(d, p, burst);
	else
		say_loss(d, p, dsack, burst);
}

static void rule_drops_here(struct ovl_diag *d)
{
	const struct ovl_drop *most;
	uint64_t segs = local_drops(d, &most);
	double p = d->sent_segs ? (double)segs / (double)d->sent_segs : NAN;
	struct ovl_finding *f;

	if (d->explained & (OVL_SYMPTOM_LOSS | OVL_SYMPTOM_DEAD) || !most || segs < REPEATED)
		return;
	f = ovl_diag_find(d, OVL_RULE_QUEUE_DROPS, 0.6, most->ns, most->iface);
	ovl_diag_title(f, "%llu segments were dropped on this node, most of them (%s) in %s%s%s",
		       (unsigned long long)segs, most->reason, most->symbol,
		       *most->iface ? " at " : "", most->iface);
	ovl_diag_evidence(f, "dropped", (double)segs, "segs", "skb:kfree_skb");
	ovl_diag_evidence(f, "repeated", (double)d->retrans_segs, "segs", "sock_diag");
	ovl_diag_verify(f, "the table of drops");
	if (!(p > LOSS_LEAST) && !(isnan(p) && d->rate_bps > 0))
		f->level = OVL_LEVEL_INFO;
	ovl_diag_explains(d, f, OVL_SYMPTOM_LOSS);
}

static void rule_unlocated(struct ovl_diag *d)
{
	double p = loss_ratio(d), dsack = 0;
	struct ovl_finding *f;

	if (d->explained & (OVL_SYMPTOM_LOSS | OVL_SYMPTOM_DEAD) || p < LOSS_LEAST ||
	    d->retrans_segs < REPEATED)
		return;
	ovl_vec_each(s, &d->m->flows)
		dsack += (double)s->f.dsack_segs;
	f = ovl_diag_find(d, OVL_RULE_LOSS_UNLOCATED, 0.6, d->m->flows.v[0].f.ns, "");
	ovl_diag_title(
		f,
		"%llu segments (%.2f %%) were sent again; many may have arrived, and where the "
		"others were lost is not known",
		(unsigned long long)d->retrans_segs, p * 100);
	ovl_diag_evidence(f, "repeated", (double)d->retrans_segs, "segs", "sock_diag");
	ovl_diag_evidence(f, "loss", p, "ratio", "sock_diag");
	ovl_diag_evidence(f, "repeated_in_vain", dsack, "segs", "sock_diag");
	ovl_diag_verify(f, "look from the other node too");
	/* what had arrived already was reordered or late, not lost */
	if (p < LOSS_LEAST * 10 || dsack > (double)d->retrans_segs / 2)
		f->level = OVL_LEVEL_INFO;
}

/* ---- silence ---- */

/* Is this message about the tunnel's own packets? */
static bool is_about_tunnel(const struct ovl_diag *d, const struct ovl_reading *r)
{
	const char *port = strstr(r->object, "about udp ");
	char object[32];

	if (!port)
		return false;
	port += strlen("about udp ");
	if (d->facts->vxlan.port)
		return (unsigned int)atoi(port) == d->facts->vxlan.port;
	/* a tunnel's process sends to the port that it listens on itself */
	ovl_text_set(object, "port %.12s", port);
	return ovl_diag_reading(d, r->ns, "udp", object, "drops") != NULL;
}

/* ICMP messages of a kind about the tunnel's own packets; NULL: too few. */
static const struct ovl_reading *unreachable_by(const struct ovl_diag *d, const char *kind)
{
	ovl_vec_each(r, &d->m->readings)
		if (!strcmp(r->kind, "icmp") && r->delta >= FEW &&
		    ovl_str_starts(r->object, kind) && is_about_tunnel(d, r))
			return r;
	return NULL;
}

static void say_silence(struct ovl_diag *d, double icmp)
{
	double unreachable = ovl_diag_counter(d, d->iface->ns, "Icmp", "InDestUnreachs");
	const struct ovl_reading *port = unreachable_by(d, "3/3 "),
				 *net = unreachable_by(d, "3/0 ");
	const struct ovl_reading *said = port ? port : net ? net : unreachable_by(d, "3/1 ");
	enum ovl_rule rule = icmp >= FEW ? OVL_RULE_FABRIC_EATS_TUNNELLED_TCP
			     : port	 ? OVL_RULE_TUNNEL_PORT_OR_VNI_MISMATCH
			     : said	 ? OVL_RULE_FDB_OR_NEIGHBOUR_MISSING
					 : OVL_RULE_TUNNEL_PORT_BLOCKED;
	struct ovl_finding *f = ovl_diag_find(d, rule,
					      icmp >= FEW ? 0.75
					      : said	  ? 0.8
							  : 0.5,
					      d->iface->ns, d->iface->name);

	if (icmp >= FEW)
		ovl_diag_title(
			f,
			"through %s echo replies come back (%.0f) but no TCP: %llu connections "
			"were tried and none answered, and nothing on this node drops them",
			d->iface->name, icmp, (unsigned long long)d->tried);
	else
		ovl_diag_title(
			f, "%llu packets left by %s and %s: %s",
			(unsigned long long)ovl_diag_sent(d, d->iface_at), d->iface->name,
			said ? said->object : "nothing came back",
			port   ? "(ICMP port unreachable) nobody listens on that port there"
			: said ? "(ICMP unreachable) the forwarding entry's address leads nowhere"
			       : "the tunnel's UDP port is blocked on the way, or the peer drops "
				 "or does not know them (look from there)");
	ovl_diag_evidence(f, "tried", (double)d->tried, "connections", "sock:inet_sock_set_state");
	ovl_diag_evidence(f, "answered", (double)d->answered, "connections",
			  "sock:inet_sock_set_state");
	ovl_diag_evidence(f, "sent_by_tunnel", (double)ovl_diag_sent(d, d->iface_at), "pkts",
			  "rtnetlink");
	ovl_diag_evidence(f, "got_by_tunnel", (double)ovl_diag_got(d, d->iface_at), "pkts",
			  "rtnetlink");
	ovl_diag_evidence(f, "echo_replies", icmp, "pkts", "/proc/net/snmp");
	ovl_diag_evidence(f, "unreachable", unreachable, "messages", "/proc/net/snmp");
	if (icmp >= FEW) {
		ovl_diag_fix(
			f,
			"ethtool -K %s tx-udp_tnl-segmentation off tx-udp_tnl-csum-segmentation "
			"off (or tx off), on both nodes",
			d->underlay ? d->underlay->name : "NIC");
		ovl_diag_fix(
			f, "another tunnel port, or an update of the hypervisor's or NIC's driver");
		ovl_diag_risk(f, "the kernel then cuts packets: some throughput is lost");
	} else {
		ovl_diag_fix(
			f,
			"open UDP port %u both ways between the nodes (security group, firewall)",
			d->facts->vxlan.port);
		ovl_diag_risk(f, "allow the nodes' addresses only");
	}
	ovl_diag_verify(f, "rx packets of %s grow and connections are answered", d->iface->name);
	ovl_diag_explains(d, f, OVL_SYMPTOM_DEAD);
}

static void rule_silence(struct ovl_diag *d)
{
	const bool dead = d->unanswered >= FEW && !d->answered && !d->acked_bytes;
	const bool stuck = d->stuck && !d->acked_bytes && !ovl_diag_got(d, d->iface_at);
	double icmp = ovl_diag_counter(d, OVL_ANY_NS, "Icmp", "InEchoReps");
	struct ovl_finding *f;

	if (d->explained & OVL_SYMPTOM_DEAD || (!dead && !stuck) || !d->iface)
		return;
	if (d->tunnel && ovl_diag_sent(d, d->iface_at) >= FEW &&
	    (icmp >= FEW || !ovl_diag_got(d, d->iface_at))) {
		say_silence(d, icmp);
		return;
	}
	f = ovl_diag_find(d, OVL_RULE_STALL, 0.6, d->iface->ns, d->iface->name);
	ovl_diag_title(
		f,
		"nothing gets through: %llu connections were tried and none answered; %s sent "
		"%llu packets and got %llu",
		(unsigned long long)d->tried, d->iface->name,
		(unsigned long long)ovl_diag_sent(d, d->iface_at),
		(unsigned long long)ovl_diag_got(d, d->iface_at));
	ovl_diag_evidence(f, "tried", (double)d->tried, "connections", "sock:inet_sock_set_state");
	ovl_diag_evidence(f, "stuck", d->stuck, "connections", "sock_diag");
	ovl_diag_verify(f, "look from the other node: do the packets arrive there?");
}

static void rule_wait(struct ovl_diag *d)
{
	const struct ovl_flow_sum *s = d->m->flows.n ? d->m->flows.v : NULL;
	struct ovl_finding *f;

	if (!s || d->explained & OVL_SYMPTOM_QUEUE || s->f.rtt_us < RTT_LEAST_US ||
	    !s->f.min_rtt_us || s->f.rtt_us < RTT_GROWN * s->f.min_rtt_us)
		return;
	f = ovl_diag_find(d, OVL_RULE_LATENCY_WAIT, 0.6, s->f.ns, "");
	ovl_diag_title(f, "packets of %s to %s wait: RTT %.3g ms under load, %.3g ms at best",
		       s->f.src, s->f.dst, s->f.rtt_us / 1e3, s->f.min_rtt_us / 1e3);
	ovl_diag_evidence(f, "rtt_under_load", s->f.rtt_us * 1e3, "ns", "sock_diag");
	ovl_diag_evidence(f, "rtt_least", s->f.min_rtt_us * 1e3, "ns", "sock_diag");
	ovl_diag_verify(f, "RTT under load falls");
}

void ovl_rule_queue(struct ovl_diag *d)
{
	rule_backlog(d);
	rule_tun(d);
	rule_rcvbuf(d);
	rule_checksum(d);
}

void ovl_rule_loss(struct ovl_diag *d)
{
	rule_elsewhere(d);
}

void ovl_rule_silence(struct ovl_diag *d)
{
	rule_silence(d);
}

void ovl_rule_rest(struct ovl_diag *d)
{
	rule_drops_here(d);
	rule_unlocated(d);
	rule_wait(d);
}
