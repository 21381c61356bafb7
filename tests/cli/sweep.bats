#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# Latency over throughput, and the highest rate that satisfies a limit.
# shellcheck disable=SC2154,SC2016
load helper

sweep()
{
	mininb 0 run -w ycsb-b -d memory -v 100 --duration=50ms "$@"
}

@test "a sweep measures the capacity, then fractions of it" {
	sweep --sweep
	equals "$stderr" ''
	# the report shows the capacity
	contains "$output" '1 thread, closed loop, '
	matches "$output" $'\nCapacity: [0-9]+ ops/s, closed loop\n'
	matches "$output" $'\nload +offered/s +achieved/s +p50 '
	local shares
	shares=$(grep -oE '^ *[0-9]+%' <<<"$output" | tr -dc '0-9\n' | tr '\n' ' ')
	equals "$shares" '10 20 30 40 50 60 70 80 90 95 '
	# the offered rates are the requested shares
	awk '/^Capacity:/ { capacity = $2 }
		/^ *[0-9]+% / { wanted = capacity * $1 / 100
			if ($2 < wanted - 1 || $2 > wanted + 1) exit 1 }' <<<"$output"
	matches "$output" 'kept up|queue grew'
}

@test "--slo finds the highest rate if all satisfy the limit" {
	sweep --slo='max<1h'
	matches "$output" $'\nHighest rate that held max<1h: [0-9]+ ops/s, [0-9]+ % of the capacity$'
}

@test "--slo exits with 4 if no rate satisfies the limit" {
	mininb 4 run -w ycsb-b -d memory -v 100 --duration=20ms --slo='p50<1ns'
	matches "$stderr" '^mininb: no rate held p50<1ns, down to [0-9]+ ops/s$'
	contains "$output" 'Capacity: '
	lacks "$output" 'Highest rate'
}

@test "each point of a sweep lasts for a duration, even if the workload has a count" {
	# the workload has 1000 operations, and a tenth of them is too few for a verdict
	mininb 0 run -w ycsb-b -d null -v 100 --sweep --run.duration=30ms
	(($(ops_of all) > 1000))
}

@test "--slo rejects wrong limits" {
	local limit
	for limit in p99 'p99<' 'p101<1ms' 'p0<1ms' 'max<10ms,p99<1ms' 'p99<=1ms' 'p99>1ms' \
		'p99<0s' 'mean<1ms'; do
		refuses "--slo: '$limit' is not a limit like p99<1ms, p99.9<500us or max<10ms" \
			run -w ycsb-b -d memory --slo="$limit"
	done
	refuses '--slo: LIMIT must not be empty' run -w ycsb-b -d memory --slo=
}

@test "run rejects options that conflict with a sweep" {
	refuses 'use only one of --sweep and --slo' \
		run -w ycsb-b -d memory --sweep --slo='p99<1ms'
	refuses '--record: a sweep has many runs' run -w ycsb-b -d memory --sweep --record=x
	refuses '--sweep and --slo choose the rates themselves; omit --rate' \
		run -w ycsb-b -d memory --sweep --rate=1k
	printf '[workload]\nrecords = 100\nread = 1\n[one]\n[two]\n' >two.ini
	refuses '--sweep and --slo vary one rate: the workload must have exactly one group that is not in the background' \
		run -w two.ini -d memory --sweep
	equals "$(ls -A)" two.ini
}

@test "a sweep with inserts warns that later points overwrite the records" {
	mininb 0 run -w ycsb-d -d memory --sweep --duration=20ms
	contains "$stderr" 'each run inserts the same records: after the first run they overwrite'
	mininb 0 run -w ycsb-c -d memory --sweep --duration=20ms
	lacks "$stderr" 'inserts'
}

@test "a background group is not part of the sweep" {
	mininb 0 run -w readwhilewriting --records=500 -d memory --sweep --readers.duration=30ms
	matches "$output" $'\n 95% +[0-9]'
}

@test "wrong data ends a sweep and is listed" {
	needs_leveldb
	mininb 0 load -w ycsb-a
	mininb 3 run -w readrandom --records=1000 --sweep --duration=30ms
	contains "$stderr" 'missing '
	matches "$(line_of Wrong)" '^read, operation [0-9]+, key [0-9]+: missing$'
}

@test "a note attributes values to earlier points of the sweep" {
	needs_leveldb
	mininb 0 load -w ycsb-a --records=100 --fresh
	mininb 0 run -w ycsb-a --records=100 --verify-rate=1 --sweep --duration=30ms \
		--output=sweep.json
	contains "$(<sweep.json)" 'came from an earlier point of this sweep, because all points share one'
	lacks "$(<sweep.json)" 'came from an earlier run'
}

@test "an interrupted sweep ends" {
	start run -w ycsb-b -d memory -v 100 --sweep --duration=1s
	wait_until grep -q 'Workload  ' out || true
	stop INT
	equals "$stderr" 'mininb: interrupted'
}

@test "a sweep of several engines prints a curve for each" {
	sweep --sweep -d memory,null
	equals "$(grep -c '^Capacity: ' <<<"$output")" 2
	matches "$output" $'\n''memory .* done'$'\n''null .* done'
}
