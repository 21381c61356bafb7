#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# --depth and --batch-bytes: requests in flight.
# shellcheck disable=SC2154
load helper

RUN=(run --driver=memory --records=1000 --count=10000 --read=50 --update=50 --quiet)

# The operations that count and the digest of their stream.
operations() {
	awk '/^(read|update) / { print $1, $3 } /^Stream digest/' <<<"$output"
}

@test "each depth does and counts the same operations, and says so" {
	mininb 0 "${RUN[@]}" --verify-rate=1
	local first
	first=$(operations)
	lacks "$output" 'Batch, p50'
	lacks "$output" ', depth'
	for depth in 2 64 1000; do
		mininb 0 "${RUN[@]}" --verify-rate=1 --depth=$depth --threads=2
		equals "$(operations)" "$first"
		contains "$output" ", depth $depth,"
		contains "$output" ' 0 wrong'
		contains "$output" 'Batch, p50'
		contains "$output" "up to $depth requests of each thread were in flight"
	done
}

@test "put, get and delete have it in all results" {
	mininb 0 keys --count=5000 --quiet
	for action in put get delete; do
		mininb 0 "$action" --driver=null --count=5000 --depth=32 --batch-bytes=1KiB \
			--output=$action.json --quiet
		contains "$output" \
			'Depth             : 32 requests of each thread in flight, handed over in batches of 1024 bytes'
		mininb 0 report $action.json --format=text
		contains "$output" 'Depth             : 32 requests'
		mininb 0 report $action.json --format=csv
		contains "$output" 'batch_p50_ns'
	done
}

@test "load and run take the depth of their groups" {
	mininb 0 load --driver=null --records=1000 --depth=8 --quiet
	contains "$output" ', depth 8,'
	printf '[workload]\nrecords = 1000\n[a]\nread = 1\ndepth = 4\n[b]\nread = 1\n' >two.ini
	mininb 0 run --driver=memory --workload=./two.ini --count=1000 --quiet
	contains "$output" ', depth 4,'
	equals "$(grep -c ', depth ' <<<"$output")" 1
}

@test "another depth is another condition" {
	mininb 0 "${RUN[@]}" --output=one.json
	mininb 0 "${RUN[@]}" --depth=8 --output=eight.json
	mininb 2 compare one.json eight.json
	contains "$stderr" 'differing depth: 1 (one.json), 8 (eight.json)'
}

@test "what cannot be is refused, and nothing is written" {
	mininb 1 run --driver=leveldb --read=1 --depth=4
	contains "$stderr" 'leveldb cannot do several requests in flight; use --depth=1'
	mininb 2 "${RUN[@]}" --depth=0
	mininb 2 "${RUN[@]}" --depth=65537
	contains "$stderr" 'allowed: 1 to 65536'
	mininb 2 "${RUN[@]}" --batch-bytes=1KiB
	contains "$stderr" 'needs a depth above 1'
	mininb 2 "${RUN[@]}" --depth=4 --batch-bytes=1KiB
	contains "$stderr" '4 requests of up to 116 bytes hold 464'
	mininb 2 "${RUN[@]}" --depth=4 --scan=1
	contains "$stderr" 'a scan cannot be a request in flight'
	[ ! -e nb ]
}
