#!/usr/bin/env bash
# `ovltrace matrix SUITE`: every suite ends in its table, in the order that the published ones have;
# labs that are up are left alone, and nothing is left of those it makes.
# needs: root
# timeout: 300
# In a /run of its own: a lab's names are the machine's, and one that is up is not to be met or harmed.
if [ "$(id -u)" = 0 ] && [ -z "${OVL_OWN_RUN-}" ]; then
	export OVL_OWN_RUN=1
	exec unshare --mount sh -c "mount -t tmpfs own-run /run && exec '$0'"
fi
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"
need_root
need ip python3 nft
[ -x "$OVLTRACE" ] || skip_all "$OVLTRACE is not built"

left() { find /run/netns /run/ovltrace/lab -mindepth 1 -maxdepth 1 2>/dev/null; }
all_down() { "$OVLTRACE" lab down; }
at_exit all_down
PROXY=$(scripts/docker-proxy 2>"$T/no-proxy") && export OVLTRACE_DOCKER_PROXY=$PROXY

# what is refused
run "$OVLTRACE" matrix
is "$RC" 2 "no suite: usage"
one_sentence "no suite"
run "$OVLTRACE" matrix nonsense
is "$RC" 2 "an unknown suite: usage"
like "$ERR" "flannel-backends, vxlan-mtu, docker-modes, k8s-paths" "... which names those there are"
"$OVLTRACE" lab up flannel-udp >/dev/null
run "$OVLTRACE" matrix flannel-backends --quick
is "$RC" 1 "a lab of the suite is up: refused"
one_sentence "a lab of the suite is up"
like "$ERR" "lab flannel-udp.*lab down flannel-udp" "... which names it"
like "$("$OVLTRACE" lab list)" "flannel-udp +up since" "... and leaves it alone"
"$OVLTRACE" lab down >/dev/null

# measure SUITE [OPTION…]: once more, into a file of its own
measure() {
	local suite=$1
	shift
	MEASURED=$((${MEASURED-0} + 1))
	run "$OVLTRACE" matrix "$suite" --quick --json="$T/$suite.$MEASURED" "$@"
	grep '^[a-z].* |' <<<"$OUT" | sed 's/^/# /'
}
# held SUITE: which relations of $T/relations hold, by the median of what was measured
held() {
	python3 - "$T"/"$1".[0-9]* 3<"$T/relations" <<'END'
import json, os, statistics, sys
docs = [{r["key"]: r for r in json.load(open(f))["rows"]} for f in sys.argv[1:]]
for line in os.fdopen(3):
    a, b, least = line.split()
    x = statistics.median((d[a]["goodput_bps"] or 0) / (d[b]["goodput_bps"] or 1e9) for d in docs)
    print("%s %s / %s is %.2f, least %s" % ("yes" if x > float(least) else "no", a, b, x, least))
END
}
# lacking SUITE: rows without all figures in any of what was measured
lacking() {
	python3 - "$T"/"$1".[0-9]* <<'END'
import json, sys
have, rows = set(), set()
for f in sys.argv[1:]:
    for r in json.load(open(f))["rows"]:
        rows.add(r["key"])
        if r["skipped"] or (r["goodput_bps"] and r["latency_ns"] and r["of_host_ratio"]):
            have.add(r["key"])
print(*sorted(rows - have))
END
}
# suite NAME [OPTION…]: measured once; where other work makes the order doubtful, thrice
suite() {
	local name=$1 verdict words
	measure "$@"
	is "$RC:$ERR" "0:" "$name: measured, and nothing on stderr"
	is "$(left)" "" "$name: nothing is left"
	like "$OUT" "table  RTT us" "$name: ends in a table"
	is "$(json "$T/$name.$MEASURED" '[d["schema"], d["suite"], d["complete"]]')" \
		"['ovltrace-matrix/1', '$name', True]" "$name: and in a document"
	if [ -n "$(lacking "$name")" ] || held "$name" | grep -q '^no'; then
		measure "$@"
		measure "$@"
	fi
	is "$(lacking "$name")" "" "$name: every row has bandwidth, latency and its share of the host"
	while read -r verdict words; do
		[ "$verdict" = yes ]
		ok $? "$name: $words"
	done < <(held "$name")
}

printf '%s\n' "vxlan udp 3" "udp-batch udp 1.5" "host udp 3" >"$T/relations"
suite flannel-backends
DOC=$T/flannel-backends.1
is "$(json "$DOC" '[r["key"] for r in d["rows"] if not r["limit"] or r["largest"] is None]')" "[]" \
	"flannel-backends: every row has a limit and its largest losses"
is "$(json "$DOC" '[(w["against"], abs(sum(p["of_difference_ratio"] for p in w["parts"]) - 1) < 1e-6,
	abs(w["cost_factor"] * w["waits_factor"] / w["ratio"] - 1) < 1e-6)
	for r in d["rows"] if r["key"] == "udp" for w in [r["why"]]]')" "[('vxlan', True, True)]" \
	"flannel-backends: the udp row's ratio is split into costs and waits"
like "$OUT" "1/[0-9.]+ of row vxlan: a byte costs [0-9.]+ times" "... and that is said"

printf '%s\n' "8900-9000 1500-9000 1.1" "8900-9000 8900-1500 1.1" >"$T/relations"
suite vxlan-mtu --no-trace
is "$(json "$T/vxlan-mtu.$MEASURED" '{r["limit"] for r in d["rows"]}')" "{None}" \
	"--no-trace: nobody says what limits"

printf '%s\n' "host-host pod-pod 1.1" "pod-host pod-pod 1.1" >"$T/relations"
suite k8s-paths --no-trace
is "$(json "$T/k8s-paths.$MEASURED" '[r["seed"]["goodput_bps"] for r in d["rows"]
	if r["key"] in ("host-host", "pod-service")]')" "[3760000000, None]" \
	"k8s-paths: the published figures stand beside, where there are any"

echo "host host 0.9" >"$T/relations"
[ -z "$PROXY" ] || printf '%s\n' "host published 1" "bridge published 1" >"$T/relations"
suite docker-modes --no-trace
if [ -z "$PROXY" ]; then
	like "$OUT" "skipped: .*docker-proxy" "docker-modes: a row without its program says why"
else
	is "$(json "$T/docker-modes.$MEASURED" '[r["key"] for r in d["rows"] if r["skipped"]]')" "[]" \
		"docker-modes: no row is skipped"
fi

# ended before it is done: what was measured is written, nothing is left
row_2() { grep -q 'row 2 of' "$T/progress" 2>/dev/null; }
start script -qfc "exec $OVLTRACE matrix vxlan-mtu --quick --no-trace --json=$T/ended" "$T/progress" \
	>/dev/null
wait_until row_2
like "$(tr '\r' '\n' <"$T/progress")" "turn 1 of 1  row 2 of 4  about [0-9]+:[0-9][0-9] left" \
	"a terminal is shown how far it is"
pkill -INT -P "$STARTED" ovltrace
wait "$STARTED"
is "$(json "$T/ended" '[d["complete"], d["rows"][0]["goodput_bps"] > 0, d["rows"][3]["goodput_bps"]]')" \
	"[False, True, None]" "^C: what was measured until then is written"
is "$(left)" "" "^C: nothing is left"
"$OVLTRACE" matrix k8s-paths --quick --no-trace >/dev/null 2>&1 &
VICTIM=$!
up() { [ -n "$(left)" ]; }
wait_until up
{ kill -9 "$VICTIM" && wait "$VICTIM"; } 2>/dev/null
"$OVLTRACE" lab down >/dev/null
is "$(left)" "" "killed: lab down takes away what it left"
finish
