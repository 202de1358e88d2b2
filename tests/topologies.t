#!/usr/bin/env bash
# Every topology of `ovltrace lab`: up, a stock client moves data between its endpoints while the
# lab's device is watched, down, nothing left. Options, Services, several labs, killed ones.
# needs: root
# timeout: 400
# In a /run of its own: a lab's names are the machine's, and one that is up is not to be met or harmed.
if [ "$(id -u)" = 0 ] && [ -z "${OVL_OWN_RUN-}" ]; then
	export OVL_OWN_RUN=1
	exec unshare --mount sh -c "mount -t tmpfs own-run /run && exec '$0'"
fi
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"
need_root
need ip iperf3 ping python3 nft
[ -x "$OVLTRACE" ] || skip_all "$OVLTRACE is not built"

lab() { "$OVLTRACE" lab "$@"; }
left() {
	find /run/netns /run/ovltrace/lab -mindepth 1 -maxdepth 1 2>/dev/null
	# daemons of labs: what carries the mark and was started under this /run
	local process mine
	mine=$(readlink /proc/$$/ns/mnt)
	grep -slz "^OVLTRACE_LAB=" /proc/[0-9]*/environ | while read -r process; do
		[ "$(readlink "${process%/environ}/ns/mnt")" != "$mine" ] || echo "$process"
	done
}
all_down() { lab down >/dev/null 2>&1; }
at_exit all_down

PROXY=$(scripts/docker-proxy 2>"$T/no-proxy") && export OVLTRACE_DOCKER_PROXY=$PROXY

serves() { [ -n "$(lab exec "$1" "$2" -- ss -Hltn "sport = :5201")" ]; }
# serve TOPO END: a stock iperf3 server there, listening when this returns
serve() {
	start "$OVLTRACE" lab exec "$1" "$2" -- iperf3 -s >/dev/null 2>&1
	SERVER=$STARTED
	wait_until serves "$1" "$2"
}

# goodput TOPO FROM ADDR SECONDS: bit/s that a stock iperf3 client reports of its receiver
goodput() {
	lab exec "$1" "$2" -- timeout 20 iperf3 -c "$3" -t "$4" -J >"$T/iperf3" 2>&1
	json "$T/iperf3" 'int(d["end"]["sum_received"]["bits_per_second"])' 2>/dev/null
}

# traced TOPO FROM SERVER ADDR IFACE AT KINDS [OPTION…]: one topology, the whole way
traced() {
	local topo=$1 from=$2 server=$3 addr=$4 iface=$5 at=$6 kinds=$7 begin bits
	shift 7
	begin=$(date +%s%N)
	run "$OVLTRACE" lab up "$topo" "$@"
	is "$RC" 0 "$topo $*: up"
	[ "$RC" = 0 ] || { printf '%s\n' "$ERR" | sed 's/^/# /'; return; }
	like "$OUT" "look: .*--iface $iface.*enter: .*remove: +ovltrace lab down $topo" \
		"$topo: says how to go on"
	serve "$topo" "$server"
	start "$OVLTRACE" --iface "$iface" --netns "ovl-$topo-$at" --for 3 --json="$T/json" >/dev/null 2>"$T/err"
	sleep 0.5
	bits=$(goodput "$topo" "$from" "$addr" 2)
	wait "$STARTED"
	is $? 0 "$topo: watched"
	kill "$SERVER" && wait "$SERVER" 2>/dev/null
	[ "${bits:-0}" -gt 10000000 ]
	ok $? "$topo: iperf3 moves data from $from to $addr" "$bits bit/s, $(head -c 300 "$T/iperf3")"
	is "$(json "$T/json" 'd["traffic"]["rx"]["bytes"] + d["traffic"]["tx"]["bytes"] > 1e6' 2>&1)" \
		True "$topo: traffic is seen on $iface"
	is "$(json "$T/json" "sorted(set('$kinds'.split()) - {x['kind'] for x in d['devices']})" 2>&1)" \
		"[]" "$topo: devices of kinds $kinds are seen"
	is "$(json "$T/json" 'd["verdict"]["limit"] not in ("no_traffic", "blocked")' 2>&1)" True \
		"$topo: the verdict knows of it"
	run "$OVLTRACE" lab down "$topo"
	is "$RC" 0 "$topo: down"
	is "$(left)" "" "$topo: nothing is left"
	[ $((($(date +%s%N) - begin) / 1000000000)) -lt 10 ]
	ok $? "$topo: all this took less than 10 s"
	echo "# $topo $*: $((${bits:-0} / 1000000)) Mbit/s $from → $addr"
}

