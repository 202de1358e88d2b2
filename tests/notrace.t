#!/bin/bash
# `--no-trace`: the load alone, without rights, in iperf3's words: its text, its JSON, its numbers.
# timeout: 240
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"
need iperf3 iperf python3 setpriv

port=$(free_ports 3)
ours=$port theirs=$((port + 1)) sink=$((port + 2))
PLAIN=()
if [ "$(id -u)" = 0 ]; then
	# a user who may read the program and nothing else; the tree may be where only root can look
	PLAIN=(setpriv --reuid=65534 --regid=65534 --clear-groups --bounding-set=-all --inh-caps=-all)
	cp "$OVLTRACE" "$T/ovltrace"
	OVLTRACE=$T/ovltrace
	chmod 755 "$T"
	mkdir "$T/own"
	chown 65534:65534 "$T/own"
else
	mkdir "$T/own"
fi
D=$T/own

serve ours "$ours" "$OVLTRACE" peer --bind 127.0.0.1 --port "$ours"
serve theirs "$theirs" iperf3 -s -B 127.0.0.1 -p "$theirs"
server=$STARTED
serve sink "$sink" iperf -s -B 127.0.0.1 -p "$sink"

# load SPEC PORT ARGS…: a load without rights
load() {
	local spec=$1 at=$2
	shift 2
	run timeout 30 "${PLAIN[@]}" "$OVLTRACE" --no-trace --load "$spec" --peer "127.0.0.1:$at" "$@"
}

# apart: how far sender and receiver of the last [SUM] or only stream are apart in iperf3's document
ENDS='(lambda s, r: "%.2f %% apart" % (100 * abs(s - r) / s) if s > 1e6 else "nothing")(
	d["end"]["sum_sent"]["bytes"], d["end"]["sum_received"]["bytes"])'

# near NAME ARGS…: both ends agree within 1 %; a machine that stalls at an edge gets another try
near() {
	local name=$1 try said
	shift
	for try in 1 2 3; do
		load iperf-like "$@" --json-iperf3="$D/j"
		said=$(json "$D/j" "$ENDS" 2> /dev/null)
		[[ $RC = 0 && $said =~ ^0\. ]] && break
	done
	[[ $RC = 0 && $said =~ ^0\. ]]
	ok $? "$name (try $try): $said" "$RC $OUT$ERR"
}

near "to an ovltrace peer" "$ours" -t 1
like "$OUT" "Connecting to host 127.0.0.1, port $ours" "text as iperf3's: the far end"
like "$OUT" "\[ ID\] Interval           Transfer     Bitrate         Retr  Cwnd         RTT" "the head"
row='\[ *[0-9]+\]   0\.00-1\.[0-9]{2}   sec +[0-9.]+ [MG]Bytes +[0-9.]+ [MG]bits/sec +[0-9]+ '
row+='+[0-9.]+ [KM]Bytes +[0-9.]+ [um]s'
like "$OUT" "$row" "a row with RTT"
like "$OUT" "[0-9.]+ [MG]Bytes +[0-9.]+ [MG]bits/sec +[0-9]+             sender" "what the sender counts"
like "$OUT" "[0-9.]+ [MG]Bytes +[0-9.]+ [MG]bits/sec                  receiver" "and the receiver"
near "four streams, omitted start" "$ours" -t 1 -P 4 -O 1
is "$(grep -c '^\[SUM\]' <<< "$OUT")" 4 "two intervals and two summaries have a sum"
is "$(grep -c '(omitted)$' <<< "$OUT")" 5 "the omitted interval is marked"
near "from an ovltrace peer" "$ours" -t 1 -R
like "$OUT" "Reverse mode, remote host 127.0.0.1 is sending" "reverse is said"
unlike "$(grep -v 'sender\|receiver' <<< "$OUT")" "Retr  Cwnd" "no Retr, Cwnd and RTT while receiving"
near "to an iperf3 server" "$theirs" -t 1
near "streams and omitted start, to an iperf3 server" "$theirs" -t 1 -P 2 -O 1
near "from an iperf3 server" "$theirs" -t 1 -R -P 2 -O 1
near "bounded" "$theirs" -t 2 -b 20M -d 0.5
like "$(json "$D/j" 'd["end"]["sum_received"]["bits_per_second"] / 1e6')" "^(19|20|21)\." "as asked for"
is "$(json "$D/j" 'len(d["intervals"])')" 4 "an interval each half second"
near "one second with a smaller segment and a window" "$ours" -t 1 -M 1000 -w 256K -l 16K
is "$(json "$D/j" 'd["start"]["tcp_mss_default"] <= 1000 and d["start"]["sock_bufsize"]')" 262144 \
	"both are in the document"

