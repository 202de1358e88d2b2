# shellcheck shell=bash
# TAP for shell tests: source it, call ok/is/like/run…, end with `finish`. Cleans up on every exit.
#
#   plan of a file that cannot run here:  skip_all "needs root"
#   clean-up, last first:                 at_exit 'ip netns del x'
#   kill only what was recorded:          start CMD…; it goes to $STARTED and dies at exit
#   servers on ports of their own:        port=$(free_ports 2); serve FILE "$port" CMD…

set -u
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit 1
OVLTRACE=${OVLTRACE:-$PWD/ovltrace}
T=$(mktemp -d "${TMPDIR:-/tmp}/ovl-test.XXXXXX")
N=0 FAILED=0 CLEANUP=() STARTED=''

at_exit() { CLEANUP+=("$1"); }

cleanup() {
	local i
	for ((i = ${#CLEANUP[@]} - 1; i >= 0; i--)); do eval "${CLEANUP[i]}" >/dev/null 2>&1; done
	rm -rf "$T"
}
trap cleanup EXIT
trap 'exit 130' INT TERM

# start CMD…: run in the background, remember its pid in STARTED, end it at exit
start() {
	"$@" &
	STARTED=$!
	at_exit "kill $STARTED 2>/dev/null; wait $STARTED"
}

# wait_until CMD…: until it succeeds, however busy the machine is; fails after half a minute
wait_until() {
	local i
	for ((i = 0; i < 300; i++)); do
		"$@" && return 0
		sleep 0.1
	done
	return 1
}
gone() { ! kill -0 "$1" 2>/dev/null; }
# begun FILE [N]: a run that writes --jsonl=FILE measures, and has reported N intervals (0)
begun() {
	grep -q '"type":"start"' "$1" 2>/dev/null && [ "$(grep -c '"type":"sample"' "$1")" -ge "${2-0}" ]
}
# listens NETNS PORT: somebody does
listens() { [ -n "$(ip netns exec "$1" ss -Hltn "sport = :$2")" ]; }
# open_at PORT: somebody listens there, in this namespace
open_at() { grep -q ":$(printf %04X "$1") 0*:0000 0A" /proc/net/tcp /proc/net/tcp6; }
# serve FILE PORT CMD…: a server in the background, known to listen; what it says goes to $T/FILE
serve() {
	local said=$T/$1 at=$2
	shift 2
	start "$@" > "$said" 2>&1
	wait_until open_at "$at" || echo "# nobody listens at port $at: $*"
}
# free_ports N: the first of N ports in a row nobody listens on, and that no outgoing connection takes meanwhile
free_ports() {
	python3 -c '
import random, socket, sys
while True:
    n = int(sys.argv[1])
    port, socks = random.randrange(15000, 30000), [socket.socket() for i in range(n)]
    try:
        for i, s in enumerate(socks):
            s.bind(("0.0.0.0", port + i))
        print(port)
        break
    except OSError:
        continue' "$1"
}

skip_all() {
	echo "1..0 # SKIP $1"
	exit 0
}
need_root() { [ "$(id -u)" = 0 ] || skip_all "needs root"; }
need() {
	local c
	for c; do command -v "$c" >/dev/null || skip_all "needs the program $c"; done
}

# ok STATUS NAME [DETAIL]: a check by exit status (0 is good)
ok() {
	N=$((N + 1))
	if [ "$1" = 0 ]; then
		echo "ok $N - $2"
	else
		FAILED=$((FAILED + 1))
		echo "not ok $N - $2"
		[ -n "${3-}" ] && printf '%s\n' "$3" | head -20 | sed 's/^/# /'
	fi
	return 0
}
is() { [ "$1" = "$2" ]; ok $? "$3" "got: $1"$'\n'"want: $2"; }
like() { [[ $1 =~ $2 ]]; ok $? "$3" "got: $1"$'\n'"want a match of: $2"; }
unlike() { ! [[ $1 =~ $2 ]]; ok $? "$3" "got: $1"$'\n'"want no match of: $2"; }
skip() {
	N=$((N + 1))
	echo "ok $N # SKIP $1"
}

# run CMD…: keep exit status, stdout and stderr in RC, OUT and ERR
run() {
	"$@" >"$T/out" 2>"$T/err" </dev/null
	RC=$?
	OUT=$(cat "$T/out")
	ERR=$(cat "$T/err")
}

# one_sentence NAME: the last run said exactly one line on stderr, which begins with the program's name
one_sentence() {
	local lines
	lines=$(printf '%s' "$ERR" | grep -c '')
	[ "$lines" = 1 ] && [[ $ERR == ovltrace:\ * ]]
	ok $? "$1: one sentence" "$ERR"
}

# json FILE EXPR: value of a python expression over the document `d`
json() {
	python3 -c '
import json, sys
d = json.load(open(sys.argv[1]))
print(eval("(" + sys.argv[2] + ")"))' "$1" "$2"
}

finish() {
	echo "1..$N"
	[ "$FAILED" = 0 ]
	exit
}
