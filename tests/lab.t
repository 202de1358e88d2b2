#!/usr/bin/env bash
# `ovltrace lab`: up, stock programs in it, offloads as promised, down, and how it goes wrong.
# needs: root
# In a /run of its own: a lab's names are the machine's, and one that is up is not to be met or harmed.
if [ "$(id -u)" = 0 ] && [ -z "${OVL_OWN_RUN-}" ]; then
	export OVL_OWN_RUN=1
	exec unshare --mount sh -c "mount -t tmpfs own-run /run && exec '$0'"
fi
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"
need_root
need ip ping iperf3 ethtool python3 setpriv

TOPO=flannel-vxlan
STATE=/run/ovltrace/lab
P=ovl-$TOPO
in_ns() { local end=$1; shift; ip netns exec "$P-$end" "$@"; }
named() { ip netns list | awk '{ print $1 }' | grep -E "^$P-" | sort; }
left() { named; ls -A "$STATE" 2>/dev/null; }
down() { "$OVLTRACE" lab down "$TOPO" >/dev/null 2>&1; }
# settings of the whole machine that a lab could be tempted to change
machine() {
	(cd /proc/sys && grep -r . net/core net/ipv4/tcp_* net/ipv4/ip_forward) 2>/dev/null | sort
}
# the namespaces and devices that are somebody else's
others() { ip netns list | awk '{ print $1 }' | grep -v "^$P-"; ip -o link | sed 's/: <.*//'; }
feature() { in_ns node1 ethtool -k eth0 | awk -v f="$1:" '$1 == f { print $2 }'; }

if [ -n "$(named)" ] || [ -e "$STATE/$TOPO" ]; then
	skip_all "a lab $TOPO is up already; it is left alone"
fi
ip netns add "$P" || skip_all "cannot make a network namespace"
ip netns del "$P"
FOREIGN=ovlt$$-other
ip netns add "$FOREIGN"
at_exit "ip netns del $FOREIGN"
at_exit down
MACHINE=$(machine)
OTHERS=$(others)

# what cannot be done is said
run "$OVLTRACE" lab up no-such-topology
is "$RC" 2 "an unknown topology: usage"
one_sentence "an unknown topology"
like "$ERR" "no-such-topology.*$TOPO" "... which names the known ones"
run "$OVLTRACE" lab down "$TOPO"
is "$RC" 1 "down of nothing: failed"
one_sentence "down of nothing"
like "$ERR" "not up" "... which says that it is not up"
run "$OVLTRACE" lab exec "$TOPO" pod1 -- true
is "$RC" 1 "exec in nothing: failed"
one_sentence "exec in nothing"
run "$OVLTRACE" lab up "$TOPO" --offloads most
[ "$RC" != 0 ]
ok $? "an unknown offload profile is refused"
for right in sys_admin net_admin; do
	run setpriv --bounding-set=-$right --inh-caps=-$right "$OVLTRACE" lab up "$TOPO"
	is "$RC" 4 "up without CAP_${right^^}: rights"
	one_sentence "up without CAP_${right^^}"
done
for files in 7 9 12 14; do
	(ulimit -n $files && exec "$OVLTRACE" lab up "$TOPO") >/dev/null 2>&1 &&
		skip "up manages with $files open files" && down && continue
	is "$(left)" "" "up that fails on its way ($files open files) undoes everything"
done
is "$(left)" "" "nothing was made so far"

# up, and used by programs that know nothing of it
BEGIN=$(date +%s%N)
run "$OVLTRACE" lab up "$TOPO"
TOOK_MS=$((($(date +%s%N) - BEGIN) / 1000000))
is "$RC" 0 "up"
[ "$TOOK_MS" -lt 2000 ]
ok $? "up does not take long" "$TOOK_MS ms"
is "$(named | tr '\n' ' ')" "$P-node1 $P-node2 $P-pod1 $P-pod2 " "four named namespaces"
run in_ns pod1 ping -c 2 -i 0.05 -W 2 10.244.2.2
is "$RC" 0 "ping pod1 → pod2"
run in_ns node1 ping -c 2 -i 0.05 -W 2 192.168.77.2
is "$RC" 0 "ping node1 → node2"
run in_ns pod1 ping -c 1 -W 2 -M "do" -s 1422 10.244.2.2
is "$RC" 0 "a packet of 1450 bytes passes pod1 → pod2 whole"
run in_ns pod1 ping -c 1 -W 2 -M "do" -s 1423 10.244.2.2
[ "$RC" != 0 ]
ok $? "one of 1451 does not"

