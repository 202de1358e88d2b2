#!/bin/bash
# Latency: round trips of a load's own, against times that are known.
# timeout: 300
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"
need iperf3 python3

port=$(free_ports 4)
ours=$port theirs=$((port + 1)) slow=$((port + 2)) twin=$((port + 3))

serve peer "$ours" "$OVLTRACE" peer --bind 127.0.0.1 --port "$ours"
serve theirs "$theirs" iperf3 -s -B 127.0.0.1 -p "$theirs"
# a wire of known length: what is sent by either side arrives 100 ms later, so long that a
# busy machine adds little
cat > "$T/wire.py" << 'END'
import asyncio, sys, time
DELAY = 0.1
async def carry(reader, writer):
    queue = asyncio.Queue()
    async def deliver():
        while True:
            at, data = await queue.get()
            await asyncio.sleep(at - time.monotonic())
            if not data:
                break
            writer.write(data)
        writer.close()
    task = asyncio.create_task(deliver())
    try:
        while data := await reader.read(65536):
            queue.put_nowait((time.monotonic() + DELAY, data))
    except ConnectionError:
        pass
    queue.put_nowait((0, b""))
    await task
async def joined(reader, writer):
    far = await asyncio.open_connection("127.0.0.1", int(sys.argv[2]))
    await asyncio.gather(carry(reader, far[1]), carry(far[0], writer), return_exceptions=True)
async def main():
    server = await asyncio.start_server(joined, "127.0.0.1", int(sys.argv[1]))
    await server.serve_forever()
asyncio.run(main())
END
serve slow "$slow" python3 "$T/wire.py" "$slow" "$ours"

# rr PORT ARGS…: round trips alone
rr() {
	local at=$1
	shift
	run timeout 30 "$OVLTRACE" --no-trace --load rr --peer "127.0.0.1:$at" "$@"
}
# ordered: are the numbers of a document's latency such as can be?
ORDERED='(lambda l: 0 < l["min"] <= l["p50"] <= l["p90"] <= l["p99"] <= l["p999"] <= l["max"]
	and l["min"] <= l["mean"] <= l["max"])(d["load"]["overlay"]["latency_idle_ns"])'

rr "$ours" --for 1 --interval 0.5 --json="$T/j"
is "$RC" 0 "round trips with \`ovltrace peer\`"
like "$OUT" "one at a time: 1 byte there" "what is sent"
is "$(grep -c ' sec ' <<< "$OUT")" 2 "a line an interval"
is "$(json "$T/j" "$ORDERED")" True "the percentiles are in order"
is "$(json "$T/j" '"%d round trips" % d["load"]["overlay"]["latency_idle_ns"]["count"]')" \
	"$(grep -o '^[0-9]* round trips' <<< "$OUT")" "text and document count the same"
is "$(awk '/ sec / { n += $3 } /^[0-9]+ round/ { print n - $1 }' <<< "$OUT")" 0 "the lines add up"
is "$(json "$T/j" '(lambda o: abs(o["transactions_ps"] * o["latency_idle_ns"]["mean"] / 1e9 - 1) < 0.01)(
	d["load"]["overlay"])')" True "one at a time: rate x mean = 1"
is "$(json "$T/j" '[d["load"]["kind"], d["load"]["overlay"]["goodput_bps"], d["load"]["overlay"]["latency_loaded_ns"],
	d["waterfall"], d["verdict"]["limit"]]')" "['rr', None, None, None, 'unknown']" "nothing is said of bulk"
rr "$ours" --for 0.5 -l 64K --json
is "$RC $(json "$T/out" "$ORDERED")" "0 True" "messages of 64 KiB"
rr "$ours" --count 2 --interval 0.3 -O 0.2
is "$RC $(grep -c ' sec ' <<< "$OUT")" "0 2" "--count, --interval and -O"
like "$(cat "$T/peer")" "ovltrace 127.0.0.1:[0-9]+: 1 stream, received" "the peer says what it served"

rr "$slow" --for 3 --json
is "$RC $(json "$T/out" '(lambda l: l["min"] >= 200e6 and l["p50"] <= 220e6 or l)(
	d["load"]["overlay"]["latency_idle_ns"])')" "0 True" "200 ms of wire: the median says so within 10 %"

# qperf's tcp_lat is half of it: the best of three each, in turns, since the machine may do other things
if command -v qperf > /dev/null; then
	serve qperf "$twin" qperf -lp "$twin"
	for i in 1 2 3; do
		rr "$ours" --for 1 --json
		echo "ours $(json "$T/out" 'd["load"]["overlay"]["latency_idle_ns"]["mean"]')"
		qperf -lp "$twin" 127.0.0.1 -t 1 tcp_lat
	done > "$T/both"
	is "$(python3 -c '
import sys
unit = {"ns": 1, "us": 1e3, "ms": 1e6}
lines = [l.split() for l in open(sys.argv[1])]
ours = min(float(l[1]) / 2 for l in lines if l[0] == "ours")
theirs = min(float(l[2]) * unit[l[3]] for l in lines if l[0] == "latency")
print(0.5 < ours / theirs < 2 or (ours, theirs))' "$T/both")" True "within a factor of two of qperf"
else
	skip "qperf is not installed: nothing to compare with"
fi

# who answers no round trips
rr "$theirs" --for 1
is "$RC" 6 "an iperf3 server: exit code 6"
one_sentence "an iperf3 server"
like "$ERR" "is an iperf3 server, which answers no round trips" "and why"

