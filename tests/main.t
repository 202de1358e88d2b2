#!/usr/bin/env bash
# The line every user types, on the lab and on a twin, against independent truth.
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"
need_root
need python3 ip iperf3

TOPO=flannel-vxlan
NODE=ovl-$TOPO-node1
"$OVLTRACE" lab list 2>/dev/null | grep -q "^$TOPO" && skip_all "a lab $TOPO is up that this test did not make"
run "$OVLTRACE" lab up "$TOPO"
is "$RC" 0 "the lab comes up"
at_exit "'$OVLTRACE' lab down $TOPO"

# contract FILE NAME: what must hold in every document with a measured waterfall
contract() {
	local f=$1 name=$2
	is "$(json "$f" "d['schema']")" "ovltrace/1" "$name: schema"
	is "$(json "$f" "round(d['waterfall']['underlay_bps']) - round(d['waterfall']['overlay_bps']) - d['waterfall']['unexplained_bps'] - sum(t['bps'] for t in d['waterfall']['terms'])")" 0 \
		"$name: the waterfall adds up exactly"
	is "$(json "$f" "d['waterfall']['basis']")" "measured" "$name: the underlay is measured"
	is "$(json "$f" "d['waterfall']['ledger_error_ratio'] <= 0.03")" True \
		"$name: ledger error $(json "$f" "d['waterfall']['ledger_error_ratio']") is at most 0.03"
	is "$(json "$f" "d['cpu']['unclassified_ratio'] <= 0.05")" True \
		"$name: unclassified $(json "$f" "d['cpu']['unclassified_ratio']") is at most 0.05"
	is "$(json "$f" "d['load']['overlay']['goodput_bps'] > 1e8 and d['load']['underlay']['goodput_bps'] > 1e8")" True \
		"$name: goodput of underlay and overlay: $(json "$f" "[round(d['load'][p]['goodput_bps'] / 1e9, 2) for p in ('underlay', 'overlay')]") Gbit/s"
	is "$(json "$f" "d['self']['cpu_ratio'] is not None and d['self']['cpu_ratio'] <= 0.02")" True \
		"$name: own cost $(json "$f" "d['self']['cpu_ratio']") of the limiting CPU's busy time is at most 0.02"
	is "$(json "$f" "d['exit']['code']")" 0 "$name: exit code in the document"
	is "$(json "$f" "d['load']['disturbed']")" None "$name: not disturbed"
}

run "$OVLTRACE" --load iperf-like --iface flannel.1 --for 10 --json="$T/lab.json"
is "$RC" 0 "lab: exit 0"
contract "$T/lab.json" lab
is "$(json "$T/lab.json" "d['load']['peer_kind']")" lab "lab: peer kind"
is "$(json "$T/lab.json" "d['iface']['netns']")" "$NODE" "lab: the first node's interface was taken"
is "$(json "$T/lab.json" "d['iface']['vxlan']['vni'], d['iface']['mtu'], d['iface']['underlay']['mtu']")" "(1, 1450, 1500)" "lab: VNI and MTUs"
is "$(json "$T/lab.json" "bool({t['key'] for t in sorted(d['waterfall']['terms'], key=lambda t: -t['bps'])[:4]} & {'gso'})")" True \
	"lab without tunnel segmentation: software segmentation is among the largest rows: $(json "$T/lab.json" "[(t['key'], round(t['bps'] / 1e9, 2)) for t in d['waterfall']['terms'][:5]]")"
is "$(json "$T/lab.json" "d['verdict']['limit'] != 'unknown'")" True "lab: a verdict: $(json "$T/lab.json" "d['verdict']['sentence']")"

# a twin of a vxlan device of another name and VNI
TN=ovlt$$-twin
ip netns add "$TN"
at_exit "ip netns del $TN"
ip -n "$TN" link add dummy0 mtu 1500 type dummy 2>/dev/null || ip -n "$TN" link add dummy0 mtu 1500 type veth peer name dummy1
ip -n "$TN" addr add 192.0.2.1/24 dev dummy0
ip -n "$TN" link set dummy0 up
ip -n "$TN" link add ovx.7 type vxlan id 77 local 192.0.2.1 dev dummy0 dstport 4789 nolearning
ip -n "$TN" link set ovx.7 up
before=$(sysctl -a 2>/dev/null | grep -E '^net\.core\.' | sort)
run "$OVLTRACE" --load iperf-like --iface ovx.7 --for 10 --load-anyway --json="$T/twin.json"
is "$RC" 0 "twin: exit 0"
contract "$T/twin.json" twin
is "$(json "$T/twin.json" "d['load']['peer_kind']")" twin "twin: peer kind"
is "$(json "$T/twin.json" "d['iface']['vxlan']['vni']")" 77 "twin: the real interface's VNI is reported"
is "$(json "$T/twin.json" "d['traffic']['tx']['pkts'] + d['traffic']['rx']['pkts'] < 50")" True "twin: no generated packet crosses the real interface"
is "$(sysctl -a 2>/dev/null | grep -E '^net\.core\.' | sort)" "$before" "twin: no machine-wide setting was changed"

# third-party load, wholly inside the observed time: payload from the device's counters
ip netns exec "ovl-$TOPO-pod2" iperf3 -s -1 -p 5999 >/dev/null 2>&1 &
at_exit "kill $! 2>/dev/null"
POD2=$(ip -n "ovl-$TOPO-pod2" -4 -o addr show dev eth0 | awk '{sub("/.*", "", $4); print $4}')
"$OVLTRACE" --netns "$NODE" --iface flannel.1 --for 8 --json="$T/third.json" >/dev/null 2>"$T/err" &
PID=$!
sleep 2.5
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
	perf record -o "$T/perf.data" -k CLOCK_MONOTONIC -e cpu-clock -F 997 -a -g -- \
		"$OVLTRACE" --load iperf-like --iface flannel.1 --for 10 --json="$T/perf.json" \
		--record "$T/perf.ovl" >/dev/null 2>&1
	perf script -i "$T/perf.data" -F comm,pid,cpu,time,ip,sym 2>/dev/null |
		tests/perf_stages.py "$T/stages" "$T/perf.ovl" >"$T/shares"
	compare=$(tests/perf_compare.py "$T/perf.json" "$T/shares")
	ok $? "every stage above 3 % is within 3 points of perf's" "$compare"
	printf '%s\n' "$compare" | sed 's/^/# /'
else
	skip "perf record cannot run here: $(perf record -o /dev/null -e cpu-clock -a -- true 2>&1 | tail -1)"
fi
finish
