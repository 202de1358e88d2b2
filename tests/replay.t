#!/usr/bin/env bash
# Recordings through the program: known numbers come out, every view copes, broken files are refused.
# runs: beside others
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"
need python3

SYNTH=${SYNTH:-${O:-.output}/tests/synth}
SCENARIOS="vector-a window no-load idle lossy wide"
[ -x "$SYNTH" ] || skip_all "$SYNTH is not built (make tools)"

for s in $SCENARIOS; do
	run "$SYNTH" "$s" "$T/$s.rec"
	is "$RC" 0 "synth writes $s"
done

# strict JSON (no NaN, no Infinity), pictures inside their size, text without control characters
cat >"$T/look.py" <<'END'
import json, re, sys, unicodedata
def refuse(word): raise ValueError(word)
def columns(line):
    return sum(0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1
               for c in line)
for name in sys.argv[1:]:
    text, how = open(name, encoding="utf-8").read(), name.rsplit(".", 1)[1]
    lines = text.rstrip("\n").split("\n")
    try:
        if not text.strip():
            print(name, "is empty")
        elif how == "json":
            json.loads(text, parse_constant=refuse)
        elif re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]|(?<![a-zA-Z])-?(nan|inf)(?![a-zA-Z])", text):
            print(name, "has a control character or an unknown number")
        elif how != "plain":
            cols, rows = map(int, how.split("x"))
            if max(map(columns, lines)) > cols or len(lines) > rows:
                print(name, "is", max(map(columns, lines)), "x", len(lines))
    except ValueError as e:
        print(name, "is not strict JSON:", e)
END

for s in $SCENARIOS; do
	for how in plain json; do
		run "$OVLTRACE" replay "$T/$s.rec" "--$how"
		is "$RC" 0 "$s --$how: exit 0"
		cp "$T/out" "$T/$s.$how"
	done
	for size in 60x15 80x24 120x36; do
		run "$OVLTRACE" replay "$T/$s.rec" --render "$size"
		is "$RC" 0 "$s --render $size: exit 0"
		cp "$T/out" "$T/$s.$size"
	done
	is "$(cd "$T" && python3 look.py "$s".{plain,json,60x15,80x24,120x36} 2>&1)" "" \
		"$s: strict JSON, clean text, pictures that fit"
done

SUM="(sum(t['bps'] for t in d['waterfall']['terms']) + d['waterfall']['unexplained_bps'])"

# vector A: slices pooled by the program give the losses that were worked out by hand
cat >"$T/vector.py" <<'END'
import json, sys
want = {"tcp_tx": 1221381954, "copy_from_user": 0, "veth": 1017818295, "ip": 1221381954,
        "qdisc": 1424945613, "bridge": 814254636, "netfilter": 610690977,
        "vxlan_encap": 1628509272, "gso": 3664145861, "vxlan_decap": 1017818295,
        "slack": -854967368, "other_tasks": 0, "ovltrace": 71169585}
w = json.load(open(sys.argv[1]))["waterfall"]
got = {t["key"]: t["bps"] for t in w["terms"]}
for key in sorted(want.keys() | got.keys()):
    if abs(got.get(key, 0) - want.get(key, 0)) > 1:
        print(f"{key}: {got.get(key)} instead of {want.get(key)}")
if abs(w["unexplained_bps"] - 162850926) > 1:
    print("unexplained:", w["unexplained_bps"])
END
is "$(python3 "$T/vector.py" "$T/vector-a.json" 2>&1)" "" "vector A: every term within 1 bit/s"
is "$(json "$T/vector-a.json" "round(d['waterfall']['underlay_bps']), round(d['waterfall']['overlay_bps'])")" \
	"(20000000000, 8000000000)" "vector A: both ends"
is "$(json "$T/vector-a.json" "$SUM")" \
	12000000000 "vector A: the sum is exact"
