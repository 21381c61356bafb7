#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# The progress line: only on a terminal.
# shellcheck disable=SC2154,SC2030,SC2031
load helper

# Run the command on its own terminal. $output is everything that it wrote there.
on_terminal()
{
	command -v script >/dev/null || skip 'script (util-linux) is not installed'
	local words
	printf -v words '%q ' "$@"
	run -0 env "TERM=${TERM_WANTED-xterm}" script -qec "$words" /dev/null </dev/null
}

@test "on a terminal, the progress line is shown and cleared" {
	mininb 0 keys -c 50000
	on_terminal "$MININB" put -d memory -c 50000 -r 1000
	matches "$output" 'put  [0-9]+/50000  [0-9]+%'
	matches "$output" $'\r'' +'$'\r''Action: put'
	contains "$output" $'\e[2m'
}

@test "an echoed ^C is cleared with the line" {
	mininb 0 keys -c 50000
	NO_COLOR=1 on_terminal "$MININB" put -d memory -c 50000 -r 1000
	lacks "$output" $'\e'
	awk -v RS='\r' '/^ +$/ { cleared = length($0); exit }
		{ shown = length($0) } # with its padding
		END { print shown, cleared; exit !(shown > 0 && cleared >= shown + 2) }' <<<"$output"
}

@test "a phase of one call is first shown without a time" {
	needs_leveldb
	mininb 0 keys -c 1000
	NO_COLOR=1 on_terminal "$MININB" put -c 1000
	matches "$output" $'\rsettle \\.\\.\\. *\r'
}

@test "a long phase of one call shows the seconds" {
	mininb 0 keys -c 1000
	NO_COLOR=1 on_terminal "$MININB" put -d "$MININB_TEST_PLUGINS/slow_settle.so" -c 1000
	local seconds
	seconds=$(tr '\r' '\n' <<<"$output" | sed -n 's/^settle  \([1-9]\) s *$/\1/p')
	echo "seconds shown: $seconds"
	[[ $(sort -u <<<"$seconds" | wc -l) -ge 2 ]]
	equals "$seconds" "$(sort -n -u <<<"$seconds")" # ascending, each once
	# The line is cleared before the report and does not appear in it.
	matches "$output" $'\r'' +'$'\r''Action: put'
	lacks "${output#*Action: put}" 'settle  '
}

# The bars of a sparkline, U+2581 to U+2588, as bytes.
bars=$'(\xe2\x96[\x81-\x88])+'
full=$'\xe2\x96\x88'

# Run the command on a terminal with $1 columns. $shown is the progress of its run.
show_run()
{
	command -v script >/dev/null || skip 'script (util-linux) is not installed'
	local width=$1 words
	shift
	printf -v words '%q ' "$MININB" run -d memory --records=1000 "$@"
	run -0 env TERM=xterm NO_COLOR=1 script -qec "stty columns $width; $words" /dev/null \
		</dev/null
	shown=$(tr '\r' '\n' <<<"$output" | sed -n 's/^run  /:/; s/ *$//; /^:/p')
	echo "$shown"
}

@test "the line shows operations, the rate and current latencies" {
	LC_ALL=C.UTF-8 show_run 160 -w ycsb-c --duration=1.2s
	matches "$shown" ':[0-9]+  [0-9]+/s  [0-9]+ s'
	matches "$shown" '  p50 [0-9.]+(ns|us|ms)  p99 [0-9.]+(ns|us|ms)'
	matches "$shown" "  $bars  [0-9]+ s"
	lacks "$shown" 'misses'
	lacks "$shown" 'warm-up'
}

@test "a narrow terminal omits the least important parts, and no line wraps" {
	LC_ALL=C.UTF-8 show_run 28 -w ycsb-c --duration=1.2s
	# a small number of operations also fits
	matches "$shown" ':([0-9]+  )?[0-9]+/s  [0-9]+ s left'
	lacks "$shown" 'p50'
	lacks "$shown" "$full"
	LC_ALL=C awk 'length($0) + length("run  ") - 1 > 27 { exit 1 }' <<<"$shown"
}

@test "a terminal that is too narrow for all bars shows the last ones" {
	LC_ALL=C.UTF-8 show_run 54 -w ycsb-c --rate=1000 --duration=2s
	matches "$shown" "$bars"
	# Three bars, with the gap before them, fit into 53 columns beside a line of 48.
	LC_ALL=C awk -v bar=$'\xe2\x96' 'index($0, bar) { seen = 1; next }
		seen && length($0) + length("run  ") - 1 <= 48 { print "no bars: " $0; exit 1 }
		' <<<"$shown"
}

@test "without UTF-8 there are no bars" {
	LC_ALL=C show_run 160 -w ycsb-c --duration=1.2s
	matches "$shown" 'p50 [0-9.]+(ns|us|ms)'
	equals "$(LC_ALL=C tr -d '\000-\177' <<<"$shown" | wc -c)" 0
}

@test "the line shows a warm-up" {
	show_run 160 -w ycsb-c --duration=600ms --warmup=300ms
	matches "$shown" ':warm-up  [0-9]+'
	matches "$shown" ':[0-9]+'
}

@test "the line counts misses" {
	printf '[workload]\nread = 1\ndelete = 1\nduration = 400ms\n' >misses.ini
	show_run 160 -w ./misses.ini
	matches "$shown" '  [1-9][0-9]* misses'
}

@test "--quiet, -r 0 and a dumb terminal suppress the line" {
	mininb 0 keys -c 50000
	on_terminal "$MININB" put -d memory -c 50000 -r 1000 --quiet
	lacks "$output" '/50000'
	on_terminal "$MININB" put -d memory -c 50000 -r 0
	lacks "$output" '/50000'
	TERM_WANTED=dumb on_terminal "$MININB" put -d memory -c 50000 -r 1000
	lacks "$output" '/50000'
}

@test "a histogram on a terminal has bars" {
	mininb 0 keys -c 1000
	on_terminal "$MININB" put -d memory -c 1000 --quiet
	matches "$output" $'\n''\[ *[0-9.]+, *[0-9.]+\) +[0-9]+ +[0-9.]+ +#+'
}
