#!/usr/bin/env bash
# The drops ledger: injected drops are counted exactly, at the right reason, stage and device, against
# the kernel's own counters; and losses that have no event. timeout: 300
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"
need_root
need python3 ip nft tc ethtool
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
	ip netns exec "$ns" sysctl -qw net.ipv6.conf.all.disable_ipv6=1
	ip -n "$ns" addr add 192.0.2.$n/24 dev under
	ip -n "$ns" link set lo up
	ip -n "$ns" link set under up
	# a tunnel whose far end nobody has told
	ip -n "$ns" link add vx7 type vxlan id 7 dev under local 192.0.2.$n dstport 4789 nolearning
	ip -n "$ns" addr add 198.51.100.$n/24 dev vx7
	ip -n "$ns" link set vx7 up
done
# no neighbour has to be asked for, whose packets would be dropped as well
mac() { ip -n "$1" -br link show dev "$2" | awk '{ print $3 }'; }
ip -n "$A" neigh replace 192.0.2.2 lladdr "$(mac "$B" under)" dev under nud permanent
ip -n "$B" neigh replace 192.0.2.1 lladdr "$(mac "$A" under)" dev under nud permanent
ip -n "$A" neigh replace 198.51.100.2 lladdr 02:00:00:00:00:77 dev vx7 nud permanent
send() { ip netns exec "$A" "$SEND" send "$@"; }

# watch IFACE CMD…: observe A's IFACE while CMD runs; the document is $T/d.json
watch() {
	local iface=$1 pid
	shift
	rm -f "$T/d.jsonl"
	"$OVLTRACE" --netns "$A" --iface "$iface" --for 60 --json="$T/d.json" --jsonl="$T/d.jsonl" \
		>/dev/null 2>"$T/d.err" &
	pid=$!
	wait_until begun "$T/d.jsonl" || { kill $pid; cat "$T/d.err"; return 1; }
	"$@"
	# what was dropped just now is in the interval that the signal ends
	kill -INT $pid
	wait $pid
}
# dropped WHAT: sums over the rows of the document that WHAT (python, over r) selects
dropped() {
	json "$T/d.json" "(lambda rows: ' '.join(str(x) for x in (sum(r['pkts'] for r in rows),
		sum(r['segs'] for r in rows), *sorted({str(r['stage']) for r in rows}),
		*sorted({str(r['iface']) for r in rows}))))([r for r in d['drops']
		if r['netns'] in ('$A', '$B') and not r['benign'] and ($1)])"
}
# lost NETNS "SOURCE OBJECT NAME": what the kernel itself counted
lost() {
	json "$T/d.json" "sum(l['pkts'] for l in d['losses'] if l['netns'] == '$1' and
		' '.join((l['source'], l['object'], l['name'])) == '$2')"
}
rule() {
	ip netns exec "$B" nft -j list chain ip ovl in | python3 -c '
import json, sys
for o in json.load(sys.stdin)["nftables"]:
    for e in o.get("rule", {}).get("expr", []):
        if "counter" in e: print(e["counter"]["packets"], e["counter"]["bytes"])'
}

# a firewall
ip netns exec "$B" nft -f - <<'NFT'
table ip ovl {
	chain in {
		type filter hook prerouting priority 0;
		udp dport 1001 counter drop
	}
}
NFT
watch under send 192.0.2.2 1001 37 101 1399
is "$(rule | cut -d' ' -f1)" 74 "nft: the rule dropped all datagrams"
is "$(dropped "'NETFILTER' in r['reason']")" "74 74 netfilter under" "nft: counted, with stage and device"
is "$(dropped True | cut -d' ' -f1)" 74 "nft: nothing else was dropped"
is "$(json "$T/d.json" "{r['netns'] for r in d['drops'] if 'NETFILTER' in r['reason']} == {'$B'}")" True \
	"nft: in the namespace of the rule"

