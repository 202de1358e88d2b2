#!/bin/bash
# Keep the floors apart, as tests/floors.txt says: what stands at the top level, what each source
# file includes, and which symbols each built object needs.
# Usage: scripts/check-floors.sh top|includes|symbols [TREE [OBJECTS]]
# (TREE: the source tree, OBJECTS: the folder of built objects, TREE/.output/obj by default.)
# One line for each breach; exit 1 if there is one, 2 if it could not be checked.
# shellcheck disable=SC2317 # the checks are called by the name they are asked for
set -u
what=${1-}
tree=${2:-$(dirname "$0")/..}
objects=${3:-$tree/.output/obj}
rules=$tree/tests/floors.txt

# Read the rules into awk's arrays; places() tells whether a file lies in one of a list of places.
# shellcheck disable=SC2016 # awk's, not ours
read_rules='
function regex(glob) {
	gsub(/[.+]/, "\\\\&", glob)
	gsub(/\*/, ".*", glob)
	return "^" glob "$"
}
function matches(name, globs,    n, i, list) {
	n = split(globs, list, " ")
	for (i = 1; i <= n; i++)
		if (name ~ regex(list[i]))
			return 1
	return 0
}
function within(file, places,    n, i, list) {
	n = split(places, list, " ")
	for (i = 1; i <= n; i++)
		if (file == list[i] || index(file, list[i] "/") == 1)
			return 1
	return 0
}
function has_any(words, wanted,    n, i, list) {
	n = split(wanted, list, " ")
	for (i = 1; i <= n; i++)
		if (index(words, " " list[i] " "))
			return 1
	return 0
}
FNR == NR {
	if ($0 ~ /^#/ || NF == 0)
		next
	key = $1
	rest = substr($0, index($0, $1) + length($1))
	split(rest, half, ":")
	if (key == "floor") {
		gsub(/ /, "", half[1])
		uses[half[1]] = " " half[1] " " half[2] " "
	} else if (key == "only" || key == "no") {
		n_rules++
		kind[n_rules] = key; headers[n_rules] = half[1]; places[n_rules] = half[2]
	} else {
		words[key] = words[key] " " rest
	}
	next
}
'

check_top() {
	find "$tree" -mindepth 1 -maxdepth 1 -printf '%f\n' |
		awk "$read_rules"'
		{ seen[$0] = 1 }
		# what git keeps out is no part of the tree
		!matches($0, words["top"]) && !matches($0, ".git .output ovltrace *.o *.swp") &&
			$0 != "compile_commands.json" {
			print $0 ": does not belong at the top level"
		}
		END {
			n = split(words["top"], all, " ")
			for (i = 1; i <= n; i++)
				if (!(all[i] in seen))
					print all[i] ": is missing at the top level"
		}' "$rules" -
}

check_includes() {
	(cd "$tree/user" && grep -rnE --include='*.[ch]' '^[ \t]*#[ \t]*include' .) |
		awk "$read_rules"'
		{
			match($0, /^[^:]*:[0-9]+:/)
			at = substr($0, 3, RLENGTH - 3)
			file = at
			sub(/:.*/, "", file)
			floor = file
			sub(/\/.*/, "", floor)
			text = substr($0, RLENGTH + 1)
			match(text, /[<"][^>"]*[>"]/)
			header = substr(text, RSTART + 1, RLENGTH - 2)
			sub(/^(\.\.\/)+/, "", header)
			if (!(floor in uses))
				print "user/" at ": no floor " floor " in tests/floors.txt"
			if (matches(header, words["any"]))
				next
			other = header
			sub(/\/.*/, "", other)
			if ((other in uses) && index(uses[floor], " " other " ") == 0)
				print "user/" at ": " floor " must not use " header
			for (i = 1; i <= n_rules; i++) {
				if (!matches(header, headers[i]))
					continue
				in_place = within(file, places[i])
				if (kind[i] == "only" && !in_place)
					print "user/" at ": " header " belongs to" places[i] " only"
				if (kind[i] == "no" && in_place && !within(file, words["except"]))
					print "user/" at ": " header " does not belong in " floor
			}
		}' "$rules" -
}

# nm of every object: "FILE T symbol" where FILE begins with the floor
symbols_of() {
	(cd "$objects" && find . -name '*.o' | sort | xargs nm -A -P) |
		awk '{ sub(/^\.\//, "", $1); sub(/:$/, "", $1); print $1, $3, $2 }'
}

check_symbols() {
	local table
	if [ ! -d "$objects" ] || ! table=$(symbols_of) || [ -z "$table" ]; then
		echo "no objects in $objects: build first"
		return 2
	fi
	awk "$read_rules"'
	{
		file = $1; type = $2; name = $3
		floor = file
		sub(/\/.*/, "", floor)
		if (type == "U" || type == "w") {
			need[floor SUBSEP name] = file
		} else if (type ~ /^[TDBRVWC]$/) {
			# the linker would take whichever archive comes first
			if (name in home && name ~ /^ovl_/)
				print file ": " name " is defined in " home[name] " too"
			if (name in home)
				home[name] = home[name] " " floor
			else
				home[name] = floor
		}
		if (type == "U") {
			plain = name
			sub(/^__/, "", plain)
			sub(/_chk$/, "", plain)
			sub(/^isoc[0-9]+_/, "", plain)
			if (matches(floor, words["pure"]) && matches(plain, words["impure"]) &&
			    !within(file, words["except"]))
				print file ": a pure floor needs " name
		}
	}
	END {
		for (key in need) {
			split(key, part, SUBSEP)
			if ((part[2] in home) && !has_any(uses[part[1]], home[part[2]]))
				print need[key] ": " part[1] " needs " part[2] " of " home[part[2]]
		}
	}' "$rules" - <<< "$table"
}

case $what in
top | includes | symbols)
	breaches=$("check_$what") || exit 2
	[ -n "$breaches" ] || exit 0
	printf '%s\n' "$breaches"
	exit 1
	;;
*)
	echo "usage: scripts/check-floors.sh top|includes|symbols [TREE [OBJECTS]]" >&2
	exit 2
	;;
esac
