#!/bin/bash
# scripts/bench-load and scripts/bench in short: every cell gets its numbers, bars are checked, nothing is left behind.
# What the numbers are is a matter for a long run on a quiet machine: the bars here are loose.
# needs: root
# timeout: 240
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"
need_root
need ip iperf3 qperf sockperf taskset setpriv python3
BENCH=(scripts/bench-load --program "$OVLTRACE" --seconds 1)

# left: namespaces of ended benches
left() { ip netns list | grep -o 'ovl-bench-[0-9]*-[ab]' | grep -w "ovl-bench-$1-[ab]"; }

start timeout 120 "${BENCH[@]}" --nets vxlan --pairs 2 --speed-bar 0.05 --cpu-bar 20 --json "$T/json" \
	> "$T/out" 2> "$T/err"
wait "$STARTED"
is "$?" 0 "a short run with loose bars ends well"
like "$(cat "$T/err")" "cells of 2 pairs of 1 s: about [0-9.]+ minutes" "it says how long it will take"
OUT=$(cat "$T/out")
like "$OUT" "vxlan, 1 stream: .* 2 pairs" "one stream was measured"
like "$OUT" "vxlan, 4 streams: .* 2 pairs" "four were"
like "$OUT" "speed +[0-9.]+ of iperf3's, 95 % interval [0-9.]+ to [0-9.]+ +held: lower bound" "with a verdict on speed"
like "$OUT" "CPU +[0-9.]+ of iperf3's, 95 % interval [0-9.]+ to [0-9.]+ +held: upper bound" "and one on CPU time"
is "$(json "$T/json" 'all(c["pairs"] == 2 and not c["missed"] and c["speed"]["low"] > 0 and c["cpu"]["high"] > 0
	for c in d["cells"])')" True "all cells are filled"
is "$(json "$T/json" 'sorted({c["against"] for c in d["cells"]} - {"qperf", "sockperf"})')" "['iperf3']" \
	"they say what they were compared with"

run "${BENCH[@]}" --nets loopback --streams 1 --tests bulk --pairs 1 --speed-bar 1000
is "$RC" 3 "a bar that is missed is another exit code"
like "$OUT" "MISSED: lower bound" "and said"
run "${BENCH[@]}" --against /nonexistent/iperf3 --nets loopback --pairs 1
is "$RC" 4 "a program that is missing is said at once"
run "${BENCH[@]}" --streams x
is "$RC" 2 "nonsense is refused"

# stub SCRIPT: an ovltrace that does this before it is one
stub() {
	printf '#!/bin/sh\n%s\nexec "%s" "$@"\n' "$1" "$OVLTRACE" > "$T/stub"
	chmod 755 "$T/stub"
}
flaky() {
	rm -f "$T/once"
	# shellcheck disable=SC2016
	stub 'case $1 in --load) [ -e "'"$T"'/once" ] || { : > "'"$T"'/once"; exit 9; };; esac'
	run "${BENCH[@]}" --program "$T/stub" --nets loopback --streams 1 --tests bulk --pairs 2 \
		--speed-bar 0.05 --cpu-bar 20 "$@"
}
flaky
is "$RC" 1 "a pair that failed is not passed over"
like "$OUT$ERR" "FAILED: loopback 1 stream \\(1 of 2 pairs\\)" "and said"
flaky --allow-failed 1
is "$RC" 0 "but where it is allowed"
stub 'exit 2'
run "${BENCH[@]}" --program "$T/stub" --nets loopback --tests rr --pairs 1
is "$RC" 4 "a program that can do nothing of what is asked held no bar"

start "${BENCH[@]}" --nets veth --streams 1 --pairs 9 > /dev/null 2>&1
begun_bench() { [ -n "$(left "$STARTED")" ]; }
wait_until begun_bench
ok $? "a run makes namespaces of its own"
kill "$STARTED"
wait_until gone "$STARTED"
is "$(left "$STARTED")" "" "a run that is ended leaves none"

# scripts/bench: what watching costs, in short
run timeout 120 scripts/bench --program "$OVLTRACE" --quads 1 --seconds 0.5 --loads software \
	--instruments nothing,default --json "$T/watch"
[ "$RC" = 0 ] || [ "$RC" = 3 ]
ok $? "what watching costs is measured: exit $RC" "$OUT$ERR"
is "$(json "$T/watch" '[(c["instrument"], c["quads"], 0.1 < c["ratio"] < 10, c["goodput_bps"] > 1e6)
	for c in d["cells"]]')" "[('nothing', 1, True, True), ('ovltrace', 1, True, True)]" "... of each"
is "$(json "$T/watch" '[c["own_cost_ratio"] is not None for c in d["cells"]]')" "[False, True]" \
	"beside what the program says of itself"
run scripts/bench --instruments magic
is "$RC" 2 "an unknown instrument is a usage error"
run scripts/bench --program /nonexistent
is "$RC" 4 "a program that is missing is said at once"
finish
