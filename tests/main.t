#!/usr/bin/env bash
# The line every user types, on the lab and on a twin, against independent truth.
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"
need_root
need python3 ip iperf3 ethtool

TOPO=flannel-vxlan
NODE=ovl-$TOPO-node1
"$OVLTRACE" lab list 2>/dev/null | grep -q "^$TOPO" &&
	skip_all "a lab $TOPO is up that this test did not make"
run "$OVLTRACE" lab up "$TOPO"
is "$RC" 0 "the lab comes up"
at_exit "'$OVLTRACE' lab down $TOPO"

# truth FILE NAME EXPR…: each python expression over the document `d` holds
truth() {
	local file=$1 name=$2 expr
	shift 2
	for expr; do is "$(json "$file" "$expr")" True "$name: $expr"; done
}

SUM="sum(t['bps'] for t in d['waterfall']['terms']) + d['waterfall']['unexplained_bps']"
# measure FILE ARGS…: run with load until the machine let the sampler and the queues work undisturbed,
# five times at most; the last run is judged, and its own cost is no reason to try again
measure() {
	local file=$1 try
	shift
	for try in 1 2 3 4 5; do
		run "$OVLTRACE" --load iperf-like --for 10 --json="$file" "$@"
		[ "$RC" = 0 ] || return
		[ "$(json "$file" "$QUIET")" = True ] && return
		echo "# try $try: ledger error, disturbed: $(json "$file" "$WHY")"
	done
}
QUIET="(d['waterfall']['ledger_error_ratio'] or 1) <= 0.03 and not d['load']['disturbed']"
WHY="d['waterfall']['ledger_error_ratio'], d['load']['disturbed']"

# contract FILE NAME: what must hold in every document with a measured waterfall
contract() {
	truth "$1" "$2" \
		"d['schema'] == 'ovltrace/1'" \
		"d['waterfall']['basis'] == 'measured'" \
		"round(d['waterfall']['underlay_bps']) - round(d['waterfall']['overlay_bps']) == $SUM" \
		"d['waterfall']['ledger_error_ratio'] <= 0.03" \
		"d['cpu']['unclassified_ratio'] <= 0.05" \
		"d['load']['overlay']['goodput_bps'] > 1e8" \
		"d['load']['underlay']['goodput_bps'] > 1e8" \
		"d['self']['cpu_ratio'] <= 0.02" \
		"d['load']['disturbed'] is None" \
		"d['verdict']['limit'] != 'unknown'" \
		"d['exit']['code'] == 0"
	json "$1" "'# ' + ', '.join('%s %.3g' % x for x in (
		('underlay Gbit/s', d['load']['underlay']['goodput_bps'] / 1e9),
		('overlay', d['load']['overlay']['goodput_bps'] / 1e9),
		('ledger error', d['waterfall']['ledger_error_ratio']),
		('unclassified', d['cpu']['unclassified_ratio']),
		('own cost', d['self']['cpu_ratio']))) + ', ' + d['verdict']['sentence']"
}

measure "$T/lab.json" --iface flannel.1
is "$RC" 0 "lab: exit 0"
contract "$T/lab.json" lab
# without tunnel segmentation, segmentation and aggregation or decap are the largest stages that the
# underlay hardly has; what runs on any path (IP, copies) is not new, though one run of the underlay
# may show little of it: samples skid from copies to the guest's exits
NEW="[s['key'] for s in d['cpu']['stages'] if s['underlay_ns_per_kib'] < (s['ns_per_kib'] or 0) / 5
	and s['key'] not in ('ip', 'copy_from_user', 'copy_to_user')]"
truth "$T/lab.json" lab \
	"d['load']['peer_kind'] == 'lab'" \
	"d['iface']['netns'] == '$NODE'" \
	"(d['iface']['vxlan']['vni'], d['iface']['mtu'], d['iface']['underlay']['mtu']) == (1, 1450, 1500)" \
	"'gso' in ($NEW)[:2]" \
	"'gro' in ($NEW)[:2] or 'vxlan_decap' in ($NEW)[:2]"
json "$T/lab.json" "'# new over the overlay: ' + ', '.join($NEW)"