traced host node1 node1 127.0.0.1 lo node1 "loopback"
traced veth node1 node2 192.168.77.2 eth0 node1 "veth"
traced veth node1 node3 fd00:192:168:77::3 eth0 node1 "veth" --ipv6 outside --nodes 3
traced flannel-vxlan pod1 pod2 10.244.2.2 flannel.1 node1 "vxlan veth bridge"
traced flannel-vxlan pod1 pod3 fd00:10:244:3::2 flannel.1 node1 "vxlan veth bridge" \
	--ipv6 both --nodes 3 --vni 77 --mtu 9000
traced flannel-udp pod1 pod2 10.244.2.2 flannel0 node1 "tun veth bridge"
traced flannel-udp pod1 pod2 10.244.2.2 flannel0 node1 "tun veth bridge" --batch
traced flannel-hostgw pod1 pod2 10.244.2.2 cni0 node1 "bridge veth"
traced vxlan-mtu vxlan1 vxlan2 10.77.0.2 vxlan0 node1 "vxlan veth" --mtu 9000 --overlay-mtu 1500
traced docker-bridge c1 c2 172.17.0.3 docker0 node1 "bridge veth"
traced docker-hostnet c1 node1 127.0.0.1 lo node1 "loopback"
traced docker-sharedns c1 c2 127.0.0.1 lo c1 "loopback"
traced k8s pod1 pod2 10.96.0.10 flannel.1 node1 "vxlan veth bridge"
if [ -n "$PROXY" ]; then
	traced docker-published node1 c1 127.0.0.1 docker0 node1 "bridge veth"
else
	skip "docker-published: $(tail -n 1 "$T/no-proxy")"
	run env OVLTRACE_DOCKER_PROXY=/nowhere "$OVLTRACE" lab up docker-published
	is "$RC:$(left)" "1:" "docker-published without docker-proxy: failed, nothing left"
	one_sentence "docker-published without docker-proxy"
fi

# Docker's rules
lab up docker-bridge >/dev/null
run lab exec docker-bridge c1 -- ping -c 1 -W 1 172.18.0.2
is "$RC" 1 "docker-bridge: no way from one network to another"
run lab exec docker-bridge c1 -- ping -c 1 -W 1 172.17.0.3
is "$RC" 0 "docker-bridge: and one within a network"
lab down docker-bridge >/dev/null
if [ -n "$PROXY" ]; then
	lab up docker-published >/dev/null
	serve docker-published c1
	BITS=$(goodput docker-published node2 192.168.77.1 1)
	[ "${BITS:-0}" -gt 10000000 ]
	ok $? "docker-published: another machine comes in by DNAT" "$BITS bit/s"
	like "$(lab exec docker-published node1 -- nft list chain ip nat DOCKER)" \
		"packets [1-9][0-9]* .*dnat" "docker-published: and the rule has counted it"
	lab down docker-published >/dev/null
fi

