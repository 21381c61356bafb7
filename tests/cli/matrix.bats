#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# Each combination of a plan runs exactly once, even after interruptions.
# shellcheck disable=SC2154
load helper

# Write a plan of $1 repetitions of two engines, with the remaining arguments appended.
plan()
{
	{
		printf '[matrix]\ndriver = memory, null\nrepetitions = %s\n' "$1"
		shift
		(($# == 0)) || printf '%s\n' "$@"
		printf '[options]\nrecords = 100\ncount = 300\nread = 50\nupdate = 50\n'
		printf 'durability = none\n'
	} >plan.ini
}

# Name, inode and time of each result.
files()
{
	find "$1" -name '*.json' -printf '%f %i %T@\n' | sort
}

names()
{
	find "$1" -name '*.json' -printf '%f\n' | sort
}

@test "each combination has a result, and the table marks the best of each column" {
	plan 2 'threads = 1, 2'
	mininb 0 matrix plan.ini --results=r --quiet
	equals "$stderr" ''
	has_lines "$(names r)" 8
	equals "$(ls nb)" ''
	contains "$output" 'run threads=1   memory     2 '
	contains "$output" 'run threads=2   null       2 '
	contains "$output" '*'
	# The median of two runs lies between them with a confidence of one half.
	contains "$output" 'its 95 % CI'
	matches "$output" 'run threads=1 +null +2 +[*]?([0-9]+) +[0-9]+\.\.[0-9]+ \(50 %\)'
	equals "$(<r/table.txt)" "$output"
	contains "$(<r/index.html)" 'run threads=2'
	mininb 0 compare --format=table r/*.json --force
	contains "$output" 'run threads=2'
}

@test "a repeated command runs nothing, and a larger plan only the new combinations" {
	plan 1
	mininb 0 matrix plan.ini --results=r --quiet
	local printed=$output before
	before=$(files r)
	mininb 0 matrix plan.ini --results=r --quiet
	equals "$output" "$printed"
	equals "$(files r)" "$before"
	plan 2
	mininb 0 matrix plan.ini --results=r --dry-run
	equals "$(grep -c '^done' <<<"$output")" 2
	equals "$(grep -c '^to do' <<<"$output")" 2
	matches "$output" '4 runs, 2 to do; time left: 0:[0-9]+$'
	equals "$(files r)" "$before"
	mininb 0 matrix plan.ini --results=r --quiet
	has_lines "$(names r)" 4
	equals "$(files r | grep -cFx "$before")" 2
}

@test "a changed setting needs new runs, but an explicit default does not" {
	plan 1
	mininb 0 matrix plan.ini --results=r --dry-run
	local before
	before=$(awk '{ print $3 }' <<<"$output" | sort)
	mininb 0 matrix plan.ini --results=r --dry-run --threads=1
	equals "$(awk '{ print $3 }' <<<"$output" | sort)" "$before"
	mininb 0 matrix plan.ini --results=r --dry-run --threads=2
	equals "$(awk '{ print $3 }' <<<"$output" | sort | grep -cFx "$before")" 1 # the summary
}

@test "an option of one engine does not multiply the others" {
	needs_leveldb
	printf '%s\n' '[matrix]' 'driver = leveldb, null' \
		'option = none, leveldb.block_size=16KiB, leveldb.block_size=4KiB' \
		'[options]' 'read = 100' 'records = 10' >plan.ini
	mininb 0 matrix plan.ini --results=r --dry-run
	# 4 KiB is the default
	contains "$output" '3 runs, 3 to do'
	contains "$output" 'leveldb block_size=16KiB, repetition 1'
}

# The stream digests of the results in $1, sorted.
digests()
{
	local file
	for file in "$1"/*.json; do
		"$MININB" report "$file" | sed -n 's/^Stream digest *: //p'
	done | sort
}

@test "--shuffle gets the keys in another order, and --keep keeps the databases" {
	printf '%s\n' '[matrix]' "driver = memory, $(plugin keeper)" '[options]' 'count = 100' \
		>plan.ini
	mininb 0 matrix plan.ini --results=plain --quiet
	mininb 0 matrix plan.ini --results=r --shuffle --keep
	has_lines "$(digests r)" 4
	has_lines "$(digests r | uniq)" 2
	has_lines "$(sort -u <(digests plain) <(digests r))" 3 # both put the keys in one order
	matches "$stderr" 'keeper: kept in ./nb/matrix-[^/]+/vs-'
	mininb 0 matrix plan.ini --results=r --shuffle --keep
	has_lines "$(find nb -name shuffled.bin)" 2
	[[ -n $(find nb -path '*/db2/keeper/log') ]]
	mininb 0 keys -c 50
	mininb 1 matrix plan.ini --results=short --shuffle --keys=keys.bin
	contains "$stderr" '--keys: keys.bin: holds fewer than 100 keys of 16 bytes; lower --count'
	refuses '--shuffle is for put and get of keys' vs -d memory,null --shuffle -w ycsb-a
	mininb 2 matrix plan.ini --results=r --shuffle -w ycsb-a
	contains "$stderr" '--shuffle is for put and get of keys'
}

@test "the warnings of a successful run are printed" {
	printf '%s\n' '[matrix]' "driver = $(plugin faulty)" '[options]' 'count = 100' \
		'option = how=log' 'option = number=50' >plan.ini
	mininb 0 matrix plan.ini --results=r --quiet
	contains "$stderr" '  mininb: warning: repeated 999 times: the same text'
}

@test "a run with a damaged, foreign or missing result is repeated" {
	plan 1
	mininb 0 matrix plan.ini --results=r --quiet
	local all one other
	all=$(names r)
	one=$(head -n 1 <<<"$all") other=$(tail -n 1 <<<"$all")
	head -c 1000 "r/$one" >part.json
	cat part.json >"r/$one"
	mininb 0 matrix plan.ini --results=r --dry-run
	matches "$output" "to do +${one%.json}"
	cp "r/$other" "r/$one"
	mininb 0 matrix plan.ini --results=r --dry-run
	matches "$output" "to do +${one%.json}"
	rm "r/$one"
	mininb 0 matrix plan.ini --results=r --quiet
	equals "$(names r)" "$all"
	[[ $(value_of "r/$one" results.0.name) != "$(value_of "r/$other" results.0.name)" ]]
}

@test "a failure is kept with its reason and repeated only on request" {
	printf '%s\n' '[matrix]' "driver = $(plugin crashes), memory" '[options]' \
		'read = 100' 'records = 10' 'count = 10' >plan.ini
	mininb 1 matrix plan.ini --results=r
	contains "$stderr" '1 of 2 runs failed; --retry repeats them'
	matches "$output" 'failed: crashes, repetition 1: load ended with status 1: '
	matches "$output" 'run +memory +1 '
	local before
	before=$(files r)
	mininb 1 matrix plan.ini --results=r --quiet
	equals "$(files r)" "$before"
	mininb 1 matrix plan.ini --results=r --quiet --retry
	equals "$(files r | grep -cFx "$before")" 1
}

@test "a matrix killed at any moment ends with the same results" {
	plan 2
	mininb 0 matrix plan.ini --results=alone --quiet
	local seen='' now
	for _ in 1 2 3; do
		start matrix plan.ini --results=killed --quiet
		sleep "0.$((RANDOM % 5))$((RANDOM % 10))"
		kill -KILL "$pid" 2>/dev/null || true
		wait "$pid" 2>/dev/null || true
		pid=
		now=$(files killed 2>/dev/null || true)
		[[ -z $seen ]] || equals "$(grep -cFx "$seen" <<<"$now")" "$(wc -l <<<"$seen")"
		seen=$now
	done
	mininb 0 matrix plan.ini --results=killed --quiet
	[[ -z $seen ]] || equals "$(files killed | grep -cFx "$seen")" "$(wc -l <<<"$seen")"
	equals "$(names killed)" "$(names alone)"
	equals "$(ls nb)" ''
	equals "$(find killed -type f ! -name '*.json' -printf '%f\n' | sort)" \
		$'index.html\nlock\ntable.txt'
}

@test "an interrupted matrix prints that the same command continues" {
	printf '%s\n' '[matrix]' 'driver = memory' '[options]' 'read = 100' 'records = 10' \
		'duration = 60s' >plan.ini
	start matrix plan.ini --results=r
	wait_until compgen -G 'nb/matrix-*/vs-*' >/dev/null
	stop INT
	contains "$stderr" 'interrupted: 1 of 1 runs are left; the same command continues'
	equals "$(names r)" ''
}

@test "a second matrix on the same directory is rejected" {
	plan 1
	mkdir r
	exec 7>r/lock
	flock 7
	mininb 1 matrix plan.ini --results=r
	contains "$stderr" '--results: another matrix uses r'
	exec 7>&-
}

@test "mistakes are found before the first run" {
	plan 1
	refuses 'matrix: --results is missing' matrix plan.ini
	plan 1 'threads = 1, many'
	mininb 2 matrix plan.ini --results=r
	contains "$stderr" '--threads: '
	contains "$stderr" "plan.ini: this is wrong in the cell 'driver=memory threads=many'"
	plan 1 'thread = 1, 2'
	mininb 2 matrix plan.ini --results=r
	contains "$stderr" 'unknown option --thread, did you mean --threads?'
	plan 1 'output = a, b'
	refuses "plan.ini: 'output' cannot be a list" matrix plan.ini --results=r
	plan 1
	refuses '--driver: plan.ini has a list of that name' matrix plan.ini --results=r -d null
	printf '[matrix]\ndriver = memory, memori\n' >plan.ini
	mininb 2 matrix plan.ini --results=r
	contains "$stderr" "did you mean 'memory'"
	[[ ! -e r ]]
}
