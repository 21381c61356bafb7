#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# Several processes with one open database.
# shellcheck disable=SC2154,SC2016
load helper

load_lmdb()
{
	needs_engine lmdb
	mininb 0 load -w ycsb-a -v 100 -d lmdb
}

run_procs()
{
	mininb "$1" run -w ycsb-a -v 100 -d lmdb "${@:2}"
}

@test "processes share the operations" {
	load_lmdb
	run_procs 0 --procs=2 --verify-rate=1
	equals "$stderr" ''
	equals "$(line_of Processes)" '2, each with the database open'
	equals "$(ops_of read) $(ops_of update)" '500 500'
	contains "$output" $'\n2 threads, closed loop, 1000 operations in '
	matches "$(line_of Verified)" '^[0-9]+ records: 0 wrong$'
	matches "$(line_of 'Read back')" \
		'^[1-9][0-9]* of these records, after the database was closed and opened again$'
	# mininb does not know the CPU and memory use of several processes
	equals "$(line_of 'CPU time')" 'not known of several processes'
	equals "$(line_of Memory)" 'not known of several processes'
	equals "$(line_of Counters)" 'not known of several processes'
	lacks "$output" 'Gauge '
}

@test "processes execute the operations of one process, also with threads and a rate" {
	load_lmdb
	run_procs 0 --procs=1
	local first
	first=$(line_of 'Stream digest')
	run_procs 0 --procs=2 -t 2 --rate=20k
	equals "$(line_of 'Stream digest')" "$first"
	equals "$(ops_of all)" 1000
	matches "$output" $'\n4 threads, [0-9]+ ops/sec offered, evenly spaced, 1000 operations'
	matches "$output" $'\n +response +[0-9]'
	matches "$(line_of 'Ops/s by thread')" '^[0-9]+ [0-9]+ [0-9]+ [0-9]+$'
}

@test "wrong data that any process reads is reported" {
	load_lmdb
	mininb 3 run -w readrandom --records=500 -d lmdb --procs=2
	contains "$stderr" 'missing 500; the first are listed in the report'
	matches "$(line_of Wrong)" ': missing$'
}

@test "an engine for one process at a time is rejected" {
	mininb 1 run -w ycsb-a -d memory --procs=2
	equals "$stderr" 'mininb: procs: memory lets one process at a time have a database open'
	refuses '--procs: 257 is too large; allowed: 1 to 256' run -w ycsb-a -d memory --procs=257
	refuses '--procs: 0 is too small; allowed: 1 to 256' run -w ycsb-a -d memory --procs=0
}

# Start a run of two processes that does not end by itself. Sets $children when both exist.
start_two()
{
	start run -w ycsb-a -v 100 -d lmdb --procs=2 --duration=60s "$@"
	[[ -e /proc/$pid/task/$pid/children ]] || skip 'this kernel does not list children'
	wait_until has_two_children
	read -ra children <"/proc/$pid/task/$pid/children" || true
}

has_two_children()
{
	[[ $(wc -w <"/proc/$pid/task/$pid/children") == 2 ]]
}

are_gone()
{
	[[ ! -d /proc/${children[0]} && ! -d /proc/${children[1]} ]]
}

@test "an interrupt ends all processes" {
	load_lmdb
	start_two
	stop INT
	equals "$stderr" 'mininb: interrupted'
	are_gone
}

@test "a killed process is reported, and ends the others" {
	load_lmdb
	touch begun
	# at level process, LMDB writes with system calls, which change the time of the file
	start_two --durability=process
	# a process that is killed before its first operation leaves no report
	wait_until test nb/lmdb/data.mdb -nt begun
	kill -KILL "${children[0]}"
	ends_with 1
	matches "$stderr" '^mininb: process [01] was ended by SIGKILL$'
	contains "$output" 'Partial           : yes'
	are_gone
}
