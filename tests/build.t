#!/bin/bash
# The build: clang too, nothing to do the second time, headers are dependencies, ./ovltrace is
# left alone by a build elsewhere, and what is missing is said.
# timeout: 600
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"
need make gcc clang bpftool

before=$(stat -c '%Y %i' ovltrace 2> /dev/null)
# kept between runs: what has not changed need not be compiled again
clang=${O:-.output}/clang
run make -s O="$clang" CC=clang
ok "$RC" "clang builds it without a warning" "$OUT$ERR"
[ -x "$clang/ovltrace" ]
ok $? "the program is in the folder asked for"
is "$(stat -c '%Y %i' ovltrace 2> /dev/null)" "$before" "./ovltrace is not touched"
run make O="$clang" CC=clang
is "$OUT$ERR" "" "the second make does nothing and says nothing"

# A copy with the real folders' objects would be stale, so the small part: one floor, with gcc.
mkdir "$T/tree"
cp -r Makefile bpf scripts tests user vmlinux "$T/tree"
cd "$T/tree" || exit 1
run make .output/lib/libovl_base.a
ok "$RC" "one floor can be built alone" "$ERR"
n=$(find user/base -name '*.c' | wc -l)
is "$(grep -c '^  CC ' <<< "$OUT")" "$n" "each file is compiled once, one line each"
run make .output/lib/libovl_base.a
unlike "$OUT" "CC|AR" "and not again"
sleep 0.1
touch user/base/buf.h
run make .output/lib/libovl_base.a
like "$OUT" "CC +user/base/buf.c" "a changed header compiles its users again"
unlike "$OUT" "user/base/vec.c" "and nobody else"
like "$OUT" "AR +libovl_base.a" "and the archive follows"
run make CFLAGS=-O1 .output/lib/libovl_base.a
is "$(grep -c '^  CC ' <<< "$OUT")" "$n" "other flags compile all again"
run make CFLAGS=-O1 V=1 -B .output/obj/base/vec.o
like "$OUT" "-Werror.* -c -o .output/obj/base/vec.o user/base/vec.c" "V=1 shows the command"
printf 'int ovl_extra(void);\nint ovl_extra(void)\n{\n\treturn 1;\n}\n' > user/base/extra.c
run make CFLAGS=-O1 .output/lib/libovl_base.a
like "$(nm .output/lib/libovl_base.a)" "ovl_extra" "a new file joins its floor"
rm user/base/extra.c
run make CFLAGS=-O1 .output/lib/libovl_base.a
unlike "$(nm .output/lib/libovl_base.a)" "ovl_extra" "a removed file leaves it"
printf 'int ovl_extra(int unused)\n{\n\treturn 1;\n}\n' > user/base/extra.c
run make CFLAGS=-O1 .output/lib/libovl_base.a
[ "$RC" != 0 ]
ok $? "a warning is an error"
run make PKGCONF=false all
like "$ERR" "scripts/install-deps build" "missing libraries: it is said what installs them"
run make PKGCONF=false clean
is "$RC" 0 "clean works without them"
[ ! -e .output ]
ok $? "and leaves nothing"
finish
