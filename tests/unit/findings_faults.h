/* The faults that rules are tried on: each breaks the healthy scene in one way. */
#ifndef OVL_TESTS_FINDINGS_FAULTS_H
#define OVL_TESTS_FINDINGS_FAULTS_H

#include "findings_scene.h"

static inline void healthy(struct scene *s)
{
	(void)s;
}

static inline void benign(struct scene *s)
{
	scene_drop(s, "OTHERHOST", "ip_rcv_core", NODE, "cni0", 500, true);
	scene_drop(s, "PACKET_SOCK_ERROR", "packet_rcv", NODE, "eth0", 90000, true);
	scene_drop(s, "NO_TX_TARGET", "vxlan_xmit", NODE, "flannel.1", 2, true);
	scene_flow(s)->retrans_segs = 15;
	scene_counter(s, NODE, "Udp", "NoPorts", 2);
}

static inline void service(struct scene *s)
{
	scene_attempts(s, "10.96.0.10", 40123, 1, 0);
	scene_attempts(s, "10.96.0.10", 19765, 1, 1);
	scene_rule(s, "ip svc out handle 3", "output: tcp dport 19765 translates", "translates", 1);
	scene_reading(s, NODE, "rule", "ip svc out handle 3", "dport", 19765, 0);
}

/* Nothing says that the address is a Service's. */
static inline void port_filtered(struct scene *s)
{
	scene_attempts(s, "10.96.0.10", 5432, 3, 0);
	scene_attempts(s, "10.96.0.10", 22, 1, 1);
	scene_rule(s, "ip filter INPUT handle 3", "input: tcp dport 5432 drops", "drops", 1);
	scene_reading(s, NODE, "rule", "ip filter INPUT handle 3", "dport", 5432, 0);
}

static inline void fdb(struct scene *s)
{
	scene_dead(s, 0, 0);
	s->sample.links.v[TUNNEL].tx_dropped = 12;
	scene_reading(s, NODE, "vtep", "10.244.2.0 flannel.1", "forwarding", 0, 0);
	scene_drop(s, "NO_TX_TARGET", "vxlan_xmit", NODE, "flannel.1", 12, false);
}

static inline void mac(struct scene *s)
{
	scene_dead(s, 0, 20);
	ovl_vec_clear(&s->sample.attempts);
	scene_drop(s, "OTHERHOST", "ip_rcv_core", NODE, "flannel.1", 20, true);
}

static inline void port_drift(struct scene *s)
{
	scene_dead(s, 0, 0);
	ovl_vec_clear(&s->sample.attempts);
	scene_traffic(s, UNDERLAY, 12 * 124, 124, 0, 0);
	scene_counter(s, NODE, "Udp", "NoPorts", 12);
}

static inline void vni_drift(struct scene *s)
{
	scene_dead(s, 0, 0);
	ovl_vec_clear(&s->sample.attempts);
	scene_drop(s, "VXLAN_VNI_NOT_FOUND", "vxlan_rcv", NODE, "eth0", 12, false);
}

static inline void ttl(struct scene *s)
{
	scene_dead(s, 20, 0);
	scene_counter(s, NODE, "Icmp", "InTimeExcds", 10);
	scene_reading(s, NODE, "tunnel", "flannel.1", "ttl", 1, 0);
}

static inline void forward(struct scene *s)
{
	scene_dead(s, 0, 30);
	ovl_vec_clear(&s->sample.attempts);
	scene_words(s, NODE, "chain", "ip filter FORWARD", "hook", "forward");
	scene_reading(s, NODE, "chain", "ip filter FORWARD", "policy_drops", 30, 30);
	scene_drop(s, "NETFILTER_DROP", "nft_do_chain", NODE, "flannel.1", 30, false);
}

static inline void no_forwarding(struct scene *s)
{
	scene_dead(s, 0, 30);
	ovl_vec_clear(&s->sample.attempts);
	scene_reading(s, NODE, "sysctl", "ipv4", "ip_forward", 0, 0);
	scene_counter(s, NODE, "Ip", "InAddrErrors", 30);
}