usage() {
	local want=$1
	shift
	run "$OVLTRACE" --no-trace --load rr --peer x "$@"
	is "$RC" 2 "$*: exit code 2"
	like "$ERR" "$want" "and why"
}
usage "no part in it" -P 2
usage "no part in it" -R
usage "at most 65536" -l 65537
usage "no words for round trips" --json-iperf3
run "$OVLTRACE" --iface x --load rr --latency off
is "$RC $(grep -c "exclude each other" <<< "$ERR")" "2 1" "--load rr without latency makes no sense"

# in a profile: a tunnel of two namespaces, whose wire has a queue of 40 ms
A=ovlt$$-a B=ovlt$$-b
tunnel() {
	local n=0 ns
	ip netns add "$A" || return 1
	at_exit "ip netns del $A"
	ip netns add "$B"
	at_exit "ip netns del $B"
	ip -n "$A" link add under type veth peer name under netns "$B"
	for ns in "$A" "$B"; do
		n=$((n + 1))
		ip -n "$ns" addr add 192.0.2.$n/24 dev under
		ip -n "$ns" link set under up
		ip -n "$ns" link set lo up
		ip -n "$ns" link add ovy.4 type vxlan id 4 dev under local 192.0.2.$n dstport 4789 \
			remote 192.0.2.$((3 - n))
		ip -n "$ns" addr add 198.51.100.$n/24 dev ovy.4
		ip -n "$ns" link set ovy.4 up
	done
	tc -n "$A" qdisc add dev under root tbf rate 200mbit burst 64kb latency 40ms
}
profile() {
	run timeout 90 "$OVLTRACE" --netns "$A" --iface ovy.4 --peer 198.51.100.2 --baseline 192.0.2.2 "$@"
}
# latencies DOC: all four
latencies() {
	json "$1" "[d['load'][p][k] for p in ('overlay', 'underlay')
		for k in ('latency_idle_ns', 'latency_loaded_ns')]"
}

root_part() {
	local what
	tunnel || { skip "cannot make a namespace: no profile"; return; }
	start ip netns exec "$B" "$OVLTRACE" peer 2> "$T/far"
	wait_until listens "$B" 5201

	profile --load iperf-like --for 2 --json="$T/p.json" --record "$T/p.rec" --plain
	is "$RC" 0 "a profile with a peer"
	for what in overlay underlay; do
		is "$(json "$T/p.json" "(lambda p: all(l['count'] and l['min'] <= l['p50'] <= l['p99'] <= l['max']
			for l in (p['latency_idle_ns'], p['latency_loaded_ns'])) or p)(d['load']['$what'])")" True \
			"$what: in order"
		is "$(json "$T/p.json" "(lambda p: p['latency_idle_ns']['p50'] < 5e6 and
			max(20 * p['latency_idle_ns']['p50'], p['rtt_ns']['p50'] / 2)
			< p['latency_loaded_ns']['p50'] < 80e6 or p)(d['load']['$what'])")" True \
			"$what: the load fills the queue, and the round trips wait there"
	done
	is "$(json "$T/p.json" "(lambda o: o['latency_loaded_ns']['count'] <= 70 or o)(d['load']['overlay'])")" True \
		"one each 5 ms: they cost nothing"
	is "$(json "$T/p.json" "d['waterfall'] is not None and d['self']['missing']")" "[]" "the rest is as ever"
	like "$OUT" "LATENCY of round trips of a 1-byte message" "the report has them"
	like "$OUT" "  overlay( +[0-9.]+ [mu]s){3} +[0-9.]+ ms" "idle and under load"
	run "$OVLTRACE" replay "$T/p.rec" --json
	is "$(latencies "$T/out")" "$(latencies "$T/p.json")" "a replay says the same"
	run "$OVLTRACE" replay "$T/p.rec" --json --fail-if 'latency_loaded>1us'
	is "$RC" 3 "a run can be judged by them"
	profile --load iperf-like --for 1 --latency off --json
	is "$RC $(latencies "$T/out")" "0 [None, None, None, None]" "--latency off: none"

	profile --load rr --for 2 --json="$T/r.json" --plain
	is "$RC" 0 "--load rr in a profile"
	is "$(json "$T/r.json" "[d['waterfall'], d['verdict']['limit'], d['load']['overlay']['goodput_bps'],
		d['load']['overlay']['latency_loaded_ns']]")" "[None, 'unknown', None, None]" "says nothing of bulk"
	is "$(json "$T/r.json" "all(d['load'][p]['latency_idle_ns']['count'] > 20
		and d['load'][p]['transactions_ps'] > 20 for p in ('overlay', 'underlay'))")" True \
		"and how many there were on both paths"
	is "$(json "$T/r.json" "sum(s['key'] == 'application' for s in d['cpu']['stages'])")" 1 \
		"its threads are known as the load's"
	unlike "$OUT" "bit/s" "no rate of bits anywhere"

	start ip netns exec "$B" iperf3 -s -B 198.51.100.2 -p 5202 > /dev/null
	wait_until listens "$B" 5202
	run timeout 90 "$OVLTRACE" --netns "$A" --iface ovy.4 --peer 198.51.100.2:5202 --baseline off \
		--load iperf-like --for 1 --json
	is "$RC $(json "$T/out" "[d['load']['overlay']['latency_idle_ns'], d['self']['missing'][0]['hook']]")" \
		"0 [None, 'round trips']" "an iperf3 server answers none, and that is said"
	run timeout 90 "$OVLTRACE" --netns "$A" --iface ovy.4 --peer 198.51.100.2:5202 --baseline off \
		--load rr --for 1
	is "$RC" 6 "--load rr with it: exit code 6"
	one_sentence "--load rr with an iperf3 server"
}
if [ "$(id -u)" = 0 ]; then
	root_part
else
	skip "needs root: round trips in a profile"
fi
finish
