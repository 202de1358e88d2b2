#!/bin/bash
# The load through what a Kubernetes Service is to it: an address that nft rewrites to one of one
# or two endpoints, another for each connection.
# needs: root
# timeout: 180
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"
need_root
need ip nft iperf3
load=${O:-.output}/tests/load
ns=ovl-test-svc-$$

ip netns add "$ns-a" && ip netns add "$ns-b"
ok $? "two namespaces"
at_exit "ip netns del $ns-a; ip netns del $ns-b"
ip link add "svc$$" netns "$ns-a" type veth peer name "svc$$" netns "$ns-b"
for side in a b; do
	[ $side = a ] && n=1 || n=2
	ip -n "$ns-$side" link set lo up
	ip -n "$ns-$side" addr add "192.0.2.$n/24" dev "svc$$"
	ip -n "$ns-$side" link set "svc$$" up
done
ip -n "$ns-a" route add 198.51.100.0/24 via 192.0.2.2

# service N: connections to 198.51.100.N:5201 go to N endpoints in turn
service() {
	ip netns exec "$ns-a" nft -f - <<-END
		table ip svc$1 {
			chain out {
				type nat hook output priority -100; policy accept;
				ip daddr 198.51.100.$1 tcp dport 5201 dnat to \
					192.0.2.2:numgen inc mod $1 map { 0 : 5211, 1 : 5212 }
			}
		}
	END
}
service 1 && service 2
ok $? "two services"

# pair CMD…: it listens on both endpoints; ends those before
SERVERS=()
pair() {
	local port i
	for i in "${SERVERS[@]}"; do kill "$i" && wait "$i"; done 2> /dev/null
	SERVERS=()
	for port in 5211 5212; do
		start ip netns exec "$ns-b" "$@" "$port" > /dev/null 2>&1
		SERVERS+=("$STARTED")
		wait_until listens "$ns-b" "$port"
	done
}

# through SERVICE STREAMS REGEX NAME [HOW]
through() {
	run timeout 20 ip netns exec "$ns-a" "$load" "198.51.100.$1" 5201 "$2" 300 "${5-}"
	like "$RC $OUT$ERR" "$3" "$4, $1 endpoints, $2 streams${5:+, $5}"
}
# strictly STREAMS: `--load iperf3` works with one endpoint, and with two says why it does not
strictly() {
	run timeout 20 ip netns exec "$ns-a" "$OVLTRACE" --no-trace --load iperf3 --peer 198.51.100.1 \
		-t 0.5 -P "$1"
	like "$RC $OUT" "^0 .*receiver.*iperf Done" "--load iperf3, one endpoint, $1 streams"
	SECONDS=0
	run timeout 20 ip netns exec "$ns-a" "$OVLTRACE" --no-trace --load iperf3 --peer 198.51.100.2 \
		-t 0.5 -P "$1"
	like "$RC $ERR" "^6 .*reached another iperf3 server.*sessionAffinity: ClientIP, or a headless" \
		"two endpoints, $1 streams: what to do instead is said"
	one_sentence "two endpoints, $1 streams"
	ok $((SECONDS > 8)) "well before a deadline"
}

pair "$OVLTRACE" peer --port
for streams in 1 4 32; do
	through 1 $streams "^0 ovltrace acked [1-9]" "ovltrace peer"
	through 2 $streams "^0 ovltrace acked [1-9]" "ovltrace peer"
	through 2 $streams "^0 ovltrace .* counted [1-9]" "ovltrace peer" reverse
done
strictly 1
strictly 4
pair iperf3 -s -p
for streams in 1 4; do
	through 1 $streams "^0 iperf3 acked [1-9]" "iperf3 server"
	SECONDS=0
	through 2 $streams "^6 .*reached another iperf3 server.*Kubernetes Service" "iperf3 servers"
	ok $((SECONDS > 8)) "is said well before a deadline"
	strictly $streams
done
# what users see without us
run timeout 4 ip netns exec "$ns-a" iperf3 -c 198.51.100.2 -t 1
is "$RC" 124 "iperf3 itself hangs there"

# qperf: its control connection is translated, its data port is not, and ovltrace beside names that
if command -v qperf > /dev/null; then
	ip netns exec "$ns-a" nft -f - <<-END
		table ip svc9 {
			chain out {
				type nat hook output priority -100; policy accept;
				ip daddr 198.51.100.9 tcp dport 19765 dnat to 192.0.2.2:19765
			}
		}
	END
	start ip netns exec "$ns-b" qperf > /dev/null 2>&1
	# its child waits for ever for a client that was ended
	at_exit "ip netns pids $ns-b | xargs -r kill -9"
	wait_until listens "$ns-b" 19765
	start "$OVLTRACE" --netns "$ns-a" --iface "svc$$" -d 1 --count 60 --jsonl="$T/beside.jsonl" > /dev/null 2>&1
	beside=$STARTED
	wait_until begun "$T/beside.jsonl"
	run timeout 20 ip netns exec "$ns-a" qperf -t 1 198.51.100.9 tcp_bw
	[ "$RC" != 0 ]
	ok $? "qperf fails through a Service" "$OUT$ERR"
	named() { grep -q '"rule":"service_port_untranslated"' "$T/beside.jsonl"; }
	wait_until named
	kill -INT "$beside" 2> /dev/null
	wait_until gone "$beside"
	title=$(grep '"type":"finding"' "$T/beside.jsonl" | head -1)
	like "$title" 'SYN to 198.51.100.9:[0-9]+ gets no answer: .*its port 19765 answers.*qperf' "and is named"
	like "$title" '"level":"critical"' "as what stops it"
else
	skip "needs the program qperf"
fi
finish