static inline void device_forwarding(struct scene *s)
{
	scene_dead(s, 0, 30);
	ovl_vec_clear(&s->sample.attempts);
	scene_reading(s, NODE, "sysctl", "flannel.1", "forwarding", 0, 0);
	scene_counter(s, NODE, "Ip", "InAddrErrors", 30);
}

static inline void rp_filter(struct scene *s)
{
	scene_dead(s, 0, 30);
	ovl_vec_clear(&s->sample.attempts);
	scene_counter(s, NODE, "TcpExt", "IPReversePathFilter", 30);
	scene_drop(s, "IP_RPFILTER", "ip_rcv_finish_core", NODE, "flannel.1", 30, false);
}

static inline void table_full(struct scene *s)
{
	scene_reading(s, NODE, "conntrack", "table", "entries", 262144, 0);
	scene_reading(s, NODE, "conntrack", "table", "drop", 50, 50);
	scene_drop(s, "NETFILTER_DROP", "nf_hook_slow", NODE, "eth0", 50, false);
}

static inline void table_moment(struct scene *s)
{
	scene_reading(s, NODE, "conntrack", "table", "drop", 50, 50);
}

static inline void insert_failed(struct scene *s)
{
	scene_reading(s, NODE, "conntrack", "table", "insert_failed", 9, 9);
	scene_reading(s, NODE, "conntrack", "table", "drop", 9, 9);
	scene_drop(s, "NETFILTER_DROP", "nf_hook_slow", NODE, "flannel.1", 9, false);
}

static inline void insert_raced(struct scene *s)
{
	scene_attempts(s, "10.244.2.2", 7000, 12, 12);
	s->sample.attempts.v[0].repeated_segs = 1;
	scene_reading(s, NODE, "conntrack", "table", "insert_failed", 10, 1);
	scene_reading(s, NODE, "conntrack", "table", "drop", 10, 1);
}

static inline void invalid(struct scene *s)
{
	scene_counter(s, NODE, "Ip", "InReceives", 100);
	scene_rule(s, "ip filter FORWARD handle 4", "forward: ct state invalid drops", "drops", 40);
	scene_reading(s, NODE, "rule", "ip filter FORWARD handle 4", "ct_invalid", 1, 0);
	scene_drop(s, "NETFILTER_DROP", "nft_do_chain", NODE, "vethp1", 40, false);
}

static inline void blocked_here(struct scene *s)
{
	scene_dead(s, 0, 0);
	ovl_vec_clear(&s->sample.attempts);
	scene_traffic(s, UNDERLAY, 45 * 124, 124, 0, 0);
	scene_rule(s, "ip filter INPUT handle 2", "input: udp dport 8472 drops", "drops", 45);
	scene_reading(s, NODE, "rule", "ip filter INPUT handle 2", "dport", 8472, 0);
	scene_drop(s, "NETFILTER_DROP", "nft_do_chain", NODE, "eth0", 45, false);
}

/* By a chain that the hook's own jumps to. */
static inline void blocked_further(struct scene *s)
{
	blocked_here(s);
	s->sample.readings.n -= 3;
	scene_rule(s, "ip filter ufw-user-input handle 2", ": udp dport 8472 drops", "drops", 45);
	scene_reading(s, NODE, "rule", "ip filter ufw-user-input handle 2", "dport", 8472, 0);
}

/* By the policy, while somebody waits. */
static inline void blocked_answers(struct scene *s)
{
	scene_dead(s, 24, 0);
	scene_traffic(s, UNDERLAY, 600000, 120, 600000, 120);
	scene_words(s, NODE, "chain", "ip filter INPUT", "hook", "input");
	scene_reading(s, NODE, "chain", "ip filter INPUT", "policy_drops", 12, 12);
	scene_drop(s, "NETFILTER_DROP", "nft_do_chain", NODE, "eth0", 12, false);
}

static inline void port_there(struct scene *s)
{
	scene_dead(s, 24, 0);
	scene_reading(s, NODE, "icmp", "3/3 from 192.0.2.5 about udp 8472", "messages", 9, 9);
}

