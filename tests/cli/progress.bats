#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# The line that rewrites itself: only where somebody looks.
# shellcheck disable=SC2154
load helper

# Run the command on a terminal of its own; $output is all that it wrote there.
on_terminal()
{
	command -v script >/dev/null || skip 'script (util-linux) is not installed'
	local words
	printf -v words '%q ' "$@"
	run -0 env "TERM=${TERM_WANTED-xterm}" script -qec "$words" /dev/null </dev/null
}

@test "there is a line on a terminal, and it is cleared" {
	mininb 0 keys -c 200000
	on_terminal "$MININB" put -d memory -c 200000 -r 1000
	matches "$output" 'put  [0-9]+/200000  [0-9]+%'
	matches "$output" $'\r'' +'$'\r''Action: put'
	contains "$output" $'\e[2m'
}

@test "a ^C behind the line is cleared with it" {
	mininb 0 keys -c 200000
	NO_COLOR=1 on_terminal "$MININB" put -d memory -c 200000 -r 1000
	awk -v RS='\r' '/^ +$/ { cleared = length($0); exit }
		{ shown = length($0) } # what pads the line is a part of it
		END { print shown, cleared; exit !(shown > 0 && cleared >= shown + 2) }' <<<"$output"
}

@test "what is done in one piece is told without a clock that stands" {
	needs_leveldb
	mininb 0 keys -c 1000
	NO_COLOR=1 on_terminal "$MININB" put -c 1000
	matches "$output" $'\rsettle \\.\\.\\. *\r'
}

@test "what is done in one piece and takes long shows the seconds that pass" {
	mininb 0 keys -c 1000
	NO_COLOR=1 on_terminal "$MININB" put -d "$MININB_TEST_PLUGINS/slow_settle.so" -c 1000
	local seconds
	seconds=$(tr '\r' '\n' <<<"$output" | sed -n 's/^settle  \([1-9]\) s *$/\1/p')
	echo "seconds shown: $seconds"
	[[ $(sort -u <<<"$seconds" | wc -l) -ge 2 ]]
	equals "$seconds" "$(sort -n -u <<<"$seconds")" # forwards, and each but once
	# Cleared before the report, and not drawn into it.
	matches "$output" $'\r'' +'$'\r''Action: put'
	lacks "${output#*Action: put}" 'settle  '
}

@test "NO_COLOR takes the colour out" {
	mininb 0 keys -c 200000
	NO_COLOR=1 on_terminal "$MININB" put -d memory -c 200000 -r 1000
	matches "$output" 'put  [0-9]+/200000'
	lacks "$output" $'\e'
}

@test "quiet, -r 0 and a dumb terminal have none" {
	mininb 0 keys -c 200000
	on_terminal "$MININB" put -d memory -c 200000 -r 1000 --quiet
	lacks "$output" '/200000'
	on_terminal "$MININB" put -d memory -c 200000 -r 0
	lacks "$output" '/200000'
	TERM_WANTED=dumb on_terminal "$MININB" put -d memory -c 200000 -r 1000
	lacks "$output" '/200000'
}

@test "a histogram on a terminal has bars" {
	mininb 0 keys -c 1000
	on_terminal "$MININB" put -d memory -c 1000 --quiet
	matches "$output" $'\n''\[ *[0-9.]+, *[0-9.]+\) +[0-9]+ +[0-9.]+ +#+'
}
