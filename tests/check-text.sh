#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
#
# Check the documents for users: check-text.sh SOURCE_TREE PROGRAM
#
# README.md must fit on a few screens. Each document of extra/doc must be installed, and README.md
# and mininb(1) must link it. No document, manual page or help text may contain a phrase that
# readers had to decode. Lists each violation and fails.
set -eu

cd "$1"
program=$2
wrong=0

say() {
	echo "$*"
	wrong=1
}

lines=$(wc -l <README.md)
[ "$lines" -le 200 ] || say "README.md: has $lines lines, more than 200"

for file in extra/doc/*.*; do
	name=${file##*/}
	[ "$name" != meson.build ] || continue
	grep -qF "'$name'" extra/doc/meson.build || say "extra/doc/meson.build: does not install $name"
	grep -qF "($file)" README.md || say "README.md: does not link $file"
	[ "$name" = "${name%.md}" ] || grep -qx "_${name}_" extra/man/mininb.1.scd ||
		say "extra/man/mininb.1.scd: does not name $name"
done
for file in README.md extra/doc/*.md; do
	links=$(sed -n 's/[^]]*\](\([^):#]*\))[^]]*/\1\n/gp' "$file")
	for link in $links; do
		[ -e "${file%"${file##*/}"}$link" ] || say "$file: links $link, which is missing"
	done
done

# Phrases that users had to read twice, one per line.
phrases='\<kin\>
midst
but for
in earnest
in vain
so and so
by and by
hitherto
that is no chance
are one too many
asks for nothing
each so much time
so often
what takes the time
who takes
(be|not|none is) told
told (after|by|in|of)
there is no telling
is no error
is no part
is no failure
if that is meant
is instead of
of its own kind'
found=$({
	"$program" --help=scdoc | sed 's/^/mininb.1: /'
	"$program" --help=scdoc-workload | sed 's/^/mininb-workload.5: /'
	# except program output
	grep -v '^    ' README.md extra/doc/*.md extra/*.md extra/workloads/*.md extra/man/*.in |
		sed 's/:/: /'
} | grep -iE "$phrases") || true
[ -z "$found" ] || say "$found"

exit $wrong