# --load iperf3: its text letter for letter but for the numbers
# shape: numbers and units away, and blanks that only numbers make
shape() { sed -E 's/[0-9]+(\.[0-9]+)?/N/g; s/[KMGT]?(Bytes|bits)/\1/g; s/  +/ /g; s/ +$//'; }
for args in "-t 1" "-t 1 -R -P 2 -O 1"; do
	# shellcheck disable=SC2086
	for at in "$theirs" "$ours"; do
		iperf3 -f m -c 127.0.0.1 -p "$at" $args > "$T/real"
		load iperf3 "$at" $args
		is "$(shape <<< "$OUT")" "$(shape < "$T/real")" "--load iperf3 $args, port $at: text as iperf3's"
	done
done
load iperf3 "$ours" -t 1 --json="$D/own" --json-iperf3="$D/j"
is "$RC $(json "$D/own" '"%s %s" % (d["load"]["kind"], d["load"]["peer_kind"])')" "0 iperf3 iperf3" \
	"an ovltrace peer is an iperf3 server then"
like "$(json "$D/j" "$ENDS")" "^0\." "and both ends agree"
is "$(json "$D/j" 'd["start"]["cookie"].startswith("ovltrace")')" False "the cookie is as any iperf3's"

# iperf3's own view of the same test
near "to an iperf3 server once more" "$theirs" -t 1
got=$(json "$D/j" 'd["end"]["sum_received"]["bytes"] / 1048576')
seen=$(grep receiver "$T/theirs" | tail -1)
is "$(python3 -c '
import re, sys
unit = {"K": 1 / 1024, "M": 1, "G": 1024}
v, u = re.search(r"sec +([0-9.]+) ([KMG])Bytes", sys.argv[2]).groups()
print(abs(float(v) * unit[u] / float(sys.argv[1]) - 1) < 0.01)' "$got" "$seen")" True \
	"the server's text says the same: $seen"

# tree FILE: its members and their kinds
tree() {
	python3 -c '
import json, sys
def walk(d, path):
    if isinstance(d, dict):
        for k, v in d.items():
            walk(v, path + "." + k)
    elif isinstance(d, list):
        for v in d:
            walk(v, path + "[]")
    else:
        kind = type(d).__name__
        print(path, "number" if kind in ("int", "float") else kind)
walk(json.load(open(sys.argv[1])), "")' "$1" | sort -u
}
# lack ARGS…: what a real iperf3 says with these options and ours does not, to LACK
lack() {
	iperf3 -J -c 127.0.0.1 -p "$theirs" "$@" > "$T/real"
	near "as iperf3 -J $*" "$theirs" "$@"
	tree "$T/real" > "$T/real.tree"
	tree "$D/j" > "$T/ours.tree"
	LACK=$(comm -23 "$T/real.tree" "$T/ours.tree")
}
lack -t 1 -P 2 -O 1
is "$LACK" "" "each member of iperf3 -J is there, of the same kind"
lack -t 1 -R
# of the far end's sockets iperf3 writes 0, which it has not measured: null
is "$LACK" '.end.streams[].sender.max_rtt number
.end.streams[].sender.max_snd_cwnd number
.end.streams[].sender.max_snd_wnd number
.end.streams[].sender.mean_rtt number
.end.streams[].sender.min_rtt number' "reverse: but for what nobody measures"

# the contract's document
load iperf-like "$ours" -t 1 -P 2 --json
doc=$T/out
is "$(json "$doc" '"%s %s %s" % (d["load"]["kind"], d["load"]["peer_kind"], d["load"]["streams"])')" \
	"iperf-like ovltrace 2" "--json: the load"
is "$(json "$doc" 'd["load"]["overlay"]["goodput_bps"] > 1e8 and
	d["load"]["overlay"]["rtt_ns"]["p50"] > 0 and d["load"]["overlay"]["cpu_ns_per_kib"]["receiver"] > 0')" \
	True "goodput, round trips and CPU of both ends"
