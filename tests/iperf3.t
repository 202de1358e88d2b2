#!/bin/bash
# iperf3 against `ovltrace peer` and our load against iperf3, where they meet what is not plain: refusals,
# busy and authenticated servers, health probes. That each mode works: interop.t
# timeout: 120
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"
need iperf3 python3

port=$(free_ports 3)
serve said "$port" "$OVLTRACE" peer --bind 127.0.0.1 --port "$port"
peer=$STARTED

# agree FILE: what an iperf3 client reports of both sides, and how far they are apart (one python:
# it takes long to start on a busy machine)
agree() {
	json "$1" '(lambda e: "%d sent, %d received, %.2f %% apart, %d streams, %.1f s, %s retransmits, %s" % (
		e["sum_sent"]["bytes"], e["sum_received"]["bytes"],
		100 * abs(e["sum_sent"]["bytes"] - e["sum_received"]["bytes"]) / max(1, e["sum_sent"]["bytes"]),
		len(e["streams"]), e["sum_received"]["seconds"], e["sum_sent"].get("retransmits"),
		e.get("sender_tcp_congestion")))(d["end"])'
}

# get PATH: status and body of an HTTP answer
get() {
	python3 -c '
import sys, urllib.error, urllib.request
try:
    with urllib.request.urlopen(sys.argv[1], timeout=5) as r:
        print(r.status, r.read().decode().strip())
except urllib.error.HTTPError as e:
    print(e.code, e.read().decode().strip())' "http://127.0.0.1:$port$1"
}

# refused REGEX ARGS…: the protocol's own error, at once
refused() {
	local want=$1 start=${EPOCHREALTIME/./}
	shift
	run timeout 20 iperf3 -c 127.0.0.1 -p "$port" -t 1 "$@"
	[ "$RC" = 1 ] && [[ $OUT$ERR =~ $want ]] && [ $((${EPOCHREALTIME/./} - start)) -lt 2000000 ]
	ok $? "iperf3 -c $* is refused: $ERR" "$OUT$ERR"
}
refused "an option you are trying" -u
refused "an option you are trying" --bidir
refused "affinity" -A 0,1
refused "TCP_CONGESTION" -C nosuch

timeout 20 iperf3 -J -c 127.0.0.1 -p "$port" -t 2 > "$T/first" &
first=$!
sleep 0.7
refused "busy" -P 2
is "$(get /healthz)" "200 ok" "a health probe is answered during a test"
wait $first
ok $? "which goes on"
like "$(agree "$T/first")" " 0\.[0-9]+ % apart" "and counts"
is "$(get /)" "404 not found" "no other page is there"

is "$(grep -c 'not ended well' "$T/said")" 0 "no test ended badly"

# --allow: on a peer of both families, so that IPv4 clients come as ::ffff:a.b.c.d
start "$OVLTRACE" peer --port $((port + 2)) --allow 127.0.0.2/31,fd00::/8 --allow 10.0.0.0/8 2> "$T/allow"
peer2=$STARTED
wait_until grep -q "listens on" "$T/allow"
for _ in 1 2 3 4 5; do run timeout 20 iperf3 -c 127.0.0.1 -p $((port + 2)) -t 1; done
[ "$RC" != 0 ] && [ "$RC" != 124 ]
ok $? "an address that --allow does not name is hung up on at once" "$OUT$ERR"
run timeout 20 "$OVLTRACE" --no-trace --load iperf-like --peer "127.0.0.1:$((port + 2))" -t 1
like "$RC $ERR" "^6 .*--allow leaves this host out" "our load says what may be the reason"
is "$(grep -c "closed a connection from 127.0.0.1, which" "$T/allow")" 1 "that is said once, not each time"
run timeout 20 iperf3 -c 127.0.0.1 -B 127.0.0.3 -p $((port + 2)) -t 1
is "$RC" 0 "one that it names is served"
kill "$peer2"
wait "$peer2"
is "$?" 0 "the peer ends well"
like "$(tail -n 1 "$T/allow")" "[6-9] connections from addresses that --allow does not name were closed" \
	"and says how many it hung up on"

kill -TERM "$peer"
wait "$peer"
is $? 0 "the peer ends well"

# the other way round: our load against their servers
load=${O:-.output}/tests/load
serve server "$port" iperf3 -s -p "$port"
run timeout 20 "$load" 127.0.0.1 "$port" 1 0
like "$OUT" "^iperf3 acked [0-9]+ .* far" "a test that ends at once"
timeout 20 iperf3 -c 127.0.0.1 -p "$port" -t 2 > "$T/other" &
other=$!
sleep 0.5
run timeout 20 "$load" 127.0.0.1 "$port" 1 200
like "$RC $ERR" "^6 .*is busy with another run" "a busy server is explained"
wait $other
ok $? "and not disturbed"
kill "$STARTED"

if ! command -v openssl > /dev/null; then
	skip "a server that wants a password: no openssl to make its key"
	finish
elif ! iperf3 --version | grep -q authentication; then
	skip "a server that wants a password: this iperf3 is built without authentication"
	finish
fi
openssl genrsa -out "$T/key" 2048 2> /dev/null
echo 'mario,bf7a49a846d44b454a5d11e7acfaf13d138bbe0b7483aa3e050879700572709b' > "$T/users"
serve auth $((port + 1)) iperf3 -s -p $((port + 1)) --rsa-private-key-path "$T/key" \
	--authorized-users-path "$T/users"
run timeout 20 "$load" 127.0.0.1 $((port + 1)) 1 200
like "$RC $ERR" "^6 .*only users with a password" "a server that wants a password is explained"
finish
