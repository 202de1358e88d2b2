#!/usr/bin/env bash
# What users get wrong: each ends in one clear sentence and the named exit code, and nothing is left.
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

# refused CODE NAME PATTERN ARGS…: exit code, one sentence that matches, nothing on stdout
refused() {
	local code=$1 name=$2 pattern=$3
	shift 3
	run "$OVLTRACE" "$@"
	is "$RC" "$code" "$name: exit $code"
	one_sentence "$name"
	like "$ERR" "$pattern" "$name: says what"
	is "$OUT" "" "$name: nothing on stdout"
}

# usage (2)
refused 2 "no interface" "which interface" --for 1
refused 2 "unknown option" "unknown option --nonsense" --nonsense
refused 2 "unknown word" "does not know what to do with 'hello'" hello
refused 2 "value missing" "needs a value" --iface
refused 2 "bad seconds" "--for 'soon'" --iface lo --for soon
refused 2 "seconds out of range" "--for '0'" --iface lo --for 0
refused 2 "negative seconds" "--for '-1'" --iface lo --for=-1
refused 2 "not a number" "--for 'nan'" --iface lo --for nan
refused 2 "streams out of range" "1 to 128" --iface lo --load iperf-like -P 129
refused 2 "bad load" "none, iperf-like, iperf3, iperf2 or rr" --iface lo --load netcat
refused 2 "iperf2 without peer" "needs --peer" --iface lo --load iperf2
refused 2 "bad bitrate" "8K to 1000G" --iface lo --load iperf-like --bitrate 1001G
refused 2 "no bitrate" "8K to 1000G" --iface lo --load iperf-like -b fast
refused 2 "iperf3 without peer" "needs --peer" --iface lo --load iperf3
refused 2 "zerocopy in reverse" "the far end sends" --no-trace --load iperf-like --peer 127.0.0.1 -R --tx zerocopy
refused 2 "bad network" "--allow '10.0.0.0/33': no network" peer --allow 10.0.0.0/8,10.0.0.0/33
refused 2 "no network" "--allow 'here': no network" peer --allow here
refused 2 "reverse without load" "needs --load" --iface lo -R
refused 2 "bad tx" "copy or zerocopy" --iface lo --load iperf-like --tx fast
refused 2 "bad rx" "copy or trunc" --iface lo --load iperf-like --rx none
refused 2 "bad omit" "0 to 600" --iface lo --load iperf-like -O 601
refused 2 "bad size" "COLSxROWS" --iface lo --render 80
refused 2 "bad rate" "10 to 5000" --iface lo --sample-hz 9
refused 2 "two on stdout" "cannot share stdout" --iface lo --json --jsonl
refused 2 "short slices" "at least 0.5" --iface lo --load iperf-like -d 0.1
refused 2 "time and count" "-t.* and --count exclude each other" --iface lo -t 1 --count 2
refused 2 "peer without load" "--peer needs a --load" --iface lo --peer 127.0.0.1
refused 2 "load-anyway without load" "ovltrace: --load-anyway needs a --load" --iface lo --load-anyway
refused 2 "iperf3's client" "--no-trace --load iperf-like --peer HOST" -c 127.0.0.1 -t 2
refused 2 "iperf3's server" "ovltrace peer" -s
refused 2 "iperf3's UDP" "TCP alone" --no-trace -u
refused 2 "from without peer" "--from needs --peer" --iface lo --load iperf-like --from 1
refused 2 "option of another command" "no option --offloads" --iface lo --offloads all
refused 2 "json with a space" "--json=FILE" --iface lo --json out.json
refused 2 "empty value" "empty value" --iface=
refused 2 "list what" "stages, hooks, metrics or rules" list sideways
refused 2 "a bound on nothing" "begins with one of goodput" --iface lo --fail-if 'beauty>1'
refused 2 "a bound in a wrong unit" "a share, such as" --iface lo --fail-if 'loss>2G'
refused 2 "a bound without a comparison" "< <= > >=" --iface lo --fail-if 'loss=2'
refused 2 "diff of one" "two recordings" diff one
refused 7 "diff of nothing" "nosuch.ovl" diff nosuch.ovl nosuch.ovl
refused 7 "a baseline that is not there" "nosuch.ovl" --iface lo --for 1 --compare nosuch.ovl
refused 2 "lab what" "up TOPO" lab sideways
refused 2 "replay what" "one recording" replay
refused 2 "peer port" "1 to 65535; see ovltrace peer --help" peer --port 65536
refused 2 "a peer without a host" "the host is missing" --no-trace --load iperf-like --peer :5201
refused 2 "segments that the kernel does not take" "88 to 32767" --iface lo --load iperf-like -M 32768
refused 2 "name too long" "15" --iface this-name-is-much-too-long --for 1

