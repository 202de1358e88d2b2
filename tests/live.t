#!/usr/bin/env bash
# The watched world changes: peers, vanishing and sleeping interfaces, one name in several namespaces.
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"
need_root
need python3 ip

A=ovlt$$-a B=ovlt$$-b
ip netns add "$A" || skip_all "cannot make a namespace"
at_exit "ip netns del $A"
ip netns add "$B"
at_exit "ip netns del $B"
ip -n "$A" link add under type veth peer name under netns "$B"
n=0
for ns in "$A" "$B"; do
	n=$((n + 1))
	ip -n "$ns" addr add 192.0.2.$n/24 dev under
	ip -n "$ns" link set under up
	ip -n "$ns" link set lo up
	ip -n "$ns" link add ovy.3 type vxlan id 3 dev under local 192.0.2.$n dstport 4789 remote 192.0.2.$((3 - n))
	ip -n "$ns" addr add 198.51.100.$n/24 dev ovy.3
	ip -n "$ns" link set ovy.3 up
done

# one name in several namespaces
run "$OVLTRACE" --iface ovy.3 --for 1 --json
is "$RC" 7 "one name in two namespaces: exit 7"
like "$ERR" "$A.*$B|$B.*$A" "they are named"
like "$ERR" "--netns" "and how to choose"
is "$OUT" "" "nothing on stdout"

# a peer: overlay through the real interface, underlay to the host that --baseline names
start ip netns exec "$B" "$OVLTRACE" peer 2>"$T/peer.err"
PEER=$STARTED
wait_until grep -q listens "$T/peer.err"
like "$(cat "$T/peer.err")" "peer listens on all addresses port 5201" "the peer says where it listens"
run "$OVLTRACE" --netns "$A" --iface ovy.3 --load iperf-like --peer 198.51.100.2 --baseline 192.0.2.2 \
	--for 3 --json="$T/peer.json"
is "$RC" 0 "with a peer: exit 0"
SUM="sum(t['bps'] for t in d['waterfall']['terms']) + d['waterfall']['unexplained_bps']"
for expr in "d['load']['peer_kind'] == 'ovltrace'" "d['load']['overlay']['goodput_bps'] > 1e7" \
	"d['load']['underlay']['goodput_bps'] > 1e7" "d['waterfall']['basis'] == 'measured'" \
	"round(d['waterfall']['underlay_bps']) - round(d['waterfall']['overlay_bps']) == $SUM" \
	"d['traffic']['tx']['bytes'] > d['load']['overlay']['bytes']"; do
	is "$(json "$T/peer.json" "$expr")" True "with a peer: $expr"
done
start ip netns exec "$B" "$OVLTRACE" peer 2>"$T/second.err"
wait "$STARTED"
is $? 1 "a second peer on the port: exit 1"
like "$(cat "$T/second.err")" "port.*taken|in use" "and a sentence"
"$OVLTRACE" --netns "$A" --iface ovy.3 --load iperf-like --peer 198.51.100.2 --baseline off --for 60 \
	--json="$T/silent.json" --jsonl="$T/silent.jsonl" >/dev/null 2>"$T/silent.err" &
PID=$!
wait_until begun "$T/silent.jsonl" 1
kill -STOP "$PEER"
wait $PID
is $? 6 "a peer that hangs ends the run: exit 6"
like "$(cat "$T/silent.err")" "has said nothing for" "and says so"
kill -CONT "$PEER"
kill -TERM "$PEER"
wait "$PEER"
is $? 0 "SIGTERM ends the peer with 0"
run "$OVLTRACE" --netns "$A" --iface ovy.3 --load iperf-like --peer 198.51.100.2 --baseline off --for 2
is "$RC" 6 "nobody listens: exit 6"
like "$ERR" "ovltrace peer" "and how to start a peer"

# a reader that does not read must not keep a signal from ending the run
mkfifo "$T/fifo"
exec 7<>"$T/fifo"
# full: nothing more can be written to the pipe
full() { python3 -c 'import select, sys; sys.exit(bool(select.select([], [7], [], 0)[1]))'; }
"$OVLTRACE" --netns "$A" --iface ovy.3 -d 0.1 --for 60 --jsonl >"$T/fifo" 2>/dev/null &
PID=$!
wait_until full
ok $? "a reader that does not read: the pipe is full"
kill -TERM $PID
wait_until gone $PID
ok $? "SIGTERM ends a run whose reader does not read"
kill -9 $PID 2>/dev/null
wait $PID 2>/dev/null
exec 7<&-

# stopped and continued: no burst of empty intervals
"$OVLTRACE" --netns "$A" --iface ovy.3 --count 5 --jsonl >"$T/stopped.jsonl" 2>/dev/null &
PID=$!
wait_until begun "$T/stopped.jsonl" 1
kill -STOP $PID
sleep 3
kill -CONT $PID
wait $PID
python3 - "$T/stopped.jsonl" <<'PY'
import json, sys
ends = [d["duration_ns"] for d in map(json.loads, open(sys.argv[1])) if d["type"] == "sample"]
sys.exit(len(ends) != 5 or any(b - a < 5e8 for a, b in zip(ends, ends[1:])))
PY
ok $? "after SIGSTOP the intervals are whole again" "$(cut -c1-90 "$T/stopped.jsonl")"

# a tunnel without a VNI of its own has no twin
ip -n "$A" link add ovx.0 type vxlan external dstport 4999
ip -n "$A" link set ovx.0 up
run "$OVLTRACE" --netns "$A" --iface ovx.0 --load iperf-like --load-anyway --for 1
is "$RC" 7 "vxlan in metadata mode: exit 7"
like "$ERR" "fixed VNI has a twin.*--peer" "and why"

# down, then gone
ip -n "$A" link set ovy.3 down
run "$OVLTRACE" --netns "$A" --iface ovy.3 --load iperf-like --load-anyway --for 1
is "$RC" 7 "an interface that is down cannot be loaded: exit 7"
like "$ERR" "is down" "and why"
run "$OVLTRACE" --netns "$A" --iface ovy.3 --for 1 --json="$T/down.json"
is "$RC" 0 "but watched: exit 0"
is "$(json "$T/down.json" "d['verdict']['limit']")" no_traffic "with the verdict that nothing crosses it"
"$OVLTRACE" --netns "$A" --iface ovy.3 --for 60 --json="$T/gone.json" --jsonl="$T/gone.jsonl" \
	>/dev/null 2>"$T/gone.err" &
PID=$!
wait_until begun "$T/gone.jsonl" 2
ip -n "$A" link del ovy.3
wait $PID
is $? 7 "an interface that vanishes ends the run: exit 7"
like "$(cat "$T/gone.err")" "ovy.3 has vanished" "and says so"
is "$(json "$T/gone.json" "d['exit']['code'], d['duration_ns'] > 1e9")" "(7, True)" "what was measured is kept"
finish
