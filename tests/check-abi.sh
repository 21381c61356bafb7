#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
#
# Whether the public interface is still that of the baseline:
#
#     check-abi.sh [--write] INCLUDE-DIR LIBRARY BASELINE [CC...]
#
# A surface is made of everything public: for each function that LIBRARY exports
# a pointer of its type, as the headers in INCLUDE-DIR declare it. What is
# reachable from there is what programs and plugins were compiled with. abidiff
# (libabigail) compares it with the BASELINE.
#
# New functions are let pass; all else fails. That a structure has grown at its
# end, as it may, is for a person to see: --write then makes the BASELINE anew,
# and its change stands in the same commit, beside that of tests/abi.c.
#
# Exit status: 0 the same; 1 not; 77 a tool is missing, or the baseline is that of
# another machine.
set -eu

write=no
if [ "$1" = --write ]; then
	write=yes
	shift
fi
include=$1 library=$2 baseline=$3
shift 3
[ $# -gt 0 ] || set -- cc
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

for tool in abidw abidiff nm "$1"; do
	if ! command -v "$tool" >/dev/null; then
		echo "skipped: no $tool"
		exit 77
	fi
done
if [ "$(uname -m)" != x86_64 ]; then
	echo "skipped: the baseline is that of x86_64"
	exit 77
fi

{
	echo '#include <mininb/mininb.h>'
	nm -D --defined-only "$library" | sed -n 's/.* T \(nb_[a-z0-9_]*\).*/\1/p' | sort |
		while read -r name; do
			echo "extern __typeof__(&$name) surface_$name;"
			echo "__typeof__(&$name) surface_$name;"
		done
} >"$dir/surface.c"
if [ "$(wc -l <"$dir/surface.c")" -lt 3 ]; then
	echo "$library exports nothing of ours"
	exit 1
fi
(cd "$dir" && "$@" -std=gnu11 -g -O0 -fPIC -shared -fdebug-prefix-map="$dir"=. \
	-I"$include" -o surface.so surface.c)
if [ "$write" = yes ]; then
	abidw --no-corpus-path --no-comp-dir-path --no-show-locs --out-file "$baseline" \
		"$dir/surface.so"
	exit 0
fi
# Not two files of abidw: libabigail 2.6 finds no change between those. What FILE is made of is
# the C library's affair.
printf '[suppress_type]\nname = _IO_FILE\n' >"$dir/suppressions"
abidiff --no-added-syms --harmless --suppressions "$dir/suppressions" "$baseline" \
	"$dir/surface.so" || {
	echo "the public interface is not what programs and plugins were compiled with; if"
	echo "it has only grown at the end of structures that carry their size:"
	echo "$0 --write $include $library $baseline"
	exit 1
}