# daemons that do not start as they should
fake() {
	printf '#!/bin/sh\n%s\n' "$1" >"$T/fake" && chmod +x "$T/fake"
	run env OVLTRACE_DOCKER_PROXY="$T/fake" "$OVLTRACE" lab up docker-published
	is "$RC:$(left)" "1:" "docker-proxy that $2: failed, nothing left"
	one_sentence "docker-proxy that $2"
	like "$ERR" "$3" "... which says why"
}
fake 'printf "1\\nno such luck\\n" >&3' "says why it cannot" "no such luck"
fake 'printf "1\\nstill here" >&3; sleep 60' "cannot and stays" "still here"
fake 'exec sleep 60' "says nothing" "not said within 5 s"
fake 'exit 3' "ends at once" "ended at once"

# the MTUs asked for: whole, and in fragments outside
for pair in "1500 9000 no" "8900 9000 no" "8900 1500 yes" "65000 65535 no"; do
	read -r overlay underlay split <<<"$pair"
	lab up vxlan-mtu --overlay-mtu "$overlay" --mtu "$underlay" >/dev/null
	is "$(lab exec vxlan-mtu vxlan1 -- cat /sys/class/net/{vxlan0,eth0}/mtu | tr '\n' ' ')" \
		"$overlay $underlay " "vxlan-mtu: overlay $overlay on underlay $underlay"
	run lab exec vxlan-mtu vxlan1 -- ping -c 2 -i 0.1 -W 2 -M "do" -s $((overlay - 28)) 10.77.0.2
	is "$RC" 0 "vxlan-mtu: a packet of $overlay bytes passes whole"
	made=$(lab exec vxlan-mtu vxlan1 -- cat /proc/net/snmp |
		awk '$1 == "Ip:" { v = $18 } END { print (v > 0 ? "yes" : "no") }')
	is "$made" "$split" "vxlan-mtu: outer fragments are made: $split"
	lab down vxlan-mtu >/dev/null
done

# a rate is a rate
lab up veth --rate 50M >/dev/null
serve veth node2
BITS=$(goodput veth node1 192.168.77.2 2)
[ "${BITS:-0}" -gt 30000000 ] && [ "$BITS" -lt 55000000 ]
ok $? "veth --rate 50M: iperf3 gets no more and not much less" "$BITS bit/s"
lab down veth >/dev/null

# Services, as kube-proxy makes them
lab up k8s --nodes 3 --pods 1 >/dev/null
# to_end SPEC END ARGS…: a load of ours from pod1 to an end of the lab
to_end() {
	local spec=$1 end=$2
	shift 2
	run timeout 30 "$OVLTRACE" --no-trace --load "$spec" --iface flannel.1 --netns ovl-k8s-node1 --from pod1 \
		--peer "$end" -t 0.5 "$@"
}
for streams in 1 4; do
	to_end iperf-like services -P $streams
	like "$RC $OUT" "^0 .*receiver" "k8s: $streams streams of ours to a service with several endpoints"
done
for end in pod2 pod3; do serve k8s $end; done
to_end iperf3 pod2
like "$RC $OUT" "^0 .*iperf Done" "k8s: --load iperf3 to an end is to the server there"
to_end iperf3 services -P 32
like "$RC $ERR" "^6 .*reached another iperf3 server" "k8s: iperf3 through several endpoints is explained"
for from in pod1 node1; do
	BITS=$(goodput k8s $from 10.96.0.10 1)
	[ "${BITS:-0}" -gt 10000000 ]
	ok $? "k8s: $from → service with one endpoint" "$BITS bit/s"
done
for end in pod2 pod3; do
	start "$OVLTRACE" lab exec k8s $end -- qperf >/dev/null 2>&1
	start "$OVLTRACE" lab exec k8s $end -- python3 -c "
import socket
s = socket.create_server(('', 5001))
while True:
    c = s.accept()[0]
    c.send(b'$end')
    c.close()"
