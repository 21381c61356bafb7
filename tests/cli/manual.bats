#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# The manual pages: correct markup, complete, and with examples that work.
# shellcheck disable=SC2154
load helper

# The source of each page.
sources()
{
	"$MININB" --help=scdoc >mininb.1.scd
	"$MININB" --help=scdoc-workload >mininb-workload.5.scd
	local page
	for page in mininb-engine.7 mininb-result.5; do
		sed 's/@version@/0/' "$MININB_TEST_MAN/$page.scd.in" >"$page.scd"
	done
}

pages()
{
	command -v scdoc >/dev/null || skip 'scdoc is not installed'
	sources
	for page in *.scd; do
		scdoc <"$page" >"${page%.scd}"
	done
}

@test "the program expands all marks in the pages" {
	sources
	for page in mininb.1.scd mininb-workload.5.scd; do
		run grep -n '@[a-z-]*@' "$page"
		equals "$output" ''
	done
}

# scdoc causes the ignored message, because it writes a paragraph after each heading.
@test "mandoc reports no problems in the manual pages" {
	command -v mandoc >/dev/null || skip 'mandoc is not installed'
	pages
	for page in *.[157]; do
		run mandoc -Tlint -W warning "$page"
		equals "$(grep -v 'skipping paragraph macro: PP' <<<"$output")" ''
	done
}

@test "man formats the pages in 80 columns without a warning" {
	command -v groff >/dev/null || skip 'groff is not installed'
	pages
	for page in *.[157]; do
		groff -man -Tascii -ww "$page" >formatted 2>warnings
		equals "$(<warnings)" ''
		equals "$(sed 's/.\x08//g; s/\x1b\[[0-9;]*m//g' formatted | awk 'length > 80')" ''
	done
}

@test "the manual lists every exit status" {
	sources
	local manual
	manual=$(sed -n '/^# EXIT STATUS/,/^# CRASHES/p' mininb.1.scd |
		sed -n 's/^\*\([0-9]*\)\*$/\1/p; s/^\*128\* and the number of a signal$/128+n/p')
	equals "$(sed -n 's/^\tSTATUS_[A-Z]* = \([0-9]*\).*/\1/p' \
		"$BATS_TEST_DIRNAME/../../cli/message.h"; echo '128+n')" "$manual"
}

@test "the header and the manual state new-engine's rule for names" {
	sources
	mininb 2 new-engine 1a
	local rule=${stderr#*use } page
	rule=${rule%%$'\n'*}
	contains "$rule" '64 characters at most'
	contains "$(<"$MININB_TEST_INCLUDE/mininb/engine.h")" "$rule"
	page=$(tr -s '\n\t ' ' ' <mininb-engine.7.scd)
	contains "${page//\\/}" "$rule"
}

@test "mininb-engine(7) lists every field and every constant of engine.h" {
	sources
	local check=$BATS_TEST_DIRNAME/engine_page.py header=$MININB_TEST_INCLUDE/mininb/engine.h
	run -0 python3 "$check" "$header" mininb-engine.7.scd
	equals "$output" ''
	# the script reports missing names
	grep -v 'NB_CAP_SYNTHETIC\|is_delete' mininb-engine.7.scd >less.scd
	run -0 python3 "$check" "$header" less.scd
	equals "$output" "NB_CAP_SYNTHETIC"$'\n'"is_delete"
}

@test "mininb-workload(5) explains every key and every value" {
	sources
	local names page=mininb-workload.5.scd
	"$MININB" --help | sed -n '/^The workload/,/^$/s/^ *--\([a-z-]*\)=.*/\1/p' |
		grep -v '^set$' >names
	grep -v '^[[:space:]]*#' "$BATS_TEST_DIRNAME/../../lib/workload/job_keys.c" |
		grep -o '\.name = "[a-z-]*"\|SHARE(NB_[A-Z_]*, "[a-z-]*"' |
		sed 's/.*"\(.*\)"/\1/' >>names
	names=$(sort -u names)
	(($(wc -l <<<"$names") > 40))
	for name in $names; do
		grep -q "^\*$name\* = _" $page
	done
	# each placeholder for a value is explained
	for arg in $(sed -n 's/^\*[a-z-]*\* = _\(.*\)_$/\1/p' $page | tr '|' '\n' | sort -u); do
		[[ $arg == [a-z]* ]] || sed -n '/^# VALUES/,/^# KEYS/p' $page | grep -q "_${arg}_"
	done
	for name in uniform zipfian zipfian-ycsb latest hotspot exponential sequential pareto descending; do
		sed -n '/^# DISTRIBUTIONS/,/^# SIZES/p' $page | grep -q "^\*$name\*\$"
	done
}

@test "the example of a workload can be loaded and run" {
	sources
	sed -n '/^# sessions.ini/,/^```/p' mininb-workload.5.scd | sed '$d' >sessions.ini
	mininb 0 workloads ./sessions.ini
	contains "$output" '[readers]'
	local small='--records=2000 --writers.duration=200ms --writers.warmup=0s
		--check.count=20 --check.scan-length=10'
	# shellcheck disable=SC2086
	mininb 0 load -w sessions.ini -d memory $small
	# shellcheck disable=SC2086
	mininb 0 run -w sessions.ini -d memory $small
	contains "$output" 'writers: update 80 %, insert 20 %'
	contains "$output" 'check: scan 100 %'
}

# The examples of the page, with smaller sizes and durations. --cold needs a disk. The machine
# determines whether --slo and gate exit with 4.
@test "the examples of sweeps, traces and comparisons work" {
	needs_leveldb
	needs_engine lmdb
	sources
	sed -n '/^A sweep from/,/^List the engines/p' mininb.1.scd |
		awk '/^```/ { code = !code; next } code' |
		sed -e 's/[0-9]*00k/2k/g; s/=20k\|=50k/=1k/; s/duration=2s/duration=50ms/' \
			-e 's/\\\\$/\\/; s/^mininb gate.*/& --force/' >examples
	mininb()
	{
		local status=0
		[[ $* == *--cold* ]] || "$MININB" "$@" >>told 2>&1 || status=$?
		[[ $status == 0 || $status == 4 && $* =~ --slo=|^gate ]] && return
		printf 'exit status %s: mininb %s\n' $status "$*"
		return 1
	}
	(($(grep -c ^mininb examples) == 11))
	set -e
	# shellcheck disable=SC1091 # created above
	source ./examples
	lacks "$(<told)" usage
}
