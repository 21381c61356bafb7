#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# Engines take turns on fresh data and are compared.
# shellcheck disable=SC2154
load helper

# The rounds of all runs in the result file v.json, in order.
rounds()
{
	python3 -c 'import json
print(*[run["block"] for run in json.load(open("v.json"))["results"]])'
}

@test "each engine has its puts and gets, and a verdict" {
	mininb 0 vs -d memory,null -c 2000 --runs=4 --durability=none --output=v.json
	equals "$stderr" ''
	# at p50 instead of throughput if one of the short runs lost its CPU for a moment
	matches "$output" '^put: null is [0-9.]+ times faster than memory (in throughput|at p50)'
	matches "$output" $'\nget: null is [0-9.]+ times faster'
	contains "$output" 'put: null (4 runs) against memory (4 runs), service times'
	contains "$output" ' 0.029'
	equals "$(ls nb)" ''
	equals "$(rounds)" '1 1 1 1 2 2 2 2 3 3 3 3 4 4 4 4'
	local first=$output
	mininb 0 compare v.json
	equals "$output" "$first"
	mininb 0 report v.json
	equals "$output" "$first"
	mininb 0 report v.json --format=html
	contains "$output" 'get: null is '
	contains "$output" '"is_ranked": true'
}

@test "vs loads and runs a workload" {
	mininb 0 vs -d memory,null -w ycsb-a --records=500 --count=1000 --runs=2 --seed=5
	contains "$output" 'load: null (2 runs) against memory (2 runs)'
	contains "$output" 'run: null (2 runs) against memory (2 runs)'
	contains "$output" $'\nupdate'
	contains "$(tr -s '\n ' '  ' <<<"$output")" '95 % needs at least 4 runs each'
	mininb 0 vs -d memory,null --read=50 --update=50 --records=500 --count=1000 --runs=1
	contains "$output" 'run: null (1 run) against memory (1 run)'
}

@test "--precision ends a comparison after five rounds at the earliest" {
	mininb 0 vs -d memory,null -c 1000 --precision=100% --durability=none --budget=1m
	matches "$output" 'against memory \(([5-9]|[1-9][0-9]+) runs\)'
}

@test "an exceeded budget ends the comparison after the round" {
	mininb 0 vs -d memory,null -c 1000 --budget=1ms
	contains "$stderr" 'the time budget is used up'
	contains "$output" 'null (1 run) against memory (1 run)'
	mininb 0 vs -d memory,null -c 1000 --budget=1ms --quiet
	equals "$stderr" ''
}

# The label of each run, in the order of the command line.
contestants()
{
	python3 -c 'import json
runs = sorted(json.load(open("v.json"))["results"], key=lambda run: run["contestant"])
print(*dict.fromkeys((run["contestant"], run["name"]) for run in runs))'
}

@test "the base is the first engine on the command line, not the first to run" {
	for seed in 1 2; do
		mininb 0 vs -d null,memory -c 500 --runs=1 --durability=none --seed="$seed" \
			--output=v.json
		contains "$output" 'put: memory (1 run) against null (1 run)'
		equals "$(contestants)" "(1, 'null') (2, 'memory')"
		local printed=$output
		mininb 0 compare v.json
		equals "$output" "$printed"
	done
	# at least one of them started with the other engine
	mininb 0 vs -d null,memory -c 500 --runs=4 --durability=none --confidence=0.9 \
		--output=v.json
	printed=$output
	run python3 -c 'import json
runs = json.load(open("v.json"))["results"]
print({runs[i]["name"] for i in range(0, len(runs), 4)})'
	contains "$output" memory
	mininb 0 compare v.json
	equals "$output" "$printed"
	contains "$output" '90 % CI'
}

@test "vs compares an engine with itself, with the same or other options" {
	mininb 0 vs -d memory,memory -c 2000 --runs=2 --output=v.json
	contains "$output" 'get: memory#2 (2 runs) against memory#1 (2 runs), service times'
	equals "$(contestants)" "(1, 'memory#1') (2, 'memory#2')"
	needs_leveldb
	mininb 0 vs -d leveldb,leveldb -c 1000 --runs=1 --output=v.json \
		-o leveldb.block_size=8KiB -o leveldb#2.block_size=64KiB
	contains "$(tr -s '\n ' '  ' <<<"$output")" \
		'differing option block_size of leveldb: 8KiB (leveldb#1), 64KiB (leveldb#2)'
}

@test "only a single round has the note one-run" {
	mininb 0 vs -d memory,null -c 500 --runs=2 --durability=none --output=v.json
	run -1 grep -c '"one-run"' v.json
	mininb 0 vs -d memory,null -c 500 --runs=1 --durability=none --output=v.json
	equals "$(grep -c '"one-run"' v.json)" 4
}

