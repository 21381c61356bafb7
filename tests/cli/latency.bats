#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# --latency: time stamps for one operation in N, or only for blocks.
# shellcheck disable=SC2154
load helper

RUN=(run --driver=memory --workload=ycsb-a --records=1000 --count=10000 --quiet)

@test "each value of --latency executes the same operations" {
	local first=
	for latency in each sampled:2 sampled:64 block; do
		mininb 0 "${RUN[@]}" --latency="$latency"
		done_ops=$(awk '/^(read|update) / { print $1, $3 } /^Stream digest/' <<<"$output")
		[ -n "$first" ] || first=$done_ops
		equals "$done_ops" "$first"
		matches "$done_ops" $'read [0-9]+\nupdate [0-9]+\nStream'
	done
}

@test "the report states how many operations were timed, and the mean time of the others" {
	mininb 0 "${RUN[@]}" --latency=sampled:10 --output=sampled.json
	contains "$output" 'two for one operation in 10'
	matches "$output" 'Without stamps    : 90[0-9][0-9] operations took [0-9.]+ ns each, in [0-9]+ blocks'
	matches "$output" 'With stamps       : 9[0-9][0-9] operations took|With stamps       : 10[0-9][0-9] operations took'
	contains "$output" 'of 10000 operations; the others had no time stamps'
	mininb 0 report --format=md sampled.json
	contains "$output" 'Without stamps'
	mininb 0 "${RUN[@]}" --latency=block --output=block.json
	contains "$output" 'two for each block of operations'
	contains "$output" 'no latencies'
	lacks "$output" 'With stamps  '
	mininb 2 compare sampled.json block.json
	contains "$stderr" 'differing latency stamps: sampled:10 (sampled.json), block (block.json)'
	mininb 2 merge sampled.json block.json --output=both.json
	[ ! -e both.json ]
	mininb 0 "${RUN[@]}" --output=each.json
	lacks "$(<each.json)" 'unstamped'
}

@test "put, get and delete accept --latency" {
	mininb 0 keys --count=5000 --quiet
	for action in put get delete; do
		mininb 0 "$action" --driver=leveldb --count=5000 --latency=sampled:10 --quiet
		contains "$output" 'Total:'
	done
}

@test "wrong values are rejected before anything is written" {
	for latency in sampled: sampled:1 sampled:x sampled sometimes ''; do
		mininb 2 "${RUN[@]}" --driver=leveldb --latency="$latency"
		lacks "$output" 'Throughput'
	done
	mininb 2 "${RUN[@]}" --driver=leveldb --latency=sampled:1
	contains "$stderr" "latency: 'sampled:1' is not known; allowed: each, block, and sampled:N"
	mininb 2 "${RUN[@]}" --driver=leveldb --latency=sampled:64 --rate=1k
	contains "$stderr" 'latency: must be each with a rate'
	mininb 2 load --driver=leveldb --records=100 --latency=block --rate=1k
	contains "$stderr" 'latency: must be each with a rate'
	[ ! -e nb ]
}

@test "a group may have its own --latency" {
	mininb 0 "${RUN[@]}" --run.latency=sampled:3
	mininb 2 "${RUN[@]}" --run.latency=sampled:3 --rate=1k
	contains "$stderr" '[run]: latency: must be each with a rate'
}
