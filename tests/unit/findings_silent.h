/* What looks like a fault and is none: on each, no rule may raise a problem. */
#ifndef OVL_TESTS_FINDINGS_SILENT_H
#define OVL_TESTS_FINDINGS_SILENT_H

#include "findings_faults.h"

/* Nothing crosses the tunnel and nobody waits; the node itself talks over its own network. */
static inline void at_rest(struct scene *s)
{
	scene_dead(s, 0, 0);
	ovl_vec_clear(&s->sample.attempts);
	scene_traffic(s, UNDERLAY, 600000, 120, 600000, 120);
	scene_counter(s, NODE, "Ip", "InReceives", 5000);
}

static inline void host_firewall(struct scene *s)
{
	at_rest(s);
	scene_words(s, NODE, "chain", "ip filter INPUT", "hook", "input");
	scene_reading(s, NODE, "chain", "ip filter INPUT", "policy_drops", 40, 40);
	scene_rule(s, "ip filter INPUT handle 9", "input: udp dport 161 drops", "drops", 60);
	scene_reading(s, NODE, "rule", "ip filter INPUT handle 9", "dport", 161, 0);
	scene_drop(s, "NETFILTER_DROP", "nft_do_chain", NODE, "eth0", 100, false);
}

/* A rule for another port may drop all there is: it is not the tunnel that is blocked. */
static inline void other_port(struct scene *s)
{
	at_rest(s);
	scene_traffic(s, UNDERLAY, 30 * 120, 120, 0, 0);
	scene_rule(s, "ip filter INPUT handle 9", "input: udp dport 161 drops", "drops", 30);
	scene_reading(s, NODE, "rule", "ip filter INPUT handle 9", "dport", 161, 0);
	scene_drop(s, "NETFILTER_DROP", "nft_do_chain", NODE, "eth0", 30, false);
}

static inline void strays(struct scene *s)
{
	at_rest(s);
	scene_counter(s, NODE, "Udp", "NoPorts", 30);
	scene_counter(s, NODE, "Udp", "InCsumErrors", 4);
	scene_counter(s, NODE, "Icmp", "InTimeExcds", 5);
	scene_reading(s, NODE, "tunnel", "flannel.1", "ttl", 16, 0);
	scene_reading(s, NODE, "icmp", "11/0 from 192.0.2.9 about udp 33434", "messages", 5, 5);
}

static inline void late_fins(struct scene *s)
{
	invalid(s);
	s->sample.readings.v[s->sample.readings.n - 2].delta = 4;
	scene_counter(s, NODE, "Ip", "InReceives", 60000);
}

static inline void martians_elsewhere(struct scene *s)
{
	at_rest(s);
	scene_counter(s, NODE, "TcpExt", "IPReversePathFilter", 30);
	scene_drop(s, "IP_RPFILTER", "ip_rcv_finish_core", NODE, "wlan0", 30, false);
}

static inline void input_at_bridge(struct scene *s)
{
	at_rest(s);
	scene_rule(s, "ip filter INPUT handle 5", "input: tcp dport 10250 drops", "drops", 30);
	scene_drop(s, "NETFILTER_DROP", "nft_do_chain", NODE, "cni0", 30, false);
}

static inline void benign_of_a_rule(struct scene *s)
{
	at_rest(s);
	scene_drop(s, "NO_TX_TARGET", "vxlan_xmit", NODE, "flannel.1", 15, true);
}

static inline void nd_at_rest(struct scene *s)
{
	at_rest(s);
	s->sample.links.v[TUNNEL].tx_dropped = 4;
	scene_reading(s, NODE, "vtep", "10.244.2.0 flannel.1", "forwarding", 0, 0);
	scene_drop(s, "NO_TX_TARGET", "vxlan_xmit", NODE, "flannel.1", 4, true);
}

/* A peer that went away leaves a connection behind that stands still. */
static inline void dead_peer(struct scene *s)
{
	struct ovl_flow *f;

	blackhole(s);
	ovl_vec_clear(&s->sample.attempts);
	f = scene_flow(s);
	f->total_acked_bytes = 300000000;
}

static inline void dead_peer_of_few(struct scene *s)
{
	dead_peer(s);
	scene_flow(s)->total_acked_bytes = 3000;
}

/* Its end still answers others, but all that waits is one small request. */
static inline void dead_process(struct scene *s)
{
	blackhole_later(s);
	scene_flow(s)->unacked_segs = 1;
	scene_flow(s)->unsent_bytes = 0;
}

/* Lost once and recovered. */
static inline void stalled_once(struct scene *s)
{
	blackhole(s);
	scene_flow(s)->timeouts = 0;
}

static inline void cloud_gauge(struct scene *s)
{
	scene_reading(s, NODE, "nic", "eth0", "conntrack_allowance_available", 170000, 9000);
}

/* Pods of jumbo frames that talk to the world. */
static inline void jumbo_pods(struct scene *s)
{
	for (uint32_t i = 0; i < LINKS; i++)
		s->facts.links.v[i].mtu = 8950;
	s->facts.links.v[UNDERLAY].mtu = 9001;
	scene_flow(s)->mss_bytes = 1448;
	scene_rule(s, "ip mangle FORWARD handle 2", "forward: tcp clamps", "clamps", 2);
	scene_reading(s, NODE, "rule", "ip mangle FORWARD handle 2", "mss", 8898, 0);
}

/* Hardly any packet, so shares of their CPU time say nothing, however full the CPU is. */
static inline void idle_filter(struct scene *s)
{
	ovl_vec_clear(&s->sample.hits);
	many_rules(s);
	ovl_vec_clear(&s->sample.hits);
	scene_stage(s, 0, OVL_STAGE_NETFILTER, 10);
	scene_stage(s, 0, OVL_STAGE_USER_OTHER, 990);
	scene_stage(s, 1, OVL_STAGE_USER_OTHER, 700);
}

/* The next reading makes up for one that was left out: 0.4 s of 4 s were limited by the window. */
static inline void reading_left_out(struct scene *s)
{
	s->before_ns = 3 * SECOND;
	scene_flow(s)->rwnd_us = 400000;
	scene_flow(s)->snd_wnd_bytes = 0;
}

static inline void agent_quota(struct scene *s)
{
	scene_reading(s, NODE, "cgroup", "system.slice/agent", "periods", 10, 10);
	scene_reading(s, NODE, "cgroup", "system.slice/agent", "throttled_periods", 9, 9);
	scene_reading(s, NODE, "cgroup", "system.slice/agent", "quota_millicpus", 100, 0);
}

/* What others on the machine try is not the path's. */
static inline void others_wait(struct scene *s)
{
	at_rest(s);
	scene_attempts(s, "198.51.100.7", 443, 20, 0);
	s->sample.attempts.v[0].ns = OVL_NS_MACHINE;
	scene_counter(s, NODE, "Udp", "NoPorts", 5);
	scene_traffic(s, TUNNEL, 0, 0, 600, 60);
}

#endif