@test "an engine that crashes is omitted, and the others are compared" {
	mininb 1 vs -d "memory,$(plugin crashes),null" -c 1000 --runs=2 --output=v.json
	matches "$stderr" 'crashes, round 1: put ended with status 1'
	matches "$stderr" 'crashes: SIG(SEGV|ABRT) in' # SIGABRT with a sanitizer
	contains "$stderr" 'crashes failed; vs leaves it out from now on'
	contains "$output" 'null (2 runs) against memory (2 runs)'
	contains "$output" 'Note: crashes is left out, run 1: put ended with status 1'
	lacks "$output" 'crashes ('
	local printed=$output
	mininb 0 compare v.json
	equals "$output" "$printed"
}

@test "vs stops after the first round if the engines cannot be ranked" {
	needs_leveldb
	mininb 2 vs -d memory,leveldb -c 1000 --runs=50 --output=v.json
	contains "$stderr" 'these results cannot be ranked: differing durability'
	equals "$output" ''
	[[ -s v.json ]]
	mininb 0 vs -d memory,leveldb -c 1000 --runs=1 --force
	matches "$output" '^NOT COMPARABLE: differing durability: none \(memory\), process'
}

@test "options with and without an engine's name apply to one or all engines" {
	needs_leveldb
	mininb 0 vs -d leveldb,null -c 1000 --runs=1 --force --output=v.json -t 2 -k 20 \
		-o leveldb.block_size=8KiB --settle=none
	mininb 0 report v.json --format=md
	contains "$output" block_size=8
	equals "$(grep -c 'Threads.*: 2' <<<"$output")" 4
	run python3 -c 'import json
print({run["workload"]["key_bytes"] for run in json.load(open("v.json"))["results"]})'
	equals "$output" '{20}'
}

@test "vs rejects wrong options before it runs anything" {
	refuses 'vs: needs two engines' vs -d memory
	refuses "--driver: 'null' is named twice; only vs" put -d null,null
	refuses '-o null#3.x=1' vs -d null,null -o null#3.x=1
	refuses "--precision: '5' is not a percentage" vs -d memory,null --precision=5
	refuses "--precision: '0%'" vs -d memory,null --precision=0%
	refuses '--runs: 0 is too small' vs -d memory,null --runs=0
	refuses '-o leveldb.x=1' vs -d memory,null -o leveldb.x=1
	[[ ! -e nb ]]
	mininb 1 vs -d memory,nosuch -c 100
	contains "$stderr" nosuch
	equals "$(ls nb)" ''
	mininb 1 vs -d memory,null -c 100 --output=no/such/v.json
	contains "$stderr" '--output: '
}

@test "an interrupted vs compares the finished rounds" {
	start vs -d memory,null -c 3000 --precision=0.001% --budget=1m --output=v.json
	[[ -e /proc/$pid/task/$pid/children ]] || skip 'this kernel does not list children'
	# The loop waits for more processes than one round starts.
	local seen=' ' count=0
	has_done_rounds()
	{
		local child
		for child in $(<"/proc/$pid/task/$pid/children"); do
			[[ $seen == *" $child "* ]] && continue
			seen+="$child "
			count=$((count + 1))
		done
		((count > 16))
	}
	wait_until has_done_rounds
	stop TERM
	contains "$stderr" 'interrupted in round'
	contains "$output" 'against memory ('
	[[ -s v.json ]]
	equals "$(ls nb)" ''
}

@test "traces are replayed, on a new database or after the load of a workload" {
	needs_leveldb
	mininb 0 load -w ycsb-a --records=500 -d leveldb --record=load.trace --quiet
	mininb 0 run -w ycsb-a --records=500 --count=1000 -d leveldb --record=run.trace --quiet
	mininb 0 vs -d leveldb,leveldb --load=load.trace --runs=1 --output=v.json
	contains "$output" 'replay: leveldb#2 (1 run) against leveldb#1 (1 run)'
	lacks "$output" 'put:'
	mininb 0 vs -d leveldb,leveldb -w ycsb-a --records=500 --trace=run.trace --runs=1
	contains "$output" 'load: leveldb#2 (1 run)'
	contains "$output" 'replay: leveldb#2 (1 run)'
	contains "$output" $'\nupdate'
	refuses 'vs: --trace needs a database' vs -d leveldb,leveldb --trace=run.trace
	refuses 'vs: --load replays one trace' vs -d leveldb,leveldb --load=load.trace \
		--trace=run.trace
}