static inline void stale(struct scene *s)
{
	scene_dead(s, 24, 0);
	scene_reading(s, NODE, "icmp", "3/0 from 192.0.2.2 about udp 8472", "messages", 9, 9);
}

static inline void shaper_and_loss(struct scene *s)
{
	scene_reading(s, NODE, "qdisc", "eth0 tbf 8001:0", "rate_bps", 4300000000, 0);
	scene_reading(s, NODE, "qdisc", "eth0 tbf 8001:0", "overlimits", 9000, 9000);
	scene_flow(s)->retrans_segs = 1800;
	scene_counter(s, POD, "TcpExt", "TCPSackRecovery", 1200);
}

static inline void cgroup_program(struct scene *s)
{
	scene_drop(s, "BPF_CGROUP_EGRESS", "__ip_finish_output", POD, "eth0", 300, false);
}

static inline void legacy_forward(struct scene *s)
{
	scene_dead(s, 0, 0);
	scene_drop(s, "NETFILTER_DROP", "nf_hook_slow", NODE, "vethp1", 30, false);
}

static inline void blocked_there(struct scene *s)
{
	scene_dead(s, 24, 0);
}

static inline void eaten(struct scene *s)
{
	scene_dead(s, 40, 20);
	scene_counter(s, POD, "Icmp", "InEchoReps", 20);
}

static inline void blackhole(struct scene *s)
{
	struct ovl_flow *f;

	scene_dead(s, 60, 20);
	s->sample.attempts.v[0].answered = 12;
	s->sample.attempts.v[0].unanswered = 0;
	f = scene_flow(s);
	f->acked_bytes = 0;
	f->total_acked_bytes = 1; /* its SYN */
	f->sent_segs = 6;
	f->timeouts = 3;
	f->cwnd_segs = 1;
}

/* Some got across, and the other end answers to handshakes. */
static inline void blackhole_later(struct scene *s)
{
	blackhole(s);
	scene_flow(s)->total_acked_bytes = 20000;
}

static inline void checksum(struct scene *s)
{
	scene_turn(s);
	scene_counter(s, NODE, "Udp", "InCsumErrors", 400);
}

static inline void fragments(struct scene *s)
{
	scene_counter(s, NODE, "Ip", "FragCreates", 50000);
}

static inline void xdp(struct scene *s)
{
	scene_turn(s);
	scene_reading(s, NODE, "bpf", "eth0 xdp", "id", 77, 0);
	scene_reading(s, NODE, "nic", "eth0", "rx_queue_0_xdp_drops", 300, 300);
}

static inline void quota(struct scene *s)
{
	scene_reading(s, POD, "cgroup", "kubepods/p1", "periods", 10, 10);
	scene_reading(s, POD, "cgroup", "kubepods/p1", "throttled_periods", 9, 9);
	scene_reading(s, POD, "cgroup", "kubepods/p1", "quota_millicpus", 200, 0);
}

static inline void shaper(struct scene *s)
{
	scene_reading(s, NODE, "qdisc", "eth0 tbf 8001:0", "rate_bps", 4300000000, 0);
	scene_reading(s, NODE, "qdisc", "eth0 tbf 8001:0", "overlimits", 9000, 9000);
	scene_reading(s, NODE, "qdisc", "eth0 tbf 8001:0", "drops", 95, 95);
	scene_flow(s)->retrans_segs = 900;
}

static inline void backlog(struct scene *s)
{
	scene_counter(s, OVL_NS_MACHINE, "softnet", "dropped", 900);
	scene_drop(s, "CPU_BACKLOG", "enqueue_to_backlog", NODE, "eth0", 900, false);
	scene_flow(s)->retrans_segs = 900;
}

static inline void to_tun(struct scene *s)
{
	ovl_str_copy(s->facts.links.v[TUNNEL].kind, OVL_IF_MAX, "tun");
	s->facts.links.v[TUNNEL].lower = -1;
	s->facts.vxlan.valid = false;
	for (uint32_t i = 0; i < LINKS; i++)
		scene_traffic(s, i, 2000000, 60, 28000000, 1400);
	scene_flow(s)->acked_bytes = 28000000;
	for (uint32_t i = 0; i < LINKS; i++)
		scene_feature(&s->facts.links.v[i], "rx-gro", true);
}

