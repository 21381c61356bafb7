#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
#
# Check that the built files are hardened: check-hardening.sh FLAGS FILE...
#
# FLAGS lists the features of this build: "fortify" if _FORTIFY_SOURCE is on, else "-". ",installed"
# follows if the files are installed. In a build tree, Meson reserves space in search paths.
#
# Each file, a program, library or plugin, must be position independent. It must have read-only
# relocations bound at start, a non-executable stack, and no relative or empty library search path.
# The program and the library must contain the compiler's guards. Short functions need none, so a
# plugin may lack them.
#
# Lists each file that lacks something and fails. Exit status 77: readelf is not installed.
set -eu

command -v readelf >/dev/null || {
	echo 'skipped: readelf (binutils) is not installed'
	exit 77
}
flags=$1
shift
failed=0

lacks() {
	printf '%s: %s\n' "$1" "$2"
	failed=1
}

# Print each invalid part of RPATH and RUNPATH. An empty part means the working directory.
check_search() {
	readelf -dW "$1" | sed -n 's/.*(\(RPATH\|RUNPATH\)).*\[\(.*\)\]$/\2:/p' | tr ':' '\n' |
		sed '$d' | while IFS= read -r part; do
		case $part in
		/* | \$ORIGIN | \$ORIGIN/*) ;;
		*XXXX)
			case $flags in
			*,installed) echo "'$part'" ;;
			*) [ -z "$(printf '%s' "$part" | tr -d X)" ] || echo "'$part'" ;;
			esac
			;;
		*) echo "'$part'" ;;
		esac
	done
}

check_all() {
	readelf -hW "$1" | grep -q 'Type: *DYN' || lacks "$1" 'is at a fixed address (no PIE, no -fPIC)'
	readelf -dW "$1" | grep -qE '\(BIND_NOW\)|FLAGS.*\bNOW\b' || lacks "$1" 'is bound lazily (no -z now)'
	readelf -lW "$1" | grep -q GNU_RELRO || lacks "$1" 'has relocations that stay writable (no -z relro)'
	readelf -lW "$1" | grep 'GNU_STACK' | grep -q 'RW ' || lacks "$1" 'has an executable stack'
	if readelf -lW "$1" | grep -qE '^ *LOAD.* RWE '; then
		lacks "$1" 'has a segment that is writable and executable'
	fi
	search=$(check_search "$1")
	[ -z "$search" ] || lacks "$1" "looks for libraries in $search"
}

check_guards() {
	symbols=$(readelf -sW --dyn-syms "$1")
	case $symbols in
	*__stack_chk_fail*) ;;
	*) lacks "$1" 'has no stack protector' ;;
	esac
	[ "${flags%,*}" = fortify ] || return 0
	case $symbols in
	*_chk@* | *_chk\ *) ;;
	*) lacks "$1" 'has no checked function of _FORTIFY_SOURCE' ;;
	esac
}

for file; do
	check_all "$file"
	case $file in
	*/plugins/*) ;;
	*) check_guards "$file" ;;
	esac
done
exit $failed
