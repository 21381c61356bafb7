#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# A gate for scripts: its answer is the exit status.
# shellcheck disable=SC2154
load helper

# Result files fast.json and slow.json, an order of magnitude apart: the same puts on an
# engine that does nothing and on one that does something. How long all of them took is
# written there by hand: so short a run may have lost its processor for longer.
make_results()
{
	mininb 0 keys -c 3000
	mininb 0 put -d null -c 3000 --output=fast.json
	mininb 0 put -d memory -c 3000 --output=slow.json
	sed -i 's/"wall_ns": [0-9]*/"wall_ns": 300000/' fast.json
	sed -i 's/"wall_ns": [0-9]*/"wall_ns": 3000000/' slow.json
}

@test "what got worse fails, what got better passes" {
	make_results
	mininb 4 gate fast.json slow.json --max-regress=p50:5%,throughput:3%
	equals "$stderr" ''
	matches "$output" '^FAILED: put p50: [0-9.]+ % worse, limit 5 %; one run on a side'
	matches "$output" $'\nFAILED: put throughput: [0-9.]+ % worse, limit 3 %'
	mininb 0 gate slow.json fast.json --max-regress=p50:5%,throughput:3%
	matches "$output" '^ok: put p50: [0-9.]+ % better'
}

@test "what is lost fails, and engines that are others are not taken for a before and after" {
	make_results
	mininb 0 put -d memory,null -c 3000 --durability=none --output=both.json
	refuses 'gate: put of memory and null' gate both.json fast.json --max-regress=p50:5%
	refuses 'gate: put of null of fast.json and memory is not a before and an after' \
		gate fast.json both.json --max-regress=p50:5%
}

@test "limits that make no sense, and figures that are not there" {
	make_results
	refuses "gate: 'p99' is not a limit; limits are like p99:5%" \
		gate fast.json slow.json --max-regress=p99
	refuses "gate: 'p99.99' is not a metric that both have" \
		gate fast.json slow.json --max-regress=p50:5%,p99.99:5%
	contains "$stderr" 'both have: throughput, settled, p50, p90, p99'
	refuses 'gate: --max-regress is missing' gate fast.json slow.json
	refuses 'gate: needs two files' gate fast.json --max-regress=p50:5%
	refuses 'gate: BASE NEW is missing' gate
	refuses "unexpected argument 'c.json'" gate a.json b.json c.json
}

# A file like $1 as if it had been made beside others who had $2 percent of the CPU time.
make_busy()
{
	python3 - "$1" "$2" <<-'PYTHON'
		import json, sys
		document = json.load(open(sys.argv[1]))
		for run in document["results"]:
		    run["sysinfo"]["machine_cpus"] = 2
		    measured = run["measured"]
		    measured["usage_ns"] = 10**9
		    measured["usage"].update(user_ns=10**8, system_ns=0, steal_ns=0,
		                             busy_ns=10**8 + 2 * 10**7 * int(sys.argv[2]))
		json.dump(document, open(sys.argv[1], "w"))
	PYTHON
}

@test "files of a machine that was not equally busy are not judged" {
	make_results
	make_busy fast.json 1
	make_busy slow.json 50
	mininb 2 gate fast.json slow.json --max-regress=p50:5%
	equals "$output" ''
	contains "$stderr" 'these results cannot be ranked: the machine was not equally busy: other'
	contains "$stderr" '1 % of its CPU time (null), 50 % (memory)'
	contains "$stderr" 'run both in turn (mininb vs)'
	mininb 2 compare fast.json slow.json
	mininb 4 gate fast.json slow.json --max-regress=p50:5% --force
	contains "$output" 'NOT COMPARABLE: the machine was not equally busy'
	make_busy fast.json 50
	mininb 2 gate fast.json slow.json --max-regress=p50:5%
	contains "$stderr" 'gate: not comparable: with one run on a side'
	make_busy fast.json 2
	make_busy slow.json 2
	mininb 4 gate fast.json slow.json --max-regress=p50:5%
	mininb 0 gate --help
	contains "$(tr -s '\n ' '  ' <<<"$output")" 'use vs if the load changes'
}
