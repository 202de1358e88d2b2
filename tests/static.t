#!/bin/bash
# `make static`: one file that needs nothing beside it, as in an empty container image.
# needs: root
# timeout: 180
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"
need_root
need make readelf nm chroot unshare python3 iperf3

run make -s static
ok "$RC" "make static" "$OUT$ERR"
program=${O:-.output}/ovltrace-static
is "$ERR" "" "without a warning"
unlike "$(readelf -ld "$program" 2>&1)" "INTERP|NEEDED" "no interpreter and no library is asked for"
unlike "$(nm "$program" | sed 's/.* //')" "bpf_object__open|initscr|mnl_socket_open" \
	"no BPF, no terminal, no netlink"

mkdir "$T/root"
cp "$program" "$T/root/ovltrace"
# in an empty root directory, a network namespace of its own and without rights
cat > "$T/inside" << 'END'
ip link set lo up
root=$1
enter() { chroot --userspec=65534:65534 "$root" /ovltrace "$@"; }
chroot --userspec=65534:65534 "$root" /ovltrace peer --port 5211 2> "$root/../peer" &
peer=$!
iperf3 -s -p 5212 > /dev/null 2>&1 &
server=$!
for port in 145B 145C; do
	for ((i = 0; i < 100; i++)); do
		grep -q ":$port 0*:0000 0A" /proc/net/tcp /proc/net/tcp6 && break
		sleep 0.1
	done
done
enter --no-trace --load iperf-like --peer 127.0.0.1:5211 -t 1 -P 2 > "$root/../text" 2> "$root/../said"
echo "own $?"
enter --no-trace --load iperf-like --peer '[::1]:5211' -t 1 --json-iperf3 > "$root/../doc" 2>> "$root/../said"
echo "v6 $?"
enter --no-trace --load iperf-like --peer 127.0.0.1:5212 -t 1 -R > "$root/../reverse" 2>> "$root/../said"
echo "iperf3 $?"
enter --no-trace --load iperf-like --peer nowhere.invalid -t 1 2> "$root/../name"
echo "name $?"
iperf3 -c 127.0.0.1 -p 5211 -t 1 > "$root/../theirs" 2>&1
echo "client $?"
kill "$peer" "$server"
wait "$peer"
echo "peer $?"
END
run unshare -n bash "$T/inside" "$T/root"
is "$OUT" "own 0
v6 0
iperf3 0
name 6
client 0
peer 0" "peer and --no-trace in an empty directory"
unlike "$(cat "$T/said")" "rror|annot" "nothing went wrong"
is "$(find "$T/root" -type f)" "$T/root/ovltrace" "it is the only file there"
like "$(cat "$T/text")" "\[SUM\] +0\.00-1\.[0-9]+ +sec +[0-9.]+ [MG]Bytes .* receiver" "iperf3's text"
is "$(json "$T/doc" 'd["end"]["sum_received"]["bytes"] > 1e6')" True "and JSON, over IPv6"
like "$(cat "$T/reverse")" "receiver" "from an iperf3 server"
like "$(cat "$T/theirs")" "iperf Done" "to an iperf3 client"
like "$(cat "$T/name")" "^ovltrace: --peer nowhere.invalid: .*resolves here" "a name that nobody knows is said"

# names without a name service's libraries: by /etc/hosts
mkdir "$T/root/etc"
echo "127.0.0.1 far.example" > "$T/root/etc/hosts"
run unshare -n chroot "$T/root" /ovltrace --no-trace --load iperf-like --peer far.example:9 -t 1
like "$ERR" "cannot connect to 127.0.0.1:9[: ].*" "/etc/hosts is read"
run chroot "$T/root" /ovltrace --iface lo
is "$RC" 2 "what it cannot do is a usage error"
like "$ERR" "only has .peer. and .--no-trace.; tracing and labs need the full one" "which says what can"
run chroot "$T/root" /ovltrace lab list
like "$RC $ERR" "^2 .*tracing and labs need the full one" "labs, too"
run chroot "$T/root" /ovltrace --help
unlike "$OUT" "matrix|relay" "its help names nothing else"
run chroot "$T/root" /ovltrace
like "$ERR" "only makes and answers loads" "and it says what it is"
run chroot "$T/root" /ovltrace --version
like "$OUT" "^ovltrace [0-9]" "its version"
finish
