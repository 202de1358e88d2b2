#!/usr/bin/env bash
# The copies ledger on this kernel: exact numbers of datagrams, TCP sums, tun devices by arithmetic,
# and tiers that are not possible here. timeout: 300
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"
need_root
need python3 ip
SEND=${O:-.output}/tests/datagrams
[ -x "$SEND" ] || skip_all "$SEND is not built"

A=ovlt$$-a B=ovlt$$-b
ip netns add "$A" || skip_all "cannot make a namespace"
at_exit "ip netns del $A"
ip netns add "$B"
at_exit "ip netns del $B"
ip -n "$A" link add under type veth peer name under netns "$B"
n=0
for ns in "$A" "$B"; do
	n=$((n + 1))
	ip -n "$ns" addr add 192.0.2.$n/24 dev under
	ip -n "$ns" link set lo up
	ip -n "$ns" link set under up
done
truth() {
	local file=$1 name=$2 expr
	shift 2
	for expr; do is "$(json "$file" "$expr" 2>&1 | tail -n 1)" True "$name: $expr"; done
}

# 60 datagrams of each of three prime sizes: one copy in, one out, and as many bytes
"$OVLTRACE" --netns "$A" --iface under --deep --for 60 --json="$T/udp.json" --jsonl="$T/udp.jsonl" \
	--plain >"$T/udp.txt" 2>"$T/udp.err" &
PID=$!
wait_until begun "$T/udp.jsonl"
ip netns exec "$B" "$SEND" recv 1009 180 60 >"$T/got" &
RECV=$!
wait_until grep -q ready "$T/got"
ip netns exec "$A" "$SEND" send 192.0.2.2 1009 60 7 101 1399
wait $RECV
kill -INT $PID
wait $PID
is $? 0 "datagrams: exit 0"
is "$(tail -n 1 "$T/got")" "180 90420" "datagrams: all arrived"
SITE="(lambda key, ns: [(s['calls'], s['bytes']) for s in d['copies']['sites'] if (s['key'], s['netns']) == (key, ns)])"
NOT_IN="any('sock_send' in m['hook'] for m in d['self']['missing'])"
truth "$T/udp.json" datagrams \
	"$NOT_IN or $SITE('udp_send', '$A') == [(180, 90420)]" \
	"$NOT_IN or $SITE('udp_recv', '$B') == [(180, 90420)]" \
	"$NOT_IN or d['copies']['floor'] == 2" \
	"$NOT_IN or sum(s['calls'] for s in d['copies']['sites'] if s['kind'] == 'payload') == 360" \
	"all(s['basis'] in ('tracepoint', 'fentry', 'kprobe') for s in d['copies']['sites'])" \
	"d['self']['probes']['fentry'] + d['self']['probes']['kprobe'] > 0 or
		[u['kind'] for u in d['copies']['unknown']] == ['payload', 'header', 'read']" \
	"d['self']['probes']['fentry'] + d['self']['probes']['kprobe'] > 0 or
		{'fentry', 'kprobe'} <= {m['hook'] for m in d['self']['missing']}" \
	"d['self']['lost']['map'] == 0"
like "$(cat "$T/udp.txt")" "COPIES  of each payload byte .*; needed" "the report has the section"
like "$(cat "$T/udp.txt")" "udp_recv +payload +$B|no such tracepoint" "and the site"

# TCP: of each payload byte one copy in and one out, which is the floor, and nothing lost on the way
ip -n "$A" link add ovx.9 type vxlan id 9 local 192.0.2.1 dev under dstport 4789 nolearning
ip -n "$A" link set ovx.9 up
run "$OVLTRACE" --netns "$A" --iface ovx.9 --load iperf-like --load-anyway --baseline off \
	--deep -d 3 --for 3 --record "$T/tcp.ovl" --json="$T/tcp.json"
is "$RC" 0 "tcp: exit 0"
truth "$T/tcp.json" tcp \
	"d['copies']['floor'] == 2 and d['copies']['payload_basis'] == 'measured'" \
	"abs(sum(s['of_payload_ratio'] for s in d['copies']['sites'] if s['key'] == 'copy_out') - 1) < 0.05" \
	"$NOT_IN or
		abs(sum(s['of_payload_ratio'] for s in d['copies']['sites'] if s['key'] == 'tcp_send') - 1) < 0.05" \
	"$NOT_IN or d['copies']['per_pkt'] >= 1.9"
json "$T/tcp.json" "'# copies of each payload byte: %.3f' % d['copies']['per_pkt']"
# a recording carries it
run "$OVLTRACE" replay "$T/tcp.ovl" --json="$T/again.json"
is "$RC" 0 "replay: exit 0"
is "$(json "$T/again.json" "d['copies'], d['functions']")" "$(json "$T/tcp.json" "d['copies'], d['functions']")" \
	"replay: the same ledger"

# without --deep: arithmetic, and it is marked so
run "$OVLTRACE" --netns "$A" --iface ovx.9 --load iperf-like --load-anyway --for 1 --json="$T/plain.json"
truth "$T/plain.json" "not deep" \
	"{s['basis'] for s in d['copies']['sites']} == {'arithmetic'} and d['copies']['per_pkt'] is None" \
	"{s['calls'] for s in d['copies']['sites']} == {None}" \
	"d['functions'] is None and d['self']['missing'] == []"

# a tier by name, where it is not possible and where it is
for tier in fentry kprobe; do
	run "$OVLTRACE" --netns "$A" --iface under --tier "$tier" --for 1 --json="$T/tier.json"
	if [ "$RC" = 0 ]; then
		truth "$T/tier.json" "$tier" "d['self']['probes']['$tier'] > 20"
	else
		is "$RC" 5 "$tier: this kernel does not allow it: exit 5"
		one_sentence "$tier"
		like "$ERR" "tier $tier is not possible here: .*--tier auto" "$tier: why, and what to do"
	fi
done
run "$OVLTRACE" --tier ebpf
is "$RC" 2 "no such tier: exit 2"
one_sentence "no such tier"
finish