static inline void tun(struct scene *s)
{
	to_tun(s);
}

static inline void tun_queue(struct scene *s)
{
	to_tun(s);
	s->sample.links.v[TUNNEL].tx_dropped = 200;
	scene_reading(s, NODE, "device", "flannel.1", "queue_pkts", 20, 0);
	scene_drop(s, "FULL_RING", "tun_net_xmit", NODE, "flannel.1", 200, false);
}

static inline void rcvbuf(struct scene *s)
{
	to_tun(s);
	scene_counter(s, NODE, "Udp", "RcvbufErrors", 600);
	scene_reading(s, NODE, "udp", "port 8285", "drops", 600, 600);
	scene_drop(s, "SOCKET_RCVBUFF", "udp_queue_rcv_one_skb", NODE, "eth0", 600, false);
}

static inline void policer_here(struct scene *s)
{
	scene_rule(s, "netdev f i handle 2", "ingress: udp dport 8472 polices", "polices", 900);
	scene_drop(s, "NETFILTER_DROP", "nft_do_chain", NODE, "", 900, false);
	scene_flow(s)->retrans_segs = 900;
}

static inline void policer_there(struct scene *s)
{
	scene_flow(s)->retrans_segs = 9000;
	scene_counter(s, POD, "TcpExt", "TCPSackRecovery", 90);
}

static inline void loss(struct scene *s)
{
	scene_flow(s)->retrans_segs = 1800;
	scene_counter(s, POD, "TcpExt", "TCPSackRecovery", 1200);
}

static inline void reordered(struct scene *s)
{
	scene_flow(s)->retrans_segs = 1800;
	scene_flow(s)->dsack_segs = 1700;
}

static inline void proxy(struct scene *s)
{
	struct ovl_flow *f = ovl_vec_push(&s->sample.flows), *g;

	f->ns = NODE;
	f->state = 1;
	f->received_bytes = 490000000;
	ovl_str_copy(f->src, sizeof(f->src), "192.0.2.5:8201");
	ovl_str_copy(f->dst, sizeof(f->dst), "192.0.2.1:40000");
	g = ovl_vec_push(&s->sample.flows);
	*g = s->sample.flows.v[0];
	g->ns = NODE;
	g->acked_bytes = 489000000;
	ovl_str_copy(g->src, sizeof(g->src), "10.244.2.1:40001");
}

static inline void nested(struct scene *s)
{
	ovl_str_copy(s->facts.links.v[UNDERLAY].kind, OVL_IF_MAX, "vxlan");
	scene_add_link(s, NODE, "ens3", "", 1500, -1, -1);
	s->facts.links.v[UNDERLAY].lower = LINKS;
	scene_words(s, NODE, "route", "default", "device", "ens3");
	scene_flow(s)->rtt_us = 40000;
}

static inline void wrong_nic(struct scene *s)
{
	scene_words(s, NODE, "route", "default", "device", "eth9");
	scene_clocks(s, 700, 700);
	scene_flow(s)->rtt_us = 40000;
	scene_flow(s)->retrans_segs = 100;
}

static inline void clamped(struct scene *s)
{
	scene_flow(s)->mss_bytes = 524;
	scene_rule(s, "ip mangle FORWARD handle 2", "forward: tcp clamps", "clamps", 2);
	scene_reading(s, NODE, "rule", "ip mangle FORWARD handle 2", "mss", 536, 0);
}

static inline void jumbo(struct scene *s)
{
	s->facts.links.v[UNDERLAY].mtu = 9000;
}

static inline void no_sg(struct scene *s)
{
	scene_feature(&s->facts.links.v[UNDERLAY], "tx-scatter-gather", false);
}