# one skb of many segments
ip netns exec "$B" nft flush chain ip ovl in
ip netns exec "$B" nft add rule ip ovl in tcp dport 1007 meta length \> 5000 counter drop
# one connection's first window: more than one segment in each skb, of 1448 bytes payload
segments() {
	ip netns exec "$A" python3 - <<'PY'
import socket, time
to = socket.create_connection(("192.0.2.2", 1007))
to.send(bytes(13 * 1448))
time.sleep(0.1)
to.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
PY
}
start ip netns exec "$B" python3 -c 'import socket, time
s = socket.create_server(("192.0.2.2", 1007))
time.sleep(600)'
wait_until listens "$B" 1007
watch under segments
read -r pkts bytes <<<"$(rule)"
read -r seen segs _ <<<"$(dropped "'NETFILTER' in r['reason']")"
[ "${pkts:-0}" -gt 0 ]
ok $? "segments: aggregates were dropped ($pkts of $bytes bytes)"
is "$seen" "$pkts" "segments: the skbs that the rule counted"
is "$segs" "$(((bytes - pkts * 52 + 1447) / 1448))" "segments: as many as their bytes fill"
ip netns exec "$B" nft delete table ip ovl

# a shaper
tc -n "$A" qdisc add dev under root handle 7: tbf rate 8kbit burst 1600 limit 3000
watch under send 192.0.2.2 1002 40 1000
TBF=$(tc -n "$A" -s -j qdisc show dev under | python3 -c 'import json, sys; print(json.load(sys.stdin)[0]["drops"])')
[ "$TBF" -gt 30 ]
ok $? "tbf: its queue overflowed ($TBF drops)"
is "$(dropped "'QDISC' in r['reason']")" "$TBF $TBF qdisc under" "tbf: counted, with stage and device"
is "$(lost "$A" "qdisc under tbf 7:0 drops")" "$TBF" "tbf: and read from the discipline itself"
tc -n "$A" qdisc del dev under root

# a socket that nobody reads
start ip netns exec "$B" python3 -c '
import socket, time
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 8192)
s.bind(("192.0.2.2", 1003))
time.sleep(600)'
bound() { [ -n "$(ip netns exec "$B" ss -Hlun "sport = :1003")" ]; }
wait_until bound
watch under send 192.0.2.2 1003 50 1000
RCVBUF=$(lost "$B" "protocol Udp RcvbufErrors")
[ "$RCVBUF" -gt 30 ]
ok $? "udp buffer: it overflowed ($RCVBUF errors)"
is "$(dropped "r['reason'] == 'SOCKET_RCVBUFF'" | cut -d' ' -f1-3)" "$RCVBUF $RCVBUF udp_rx" \
	"udp buffer: counted, with its stage"

# a destination that the tunnel does not know
watch vx7 send 198.51.100.2 1004 23 500
is "$(dropped "r['symbol'].startswith('vxlan_xmit')")" "23 23 vxlan_encap vx7" \
	"no FDB entry: counted, with stage and device"
is "$(lost "$A" "device vx7 tx_dropped")" 23 "no FDB entry: as many as the device counted"

# a tun daemon that does not read
start ip netns exec "$A" python3 -c '
import fcntl, os, struct, time
f = os.open("/dev/net/tun", os.O_RDWR)
fcntl.ioctl(f, 0x400454ca, struct.pack("16sH", b"tn0", 0x1001))
time.sleep(600)'
there() { ip -n "$A" link show dev tn0 >/dev/null 2>&1; }
wait_until there
ip -n "$A" link set tn0 txqueuelen 100 up
ip -n "$A" addr add 203.0.113.1/24 dev tn0
watch tn0 send 203.0.113.2 1005 150 500
TUN=$(lost "$A" "device tn0 tx_dropped")
[ "$TUN" -ge 50 ]
ok $? "tun: its ring overflowed ($TUN drops)"
is "$(dropped "r['symbol'].startswith('tun_net_xmit')")" "$TUN $TUN tun tn0" \
	"tun: counted, with stage and device"

finish
