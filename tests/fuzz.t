#!/bin/bash
# A fixed number of inputs through the parsers of what strangers send, under ASan and UBSan.
# timeout: 180
# runs: beside others
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"
need clang
fuzzer=("-fsanitize=fuzzer,address,undefined" -fno-sanitize-recover=all)
echo 'int LLVMFuzzerTestOneInput(const char *s, long n) { return s == (char *)n; }' > "$T/try.c"
clang "${fuzzer[@]}" -o "$T/try" "$T/try.c" 2> /dev/null || skip_all "clang has no libFuzzer here"

run clang -std=gnu11 -D_GNU_SOURCE -O1 -g "${fuzzer[@]}" -Iuser -o "$T/load" tests/fuzz/load.c \
	user/load/{iperf3_wire,iperf3_server,iperf3_client,jsonio,sniff,track,wire}.c \
	user/base/{buf,str}.c -ljson-c
ok "$RC" "the load's parsers are built for libFuzzer" "$ERR"

cp -r tests/fuzz/load "$T/corpus" # it adds to the folder
# fuzz SEED MAX: 30,000 inputs up to MAX bytes
fuzz() {
	run "$T/load" -seed="$1" -max_len="$2" -runs=30000 -timeout=10 -rss_limit_mb=512 \
		-artifact_prefix="$T/" "$T/corpus"
	ok "$RC" "30000 inputs up to $2 bytes from seed $1" "$(grep -m 8 -E 'ERROR|error|#[0-9]' <<< "$ERR")"
}
fuzz 1 512
fuzz 2 16384
covered=$(sed -n 's/.*DONE *cov: \([0-9]*\).*/\1/p' <<< "$ERR")
[ "${covered:-0}" -gt 250 ]
ok $? "which reach into the parsers (${covered:-no} edges)"

# the check itself: a parser that reads one byte too many is found
sed 's/i < n && i < text; i++/i <= n \&\& i < text; i++/' user/load/sniff.c > "$T/sniff.c"
clang -std=gnu11 -D_GNU_SOURCE -O1 -g "${fuzzer[@]}" -Iuser -o "$T/broken" tests/fuzz/load.c \
	user/load/{iperf3_wire,iperf3_server,iperf3_client,jsonio,track,wire}.c "$T/sniff.c" \
	user/base/{buf,str}.c -ljson-c
run "$T/broken" -seed=1 -max_len=512 -runs=30000 -artifact_prefix="$T/" "$T/corpus"
like "$RC $ERR" "^[1-9].*heap-buffer-overflow" "one byte read too many is found"
finish
