#!/bin/bash
# Debian's kernels 6.1 and 6.12 in QEMU: every program loads and attaches there, and one vxlan flow
# is measured and classified. timeout: 900
# needs: root (for apt-get, when a kernel is not in the cache)
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"
need python3 qemu-system-x86_64
[ -x "$OVLTRACE" ] || skip_all "$OVLTRACE is not built"
export OVLTRACE
DATAGRAMS=$(realpath -m "${O:-.output}/tests/datagrams")
[ -x "$DATAGRAMS" ] || skip_all "$DATAGRAMS is not built"

# What runs in there. Each part of its output begins with a line "== NAME CODE SECONDS".
cat > "$T/inside" <<'EOS'
part() {
	name=$1 began=$(date +%s)
	shift
	"$@" > /tmp/part 2> /tmp/part.err
	echo "== $name $? $(($(date +%s) - began))"
	cat /tmp/part /tmp/part.err
}
part kernel uname -r
part load-module modprobe vxlan
part doctor ./ovltrace doctor
part doctor-json ./ovltrace doctor --json
part up ./ovltrace lab up flannel-vxlan
part tiers sh "$(dirname "$0")/tiers"
for tier in tracepoint fentry kprobe; do part $tier cat /tmp/$tier.json; done
part run ./ovltrace --load iperf-like --iface flannel.1 --for 3 --json=/tmp/run.json
part document cat /tmp/run.json
# three echoes, between an interval that has begun and one that ends after them
cat > /tmp/deep.sh << 'END'
./ovltrace --iface flannel.1 --netns ovl-flannel-vxlan-node1 --deep --for 100 --json=/tmp/deep.json \
	--jsonl=/tmp/deep.jsonl > /dev/null &
pid=$!
n=0
# the run ends by itself, so none of these waits for ever
until_more() {
	until [ "$(grep -c '"type":"sample"' /tmp/deep.jsonl)" -gt "$n" ]; do
		kill -0 $pid || break
		sleep 0.2
	done 2> /dev/null
	n=$(($(grep -c '"type":"sample"' /tmp/deep.jsonl) + 1))
}
until_more
ip netns exec ovl-flannel-vxlan-pod1 ping -c 3 -q 10.244.2.2 > /dev/null
until_more
until_more
kill -TERM $pid
wait $pid
END
part deep sh /tmp/deep.sh
part deep-document cat /tmp/deep.json
part down ./ovltrace lab down
# loading the packet filter's modules takes the emulator longer than a lab waits for nft
part filter unshare -n nft -f - << 'END'
table ip warm {
	chain pre {
		type nat hook prerouting priority -100;
		fib daddr type local tcp dport 80 counter dnat to 192.0.2.1:numgen random mod 2 offset 80
	}
	chain post {
		type nat hook postrouting priority 100;
		ct state new meta mark set meta mark or 0x4000 counter masquerade
	}
}
END
part labs sh -c 'modprobe tun
	for topo in host veth flannel-udp flannel-hostgw vxlan-mtu docker-bridge docker-hostnet \
		docker-sharedns k8s "k8s --nodes 3 --ipv6 both"; do
		./ovltrace lab up $topo > /dev/null && ./ovltrace lab down > /dev/null || echo "$topo fails"
	done'
part left ls -A /run/netns
part programs bpftool prog show
part complaints sh -c '! dmesg | grep -E "BUG:|WARNING:|Oops|Call Trace|soft lockup"'
EOS

# Exactly so many datagrams of prime sizes from pod to pod, on each tier.
{ echo "DATAGRAMS=$DATAGRAMS" && cat; } > "$T/tiers" <<'EOS'
pod() { echo ovl-flannel-vxlan-pod$1; }
to=$(ip -n $(pod 2) -4 -o addr show dev eth0 | awk '{ sub("/.*", "", $4); print $4 }')
# no neighbour is asked for again meanwhile
for ns in $(pod 1) $(pod 2) ovl-flannel-vxlan-node1 ovl-flannel-vxlan-node2; do
	ip -n $ns -4 neigh show | awk '$4 == "lladdr" { print $1, "lladdr", $5, "dev", $3 }' |
		while read -r entry; do ip -n $ns neigh replace $entry nud permanent; done
done
for tier in tracepoint fentry kprobe; do
	rm -f /tmp/jsonl
	# the last tier's "ready" must not be taken for that of this one's receiver
	rm -f /tmp/got
	./ovltrace --iface flannel.1 --netns ovl-flannel-vxlan-node1 --deep --tier $tier -d 1 --for 60 \
		--json=/tmp/$tier.json --jsonl=/tmp/jsonl > /dev/null 2> /tmp/err &
	pid=$!
	while ! grep -q '"sample"' /tmp/jsonl 2> /dev/null; do
		kill -0 $pid 2> /dev/null || { echo "$tier: $(cat /tmp/err)"; continue 2; }
		sleep 0.2
	done
	ip netns exec $(pod 2) "$DATAGRAMS" recv 9999 100 30 > /tmp/got &
	got=$!
	while kill -0 $got 2> /dev/null && ! grep -qs ready /tmp/got; do sleep 0.1; done
	ip netns exec $(pod 1) "$DATAGRAMS" send $to 9999 50 1009 1399
	wait $got
	kill -INT $pid
	wait $pid || echo "$tier: exit code $?"
	grep -q '^100 120400$' /tmp/got || echo "$tier: received $(cat /tmp/got)"
done
EOS

