#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# Many workers on the engines of our own, with all that looks on from threads of its own
# at work beside them. What the thread sanitizer sees of them counts most.
# shellcheck disable=SC2154,SC2016
load helper

# Few records for many threads, and looks at short intervals. The options follow.
crowd()
{
	mininb 0 run -w ycsb-a -v 100 --records=500 --threads=12 --count=12000 \
		--interval=10ms --sample=5ms --verify-rate=1 "$@"
	equals "$(ops_of all)" 12000
}

load_records()
{
	needs_engine "$1"
	mininb 0 load -w ycsb-a -v 100 --records=500 --threads=4 -d "$1"
}

@test "a crowd on memory reads what it wrote" {
	crowd -d memory
	matches "$(line_of Verified)" '^[0-9]+ records: 0 wrong$'
}

@test "a crowd on null is counted whole" {
	crowd -d null
	equals "$(line_of Verified)" 'nothing (not possible)'
}

@test "a crowd on fptree reads what it wrote" {
	load_records fptree
	crowd -d fptree
	matches "$(line_of Verified)" '^[0-9]+ records: 0 wrong$'
}

@test "a crowd of several processes reads what it wrote" {
	load_records lmdb
	crowd -d lmdb --procs=2
	contains "$output" $'\n24 threads, '
	matches "$(line_of Verified)" '^[0-9]+ records: 0 wrong$'
}
