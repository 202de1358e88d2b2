#!/bin/bash
# tests/run counts what happened, and nothing that did not happen as a pass.
# timeout: 60
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

tree=$T/tree
mkdir -p "$tree/tests/unit" "$tree/built/tests"
cp tests/run "$tree/tests/run"

# fake NAME TEXT: a test program in the copy of the tree
fake() {
	printf '#!/bin/bash\n%s\n' "$2" > "$tree/tests/$1.t"
	chmod +x "$tree/tests/$1.t"
}
# counts NAME WANT: run these tests; the last line and the exit code must agree
counts() {
	local want=$2
	run env O=built "$tree/tests/run" all
	is "$(tail -n 1 <<< "$OUT")" "$want" "$1: the last line"
	if [[ $want =~ ^[1-9].*\ 0\ failed ]]; then
		is "$RC" 0 "$1: exit 0"
	else
		is "$RC" 1 "$1: exit 1"
	fi
	rm -f "$tree"/tests/*.t
}

counts "no tests at all" "0 passed, 0 failed, 0 skipped"
fake a 'echo "ok 1 - x"; echo "ok 2 - y # SKIP no such thing"; echo 1..2'
counts "a pass and a skip" "1 passed, 0 failed, 1 skipped"
like "$OUT" "skipped: a.t: no such thing" "the reason of a skip is told"
fake a 'echo "1..0 # SKIP needs a moon"'
counts "a whole file skipped is not a run" "0 passed, 0 failed, 1 skipped"
like "$OUT" "skipped: a.t: needs a moon" "the reason is told"
fake a 'echo "ok 1 - x"; echo "not ok 2 - y"; echo "# got: z"; echo 1..2; exit 1'
counts "one failure counts once" "1 passed, 1 failed, 0 skipped"
like "$OUT" "# got: z" "what a failure says is shown"
fake a 'echo "not ok 1 - x # SKIP broken"; echo 1..1'
counts "a failure called a skip" "0 passed, 1 failed, 0 skipped"
later=$(printf 'TO%s' DO) # a word style.t forbids
fake a "echo 'not ok 1 - x # $later'; echo 1..1"
counts "a failure called work to do" "0 passed, 1 failed, 0 skipped"
fake a 'echo 1..2; echo "ok 1 - x"; echo "ok 2 - y"; exit 3'
counts "an exit code without a failed test" "2 passed, 1 failed, 0 skipped"
fake a 'echo "ok 1 - x"; kill -SEGV $$'
counts "a crash" "1 passed, 1 failed, 0 skipped"
fake a 'echo "ok 1 - x"'
counts "no plan" "1 passed, 1 failed, 0 skipped"
fake a 'echo 1..3; echo "ok 1 - x"'
counts "fewer tests than planned" "1 passed, 1 failed, 0 skipped"
fake a 'true'
counts "silence" "0 passed, 1 failed, 0 skipped"
fake a '# timeout: 4
echo "ok 1 - x"; sleep 60; echo 1..1'
counts "a test that hangs" "1 passed, 1 failed, 0 skipped"
like "$OUT" "longer than 4 s" "it is told that time was up"
fake a "sleep 60 & echo \$! > $T/left; echo 'ok 1 - x'; echo 1..1"
at_exit "kill \$(cat $T/left)"
counts "a test that leaves a process behind" "1 passed, 0 failed, 0 skipped"
kill -0 "$(cat "$T/left")"
ok $? "it is not waited for"
echo 'int main(void) { return 0; }' > "$tree/tests/unit/base_gone_test.c"
fake a 'echo "ok 1 - x"; echo 1..1'
counts "a unit test that was not built" "1 passed, 1 failed, 0 skipped"
fake a '# needs: root
echo "ok 1 - x"; echo 1..1'
rm "$tree"/tests/unit/*
run env O=built "$tree/tests/run" check
is "$(tail -n 1 <<< "$OUT")" "0 passed, 0 failed, 0 skipped" "check leaves out what needs root"
rm -f "$tree"/tests/*.t
# meet NAME: a test that waits for another one of its kind to run at the same time
meet() {
	fake "$1" "# runs: beside others
touch $T/met.$1; for i in {1..50}; do [ -e $T/met.$2 ] && break; sleep 0.1; done
[ -e $T/met.$2 ] && echo 'ok 1 - x' || echo 'not ok 1 - x'; echo 1..1"
}
if [ "$(nproc)" -gt 1 ]; then
	meet a b
	meet b a
	# alone: the other one is not at work meanwhile
	for i in c d; do
		fake $i "mkdir $T/alone && echo 'ok 1 - x' || echo 'not ok 1 - x'; sleep 0.3; rmdir $T/alone; echo 1..1"
	done
	counts "two beside each other, two alone" "4 passed, 0 failed, 0 skipped"
else
	skip "one CPU: nothing runs beside anything"
fi
run "$tree/tests/run" everything
is "$RC" 2 "an unknown mode is a usage error"
finish