static inline void tx_off(struct scene *s)
{
	scene_feature(&s->facts.links.v[POD_ETH0], "tx-tcp-segmentation", false);
	scene_traffic(s, TUNNEL, 2000000, 60, 500000000, 1450);
	scene_traffic(s, UNDERLAY, 4000000, 120, 520000000, 1500);
	scene_traffic(s, PORT, 500000000, 1464, 2000000, 60);
	scene_traffic(s, POD_ETH0, 2000000, 60, 500000000, 1464);
}

static inline void no_tunnel_segmentation(struct scene *s)
{
	scene_feature(&s->facts.links.v[UNDERLAY], "tx-udp_tnl-segmentation", false);
	scene_traffic(s, UNDERLAY, 4000000, 120, 520000000, 1500);
	scene_stage(s, 0, OVL_STAGE_GSO, 300);
}

static inline void gro(struct scene *s)
{
	scene_feature(&s->facts.links.v[UNDERLAY], "rx-gro", false);
	scene_feature(&s->facts.links.v[TUNNEL], "rx-gro", false);
	scene_traffic(s, TUNNEL, 2000000, 60, 500000000, 1450);
	scene_traffic(s, POD_ETH0, 2000000, 60, 500000000, 1464);
	scene_turn(s);
}

static inline void many_rules(struct scene *s)
{
	scene_reading(s, NODE, "chain", "ip filter FORWARD", "rules", 5000, 0);
	scene_stage(s, 0, OVL_STAGE_NETFILTER, 600);
}

static inline void bridge_rules(struct scene *s)
{
	scene_reading(s, NODE, "sysctl", "bridge", "nf_call_iptables", 1, 0);
	scene_traffic(s, BRIDGE, 100000, 60, 100000, 60);
	scene_stage(s, 0, OVL_STAGE_NETFILTER, 600);
}

static inline void program(struct scene *s)
{
	struct ovl_symbol_hit *hit = ovl_vec_push(&s->sample.symbols);

	scene_reading(s, NODE, "bpf", "vethp1 tc ingress", "id", 42, 0);
	scene_stage(s, 0, OVL_STAGE_QDISC, 300);
	hit->stage = OVL_STAGE_QDISC;
	hit->count = 300;
	ovl_str_copy(hit->name, sizeof(hit->name), "bpf_prog_1234_monitor");
}

static inline void one_core(struct scene *s)
{
	struct ovl_flow *f;

	scene_turn(s);
	scene_clocks(s, 0, 500);
	for (int i = 0; i < 3; i++) {
		f = ovl_vec_push(&s->sample.flows);
		*f = s->sample.flows.v[0];
		f->src[10] = (char)('1' + i);
	}
}

static inline void entropy(struct scene *s)
{
	scene_reading(s, NODE, "tunnel", "flannel.1", "source_ports", 1, 0);
}

static inline void window(struct scene *s)
{
	scene_flow(s)->rwnd_us = 900000;
	scene_flow(s)->min_rtt_us = 10000;
	scene_flow(s)->rtt_us = 10200;
	scene_flow(s)->snd_wnd_bytes = 65536;
}

static inline void send_buffer(struct scene *s)
{
	scene_flow(s)->sndbuf_us = 900000;
	scene_flow(s)->min_rtt_us = 10000;
	scene_flow(s)->rtt_us = 10200;
}

static inline void reader(struct scene *s)
{
	scene_flow(s)->rwnd_us = 980000;
	scene_flow(s)->snd_wnd_bytes = 0;
}

static inline void idler(struct scene *s)
{
	scene_flow(s)->app_limited = true;
	scene_flow(s)->unsent_bytes = scene_flow(s)->unacked_segs = 0;
}

static inline void accepting(struct scene *s)
{
	scene_counter(s, POD, "TcpExt", "ListenOverflows", 12);
}

static inline void unknown_drop(struct scene *s)
{
	scene_drop(s, "NEW_REASON", "some_function", NODE, "eth0", 4000, false);
	scene_flow(s)->retrans_segs = 4000;
}

static inline void host_dead(struct scene *s)
{
	scene_dead(s, 20, 20);
}

#endif
