#!/bin/bash
# scripts/truth in short, with loose tolerances: a cost of known size is found in its row, and every
# nanosecond and every lost bit has a name. How exact it is says a long run on a quiet machine.
# needs: root
# timeout: 240
# In a /run of its own: a lab's names are the machine's, and one that is up is not to be met or harmed.
if [ "$(id -u)" = 0 ] && [ -z "${OVL_OWN_RUN-}" ]; then
	export OVL_OWN_RUN=1
	exec unshare --mount sh -c "mount -t tmpfs own-run /run && exec '$0'"
fi
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"
need_root
need ip iperf3 python3 setpriv
TRUTH=(scripts/truth --program "$OVLTRACE" --burn "${O:-.output}/tests/burn" --quick --loose)
all_down() { "$OVLTRACE" lab down; }
at_exit all_down

# truth WORDS ARGS…: every check of it is one here; a machine that is at work gets another try
truth() {
	local words=$1 try line
	shift
	for try in 1 2 3; do
		run timeout 110 "${TRUTH[@]}" "$@"
		[ "$RC" != 3 ] || [ "$try" = 3 ] || continue
		break
	done
	is "$RC" 0 "$words (try $try)"
	grep -E '^  (true |FALSE) ' <<< "$OUT" | while read -r line; do echo "# $line"; done
	like "$OUT" "  true  " "... and something was looked at"
}
truth "a cost of known size is found in its row and in no other" injected --seconds 3 --loops 400 --rate 1G
truth "busy time has stages, a loss has causes" ledger --seconds 3
run "${TRUTH[@]}" nonsense
is "$RC" 2 "an unknown test is a usage error"
run "${TRUTH[@]}" --burn /nonexistent injected
is "$RC" 4 "a program that is missing is said at once"
finish