# a twin of a vxlan device of another name and VNI
TN=ovlt$$-twin
ip netns add "$TN"
at_exit "ip netns del $TN"
ip -n "$TN" link add dummy0 mtu 1500 type veth peer name dummy1
ip -n "$TN" addr add 192.0.2.1/24 dev dummy0
ip -n "$TN" link set dummy0 up
# as the lab's NIC: a CPU that is full in both turns is what the ledger can be judged by here
ip netns exec "$TN" ethtool -K dummy0 tx-udp_tnl-segmentation off tx-udp_tnl-csum-segmentation off
ip -n "$TN" link add ovx.7 type vxlan id 77 local 192.0.2.1 dev dummy0 dstport 4789 nolearning
ip -n "$TN" link set ovx.7 up
settings() { sysctl -a 2>/dev/null | grep -E '^net\.core\.' | sort; }
before=$(settings)
measure "$T/twin.json" --iface ovx.7 --load-anyway
is "$RC" 0 "twin: exit 0"
contract "$T/twin.json" twin
truth "$T/twin.json" twin \
	"d['load']['peer_kind'] == 'twin'" \
	"d['iface']['vxlan']['vni'] == 77" \
	"d['traffic']['tx']['pkts'] + d['traffic']['rx']['pkts'] < 50"
is "$(settings)" "$before" "twin: no machine-wide setting was changed"

# third-party load, wholly inside the observed time: payload from the device's counters
ip netns exec "ovl-$TOPO-pod2" iperf3 -s -1 -p 5999 >/dev/null 2>&1 &
at_exit "kill $! 2>/dev/null"
POD2=$(ip -n "ovl-$TOPO-pod2" -4 -o addr show dev eth0 | awk '{ sub("/.*", "", $4); print $4 }')
"$OVLTRACE" --netns "$NODE" --iface flannel.1 --for 8 --json="$T/third.json" \
	--jsonl="$T/third.jsonl" >/dev/null 2>"$T/err" &
PID=$!
wait_until listens "ovl-$TOPO-pod2" 5999
wait_until begun "$T/third.jsonl" 1
ip netns exec "ovl-$TOPO-pod1" iperf3 -c "$POD2" -p 5999 -t 3 -J >"$T/iperf.json" 2>&1
wait $PID
is $? 0 "third-party load: exit 0"
SENT=$(json "$T/iperf.json" "d['end']['sum_received']['bytes']")
PAYLOAD=$(json "$T/third.json" "d['traffic']['tx']['bytes'] - 52 * d['traffic']['tx']['pkts']")
python3 -c "import sys; sys.exit(abs($PAYLOAD / $SENT - 1) > 0.01)"
ok $? "iperf3's bytes within 1 %: $PAYLOAD of $SENT"
is "$(json "$T/third.json" "d['waterfall']")" None "no load of ours: no waterfall"
is "$(json "$T/third.json" "len(d['cpu']['stages']) > 5")" True "no load of ours: the stages are there"

# perf record of the same seconds, classified by another program with the same table
if perf record -o /dev/null -e cpu-clock -a -- true >/dev/null 2>&1; then
	"$OVLTRACE" list stages >"$T/stages"
	for try in 1 2 3; do # two profilers disagree by chance as well
		perf record -o "$T/perf.data" -k CLOCK_MONOTONIC -e cpu-clock -F 997 -a -g -- \
			"$OVLTRACE" --load iperf-like --iface flannel.1 --for 10 --json="$T/perf.json" \
			--record "$T/perf.ovl" >/dev/null 2>&1
		perf script -i "$T/perf.data" -F comm,pid,cpu,time,ip,sym 2>/dev/null |
			tests/perf_stages.py "$T/stages" "$T/perf.ovl" >"$T/shares"
		compare=$(tests/perf_compare.py "$T/perf.json" "$T/shares") && break
		printf 'try %s: %s\n' "$try" "$compare" | sed 's/^/# /'
	done
	tests/perf_compare.py "$T/perf.json" "$T/shares" >/dev/null
	ok $? "every stage above 3 % is within 3 points of perf's" "$compare"
	printf '%s\n' "$compare" | sed 's/^/# /'
else
	skip "perf record cannot run here: $(perf record -o /dev/null -e cpu-clock -a -- true 2>&1 | tail -1)"
fi
finish
