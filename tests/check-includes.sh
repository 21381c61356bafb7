#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
#
# Check which folder includes which: check-includes.sh [source tree]
#
#     cli      the public headers and its own
#     plugins  mininb/engine.h, mininb/wire.h, the headers of common/ and remote/, their own;
#              no other headers of mininb
#     include  the public headers; engine.h only two headers of the C library
#     lib      base <- target <- workload <- run <- report <- ranks <- check <- crash <- serve:
#              each may use the folders before it. serve implements the server side of the
#              connections that plugins/remote opens, and may use the shared headers
#
# The compiler's include directories enforce most rules. This script finds the other violations,
# including paths with "../". Lists each violation and fails.
set -eu

root=${1:-.}
cd "$root"

# Print file:line:header for each include of the files named on stdin, with only the name of the
# header.
list_includes() {
	while IFS= read -r file; do
		sed -n 's/^[[:space:]]*#[[:space:]]*include[[:space:]]*\([<"][^>"]*\)[>"].*/\1/p' \
			"$file" | while IFS= read -r header; do
			printf '%s %s\n' "$file" "$header"
		done
	done
}

sources() {
	[ -d "$1" ] || return 0
	find "$1" -type f \( -name '*.c' -o -name '*.h' -o -name '*.cc' -o -name '*.in' \) | sort
}

refuse() {
	printf '%s: may not include %s (%s)\n' "$1" "$2" "$3"
}

# A header in quotes must not leave the folder of its file.
is_beside() {
	case $2 in
	\"*/*) return 1 ;;
	\"*) [ -f "$(dirname "$1")/${2#\"}" ] ;;
	*) return 1 ;;
	esac
}

# Our headers in angle brackets are <mininb/...>; all others are foreign.
check_cli() {
	sources cli | list_includes | while read -r file header; do
		case $header in
		'<mininb/'*) ;;
		'<'*) ;;
		*) is_beside "$file" "$header" || refuse "$file" "$header" \
			"cli uses the public headers only" ;;
		esac
	done
}

check_plugins() {
	sources plugins | list_includes | while read -r file header; do
		case $header in
		'<mininb/engine.h' | '<mininb/wire.h' | '"../common/'* | '"../remote/'*) ;;
		'<mininb/'*) refuse "$file" "$header" \
			"a plugin knows mininb/engine.h only" ;;
		'<'*) ;;
		*) is_beside "$file" "$header" || refuse "$file" "$header" \
			"a plugin knows mininb/engine.h only" ;;
		esac
	done
}

check_public() {
	sources include | list_includes | while read -r file header; do
		case "$file $header" in
		*/engine.h' <stddef.h' | */engine.h' <stdint.h') ;;
		*/engine.h' '*) refuse "$file" "$header" \
			"engine.h needs stddef.h and stdint.h only" ;;
		*' <'*) ;;
		*) refuse "$file" "$header" "public headers are included as <mininb/...>" ;;
		esac
	done
}

# $1: a folder of lib; the other arguments: the folders that it may use.
check_lib() {
	folder=$1
	shift
	sources "lib/$folder" | list_includes | while read -r file header; do
		case $header in
		'<'*) continue ;;
		esac
		is_beside "$file" "$header" && continue
		case "$folder $header" in
		'serve "../../plugins/remote/'fabric.h | 'serve "../../plugins/remote/'spin.h) continue ;;
		esac
		is_allowed=no
		for before in "$folder" "$@"; do
			case $header in
			*..*) ;;
			"\"$before/"*) is_allowed=yes ;;
			esac
		done
		[ "$is_allowed" = yes ] || refuse "$file" "$header" \
			"lib/$folder uses $folder${*:+ and $*} only"
	done
}

violations=$(
	check_cli
	check_plugins
	check_public
	check_lib base
	check_lib target base
	check_lib workload target base
	check_lib run workload target base
	check_lib report run workload target base
	check_lib ranks report run workload target base
	check_lib check ranks report run workload target base
	check_lib crash check ranks report run workload target base
	check_lib serve crash check ranks report run workload target base
)
if [ -n "$violations" ]; then
	printf '%s\n' "$violations"
	exit 1
fi
