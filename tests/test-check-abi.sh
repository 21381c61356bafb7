#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
#
# check-abi.py finds each kind of change of the headers, and nothing in unchanged ones. It ignores
# constants, which abi.c pins.
#
#     test-check-abi.sh INCLUDE-DIR LIBRARY BASELINE [CC...]
set -eu

include=$1 library=$2 baseline=$3
shift 3
cc=$*
here=$(dirname "$0")
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
failures=0

# $1: expected status; $2: description of the change; $3: header; $4: an edit of it for sed
try()
{
	rm -rf "$dir/include"
	cp -r "$include" "$dir/include"
	sed -i "$4" "$dir/include/mininb/$3"
	if cmp -s "$include/mininb/$3" "$dir/include/mininb/$3"; then
		echo "$2: the edit changed nothing"
		failures=$((failures + 1))
		return
	fi
	status=0
	# shellcheck disable=SC2086
	"$here/check-abi.py" "$dir/include" "$library" "$baseline" $cc >"$dir/out" 2>&1 ||
		status=$?
	if [ "$status" -eq 77 ]; then
		cat "$dir/out"
		exit 77
	fi
	if [ "$status" -ne "$1" ]; then
		echo "$2: exit status $status, not $1"
		cat "$dir/out"
		failures=$((failures + 1))
	fi
}

try 1 'a member in the middle of the table' engine.h \
	's/^	const char \*summary; .*/&\n	void *more;/'
try 1 'a verb in the middle of the table' engine.h \
	's/^	int (\*tick)(struct nb_session \*session);/	int (*more)(void);\n&/'
try 1 'a removed member' engine.h '/^	int (\*tick)(struct nb_session \*session);/d'
try 1 'another type of a member' engine.h 's/^	uint32_t caps; /	uint64_t caps; /'
try 1 'another argument of a verb' engine.h \
	's/^	int (\*tick)(struct nb_session \*session);/	int (*tick)(struct nb_session *session, int how);/'
try 1 'another argument of a function' mininb.h \
	's/^nb_parse_time(uint64_t \*out,/nb_parse_time(uint32_t *out,/'
try 1 'a member in the middle of a structure of options' run.h \
	's/^	uint32_t clock;  /	uint32_t more;\n&/'
try 0 'a function that is not exported yet' mininb.h \
	's/^const char \*$/int\nnb_more(int how);\n\n&/;'
try 0 'a changed comment' engine.h 's/one static const table/one table/'
try 1 'a verb at the end of the table' engine.h \
	's/^	const struct nb_engine \*(\*variant)(.*/&\n	int (*more)(void);/'
try 1 'a member at the end of a structure of options' run.h \
	's/^	void \*progress_arg;/&\n	uint64_t more;/'

# A function that programs call but the library lacks.
sed 's/^nb_version:/nb_gone:/' "$baseline" >"$dir/baseline.txt"
if "$here/check-abi.py" "$include" "$library" "$dir/baseline.txt" "$@" >"$dir/out" 2>&1; then
	echo "a missing function was not detected"
	failures=$((failures + 1))
fi
if ! "$here/check-abi.py" "$include" "$library" "$baseline" "$@" >"$dir/out" 2>&1; then
	echo "the unchanged interface was reported as incompatible"
	cat "$dir/out"
	failures=$((failures + 1))
fi
[ "$failures" -eq 0 ]