done
sleep 0.5
ANSWERS=$(lab exec k8s pod1 -- timeout 20 python3 -c "
import socket
seen = set()
for i in range(60):
    seen.add(socket.create_connection(('10.96.0.20', 5001), 5).recv(9).decode())
print(*sorted(seen))")
is "$ANSWERS" "pod2 pod3" "k8s: services with several endpoints: both are met"
if command -v qperf >/dev/null; then
	run lab exec k8s pod1 -- timeout 20 qperf -t 1 10.244.2.2 tcp_lat
	is "$RC" 0 "qperf pod1 → pod2 works"
	run lab exec k8s pod1 -- timeout 20 qperf -t 1 10.96.0.10 tcp_lat
	is "$RC" 1 "qperf through the Service fails: its second port is not in it"
	like "$OUT$ERR" "could not make TCP connection to server" "... and it says so"
else
	skip "no qperf to fail through a Service"
fi
for end in node2 pod2; do # tells each client from where it sees it come
	start "$OVLTRACE" lab exec k8s $end -- python3 -c "
import socket
s = socket.create_server(('', 5002))
while True:
    c, a = s.accept()
    c.send(a[0].encode())
    c.close()"
	wait_until listens "ovl-k8s-$end" 5002
done
seen_as() { # CLIENT-END ADDR
	lab exec k8s "$1" -- timeout 20 python3 -c "
import socket
print(socket.create_connection(('$2', 5002), 5).recv(99).decode())" 2>&1
}
is "$(seen_as pod1 192.168.77.2)" 192.168.77.1 "k8s: pod → another node: SNAT, without vxlan"
is "$(seen_as pod1 10.244.2.2)" 10.244.1.2 "k8s: pod → pod: no SNAT"
ANSWER=$(lab exec k8s pod2 -- timeout 20 python3 -c "
import socket
print(socket.create_connection(('10.96.0.10', 5001), 5).recv(9).decode())" 2>&1)
is "$ANSWER" "pod2" "k8s: a pod reaches itself through its Service (hairpin)"
NATED=$(lab exec k8s node1 -- cat /proc/net/nf_conntrack 2>/dev/null |
	awk '/dport=8472/ { split($0, p, "sport="); split(p[2], s, " "); n = split($0, q, "dport=")
		if (n > 2 && q[3] + 0 != s[1] + 0 && s[1] + 0) print s[1], q[3] + 0 }')
is "$NATED" "" "k8s: vxlan's own packets are not translated"
run "$OVLTRACE" --load iperf-like --iface flannel.1 --for 1 --peer servce
is "$RC" 2 "k8s: a misspelt end: exit 2"
like "$ERR" "its ends are.* service" "k8s: and the ends that there are"
run "$OVLTRACE" lab exec k8s service -- true
is "$RC" 2 "exec in an address: usage"
one_sentence "exec in an address"
like "$ERR" "10\.96\.0\.10.*pod2" "... which names a place instead"

# several labs beside one another
run "$OVLTRACE" lab up flannel-udp
is "$RC" 0 "a second lab beside the first"
run "$OVLTRACE" lab up flannel-udp
is "$RC" 1 "a second one of the same: failed"
one_sentence "a second one of the same"
is "$(lab list | grep -c ' up since ')" 2 "list names both"
DAEMON=$(pgrep -f '^ovl-relay relay .*10.244.2.0/24=192.168.77.2' | head -n 1)
like "$(lab down flannel-udp)" "4 namespaces, 2 daemons" "down of one of them"
[ -n "$DAEMON" ] && wait_until gone "$DAEMON"
ok $? "its daemons are gone" "process $DAEMON"
run lab exec k8s pod1 -- ping -c 1 -W 2 10.244.3.2
is "$RC" 0 "the other one still works"
lab down k8s >/dev/null
is "$(left)" "" "nothing is left of either"

# a daemon that died, a daemon that was started anew
lab up flannel-udp >/dev/null
DAEMON=$(pgrep -f '^ovl-relay relay .*10.244.2.0/24=192.168.77.2' | head -n 1)
kill -9 "$DAEMON"
run lab exec flannel-udp pod1 -- ping -c 1 -W 1 10.244.2.2
is "$RC" 1 "without its daemon the udp backend carries nothing"
start "$OVLTRACE" lab exec flannel-udp node1 -- "$OVLTRACE" relay flannel0 192.168.77.1 \
	10.244.2.0/24=192.168.77.2
sleep 0.5
run lab exec flannel-udp pod1 -- ping -c 1 -W 2 10.244.2.2
is "$RC" 0 "a relay started by hand takes its place"
lab down flannel-udp >/dev/null
is "$(left)" "" "down after that leaves nothing"

# the seeds' order, by a stock client: paired runs of 1 s, the median of five ratios
for lab in host docker-bridge docker-published flannel-vxlan flannel-udp; do
	lab up $lab >/dev/null 2>&1
done
serve host node1
serve docker-bridge c2
serve flannel-vxlan pod2
serve flannel-udp pod2
[ -z "$PROXY" ] || serve docker-published c1
for i in 1 2 3 4 5; do
	echo "$(goodput host node1 127.0.0.1 1) $(goodput docker-bridge c1 172.17.0.3 1)" \
		"$(goodput docker-published node1 127.0.0.1 1)" \
		"$(goodput flannel-vxlan pod1 10.244.2.2 1) $(goodput flannel-udp pod1 10.244.2.2 1)"
done >"$T/order"
sed 's/^/# host, bridge, proxy, vxlan, udp: /' "$T/order"
# ratio A B: median of the ratios of two columns
ratio() {
	awk -v a="$1" -v b="$2" '$b > 0 { print $a / $b }' "$T/order" | sort -g | sed -n 3p
}
above() { awk -v r="$1" -v least="$2" 'BEGIN { exit !(r > least) }'; }
above "$(ratio 1 2)" 1.05
ok $? "loopback carries more than a Docker bridge" "ratio $(ratio 1 2)"
if [ -n "$PROXY" ]; then
	above "$(ratio 2 3)" 1.1
	ok $? "a Docker bridge more than a port published by docker-proxy" "ratio $(ratio 2 3)"
else
	skip "no docker-proxy to compare with"
fi
above "$(ratio 4 5)" 5
ok $? "vxlan many times what the udp backend does" "ratio $(ratio 4 5)"
echo "# ratios: host/bridge $(ratio 1 2), bridge/proxy $(ratio 2 3), vxlan/udp $(ratio 4 5)"
all_down
is "$(left)" "" "five labs at once, down with one command"

# strangers are left alone, daemons are found without the state file
lab up flannel-udp >/dev/null
MARK=$(sed -n 's/^mark //p' /run/ovltrace/lab/flannel-udp)
start env "NOTE_OVLTRACE_LAB=$MARK" sleep 100
STRANGER=$STARTED
start env "OVLTRACE_LAB=flannel-udp:0" sleep 100
OTHER=$STARTED
start ip netns exec ovl-flannel-udp-node1 sleep 100
INSIDE=$STARTED
sleep 0.2
echo damaged >/run/ovltrace/lab/flannel-udp
like "$(lab down flannel-udp)" "4 namespaces, 2 daemons" "down of a lab whose state file is damaged"
kill -0 "$STRANGER" && kill -0 "$OTHER" && kill -0 "$INSIDE"
ok $? "what only looks like a daemon, or only is inside, lives on"
kill "$STRANGER" "$OTHER" "$INSIDE"
wait "$STRANGER" "$OTHER" "$INSIDE" 2>/dev/null
is "$(left)" "" "nothing is left"

# killed at any moment, and then `down`
for topo in flannel-udp k8s docker-bridge; do
	python3 tests/lab_kill.py "$OVLTRACE" $topo 10 >"$T/killed" 2>&1
	ok $? "$topo: killed at 10 random moments, down leaves nothing" "$(cat "$T/killed")"
	sed "s/^/# $topo: /" "$T/killed"
done
finish
