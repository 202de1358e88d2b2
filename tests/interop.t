#!/bin/bash
# The interop matrix: Debian's iperf3 and iperf 2, as client of `ovltrace peer` and as server of our load,
# in each mode. A cell is good when the test ends well and both ends' byte counts are within 1 %.
# Cells with our server run beside those with our client: two lanes.
# timeout: 300
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"
need iperf3 iperf python3
v3=$(iperf3 --version | sed -n '1s/[^0-9]*\([0-9.]*\).*/\1/p')
v2=$(iperf --version 2>&1 | sed -n 's/iperf version \([0-9.]*\).*/\1/p')

port=$(free_ports 3)
serve ours "$port" "$OVLTRACE" peer --port "$port"
peer=$STARTED
serve iperf3 $((port + 1)) iperf3 -s -p $((port + 1))
serve iperf2 $((port + 2)) iperf -s -p $((port + 2)) -f b -y C

# ends FILE: what an iperf3 document says of both ends
ends() {
	json "$1" '(lambda e: "%d sent, %d received, %.2f %% apart, %d streams, %.1f s, %s retransmits, %s" % (
		e["sum_sent"]["bytes"], e["sum_received"]["bytes"],
		100 * abs(e["sum_sent"]["bytes"] - e["sum_received"]["bytes"]) / max(1, e["sum_sent"]["bytes"]),
		len(e["streams"]), e["sum_received"]["seconds"], e["sum_sent"].get("retransmits"),
		e.get("sender_tcp_congestion")))(d["end"])' 2> /dev/null
}
# lines FILE: how many iperf 2 clients it knows
lines() { grep -c "$1" "$2"; }
more() { [ "$(lines "$1" "$2")" -ge "$3" ]; }
# apart A B: two byte counts as `ends` says them
apart() {
	awk -v a="$1" -v b="$2" 'BEGIN { d = a - b
		share = 100 * (d < 0 ? -d : d) / (a > 0 ? a : 1)
		printf "%.0f sent, %.0f received, %.2f %% apart, iperf 2", a, b, share }'
}
# sum_csv: bytes of all connections in iperf 2's lines, of which one may be their sum
sum_csv() { awk -F, 'NF > 7 && $6 > 0 { n += $8 } END { printf "%.0f", n }'; }
# plain_bytes: "658.0M" to a number
plain_bytes() {
	awk '{ match($0, /received [0-9.]+[kMG]?/); s = substr($0, RSTART + 9, RLENGTH - 9)
		n += s * (s ~ /G/ ? 1e9 : s ~ /M/ ? 1e6 : s ~ /k/ ? 1e3 : 1) } END { printf "%.0f", n }'
}

# the four ways to run a cell; SAID gets what both ends say
iperf3_client() {
	run timeout 30 iperf3 -J -c 127.0.0.1 -p "$port" "$@"
	SAID=$(ends "$T/out")
}
iperf3_server() {
	run timeout 30 "$OVLTRACE" --no-trace --load iperf3 --peer "127.0.0.1:$((port + 1))" --json-iperf3 "$@"
	SAID=$(ends "$T/out")
}
iperf2_client() {
	local streams before
	streams=$(sed -n 's/.*-P \([0-9]*\).*/\1/p' <<< "$*")
	before=$(lines " raw " "$T/ours")
	run timeout 30 iperf -c 127.0.0.1 -p "$port" -f b -y C "$@"
	wait_until more " raw " "$T/ours" $((before + ${streams:-1})) || RC=no
	SAID=$(apart "$(sum_csv <<< "$OUT")" \
		"$(grep ' raw ' "$T/ours" | tail -n +$((before + 1)) | plain_bytes)")
}
iperf2_server() {
	local streams before
	streams=$(sed -n 's/.*-P \([0-9]*\).*/\1/p' <<< "$*")
	before=$(lines , "$T/iperf2")
	run timeout 30 "$OVLTRACE" --no-trace --load iperf2 --peer "127.0.0.1:$((port + 2))" --json-iperf3 "$@"
	wait_until more , "$T/iperf2" $((before + ${streams:-1})) || RC=no
	SAID=$(apart "$(json "$T/out" 'd["end"]["sum_sent"]["bytes"]' 2> /dev/null)" \
		"$(tail -n +$((before + 1)) "$T/iperf2" | sum_csv)")
}

# meet ROLE ARGS WANT: a machine that stalls at the very end of a second is given another try
meet() {
	local role=$1 args=$2 want=$3 try version=$v3
	[[ $role == iperf2* ]] && version=$v2
	for try in 1 2 3; do
		# shellcheck disable=SC2086
		$role $args
		[[ $RC = 0 && $SAID =~ \ 0\.[0-9]+\ %\ apart && $SAID =~ $want ]] && break
	done
	NAME="${role/_/ as } $version, $args (try $try): $SAID"
	[[ $RC = 0 && $SAID =~ \ 0\.[0-9]+\ %\ apart && $SAID =~ $want ]]
}
cell() {
	meet "$@"
	ok $? "$NAME" "$RC $OUT$ERR"
}
# lane WANT ROLE ARGS [ROLE ARGS]: a mode's cells with one of our two ends, beside those with the other.
# Says them as TAP without numbers.
lane() {
	local want=$1 result
	T=$T/$2
	mkdir -p "$T"
	for shared in ours iperf3 iperf2; do ln -sf "../$shared" "$T/$shared"; done
	shift
	while [ $# -gt 0 ]; do
		if [ "$2" = - ]; then
			echo "# $1: not in that protocol"
		else
			result=ok
			meet "$1" "$2" "$want" || result="not ok"
			echo "$result $NAME"
			[ "$result" = ok ] || printf '%s\n' "$RC $OUT$ERR" | head -20 | sed 's/^/# /'
		fi
		shift 2
	done
}
# told FILE: what a lane said, numbered
told() {
	local line
	while IFS= read -r line; do
		case $line in
		"ok "*) ok 0 "${line#ok }" ;;
		"not ok "*) ok 1 "${line#not ok }" ;;
		*) echo "$line" ;;
		esac
	done < "$1"
}

