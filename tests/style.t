#!/bin/bash
# Layout, sizes and manners of every file that is ours.
# timeout: 120
# runs: beside others
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

# none OFFENCES NAME
none() { is "$1" "" "$2"; }

# from git where there is one, so that what is built or lies about does not count
if git rev-parse --is-inside-work-tree > /dev/null 2>&1; then
	list=$(git ls-files -co --exclude-standard)
else
	list=$(find . -type f -not -path './.output/*' -not -path './.git/*' -not -name ovltrace |
		sed 's|^\./||')
fi
mapfile -t all < <(while read -r file; do [ -f "$file" ] && echo "$file"; done <<< "$list")
# a licence and goldens are what they are
mapfile -t text < <(printf '%s\n' "${all[@]}" | grep -vE '^LICENSE$|^tests/golden|\.(golden|jsonl?)$')
mapfile -t c < <(printf '%s\n' "${all[@]}" | grep -E '\.[ch]$')
mapfile -t shell < <(grep -lE '^#!.*\b(ba|da)?sh\b|^# shellcheck shell=' "${text[@]}")

[ ${#c[@]} -ge 20 ] && [ ${#shell[@]} -ge 8 ]
ok $? "there are files to look at (${#all[@]}, ${#c[@]} in C, ${#shell[@]} in shell)"

if command -v clang-format > /dev/null; then
	none "$(clang-format --dry-run -Werror "${c[@]}" 2>&1 | grep error: | sort -u -t: -k1,1)" \
		"clang-format has nothing to say"
else
	skip "clang-format is missing"
fi
if command -v shellcheck > /dev/null; then
	none "$(shellcheck -x -f gcc -e SC1091,SC2034 "${shell[@]}" 2>&1)" "shellcheck has nothing to say"
else
	skip "shellcheck is missing"
fi

# the manual is one file by design: there is no other place for it
none "$(wc -l "${text[@]}" |
	awk '$1 > 500 && $2 != "total" && $2 != "README.md" { print $2 ": " $1 " lines" }')" \
	"no file of source is longer than 500 lines"

# a function begins after "{" in the first column and ends with "}" there (kernel style)
long=$(awk 'FNR == 1 { start = 0 }
	/^{/ { start = FNR }
	/^}/ && start {
		if (FNR - start - 1 > 80)
			print FILENAME ":" start ": " FNR - start - 1 " lines"
		start = 0
	}' "${c[@]}")
none "$long" "no function is longer than 80 lines"

# scripts have a little more room than C
wide=$(python3 - "${c[@]}" "${shell[@]}" << 'END'
import sys
for name in sys.argv[1:]:
    for n, line in enumerate(open(name, encoding="utf-8"), 1):
        if len(line.rstrip("\n").expandtabs(8)) > (100 if name.endswith((".c", ".h")) else 120):
            print(f"{name}:{n}")
END
) || wide="the check itself failed"
none "$wide" "no line of C is wider than 100 columns, no other than 120"

# in two halves, so that this file does not break its own rule
words="TO""DO|FIX""ME|XX""X|HA""CK|not implem""ented|place""holder|lorem ip""sum"
none "$(grep -nwE "$words" "${text[@]}" /dev/null)" "nothing is left for later"
none "$(grep -nE '^[[:space:]]*#[[:space:]]*if 0' "${c[@]}" /dev/null)" "no code is switched off"
none "$(grep -nP '[ \t]+$' "${text[@]}" /dev/null)" "no white space at the end of a line"
none "$(grep -lP '\r' "${text[@]}" /dev/null)" "no carriage returns"
none "$(for f in "${text[@]}"; do [ ! -s "$f" ] || [ -z "$(tail -c 1 "$f")" ] || echo "$f"; done)" \
	"every file ends with a newline"
none "$(grep -LI . "${all[@]}" /dev/null | grep -v /dev/null)" "no binary and no empty files"
none "$(printf '%s\n' "${all[@]}" | grep -E ' |[^[:print:]]')" "no odd file names"
none "$(for f in "${shell[@]}" tests/*.t; do
	[ -x "$f" ] || ! head -c 2 "$f" | grep -q '#!' || echo "$f"
done)" "every script can be executed"
finish
