#!/usr/bin/env bash
# kill -9 at random moments leaves no namespace, process, BPF program, link or changed setting.
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"
need_root
need ip bpftool python3

TN=ovlt$$-kill
ip netns add "$TN" || skip_all "cannot make a namespace"
at_exit "ip netns del $TN"
ip -n "$TN" link add under0 mtu 1500 type veth peer name under1
ip -n "$TN" addr add 192.0.2.1/24 dev under0
ip -n "$TN" link set under0 up
ip -n "$TN" link set under1 up
ip -n "$TN" link add ovk.9 type vxlan id 9 local 192.0.2.1 dev under0 dstport 4789 nolearning
ip -n "$TN" link set ovk.9 up

# state: everything of the machine that a run could leave behind, by its own identity
state() {
	bpftool prog show 2>/dev/null | grep -E '^[0-9]+:' | sed 's/  tag.*//'
	bpftool link show 2>/dev/null | grep -E '^[0-9]+:'
	ls /run/netns
	lsns -t net -n -o NS 2>/dev/null | sort
	ip -o link | sed 's/: <.*//'
	cat /proc/sys/net/core/netdev_max_backlog /proc/sys/kernel/bpf_stats_enabled
	cat /proc/sys/net/ipv4/tcp_congestion_control
}
as_before() { [ "$(state)" = "$BEFORE" ]; }
settled() { wait_until as_before; }

# other work on this machine may come and go: only what stays the same twice is compared
BEFORE=$(state)
sleep 0.5
[ "$(state)" = "$BEFORE" ] || skip_all "the machine's namespaces or BPF programs change by themselves"

OTHERS=$(pgrep -x ovltrace) # somebody else's
for i in $(seq 1 10); do
	"$OVLTRACE" --netns "$TN" --iface ovk.9 --load iperf-like --load-anyway --for 5 --plain \
		--record "$T/kill.ovl" >/dev/null 2>&1 &
	PID=$!
	sleep "$(python3 -c "import random; print(random.uniform(0.02, 3.5))")"
	kill -9 $PID 2>/dev/null
	wait $PID 2>/dev/null
	settled
	ok $? "kill $i: nothing left" "$(diff <(printf '%s\n' "$BEFORE") <(state))"
	is "$(pgrep -x ovltrace)" "$OTHERS" "kill $i: no process left"
done
run "$OVLTRACE" replay "$T/kill.ovl" --json
[ "$RC" = 0 ] || [ "$RC" = 7 ]
ok $? "a recording cut off by kill -9 is read or refused with a sentence" "$RC $ERR"
for signal in INT TERM HUP; do
	rm -f "$T/signal.jsonl"
	"$OVLTRACE" --netns "$TN" --iface ovk.9 --for 60 --json="$T/signal.json" --jsonl="$T/signal.jsonl" \
		2>"$T/err" &
	PID=$!
	wait_until begun "$T/signal.jsonl" 1
	kill -$signal $PID
	wait $PID
	is $? 0 "SIG$signal: exit 0"
	is "$(json "$T/signal.json" "d['exit']['reason']")" signal "SIG$signal: the document is complete"
done
settled
ok $? "after signals: nothing left" "$(diff <(printf '%s\n' "$BEFORE") <(state))"
finish
