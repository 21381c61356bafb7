#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
#
# Check that hot functions prefetch: check-prefetch.sh FILE 'FUNCTION...' CC...
#
# Compiles FILE with optimisation. Each FUNCTION, with its inlined parts, must contain a prefetch
# instruction. gcc 12 removes calls of a function that only prefetches, which changes only the
# speed. Exit status 77: the prefetch instruction of this machine is unknown.
set -eu

case $(uname -m) in
x86_64) instruction=prefetch ;;
aarch64) instruction=prfm ;;
*)
	echo "skipped: the prefetch instruction of $(uname -m) is unknown"
	exit 77
	;;
esac
file=$1
functions=$2
shift 2
failed=0
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
"$@" -O2 -S -o "$dir/s" "$file"
for function in $functions; do
	awk -v name="$function" -v instruction="$instruction" '
		/^[A-Za-z_][A-Za-z0-9_.]*:/ { own = $1 == name ":" || index($1, name ".") == 1 }
		own && index($1, instruction) == 1 { count++ }
		END { exit count == 0 }' "$dir/s" || {
		echo "$file: $function() contains no prefetch instruction"
		failed=1
	}
done
exit $failed