is "$(json "$doc" '[d["load"]["overlay"]["ctx_switches_per_mib"][side]["voluntary"] >= 0
	for side in ("sender", "receiver")]')" "[True, True]" "context switches of both ends"
is "$(json "$doc" '[k for k in ("iface", "traffic", "waterfall", "cpu", "paths", "segmentation",
	"latency", "drops", "counters", "flows", "findings") if d[k] is not None]')" "[]" \
	"what was not measured is null"
is "$(json "$doc" '{site["basis"] for site in d["copies"]["sites"]}, d["copies"]["per_pkt"]')" \
	"({'arithmetic'}, None)" "of copies only what arithmetic tells"
is "$(json "$doc" '"%s %s" % (d["verdict"]["limit"], d["exit"]["reason"])')" "unknown done" "no verdict"
load iperf2 "$sink" -t 1 --json
is "$(json "$T/out" '"%s %s" % (d["load"]["peer_kind"], d["load"]["overlay"]["cpu_ns_per_kib"]["receiver"])')" \
	"sink None" "a raw receiver: its CPU is not known"
is "$(json "$T/out" 'd["load"]["overlay"]["ctx_switches_per_mib"]["receiver"]')" None "nor its context switches"
load iperf2 "$sink" -t 1
like "$OUT" "sec     -            -                            receiver" "nor what it got: a dash"

# ends
start "${PLAIN[@]}" "$OVLTRACE" --no-trace --load iperf-like --peer "127.0.0.1:$ours" -t 60 > "$T/int" 2>&1
for ((i = 0; i < 100; i++)); do
	grep -q "0.00-1" "$T/int" && break
	sleep 0.1
done
ok "$([ "$i" -lt 100 ]; echo $?)" "lines are written as they come"
kill -INT "$STARTED"
wait "$STARTED"
is "$?" 0 "^C: exit code 0"
like "$(cat "$T/int")" "bits/sec                  receiver" "and the summary"
load iperf-like "$theirs" -t 1 -O 0.5
is "$RC $(grep -c ' -            - ' <<< "$OUT")" "0 1" \
	"an iperf3 server leaves out whole seconds only: its count is not known then"
unlike "$OUT" "disagree" "and not compared"
start "${PLAIN[@]}" "$OVLTRACE" --no-trace --load iperf-like --peer "127.0.0.1:$theirs" -t 9 -O 9 > "$T/int" 2>&1
wait_until grep -q "0.00-1" "$T/int"
kill -INT "$STARTED"
wait "$STARTED"
is "$? $(grep -c disagree "$T/int")" "0 0" "nor when ^C comes within the omitted start"

# an iperf3 server that is ended meanwhile
start "${PLAIN[@]}" "$OVLTRACE" --no-trace --load iperf-like --peer "127.0.0.1:$theirs" -t 30 \
	--json-iperf3="$D/j" > "$T/lost" 2> "$T/lost.err"
for ((i = 0; i < 100; i++)); do
	grep -q "0.00-1" "$T/lost" && break
	sleep 0.1
done
kill "$server"
wait "$STARTED"
is "$?" 6 "a far end that goes away: exit code 6"
like "$(cat "$T/lost")" "sec +[0-9.]+ [MG]Bytes.* sender" "with what was measured until then"
is "$(json "$D/j" '"error" in d and len(d["intervals"]) > 0')" True "also in the document"
load iperf-like "$theirs" -t 1
is "$RC" 6 "nobody there: exit code 6"
one_sentence "nobody there"

# what makes no sense
usage() {
	local want=$1
	shift
	run "$OVLTRACE" "$@"
	is "$RC" 2 "$*: exit code 2"
	like "$ERR" "$want" "and why"
}
usage "needs --load" --no-trace
usage "and --peer" --no-trace --load iperf-like
usage "leaves out" --no-trace --load iperf-like --peer x --jsonl="$D/x"
usage "no part in it" --no-trace --load iperf-like --peer x --baseline y
usage "belong to an --iface" --no-trace --load iperf-like --peer x --from y
usage "can be asked to send" --no-trace --load iperf2 --peer x -R
usage "needs --load" --json-iperf3
usage "cannot share stdout" --no-trace --load iperf-like --peer x --json --json-iperf3
touch "$D/same"
usage "are the same file" --no-trace --load iperf-like --peer 127.0.0.1 --json="$D/same" --json-iperf3="$D/same"
finish
