#!/bin/bash
# Debian's iperf3 and iperf against `ovltrace peer`: each mode works, and both sides count the same.
# timeout: 240
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"
need iperf3 iperf openssl python3

# three ports nobody listens on, and that no outgoing connection takes meanwhile
port=$(python3 -c '
import random, socket
while True:
    port, socks = random.randrange(15000, 30000), [socket.socket() for i in range(3)]
    try:
        for i, s in enumerate(socks):
            s.bind(("0.0.0.0", port + i))
        print(port)
        break
    except OSError:
        continue')

"$OVLTRACE" peer --bind 127.0.0.1 --port "$port" 2> "$T/said" &
peer=$!
at_exit "kill $peer"
for ((i = 0; i < 50; i++)); do
	grep -q "listens on" "$T/said" && break
	sleep 0.1
done

# agree FILE: what an iperf3 client reports of both sides, and how far they are apart (one python:
# it takes long to start on a busy machine)
agree() {
	json "$1" '(lambda e: "%d sent, %d received, %.2f %% apart, %d streams, %.1f s, %s retransmits, %s" % (
		e["sum_sent"]["bytes"], e["sum_received"]["bytes"],
		100 * abs(e["sum_sent"]["bytes"] - e["sum_received"]["bytes"]) / max(1, e["sum_sent"]["bytes"]),
		len(e["streams"]), e["sum_received"]["seconds"], e["sum_sent"].get("retransmits"),
		e.get("sender_tcp_congestion")))(d["end"])'
}

# client NAME REGEX ARGS…: iperf3 -c with these; one side's bytes are its own count, the other's are
# ours. A machine that stalls at the very end of a second is given another try.
client() {
	local name=$1 want=$2 try said
	shift 2
	for try in 1 2 3; do
		run timeout 20 iperf3 -J -c 127.0.0.1 -p "$port" "$@"
		said=$(agree "$T/out" 2> /dev/null)
		[[ $RC = 0 && $said =~ \ 0\.[0-9]+\ %\ apart && $said =~ $want ]] && break
	done
	[[ $RC = 0 && $said =~ \ 0\.[0-9]+\ %\ apart && $said =~ $want ]]
	ok $? "iperf3 -c $*: $name (try $try): $said" "$OUT$ERR"
}

client "plain" "[0-9]{7} received.* 1 streams" -t 1
client "four streams" " 4 streams" -t 1 -P 4
client "reverse, with our retransmits" " [0-9]+ retransmits" -t 1 -R
client "reverse, streams" " 3 streams" -t 1 -R -P 3
client "omitted start" " (0\.9|1\..) s" -t 1 -O 1
client "omitted start, reverse" " (0\.9|1\..) s" -t 1 -O 1 -R
client "by bytes, each counted" " 104857600 received" -n 100M
client "by blocks, each counted" " 13107200 received" -k 100
client "small blocks" "" -t 1 -l 4K
client "window" "" -t 1 -w 256K
client "segment size" "" -t 1 -M 1000
client "our congestion control" "reno" -t 1 -C reno -R
client "paced" "sent" -t 1 -b 200M
client "paced by us" "^2[45][0-9]{6} sent" -t 1 -b 200M -R
client "zero copy" "" -t 1 -Z
client "128 streams" " 128 streams" -t 1 -P 128

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

# iperf 2 has no control connection: what it says it sent is what the peer says it got
run timeout 20 iperf -c 127.0.0.1 -p "$port" -t 1 -f b -y C
sent=$(tail -n 1 <<< "$OUT" | cut -d, -f 8)
sleep 0.3
got=$(grep " raw " "$T/said" | tail -n 1)
like "$got" "raw 127.0.0.1:[0-9]+: 1 stream, received [0-9.]+[kMG]? bytes" "iperf 2 is counted: $got"
awk -v sent="$sent" -v got="$got" 'BEGIN {
	match(got, /received [0-9.]+[kMG]?/)
	got = substr(got, RSTART + 9, RLENGTH - 9)
	n = got * (got ~ /G/ ? 1e9 : got ~ /M/ ? 1e6 : got ~ /k/ ? 1e3 : 1)
	exit !(n > 0.99 * sent && n < 1.01 * sent)
}'
ok $? "within 1 % of its own report ($sent bytes)"
run timeout 20 iperf -c 127.0.0.1 -p "$port" -t 1 -P 3
is "$RC" 0 "iperf 2 with three streams"
is "$(grep -c 'not ended well' "$T/said")" 0 "no test ended badly"

kill -TERM $peer
wait $peer
is $? 0 "the peer ends well"

# the other way round: our load against their servers
load=${O:-.output}/tests/load

# serve NAME PORT CMD…: a server in the background, known to listen
serve() {
	local said=$T/$1 at=$2 i
	shift 2
	start "$@" > "$said" 2>&1
	for ((i = 0; i < 50; i++)); do
		grep -q ":$(printf %04X "$at") 0*:0000 0A" /proc/net/tcp /proc/net/tcp6 && return
		sleep 0.1
	done
}

# same NAME REGEX ARGS…: our load; the server's count is that of our TCP's acknowledgements
same() {
	local name=$1 want=$2
	shift 2
	run timeout 20 "$load" 127.0.0.1 "$@"
	[ "$RC" = 0 ] && [[ $OUT =~ $want ]] &&
		awk '{ d = $3 - $NF; exit !($3 > 0 && (d < 0 ? -d : d) < 0.01 * $3) }' <<< "$OUT"
	ok $? "our load, $name: $OUT" "$ERR"
}

serve server "$port" iperf3 -s -p "$port"
same "one stream" "^iperf3 .* far [0-9]+$" "$port" 1 1000
same "four streams" "^iperf3 .* far [0-9]+$" "$port" 4 1000
same "128 streams" "^iperf3 .* far [0-9]+$" "$port" 128 500
same "paced" "^iperf3 acked 1[0-9]{7} " "$port" 1 1000 - 100000000
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

openssl genrsa -out "$T/key" 2048 2> /dev/null
echo 'mario,bf7a49a846d44b454a5d11e7acfaf13d138bbe0b7483aa3e050879700572709b' > "$T/users"
serve auth $((port + 1)) iperf3 -s -p $((port + 1)) --rsa-private-key-path "$T/key" \
	--authorized-users-path "$T/users"
run timeout 20 "$load" 127.0.0.1 $((port + 1)) 1 200
like "$RC $ERR" "^6 .*only users with a password" "a server that wants a password is explained"

serve iperf2 $((port + 2)) iperf -s -p $((port + 2)) -f b -y C
run timeout 20 "$load" 127.0.0.1 $((port + 2)) 1 1000 raw
sleep 0.3
acked=$(cut -d' ' -f3 <<< "$OUT")
# iperf 2.1 counts what it reads until the end of the stream
got=$(cut -d, -f 8 "$T/iperf2" | sort -n | tail -n 1)
[[ $OUT == sink* ]] && [ "${got:-0}" -gt $((acked * 99 / 100)) ] && [ "$got" -lt $((acked * 101 / 100)) ]
ok $? "our raw load and iperf -s agree: $OUT, $got" "$ERR"
finish
