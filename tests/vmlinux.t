#!/bin/bash
# Every struct and field of the curated vmlinux/vmlinux.h exists in the running kernel's BTF.
# timeout: 60
# runs: beside others
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"
need awk
[ -r /sys/kernel/btf/vmlinux ] || skip_all "no BTF: /sys/kernel/btf/vmlinux cannot be read"
BPFTOOL=${BPFTOOL:-$(PATH=$PATH:/usr/sbin:/sbin command -v bpftool)}
[ -n "$BPFTOOL" ] || skip_all "needs the program bpftool"

# fields FILE: "struct field [optional]" for each field read, and for anonymous structs by typedef
fields() {
	awk '/^struct [a-z_0-9]+ \{/ { s = $2; next }
	     /^typedef struct \{/    { s = "?"; n = 0; next }
	     /^\}/ { if (s == "?") { t = $2; sub(/;.*/, "", t)
				     for (i = 0; i < n; i++) print t, held[i] }
		     s = ""; next }
	     s != "" && /;/ { f = $0; o = f ~ /optional:/ ? "optional" : ""
			      sub(/( : [0-9]+)?;.*/, "", f); sub(/.*[ *\t]/, "", f); sub(/\[.*/, "", f)
			      if (s == "?") held[n++] = f " " o; else print s, f, o }' "$1"
}

# has STRUCT FIELD: does the dump's struct (or typedef of one) have it, at any depth of unnamed members?
has() {
	awk -v s="$1" -v f="$2" '
		$0 == "struct " s " {" { on = 1; next }
		$0 == "typedef struct {" { on = 2; got = 0; next }
		on && /^\}/ { if (on == 1 || $2 == s ";") { if (got) exit; if (on == 1) { on = 0 } }
			      on = 0; got = 0; next }
		on && $0 ~ "[ *]" f "(\\[[0-9]+\\])*( ?: ?[0-9]+)?;" { got = 1 }
		END { exit !got }' "$T/dump"
}

"$BPFTOOL" btf dump file /sys/kernel/btf/vmlinux format c > "$T/dump"
ok $? "the kernel's types are dumped"
fields vmlinux/vmlinux.h > "$T/fields"
[ "$(wc -l < "$T/fields")" -ge 15 ]
ok $? "the curated header is understood: $(wc -l < "$T/fields") fields"
while read -r struct field optional; do
	if has "$struct" "$field"; then
		ok 0 "$struct.$field"
	elif [ -n "$optional" ]; then
		skip "$struct.$field: optional, and this kernel has none"
	else
		ok 1 "$struct.$field"
	fi
done < "$T/fields"

has sk_buff no_such_field
[ $? = 1 ]
ok $? "a field that is not there is missed"
has no_such_struct dev
[ $? = 1 ]
ok $? "so is a struct"
[ "$(wc -l < vmlinux/vmlinux.h)" -lt 500 ]
ok $? "the header is curated, not dumped"
finish
