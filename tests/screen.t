#!/usr/bin/env bash
# The live screen in a real terminal (tmux): sizes, keys, resize storm, odd TERMs, exit.
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"
need_root
need tmux ip

NS=ovlt$$-scr
ip netns add "$NS" || skip_all "cannot make a namespace"
at_exit "ip netns del $NS"
ip -n "$NS" link set lo up
SERVERS=0
export TMUX_TMPDIR=$T

# screen COLS ROWS ENV… -- ARGS…: run on a terminal of this size; its exit code goes to $T/rc
screen() {
	local cols=$1 rows=$2 envs=()
	shift 2
	while [ "$1" != -- ]; do envs+=("$1") && shift; done
	shift
	rm -f "$T/rc"
	SERVERS=$((SERVERS + 1)) # a server of its own each time: one that is ending refuses sessions
	S="tmux -L ovlt$$-$SERVERS -f /dev/null"
	at_exit "$S kill-server"
	$S new-session -d -x "$cols" -y "$rows" \
		"env ${envs[*]} $OVLTRACE --netns $NS --iface lo $* 2>$T/err; echo \$? >$T/rc; sleep 30"
}
capture() { $S capture-pane -p; }
# wait_for PATTERN: until the screen shows it
shows() { capture | grep -qE -- "$1"; }
shows_not() { ! shows "$1"; }
wait_for() { wait_until shows "$1"; }
wait_rc() { wait_until test -s "$T/rc"; }

for size in "80 24" "120 36" "60 15" "200 60"; do
	# shellcheck disable=SC2086
	screen $size LC_ALL=C.UTF-8 --
	wait_for 'LIVE'
	ok $? "${size/ /x}: the screen comes up and says LIVE" "$(capture; cat "$T/err")"
	wait_for 'ovltrace'
	ok $? "${size/ /x}: names itself"
	$S send-keys q
	wait_rc
	is "$(cat "$T/rc")" 0 "${size/ /x}: q ends it with 0"
done

screen 52 12 LC_ALL=C.UTF-8 --
wait_for 'need 60x15'
ok $? "too small: says what it needs" "$(capture)"
$S resize-window -x 80 -y 24
wait_for 'LIVE'
ok $? "grown: the screen appears" "$(capture)"
for i in $(seq 1 40); do
	$S resize-window -x $((20 + i * 37 % 150)) -y $((5 + i * 17 % 50))
done
$S resize-window -x 100 -y 30
wait_for 'LIVE'
ok $? "a storm of 40 resizes is survived" "$(capture)"
$S send-keys '?'
wait_for 'KEYS .*any other key'
ok $? "? opens help" "$(capture)"
$S send-keys x
wait_until shows_not 'any other key'
ok $? "another key closes it" "$(capture)"
$S send-keys p
wait_for 'PAUSED'
ok $? "p pauses and says so" "$(capture)"
$S send-keys p
wait_for 'LIVE'
ok $? "p resumes"
$S send-keys C-c
wait_rc
is "$(cat "$T/rc")" 0 "^C ends it with 0"

screen 80 24 LC_ALL=C --
wait_for 'LIVE'
capture | LC_ALL=C grep -q '[^ -~]'
is $? 1 "in the C locale everything on screen is ASCII"
kill -TERM "$(pgrep -P "$($S list-panes -F '#{pane_pid}')")"
wait_rc
is "$(cat "$T/rc")" 0 "SIGTERM ends it with 0"

screen 80 24 LC_ALL=C -- --record "$T/gone.ovl"
wait_for 'LIVE'
PID=$(pgrep -P "$($S list-panes -F '#{pane_pid}')")
$S kill-server
wait_until gone "$PID"
ok $? "a terminal that goes away ends the run"
kill -9 "$PID" 2>/dev/null
run "$OVLTRACE" replay "$T/gone.ovl" --json
is "$RC,$ERR" "0," "and its recording is whole"

screen 80 24 TERM=no-such-terminal LC_ALL=C -- --for 2
wait_rc
is "$(cat "$T/rc")" 0 "an unknown TERM is survived"
screen 80 24 TERM= LC_ALL=C -- --for 2
wait_rc
is "$(cat "$T/rc")" 0 "an empty TERM is survived"
screen 80 24 -u TERM LC_ALL=C -- --for 2
wait_rc
is "$(cat "$T/rc")" 0 "no TERM is survived"

run "$OVLTRACE" --netns "$NS" --iface lo --for 1 --render 80x24 --record "$T/end.ovl"
like "$RC $OUT" "^0 .*s END.*[0-9]{2}:[0-9]{2}:[0-9]{2}" "--render of a run: its end, by the clock"
run "$OVLTRACE" replay "$T/end.ovl" --render 80x24
like "$RC $OUT" "^0 .*s REPLAY.*--:--:--" "--render of its recording: a replay"
finish