is "$(json "$T/vector-a.json" "d['waterfall']['lane']")" cpu0 "vector A: drawn for the CPU that limits"
is "$(json "$T/vector-a.json" "d['verdict']['limit']")" sender_task_cpu "vector A: verdict"
is "$(json "$T/vector-a.json" "d['waterfall']['ledger_error_ratio'] < 1e-9")" True "vector A: ledger error 0"
is "$(json "$T/vector-a.json" "len([t for t in d['waterfall']['terms'] if t['stderr_bps']]) > 3")" True \
	"vector A: standard errors from six pairs"

is "$(json "$T/window.json" "d['verdict']['limit']")" window "window: verdict"
is "$(json "$T/window.json" "round(d['waterfall']['underlay_bps']) - round(d['waterfall']['overlay_bps']) - $SUM")" \
	0 "window: the sum is exact"
is "$(json "$T/lossy.json" "d['verdict']['limit']")" loss "lossy: verdict"
is "$(json "$T/lossy.json" "sum(x['pkts'] for x in d['drops'] if not x['benign'])")" 1080 "lossy: drops are summed"
is "$(json "$T/lossy.json" "d['load']['overlay']['retransmits']")" 840 "lossy: retransmits are summed"
is "$(json "$T/no-load.json" "d['waterfall'], d['load']")" "(None, None)" "no load: no waterfall"
is "$(json "$T/no-load.json" "d['traffic']['tx']['bytes'], d['traffic']['rx']['bytes']")" "(6250000000, 90000000)" \
	"no load: traffic is the device's"
is "$(json "$T/idle.json" "d['verdict']['limit']")" no_traffic "idle: verdict"

# a second time the same bytes
run "$OVLTRACE" replay "$T/vector-a.rec" --json
cmp -s "$T/out" "$T/vector-a.json"
ok $? "the same recording gives the same document"

# plain text is read as well as gzip
zcat "$T/vector-a.rec" >"$T/a.plain"
run "$OVLTRACE" replay "$T/a.plain" --json
cmp -s "$T/out" "$T/vector-a.json"
ok $? "an unpacked recording is the same recording"

# cut short: what is whole is shown, and that is said
half=$(($(stat -c %s "$T/vector-a.rec") * 3 / 4))
head -c "$half" "$T/vector-a.rec" >"$T/cut.rec"
run "$OVLTRACE" replay "$T/cut.rec" --plain
is "$RC" 0 "cut short: exit 0"
one_sentence "cut short"
[ -n "$OUT" ]
ok $? "cut short: what is whole is shown"

# broken FILE PATTERN: refused with exit 7, one sentence, nothing on stdout
broken() {
	local how
	for how in --plain --json; do
		run timeout 10 "$OVLTRACE" replay "$T/$1" "$how"
		is "$RC" 7 "$1 $how: exit 7"
		[ -z "$OUT" ]
		ok $? "$1 $how: nothing on stdout" "$OUT"
	done
	one_sentence "$1"
	like "$ERR" "$2" "$1: the sentence says so"
}

# two recordings side by side, and bounds on one
run "$OVLTRACE" diff "$T/vector-a.rec" "$T/lossy.rec"
is "$RC" 0 "diff: exit 0"
like "$OUT" "goodput +8.00 Gbit/s +1.20 Gbit/s +-85.0%  WORSE" "diff: the figures"
like "$OUT" "softnet.dropped +0 " "diff: a counter that moves in one only"
is "$(awk 'length > 110' "$T/out")" "" "diff: lines that can be read"
run "$OVLTRACE" diff "$T/vector-a.rec" "$T/vector-a.rec"
unlike "$OUT" "WORSE|better|[+]-2SE.*[0-9]$" "diff with itself: no change"
like "$OUT" "same devices.*None beyond chance.*None beyond chance" "diff with itself: says so"
run "$OVLTRACE" diff "$T/vector-a.rec" "$T/no-load.rec" --json="$T/diff.json"
is "$RC" 0 "diff --json: exit 0"
is "$(json "$T/diff.json" "d['schema'], [m['b'] for m in d['metrics'] if m['name'] == 'goodput']")" \
	"('ovltrace-diff/1', [None])" "diff --json: what one run lacks is null"
