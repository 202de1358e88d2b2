#!/usr/bin/env bash
# README says what the program says: help, packages, commands.
# runs: beside others
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

# block TEXT NAME: every line of TEXT stands in README, in this order and without gaps
block() {
	python3 - "$1" <<'PY'
import sys
sys.exit(sys.argv[1].strip("\n") not in open("README.md").read())
PY
	ok $? "$2" "$1"
}

run "$OVLTRACE" --help
block "$OUT" "README has the help as it is"
run "$OVLTRACE" matrix --help
block "suites:${OUT#*suites:}" "README has the help of matrix as it is"
for group in build run test; do
	want=$(awk -v g=$group '$1 == g { printf " %s", $2 }' scripts/packages.txt)
	got=$(tr '\n' ' ' <README.md | tr -s ' ')
	[[ $got == *"$group:$want"* ]]
	ok $? "README lists the $group packages as scripts/packages.txt does" "$group:$want"
done
while IFS=$'\t' read -r rule level kind wrong needs; do
	grep -qxF "| \`$rule\` | $level | $kind | $wrong | $needs |" README.md
	ok $? "README lists rule $rule as the program does"
done < <("$OVLTRACE" list rules)
[ "$("$OVLTRACE" list rules | wc -l)" -ge 40 ]
ok $? "there are rules"
for script in demo test; do
	[ -x scripts/$script ]
	ok $? "scripts/$script, named in README, can be run"
done
for code in 0 1 2 3 4 5 6 7; do
	grep -q "^| $code |" README.md
	ok $? "README explains exit code $code"
done
finish