# mode: iperf3 as client | iperf3 as server | iperf 2 as client | iperf 2 as server | what all of them say
# `-`: the mode is not in that protocol (iperf 2 has no control connection: nothing to ask for -R or -O)
while IFS='|' read -r mode c3 s3 c2 s2 want; do
	[ -n "$mode" ] || continue
	echo "# $mode"
	(lane "$want" iperf3_client "$c3" iperf2_client "$c2") > "$T/clients" &
	clients=$!
	(lane "$want" iperf3_server "$s3" iperf2_server "$s2") > "$T/servers"
	wait "$clients"
	told "$T/clients"
	told "$T/servers"
done <<- END
	plain|-t 1|-t 1|-t 1|-t 1|
	time|-t 2|-t 2|-t 2|-t 2|
	streams|-t 1 -P 4|-t 1 -P 4|-t 1 -P 4|-t 1 -P 4| 4 streams|iperf 2
	most streams|-t 1 -P 128|-t 1 -P 128|-|-| 128 streams
	reverse|-t 1 -R|-t 1 -R|-|-| [0-9]+ retransmits
	reverse, streams|-t 1 -R -P 3|-t 1 -R -P 3|-|-| 3 streams
	omitted start|-t 1 -O 1|-t 1 -O 1|-|-| (0\\.9|1\\..) s
	omitted start, reverse|-t 1 -O 1 -R|-t 1 -O 1 -R|-|-| (0\\.9|1\\..) s
	bytes|-n 100M|-|-n 100M|-| (104[0-9]{6}) received
	blocks|-k 100|-|-|-| 13107200 received
	small writes|-t 1 -l 4K|-t 2 -l 4K|-t 1 -l 4K|-t 1 -l 4K|
	window|-t 1 -w 256K|-t 1 -w 256K|-t 1 -w 256K|-t 1 -w 256K|
	segment size|-t 1 -M 1000|-t 1 -M 1000|-t 1 -M 1000|-t 1 -M 1000|
	congestion control|-t 1 -C reno|-t 1 -C reno|-t 1 -Z reno|-t 1 -C reno| reno|iperf 2
	congestion control, reverse|-t 1 -C reno -R|-t 1 -C reno -R|-|-| reno
	rate|-t 1 -b 200M|-t 1 -b 200M|-t 1 -b 200M|-t 1 -b 200M|^2[4-9][0-9]{6} sent
	rate, reverse|-t 1 -b 200M -R|-t 1 -b 200M -R|-|-|^2[4-9][0-9]{6} sent
	without the sender's copy|-t 1 -Z|-t 1 --tx zerocopy|-|-t 1 --tx zerocopy|
END

# --skip-rx-copy (iperf3 3.19) only asks the receiver for something: a client that asks, by hand
cat > "$T/skip.py" <<- 'END'
	import json, socket, struct, sys
	def dial():
	    s = socket.create_connection(("127.0.0.1", int(sys.argv[1])), 10)
	    s.sendall(b"abcdefghijklmnopqrstuvwxyz2345677654\0")
	    return s
	def text(o):
	    o = json.dumps(o).encode()
	    c.sendall(struct.pack(">I", len(o)) + o)
	def state(want):
	    got = c.recv(1)
	    assert got == bytes([want]), (got, want)
	c = dial()
	state(9)
	text({"tcp": True, "omit": 0, "time": 0, "num": 64 << 20, "blockcount": 0, "parallel": 1, "len": 131072,
	      "skip_rx_copy": 1, "client_version": "3.19"})
	state(10)
	d = dial()
	state(1)
	state(2)
	for i in range(512):
	    d.sendall(bytes(131072))
	c.sendall(b"\x04")
	state(13)
	text({"cpu_util_total": 1, "cpu_util_user": 1, "cpu_util_system": 0, "sender_has_retransmits": 1, "streams": [
	    {"id": 1, "bytes": 64 << 20, "retransmits": 0, "jitter": 0, "errors": 0, "packets": 0}]})
	n = struct.unpack(">I", c.recv(4, socket.MSG_WAITALL))[0]
	print(json.loads(c.recv(n, socket.MSG_WAITALL))["streams"][0]["bytes"])
	state(14)
	c.sendall(b"\x10")
END
run timeout 30 python3 "$T/skip.py" "$port"
is "$RC $OUT" "0 67108864" "a client that asks for --skip-rx-copy: all is counted"
if iperf3 --help | grep -q -- --skip-rx-copy; then
	cell iperf3_client "-t 1 --skip-rx-copy" ""
else
	echo "# iperf3 $v3 has no --skip-rx-copy of its own"
fi
# what iperf 2 cannot ask of an address that only takes bytes ends, too
run timeout 30 iperf -c 127.0.0.1 -p "$port" -t 1 -R
[ "$RC" != 124 ]
ok $? "iperf 2 -R, which nobody here understands, does not hang"

is "$(lines 'not ended well' "$T/ours")" 0 "no test ended badly"
kill -TERM "$peer"
wait "$peer"
is $? 0 "the peer ends well"
finish