cp "$T/vector-a.rec" "$T/precious.rec"
run "$OVLTRACE" diff "$T/precious.rec" "$T/lossy.rec" --json="$T/precious.rec"
is "$RC" 2 "diff over its own input: exit 2"
cmp -s "$T/precious.rec" "$T/vector-a.rec"
ok $? "and the recording is as it was"
run "$OVLTRACE" replay "$T/lossy.rec" --fail-if 'loss > 20%' --fail-if 'goodput<500M' --json="$T/judged.json"
is "$RC" 3 "a broken bound: exit 3"
like "$ERR" "a limit was exceeded: --fail-if 'loss > 20%': loss is 92.5%$" "names it and no other"
is "$(json "$T/judged.json" "d['exit']['code'], d['load'] is not None")" "(3, True)" \
	"the document is whole and says so"
run "$OVLTRACE" replay "$T/lossy.rec" --fail-if 'loss>95%' --fail-if 'rtt_p99>=10ms'
is "$RC" 0 "bounds that hold: exit 0"
run "$OVLTRACE" replay "$T/no-load.rec" --fail-if 'goodput<1G'
is "$RC" 3 "a bound on what was not measured: exit 3"
like "$ERR" "goodput was not measured" "and says so"
run "$OVLTRACE" replay "$T/lossy.rec" --compare "$T/vector-a.rec"
is "$RC" 3 "worse than the baseline: exit 3"
like "$ERR" "goodput is 1.20 Gbit/s, was 8.00 Gbit/s" "names what is worse"
like "$OUT" "COMPARED WITH THE BASELINE" "and shows what changed"
run "$OVLTRACE" replay "$T/vector-a.rec" --compare "$T/lossy.rec"
is "$RC" 0 "better than the baseline: exit 0"

: >"$T/empty"
mkdir "$T/directory"
mkfifo "$T/fifo"
echo "hello" >"$T/foreign"
echo "hello" | gzip >"$T/foreign.gz"
echo '{"start":{}}' >"$T/other.json"
head -c 100000 /dev/urandom >"$T/noise"
head -c 60 "$T/vector-a.rec" >"$T/stump"
sed '1s/"ovltrace_recording":1/"ovltrace_recording":9/' "$T/a.plain" >"$T/newer"
sed '3s/"count":[0-9]*/"count":"many"/' "$T/a.plain" >"$T/wrong-type"
sed '3s/"link":1/"link":99/' "$T/a.plain" >"$T/wrong-index"
sed '3s/^{/{{/' "$T/a.plain" >"$T/wrong-json"
sed '4d' "$T/a.plain" >"$T/line-missing"
cp "$T/vector-a.rec" "$T/flipped"
printf '\377\377\377\377\377\377\377\377' | dd of="$T/flipped" bs=1 seek=$((half / 2)) conv=notrunc status=none

broken absent 'No such file'
broken empty 'is empty'
broken directory 'is a directory'
broken fifo 'not a regular file'
broken foreign 'not an ovltrace recording'
broken foreign.gz 'not an ovltrace recording'
broken other.json 'not an ovltrace recording'
broken noise 'not an ovltrace recording'
broken stump 'cut off'
broken newer 'has format 9'
broken wrong-type 'damaged in line 3.*not a whole number'
broken wrong-index 'damaged in line 3.*link 99'
broken wrong-json 'damaged in line 3'
broken line-missing 'does not count the samples'
broken flipped 'damaged'
if [ "$(id -u)" = 0 ]; then
	skip "no permission: root may read everything (the unit test gives its rights up)"
else
	cp "$T/empty" "$T/secret"
	chmod 0 "$T/secret"
	broken secret 'Permission denied'
fi

run "$OVLTRACE" replay
is "$RC" 2 "no file: usage"
run "$OVLTRACE" replay "$T/a.plain" "$T/a.plain"
is "$RC" 2 "two files: usage"
finish