start ip netns exec "$P-pod2" iperf3 -s -p 5299 >/dev/null 2>&1
wait_until listens "$P-pod2" 5299
run in_ns pod1 iperf3 -c 10.244.2.2 -p 5299 -t 1 -J
is "$RC" 0 "iperf3 pod1 → pod2"
BITS=$(json "$T/out" 'int(d["end"]["sum_received"]["bits_per_second"])')
[ "${BITS:-0}" -gt 10000000 ]
ok $? "iperf3 moves data through the tunnel" "$BITS bit/s"
TX=$(in_ns node1 cat /sys/class/net/flannel.1/statistics/tx_bytes)
[ "${TX:-0}" -gt 1000000 ]
ok $? "and it is flannel.1 that carries it" "$TX bytes"
DROPPED=$(for end in node1 pod1 node2 pod2; do
	in_ns $end sh -c 'cat /sys/class/net/*/statistics/rx_dropped'
done | sort -u | tr '\n' ' ')
is "$DROPPED" "0 " "one stream drops nothing: frames in flight are bounded"

# names and numbers as flannel's
is "$(in_ns node1 sh -c 'cd /sys/class/net && cat flannel.1/mtu cni0/mtu eth0/mtu' | tr '\n' ' ')" \
	"1450 1450 1500 " "MTU of flannel.1, cni0, eth0"
is "$(in_ns pod1 cat /sys/class/net/eth0/mtu)" 1450 "MTU of the pod"
LINK=$(in_ns node1 ip -d link show flannel.1)
like "$LINK" "vxlan id 1 local 192.168.77.1 dev eth0 .*dstport 8472 nolearning" \
	"vxlan as flannel makes it"
like "$(in_ns node1 bridge fdb show dev flannel.1)" "dst 192.168.77.2 self permanent" \
	"static forwarding entry"
like "$(in_ns node1 ip neigh show dev flannel.1)" "10.244.2.0 lladdr .* PERMANENT" \
	"static neighbour"
like "$(in_ns node1 ip route)" "10.244.2.0/24 via 10.244.2.0 dev flannel.1 onlink" \
	"route to the other pods"
like "$(in_ns node1 ip route show 192.168.77.2)" "cwnd lock" \
	"the underlay's route bounds the frames in flight"
like "$(in_ns pod2 ip route show default)" "cwnd lock" "so does the pod's"
is "$(in_ns node1 sh -c 'cat /sys/class/net/*/queues/rx-*/rps_cpus' | sort -u | grep -c '[1-9a-f]')" 1 \
	"all devices of node1 are steered to one CPU"
if [ "$(nproc)" -gt 1 ]; then
	RPS=/sys/class/net/eth0/queues/rx-0/rps_cpus
	[ "$(in_ns node1 cat $RPS)" != "$(in_ns node2 cat $RPS)" ]
	ok $? "those of node2 to another"
else
	skip "one CPU only: both nodes share it"
fi
is "$(in_ns node1 sh -c 'cd /proc/sys/net/ipv4 && cat tcp_slow_start_after_idle ip_forward' |
	tr '\n' ' ')" "0 1 " \
	"a node forwards and does not start slowly again"

# list, exec
run "$OVLTRACE" lab list
is "$RC" 0 "list"
is "$(printf '%s\n' "$OUT" | grep -c "^$TOPO ")" 1 "list: one line for it"
like "$OUT" "$TOPO  up since .*, by root.*, process [0-9]+.*; offloads cloud; look at flannel.1" \
	"list: since when and by whom"
