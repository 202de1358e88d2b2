#!/bin/bash
# The profiler's load with stock far ends, between two namespaces joined by a vxlan of their own.
# needs: root
# timeout: 300
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"
need_root
need ip iperf3 iperf python3
ns=ovl-test-far-$$

ip netns add "$ns-a" && ip netns add "$ns-b"
at_exit "ip netns del $ns-a; ip netns del $ns-b"
ip link add under0 netns "$ns-a" type veth peer name under0 netns "$ns-b"
for side in a b; do
	[ $side = a ] && n=1 || n=2
	ip -n "$ns-$side" link set lo up
	ip -n "$ns-$side" addr add "192.0.2.$n/24" dev under0
	ip -n "$ns-$side" link set under0 up
	ip -n "$ns-$side" link add over0 type vxlan id 77 dstport 8472 local "192.0.2.$n" \
		remote 192.0.2.$((3 - n)) dev under0
	ip -n "$ns-$side" addr add "198.51.100.$n/24" dev over0
	ip -n "$ns-$side" link set over0 up
done
ok $? "two namespaces and a vxlan"

# far PORT CMD…: a server in b
far() {
	local port=$1
	shift
	start ip netns exec "$ns-b" "$@" > "$T/far" 2>&1
	wait_until listens "$ns-b" "$port"
}
gone() {
	kill "$1"
	wait "$1"
} 2> /dev/null

# look EXPR ARGS…: run ovltrace, then a value of its document
look() {
	local expr=$1
	shift
	run timeout 60 "$OVLTRACE" --iface over0 --netns "$ns-a" --load iperf-like --for 2 \
		--json="$T/json" "$@"
	SAID=$(json "$T/json" "$expr" 2> /dev/null)
}
PEER='"%s %s %s" % (d["load"]["peer_kind"], d["load"]["overlay"]["goodput_bps"] > 1e7,
	d["load"]["overlay"]["cpu_ns_per_kib"]["receiver"])'

far 5201 iperf3 -s -B 198.51.100.2
server=$STARTED
look "$PEER" --peer 198.51.100.2 -O 0.2
is "$RC $SAID" "0 iperf3 True None" "an iperf3 server: known, used, its CPU time unknown"
like "$ERR" "received [0-9]{6,} bytes in all, (99|100)\.[0-9]+ % of those acknowledged" \
	"its own count is ours"
like "$(json "$T/json" 'd["load"]["where"]')" "acknowledged .iperf3." "how bytes were counted is said"
like "$ERR" "no underlay to compare with: nothing answers" "so is that the underlay has no server"
far 5201 iperf3 -s -B 192.0.2.2
look 'd["waterfall"]["basis"]' --peer 198.51.100.2
is "$RC $SAID" "0 measured" "with a second server the underlay is measured"
is "$(grep -c 'iperf3 server at the end' <<< "$ERR")" 2 "both servers' counts are told"
gone "$STARTED"
look 'round(d["load"]["overlay"]["goodput_bps"] / 1e6)' --peer 198.51.100.2 -b 100M
[ "$RC" = 0 ] && [ "${SAID:-0}" -gt 90 ] && [ "$SAID" -lt 105 ]
ok $? "-b 100M: $SAID Mbit/s" "$ERR"
look '"%s %s" % (d["load"]["kind"], d["load"]["peer_kind"])' --load iperf3 --peer 198.51.100.2
is "$RC $SAID" "0 iperf3 iperf3" "--load iperf3: its protocol alone"
# FROM_FAR: who sent, what arrived, and what only the sender's side would know
FROM_FAR='"%s %s %s %s" % (d["load"]["peer_kind"], d["load"]["overlay"]["goodput_bps"] > 1e7,
	d["load"]["overlay"]["cpu_ns_per_kib"]["sender"], d["load"]["overlay"]["cpu_ns_per_kib"]["receiver"] > 0)'
look "$FROM_FAR" --peer 198.51.100.2 -R
is "$RC $SAID" "0 iperf3 True None True" "-R from an iperf3 server: counted here, its CPU unknown"
like "$ERR" "sends all the time.*sent [0-9]{6,} bytes in all, (9[0-9]|100)\.[0-9]+ % of those received" \
	"that there are no turns is said, and what it counted"
run "$OVLTRACE" --iface over0 --netns "$ns-a" --load iperf-like --peer 198.51.100.2 --rx trunc
like "$RC $ERR" "^6 .*no .ovltrace peer." "--rx trunc is not promised for an iperf3 server"
gone "$server"

far 5201 "$OVLTRACE" peer
server=$STARTED
look "$FROM_FAR" --peer 198.51.100.2 -R -P 2
is "$RC $SAID" "0 ovltrace True None True" "-R from an ovltrace peer"
is "$(json "$T/json" '"%s %s %s" % (d["waterfall"]["basis"], d["load"]["underlay"]["goodput_bps"] > 1e7,
	d["load"]["cpus"]["sender"])')" "measured True None" "which takes turns: the underlay is measured"
is "$(json "$T/json" '[d["load"]["overlay"][k] for k in ("retransmits", "rtt_ns", "cwnd_segs")]')" \
	"[None, None, None]" "what only its TCP knows is unknown"
like "$(json "$T/json" 'd["verdict"]["limit"]')" "^receiver_|^unknown" "this side receives"
is "$(json "$T/json" '[d["load"]["congestion"], d["config"]["congestion"]]')" "[None, \"far end's\"]" \
	"nor its congestion control"
like "$(json "$T/json" 'd["load"]["where"]')" "^from 198.51.100.2 over over0, its underlay in turns; sent by" \
	"it is said who sends"
look '"%s %s" % (d["load"]["kind"], d["load"]["peer_kind"])' --load iperf3 --peer 198.51.100.2
is "$RC $SAID" "0 iperf3 iperf3" "asked plainly it answers as an iperf3 server"
gone "$server"

# one test is one look
far 5201 iperf3 -s -1 -B 198.51.100.2
look "$PEER" --peer 198.51.100.2
like "$RC $ERR" "^6 .*ended after the first look.*start it without -1" "iperf3 -s -1: what to do is said"
look "$PEER" --load iperf3 --peer 198.51.100.2
like "$RC $ERR" "^6 .*start .iperf3 -s -p 5201." "nobody listens: --load iperf3 names its own server"

far 5001 iperf -s
look "$PEER" --load iperf2 --peer 198.51.100.2:5001
is "$RC $SAID" "0 sink True None" "iperf 2's server, which is not asked"
gone "$STARTED"

# what the two copies cost is seen by leaving them out
COPIES='"%s %s" % tuple(any((s["ns_per_kib"] or 0) + (s["underlay_ns_per_kib"] or 0) > 1.5
	for s in d["cpu"]["stages"] if s["key"] == k) for k in ("copy_from_user", "copy_to_user"))'
for way in "copy copy True True" "zerocopy copy False True" "copy trunc True False"; do
	read -r tx rx want <<< "$way"
	# a profile of a few hundred samples: a busy machine may need another
	for _ in 1 2 3; do
		look "$COPIES" --load-anyway --for 4 --tx "$tx" --rx "$rx"
		[ "$RC $SAID" != "0 $want" ] || break
	done
	is "$RC $SAID" "0 $want" "a twin, --tx $tx --rx $rx: which copies the profile shows"
done

look '"%s %s" % (d["load"]["where"].split(",")[-1], d["config"]["reverse"])' --load-anyway -R
is "$RC $SAID" "0  from the far node to this one true" "a twin, the other way round"
finish