# input (7)
refused 7 "unknown interface" "nosuch0" --iface nosuch0 --for 1
refused 7 "unknown namespace" "nosuchns" --iface lo --netns nosuchns --for 1
refused 7 "a recording that is not there" "nosuch.ovl" replay nosuch.ovl
refused 7 "a directory" "$T" replay "$T"
echo "hello, world" >"$T/foreign"
refused 7 "a foreign file" "foreign" replay "$T/foreign"
: >"$T/empty"
refused 7 "an empty file" "empty" replay "$T/empty"

# outputs are opened before anything starts, and what was in them stays until there is something new
echo precious >"$T/old.json"
run "$OVLTRACE" --iface nosuch0 --for 1 --json="$T/old.json" --jsonl="$T/new.jsonl"
is "$(cat "$T/old.json")" precious "a run that does not start leaves an older file as it was"
[ ! -e "$T/new.jsonl" ]
ok $? "and no empty new one"
refused 1 "unwritable file" "cannot write /nosuchdir/x" --iface lo --for 1 --json=/nosuchdir/x
refused 2 "one file for two outputs" "same file" --iface lo --for 1 --json="$T/two" --jsonl="$T/two"
cp "$T/foreign" "$T/recording"
refused 2 "a replay over itself" "same file" replay "$T/recording" --json="$T/recording"
is "$(cat "$T/recording")" "hello, world" "and the recording is as it was"
refused 2 "a host name without end" "at most 253" --iface lo --load iperf-like --peer "$(printf 'a%.0s' {1..300}):1"
refused 7 "control characters" 'lo\?\?x' --iface $'lo\n\ex' --for 1
refused 2 "hexadecimal seconds" "--for '0x10'" --iface lo --for 0x10
"$OVLTRACE" doctor --json="$T/closed.json" >&- 2>&-
python3 -m json.tool "$T/closed.json" >/dev/null
ok $? "with stdout and stderr closed nothing strays into a result file"
(
	ulimit -n 40
	"$OVLTRACE" --iface lo --for 1 >/dev/null 2>"$T/limit"
	echo $? >>"$T/limit"
)
like "$(cat "$T/limit")" "only 40 open files.*raise the limit.*1$" "too few open files: exit 1 and a sentence"
for args in "list stages" "doctor" "--version" "--help"; do
	# shellcheck disable=SC2086
	"$OVLTRACE" $args >&- 2>"$T/err"
	is $? 1 "$args with stdout closed: exit 1"
	like "$(cat "$T/err")" "cannot write to stdout: it is closed" "$args with stdout closed: says so"
done
"$OVLTRACE" --version >/dev/full 2>/dev/null
is $? 1 "--version to a full disk is a failure"

run "$OVLTRACE" --help
is "$RC" 0 "--help: exit 0"
is "$ERR" "" "--help: nothing on stderr"
like "$OUT" "--load none\|iperf-like" "--help comes from the option table"
run "$OVLTRACE" --version
like "$OUT" "^ovltrace [0-9]+\.[0-9]+\.[0-9]+$" "--version"
for command in peer lab matrix replay diff doctor list relay ""; do
	run "$OVLTRACE" ${command:+"$command"} --help
	is "$RC" 0 "$command --help: exit 0"
	text=$OUT
	run "$OVLTRACE" help ${command:+"$command"}
	is "$RC$OUT" "0$text" "help $command: the same"
done
run "$OVLTRACE" peer --help
unlike "$OUT" "relay|8285" "peer --help has words of its own"
run "$OVLTRACE" matrix --help
unlike "$OUT" "--peer|matrix:" "matrix --help, too"

# a full disk and a closed pipe
if [ -w /dev/full ]; then
	"$OVLTRACE" list stages >/dev/full 2>"$T/err"
	is $? 1 "full disk: exit 1"
	like "$(cat "$T/err")" "cannot write to stdout: No space" "full disk: says so"
fi
"$OVLTRACE" list stages 2>"$T/err" | head -1 >/dev/null
is "$(cat "$T/err")" "" "a reader that leaves early is no error"

# rights
if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null; then
	chmod 755 "$T"
	install -m755 "$OVLTRACE" "$T/ovltrace"
	run setpriv --reuid=65534 --regid=65534 --clear-groups --inh-caps=-all "$T/ovltrace" --iface lo --for 1
	is "$RC" 4 "no rights: exit 4"
	one_sentence "no rights"
	like "$ERR" "CAP_|root|sudo" "no rights: says which"
	run setpriv --reuid=65534 --regid=65534 --clear-groups --inh-caps=-all "$T/ovltrace" doctor
	is "$RC" 0 "doctor runs without rights"
	like "$OUT" "missing" "doctor without rights names what is missing"
else
	skip "rights: needs root and setpriv to give them up"
fi
finish
