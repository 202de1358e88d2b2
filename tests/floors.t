#!/bin/bash
# The floors are kept apart, and the check that says so finds what breaks them.
# timeout: 120
# runs: beside others
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"
objects=$PWD/${O:-.output}/obj
check=$PWD/scripts/check-floors.sh

is "$($check top 2>&1)" "" "the top level holds what it should"
is "$($check includes 2>&1)" "" "each file includes only what its floor may use"
is "$($check symbols . "$objects" 2>&1)" "" "each object needs only symbols its floor may use"

tree=$T/tree
mkdir "$tree"
cp -r Makefile LICENSE bpf scripts tests user vmlinux .ci .clang-format \
	.editorconfig .gitignore "$tree"
touch "$tree/README.md"

# breach NAME FILE LINE PATTERN: a line planted in a copy of the tree is reported
breach() {
	local said
	mkdir -p "$(dirname "$tree/user/$2")"
	echo "$3" > "$tree/user/$2"
	said=$("$check" includes "$tree")
	like "$said" "user/$2:1: $4" "$1"
	rm "$tree/user/$2"
}
breach "libbpf outside collect" load/planted.c '#include <bpf/libbpf.h>' "bpf/libbpf.h belongs to"
breach "the skeleton outside collect" app/planted.c '#include "ovltrace.skel.h"' "ovltrace.skel.h belongs"
breach "curses outside its file" view/planted.c '#include <ncurses.h>' "ncurses.h belongs to"
breach "curses in the wrong file" view/tui/planted.c '#include <curses.h>' "curses.h belongs to"
breach "a system call in model" model/planted.c '#include <unistd.h>' "unistd.h does not belong"
breach "a socket in view" view/planted.h '# include <sys/socket.h>' "sys/socket.h does not belong"
breach "a floor above" base/planted.c '#include "model/model.h"' "base must not use model/model.h"
breach "a neighbour" collect/planted.h '#include "view/view.h"' "collect must not use view/view.h"
breach "a neighbour by a path" load/planted.c '#include "../collect/collect.h"' "load must not use"
breach "BPF's header in load" load/planted.c '#include "../../bpf/abi.h"' "bpf/abi.h belongs to"
breach "a floor nobody knows" attic/planted.c '#include <stddef.h>' "no floor attic"

touch "$tree/notes.txt"
like "$("$check" top "$tree")" "notes.txt: does not belong" "a file too many at the top"
rm "$tree/notes.txt" "$tree/LICENSE"
is "$("$check" top "$tree")" "LICENSE: is missing at the top level" "a file missing at the top"

# objects FLOOR TEXT: one more object file, compiled from TEXT
object() {
	mkdir -p "$tree/obj/$1"
	echo "$2" | gcc -x c -c -o "$tree/obj/$1/planted.o" -
}
object base 'int ovl_planted(void) { return 1; }'
object model 'int ovl_planted(void); int ovl_use(void) { return ovl_planted(); }'
is "$("$check" symbols "$tree" "$tree/obj")" "" "a symbol of a floor below is fine"
object load 'int ovl_use(void); int ovl_over(void) { return ovl_use(); }'
like "$("$check" symbols "$tree" "$tree/obj")" "load needs ovl_use of model" "a symbol of a neighbour"
object load 'int ovl_planted(void) { return 2; }'
like "$("$check" symbols "$tree" "$tree/obj")" "ovl_planted is defined in base too" "a name used twice"
object model 'int puts(const char *); int ovl_use(void) { return puts(""); }'
like "$("$check" symbols "$tree" "$tree/obj")" "a pure floor needs puts" "output in a pure floor"
"$check" symbols "$tree" "$tree/nowhere" > "$tree/said"
is $? 2 "without objects the check fails instead of passing"

finish
