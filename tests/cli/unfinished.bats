#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# The next action reports a load that was killed or interrupted.
# shellcheck disable=SC2154
load helper

# Run mininb "$@" on an engine that blocks in its 31st put, and end it with signal $1. It must exit
# with $2.
ended_by()
{
	local signal=$1 status_wanted=$2
	shift 2
	start "$@" -d "$keeper" -o defect=blocks --op-timeout=0s --quiet
	wait_until grep -q "^unfinished $1: *30 of 100 " nb/.mininb-keeper
	stop "$signal" "$status_wanted"
}

setup_keeper()
{
	keeper=$MININB_TEST_PLUGINS/keeper.so
	mkdir nb
	: >nb/.mininb-keeper
	mininb 0 keys -c 1000
}

@test "run rejects a killed load before it verifies records" {
	setup_keeper
	ended_by KILL 137 load -w ycsb-c --records=100
	local part='./nb/keeper: its load is unfinished: at least 30 of 100 records are written'
	mininb 1 run -w ycsb-c -d "$keeper" --records=100 -c 100
	contains "$stderr" "mininb: $part; repeat it with: mininb load --workload=NAME --driver="
	contains "$stderr" '--force'
	lacks "$stderr" missing
	equals "$output" ''
	# a run of fewer records is rejected, too, because the database was not closed
	mininb 1 run -w ycsb-c -d "$keeper" --records=10 -c 100
	contains "$stderr" "$part"
	mininb 3 run -w ycsb-c -d "$keeper" --records=100 -c 1000 --verify-rate=1 --force
	contains "$stderr" 'warning: ./nb/keeper: its load is unfinished'
	contains "$stderr" missing
}

@test "the next load reports the unfinished one and completes it" {
	setup_keeper
	ended_by KILL 137 load -w ycsb-c --records=100
	mininb 0 load -w ycsb-c -d "$keeper" --records=100
	contains "$stderr" 'the last load is unfinished: at least 30 of 100 records are written; '
	contains "$stderr" 'this load starts over with the first record'
	mininb 0 run -w ycsb-c -d "$keeper" --records=100 -c 1000 --verify-rate=1
	equals "$stderr" ''
	mininb 0 load -w ycsb-c -d "$keeper" --records=100
	equals "$stderr" ''
	equals "$(wc -l <nb/.mininb-keeper)" 1
}

@test "--fresh replaces an unfinished load silently; a smaller load does not complete it" {
	setup_keeper
	ended_by KILL 137 load -w ycsb-c --records=100
	mininb 0 load -w ycsb-c -d "$keeper" --records=50
	mininb 1 run -w ycsb-c -d "$keeper" --records=100 -c 100
	contains "$stderr" 'its load is unfinished'
	mininb 0 load -w ycsb-c -d "$keeper" --records=50 --fresh
	equals "$stderr" ''
	mininb 0 run -w ycsb-c -d "$keeper" --records=50 -c 100
	equals "$stderr" ''
}

@test "get and delete reject a killed put" {
	setup_keeper
	ended_by KILL 137 put -c 100
	for action in get delete; do
		mininb 1 "$action" -d "$keeper" -c 100
		contains "$stderr" 'its put is unfinished: at least 30 of 100 records are written; '
		contains "$stderr" 'repeat it with: mininb put --driver='
	done
	mininb 0 get -d "$keeper" -c 100 --allow-missing
	contains "$stderr" 'warning: ./nb/keeper: its put is unfinished'
}

@test "only the records of a failed put can be read" {
	mininb 0 keys -c 1000
	needs_engine fptree
	mininb 1 put -d fptree -c 1000 -v 100000 -o pool_size=16MiB
	local done_count
	done_count=$(total_of "$output")
	((done_count > 1 && done_count < 1000))
	mininb 1 get -d fptree -c 1000 -v 100000
	matches "$stderr" "its put is unfinished: $done_count of 1000 records are written; "
	mininb 0 get -d fptree -c "$((done_count - 1))" -v 100000
	equals "$(total_of "$output")" "$((done_count - 1))"
}
