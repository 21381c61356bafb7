#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# What extra/run.sh computes by itself: the time left, and the width of its table.
# shellcheck disable=SC1091,SC2034,SC2154
load helper

# Take the functions named from extra/run.sh, which runs as soon as it is sourced.
take()
{
	local extra=$BATS_TEST_DIRNAME/../../extra name text
	. "$extra/common.sh"
	for name; do
		text=$(sed -n "/^$name()/,/^}/p" "$extra/run.sh")
		[[ -n $text ]]
		eval "$text"
	done
}

@test "steps of less than a second count for the time left" {
	take time_left step_end
	local -A kind_ms=() kind_count=()
	local total=14 now=${EPOCHREALTIME/./}
	local plan=(put get put get put get put get put get put get put get)
	local began=$((now - 400000))
	started=${began:0:-6}.${began: -6} # 0.4 s ago
	step_end yes
	matches "$(time_left 0)" '^about [1-9][0-9hms ]* left, if a get costs what a put does$'

	kind_ms[put]=30
	equals "$(time_left 0)" 'less than 1s left, if a get costs what a put does'
	kind_ms[put]=60000
	kind_ms[get]=2600
	kind_count[get]=1
	plan=(put get)
	equals "$(time_left 57)" 'about 6s left' # 3 of the put, 2.6 of the get
}

@test "the table of all engines cuts long notes" {
	take first_table
	local long
	long=$(printf 'e%.0s' {1..300})
	printf '%s\n' '| engine | ops/s | notes |' '|---|---:|---|' '| a | 1 | ok |' \
		"| b | 2 | $long |" '' '| another | table |' >report.md
	run -0 first_table report.md
	equals "${#lines[@]}" 4
	equals "${lines[0]}" "| engine | ops/s | $(printf '%-40s' notes) |"
	equals "${lines[3]}" "| b | 2 | ${long:0:37}... |"
}