like "$OUT" "pod2 +10.244.2.2 +$P-pod2.*lab down $TOPO" "list: ends and how to remove it"
run "$OVLTRACE" lab exec "$TOPO" pod2 -- cat /sys/class/net/eth0/mtu
is "$RC:$OUT" "0:1450" "exec runs a command in a pod, with the pod's /sys"
run "$OVLTRACE" lab exec "$TOPO" node2 -- sh -c 'exit 42'
is "$RC" 42 "exec: the command's exit code"
run "$OVLTRACE" lab exec "$TOPO" pod9 -- true
is "$RC" 2 "exec in an unknown end: usage"
one_sentence "exec in an unknown end"
like "$ERR" "pod9.*node1, node2, pod1, pod2" "... which names the known ones"
run "$OVLTRACE" lab exec "$TOPO" pod1 -- no-such-program-here
[ "$RC" != 0 ]
ok $? "exec of an unknown program fails"
like "$ERR" "no-such-program-here" "... and names it"

# a second one
run "$OVLTRACE" lab up "$TOPO"
is "$RC" 1 "a second up: failed"
one_sentence "a second up"
like "$ERR" "already up.*lab down $TOPO" "... which says how to remove it"
run in_ns pod1 ping -c 1 -W 2 10.244.2.2
is "$RC" 0 "and the first one still works"

# offloads, default profile
is "$(feature tx-tcp-segmentation)" on "cloud: TSO for plain TCP"
is "$(feature tx-udp_tnl-segmentation) $(feature tx-udp_tnl-csum-segmentation)" "off off" \
	"cloud: none in the tunnel"

# down, with a process inside
start ip netns exec "$P-pod1" sleep 60
wait_until grep -qx sleep "/proc/$STARTED/comm" # no longer bash, nor ip
run "$OVLTRACE" lab down "$TOPO"
is "$RC" 0 "down"
like "$OUT$ERR" "$P-pod1.*process $STARTED \(sleep\)" \
	"down names the process that is still inside"
is "$(left)" "" "down removes it all the same"
kill -0 "$STARTED" 2>/dev/null
ok $? "and leaves that process alone"
run "$OVLTRACE" lab down
is "$RC" 1 "down again: failed"
one_sentence "down again"
run "$OVLTRACE" lab list
is "$RC:$OUT" "0:" "nothing is listed"

for profile in all nogso; do
	run "$OVLTRACE" lab up "$TOPO" --offloads $profile
	is "$RC" 0 "up --offloads $profile"
	GOT="$(feature tx-tcp-segmentation) $(feature tx-tcp6-segmentation)"
	GOT="$GOT $(feature tx-udp_tnl-segmentation)"
	[ $profile = all ] && WANT="on on on" || WANT="off off off"
	is "$GOT" "$WANT" "$profile: TSO, TSO for IPv6, in the tunnel"
	like "$("$OVLTRACE" lab list)" "offloads $profile" "$profile: list says so"
	run in_ns pod2 ping -c 1 -W 2 10.244.1.2
	is "$RC" 0 "$profile: ping pod2 → pod1"
	down
	is "$(left)" "" "$profile: down leaves nothing"
done

# names that are somebody else's
ip netns add "$P-pod2"
run "$OVLTRACE" lab up "$TOPO"
is "$RC" 1 "up over a namespace that is not ours: failed"
one_sentence "up over a namespace that is not ours"
like "$ERR" "$P-pod2" "... which names it"
is "$(left)" "$P-pod2" "and it is still there, alone"
ip netns del "$P-pod2"

# what is broken half-way
"$OVLTRACE" lab up "$TOPO" >/dev/null 2>&1
ip netns del "$P-node2"
run "$OVLTRACE" lab exec "$TOPO" node2 -- true
is "$RC" 1 "exec in an end that was deleted: failed"
one_sentence "exec in an end that was deleted"
run "$OVLTRACE" lab down "$TOPO"
is "$RC:$(left)" "0:" "down removes what is left of it"
"$OVLTRACE" lab up "$TOPO" >/dev/null 2>&1
echo damaged >"$STATE/$TOPO"
like "$("$OVLTRACE" lab list)" "damaged" "a damaged state file is listed as such"
run "$OVLTRACE" lab down "$TOPO"
is "$RC:$(left)" "0:" "and down removes that lab too"

# killed at any moment
python3 tests/lab_kill.py "$OVLTRACE" "$TOPO" 12 >"$T/killed" 2>&1
ok $? "killed at 12 random moments, down leaves nothing" "$(cat "$T/killed")"
sed 's/^/# /' "$T/killed"

is "$(machine)" "$MACHINE" "no setting of the machine has changed"
is "$(others)" "$OTHERS" "nor any device or namespace of others"
finish
