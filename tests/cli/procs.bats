#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# Several processes that have one database open.
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
	# of their own use of CPU and memory nothing is made up
	equals "$(line_of 'CPU time')" 'not known of several processes'
	equals "$(line_of Memory)" 'not known of several processes'
	equals "$(line_of Counters)" 'not known of several processes'
	lacks "$output" 'Gauge '
}

@test "operations are the same as of one process" {
	load_lmdb
	run_procs 0 --procs=1
	local first
	first=$(line_of 'Stream digest')
	run_procs 0 --procs=3
	equals "$(line_of 'Stream digest')" "$first"
	equals "$(ops_of all)" 1000
}

@test "each process has the threads" {
	load_lmdb
	run_procs 0 --procs=2 -t 2
	contains "$output" $'\n4 threads, '
	matches "$(line_of 'Ops/s by thread')" '^[0-9]+ [0-9]+ [0-9]+ [0-9]+$'
}

@test "a rate is of all processes together" {
	load_lmdb
	run_procs 0 --procs=2 --rate=5k --count=500
	matches "$output" '2 threads, [0-9]+ ops/sec offered, evenly spaced, 500 operations'
	matches "$output" $'\n +response +[0-9]'
}

@test "what they wrote is there" {
	load_lmdb
	mininb 0 run -w ycsb-d -v 100 -d lmdb --procs=2
	equals "$(ops_of read) $(ops_of insert)" '950 50'
	mininb 0 run -w ycsb-c -v 100 -d lmdb --records=1050 --verify-rate=1
	matches "$(line_of Verified)" '^[0-9]+ records: 0 wrong$'
}

@test "wrong data that a process reads is told by the program" {
	load_lmdb
	mininb 3 run -w readrandom --records=500 -d lmdb --procs=2
	contains "$stderr" 'missing 500; the first are listed in the report'
	matches "$(line_of Wrong)" ': missing$'
}

@test "an engine for one process at a time is refused" {
	mininb 1 run -w ycsb-a -d memory --procs=2
	equals "$stderr" 'mininb: procs: memory lets one process at a time have a database open'
	refuses '--procs: 257 is too large; allowed: 1 to 256' run -w ycsb-a -d memory --procs=257
	refuses '--procs: 0 is too small; allowed: 1 to 256' run -w ycsb-a -d memory --procs=0
}

# Processes whose parent is $1.
children_of()
{
	cat "/proc/$1/task/$1/children"
}

has_children()
{
	[[ $(children_of "$1" | wc -w) == 2 ]]
}

@test "an interrupt ends all of them" {
	load_lmdb
	env --default-signal=INT "$MININB" run -w ycsb-a -v 100 -d lmdb --procs=2 \
		--duration=60s >out 2>err 3>&- &
	pid=$!
	[[ -e /proc/$pid/task/$pid/children ]] || skip 'this kernel does not tell children'
	wait_until has_children "$pid"
	local children
	children=$(children_of "$pid")
	kill -INT "$pid"
	local status_got=0
	wait "$pid" || status_got=$?
	pid=
	equals "$status_got" 130
	equals "$(<err)" 'mininb: interrupted'
	for child in $children; do
		[[ ! -d /proc/$child ]]
	done
}

@test "a process that is killed is told, and ends the others" {
	load_lmdb
	touch begun
	# at `process` LMDB writes by system calls: the file's time tells when it works
	"$MININB" run -w ycsb-a -v 100 -d lmdb --durability=process --procs=2 --duration=60s \
		>out 2>err 3>&- &
	pid=$!
	[[ -e /proc/$pid/task/$pid/children ]] || skip 'this kernel does not tell children'
	wait_until has_children "$pid"
	# one that is killed before it has an operation to tell of leaves no report
	wait_until test nb/lmdb/data.mdb -nt begun
	local children
	children=$(children_of "$pid")
	kill -KILL "${children%% *}"
	local status_got=0
	wait "$pid" || status_got=$?
	pid=
	equals "$status_got" 1
	matches "$(<err)" '^mininb: process [01] was ended by SIGKILL$'
	contains "$(<out)" 'Partial           : yes'
	for child in $children; do
		[[ ! -d /proc/$child ]]
	done
}
