#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
#
# check-hardening.sh can fail: test-check-hardening.sh COMPILER...
set -eu

here=$(dirname "$0")
command -v readelf >/dev/null || exit 77
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cat >"$dir/a.c" <<'C'
#include <stdio.h>
#include <string.h>
int main(int argc, char **argv)
{
	char text[16];
	(void)argc;
	strcpy(text, argv[0]);
	return puts(text) < 0;
}
C
good='-O2 -fPIE -pie -fstack-protector-strong -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2
	-Wl,-z,relro -Wl,-z,now -Wl,-z,noexecstack'

# Build a program with the options after $1. The report must contain $1, or be empty if $1 is "".
expect() {
	said=$1
	shift
	"$@" -o "$dir/a" "$dir/a.c"
	if sh "$here/check-hardening.sh" fortify "$dir/a" >"$dir/out"; then
		[ -z "$said" ] && return
		echo "the check passes, but should report: $said"
		exit 1
	fi
	[ -n "$said" ] && grep -q -- "$said" "$dir/out" && return
	echo "expected '$said' in the report:"
	cat "$dir/out"
	exit 1
}

# shellcheck disable=SC2086
{
	expect '' "$@" $good
	expect 'at a fixed address' "$@" $good -fno-pie -no-pie
	expect 'bound lazily' "$@" $good -Wl,-z,lazy
	expect 'stay writable' "$@" $good -Wl,-z,norelro
	expect 'executable stack' "$@" $good -Wl,-z,execstack
	expect 'no stack protector' "$@" $good -fno-stack-protector
	expect 'no checked function' "$@" $good -U_FORTIFY_SOURCE
	expect "libraries in 'lib'" "$@" $good -Wl,-rpath,/usr/lib:lib
	expect "libraries in ''" "$@" $good -Wl,-rpath,/usr/lib::/lib
}