# part NAME: what it printed; code NAME: its exit code
part() { awk -v want="$1" '/^== / { on = $2 == want; next } on' "$T/stdout"; }
code() { awk -v want="$1" '/^== / && $2 == want { print $3 }' "$T/stdout"; }

# doc NAME EXPR: the expression over the document must be true
doc() {
	local got
	got=$(json "$T/run.json" "$2" 2>&1)
	is "$(tail -n 1 <<< "$got")" True "$kernel: $1"
}

# machine: what a kernel makes of it, with scripts/vm's exit code
machine() {
	scripts/vm --time 400 --add "$T/inside" --add "$T/tiers" --add "$DATAGRAMS" "$kernel" -- \
		sh "$T/inside" > "$T/stdout" 2> "$T/err"
}
# emulator_died: QEMU ended by a signal or an error of its own, and the guest had not complained
emulator_died() {
	local crash='Kernel panic|BUG:|WARNING:|Oops|Call Trace|RIP:|int3:|lockup|detected .*stall'
	tail -n 1 "$T/err" | grep -q '^scripts/vm: the emulator died' &&
		! grep -qE "$crash|page fault|double fault|general protection" "$T/err"
}

for kernel in 6.1 6.12; do
	machine
	rc=$?
	# the emulator is not what is tested; a guest that crashed is, and gets no second chance
	if [ $rc = 125 ] && emulator_died; then
		echo "# $kernel: once more, for $(tail -n 1 "$T/err")"
		machine
		rc=$?
	fi
	if [ $rc = 77 ]; then
		skip "kernel $kernel: $(tail -n 1 "$T/err")"
		continue
	fi
	is $rc 0 "$kernel: the machine ran to its end"
	if [ $rc != 0 ]; then
		echo "# exit code $rc; its part '$(awk '/^== / { on = $2 } END { print on }' "$T/stdout")' was done," \
			"then the console's last lines:"
		tail -n 40 "$T/err" | LC_ALL=C tr -cd '\t\n -~' | sed 's/^/# | /'
	fi
	like "$(part kernel)" "^${kernel/./\\.}\.[0-9]" "$kernel: it is that kernel"
	is "$(code doctor)" 0 "$kernel: doctor finds all that is needed"
	part doctor | sed 's/^/# /'
	is "$(code up)" 0 "$kernel: the lab comes up"
	is "$(code run)" 0 "$kernel: the run succeeds"
	part run | sed 's/^/# /'
	part document > "$T/run.json"
	doc "goodput of the overlay" 'd["load"]["overlay"]["goodput_bps"] > 1e6'
	doc "goodput of the underlay" 'd["load"]["underlay"]["goodput_bps"] > 1e6'
	for stage in vxlan_encap gso vxlan_decap copy_from_user copy_to_user tcp_tx tcp_rx; do
		doc "CPU time in $stage" \
			"sum(s['ns'] for s in d['cpu']['stages'] if s['key'] == '$stage') > 0"
	done
	doc "no more than 5 % unclassified" 'd["cpu"]["unclassified_ratio"] <= 0.05'
	doc "the waterfall's sum is exact" '(lambda w: round(w["underlay_bps"]) - round(w["overlay_bps"])
		== sum(t["bps"] for t in w["terms"]) + w["unexplained_bps"])(d["waterfall"])'
	doc "all probes attached" \
		'd["self"]["probes"]["attached"] > 0 and d["self"]["probes"]["missing"] == 0'
	is "$(code deep)" 0 "$kernel: packets are counted"
	part deep-document > "$T/deep.json"
	is "$(json "$T/deep.json" "[(h['xmit']['data']['pkts'], h['gro']['data']['pkts']) for h in d['hops']
		if h['iface'] == 'flannel.1'] == [(3, 3)]" 2>&1 | tail -n 1)" True \
		"$kernel: three echoes are three packets at the tunnel, and three answers"
	is "$(json "$T/deep.json" "sum(x['count'] for x in d['latency'] if x['key'] == 'encap') == 3 and
		d['self']['probes']['missing'] == 0" 2>&1 | tail -n 1)" True "$kernel: encapsulation was timed"
	doc "the kernel is named" "d['host']['kernel'].startswith('$kernel.')"
	json "$T/run.json" '"# " + str({"load": d["load"], "probes": d["self"]["probes"],
		"unclassified": d["cpu"]["unclassified_ratio"],
		"stages": {s["key"]: s["share_ratio"] for s in d["cpu"]["stages"]}})' 2>&1
	is "$(part tiers)" "" "$kernel: all datagrams arrive on every tier"
	for tier in tracepoint fentry kprobe; do part $tier > "$T/$tier.json"; done
	calls=$(tests/tiers_compare.py "$T/tracepoint.json" "$T/fentry.json" "$T/kprobe.json" 2>&1)
	ok $? "$kernel: every tier counts the datagrams exactly" "$calls"
	printf '%s\n' "$calls" | sed 's/^/# /'
	is "$(code down)" 0 "$kernel: the lab goes down"
	is "$(part labs)" "" "$kernel: every other topology comes up, reaches its ends and goes down"
	echo "# seconds: $(awk '/^== / && $4 > 0 { printf "%s %s ", $2, $4 }' "$T/stdout")"
	is "$(part left)" "" "$kernel: no namespace is left"
	unlike "$(part programs)" "ovl_" "$kernel: no BPF program is left"
	is "$(part complaints)" "" "$kernel: the kernel did not complain"
done
finish
