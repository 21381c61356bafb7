#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# Traces: recorded and replayed.
# shellcheck disable=SC2154,SC2016
load helper

# Write load.trace and run.trace of ycsb-a.
make_traces()
{
	mininb 0 convert --from=workload:ycsb-a --phase=load --to=load.trace -v 100
	mininb 0 convert --from=workload:ycsb-a --to=run.trace -v 100
	equals "$stderr" 'mininb: convert: 1000 operations (500 reads, 500 updates)'
}

@test "replay runs a load trace and a run trace as two groups" {
	make_traces
	mininb 0 replay --load=load.trace --trace=run.trace -d memory
	equals "$stderr" ''
	equals "$(line_of Action)" replay
	contains "$output" $'\nloading: load.trace, a trace in the format mininb\n1 thread, closed loop, 1000 operations in '
	contains "$output" $'\nrun: run.trace, a trace in the format mininb\n'
	equals "$(ops_of insert) $(ops_of read) $(ops_of update)" '1000 500 500'
	lacks "$output" 'Records '
	lacks "$output" 'Harness  '
	contains "$output" $'\nGauge             : records 1000\n'
}

@test "a database from a load trace is used by the next replay" {
	needs_leveldb
	make_traces
	mininb 1 replay --trace=run.trace
	equals "$stderr" 'mininb: ./nb/leveldb: holds no database of leveldb; make one with: mininb replay --load=FILE --driver=leveldb --path ./nb'
	mininb 0 replay --load=load.trace
	equals "$(ops_of insert)" 1000
	mininb 0 replay --trace=run.trace --verify-rate=1
	matches "$(line_of Verified)" '^[0-9]+ records: 0 wrong$'
	mininb 0 replay --trace=run.trace --count=70
	equals "$(ops_of all)" 70
}

@test "a recorded run can be replayed" {
	needs_leveldb
	mininb 0 load -w ycsb-b -v 100 --record=load.trace
	mininb 0 run -w ycsb-b -v 100 -t 2 --record=run.trace
	mininb 0 convert --from=load.trace --to=all.log --to-format=ycsb-log --key-bytes=text
	contains "$stderr" '1000 operations (1000 inserts)'
	equals "$(cut -d' ' -f3 all.log | sort -u | wc -l)" 1000
	mininb 0 replay --load=load.trace --trace=run.trace --fresh --verify-rate=1
	equals "$(ops_of insert) $(ops_of read) $(ops_of update)" '1000 950 50'
	mininb 0 convert --from=workload:ycsb-b -v 100 --to=made.trace
	cmp run.trace made.trace
}

@test "with a rate, a record has due times, and a replay uses them" {
	mininb 0 run -w ycsb-b -d memory -v 100 --count=200 --rate=2k --record=run.trace
	mininb 0 convert --from=workload:ycsb-b -v 100 --phase=load --to=load.trace
	mininb 0 replay --load=load.trace --trace=run.trace -d memory --speed=2x
	contains "$output" 'due at the times of the trace, at 2x, 200 operations'
	contains "$output" $'\nloading: load.trace, a trace in the format mininb\n1 thread, closed loop'
	matches "$output" $'\n +response +[0-9]'
	matches "$(line_of Queue)" 'the last of 200 began '
	mininb 0 replay --load=load.trace --trace=run.trace -d memory --run.rate=5k
	matches "$output" '1 thread, [0-9]+ ops/sec offered, evenly spaced, 200 operations'
	refuses 'use only one of --speed and --rate: ' replay --trace=run.trace --speed=1x --rate=5
	refuses "--speed: 'fast' is not a factor like 1x, 2x or 0.5x" replay --trace=run.trace \
		--speed=fast
}

@test "--speed rejects a trace without timestamps" {
	make_traces
	mininb 2 replay --load=load.trace --trace=run.trace -d memory --speed=1x
	contains "$stderr" 'mininb: operation 0 of the trace: it has no timestamp; --speed needs one (use --rate)'
}

@test "the mix determines the kinds of operations on bare keys" {
	mininb 0 convert --from=workload:ycsb-b --phase=load --to=keys.u64 --to-format=u64 \
		--key-format=be64 --records=640 # ten strata, so that the mix is exact
	mininb 0 replay --load=keys.u64 --trace=keys.u64 -d memory
	equals "$(ops_of insert) $(ops_of read)" '640 640'
	mininb 0 replay --load=keys.u64 --trace=keys.u64 -d memory --read=3 --update=1
	equals "$(ops_of insert) $(ops_of read) $(ops_of update)" '640 480 160'
	mininb 0 replay --load=keys.u64 --trace=keys.u64 -d memory --update=1
	equals "$(ops_of insert) $(ops_of update)" '640 640'
	mv keys.u64 keys
	refuses 'keys: is neither text nor a mininb trace; if it contains bare keys, choose u64, or keys with --klen' \
		replay --load=keys -d memory
	mininb 0 replay --load=keys --format=u64 -d memory
	equals "$(ops_of insert)" 640
}

@test "a damaged trace is reported, with the operations before it" {
	make_traces
	head -c 10000 run.trace >short.trace
	mininb 3 replay --load=load.trace --trace=short.trace -d memory
	matches "$stderr" '^mininb: short.trace: block [0-9]+: the file ends inside it or before its end mark$'
	contains "$(line_of Partial)" 'yes, a partial result'
	cp run.trace bad.trace
	printf X | dd of=bad.trace bs=1 seek=9000 conv=notrunc status=none
	mininb 3 replay --load=load.trace --trace=bad.trace -d memory
	matches "$stderr" '^mininb: bad.trace: block [0-9]+: is damaged: '
	printf 'INSERT 1\nINSERT 2\nREAD 2\nREAD x\nREAD 1\n' >bad.txt
	mininb 3 replay --load=bad.txt -d memory
	equals "$stderr" "mininb: bad.txt:4: 'READ x' is not an operation: its key is not a number"
	contains "$(line_of Partial)" 'yes, a partial result'
	mininb 0 replay --load=bad.txt -d memory --skip-bad
	equals "$(ops_of read) $(ops_of insert)" '2 2'
	contains "$(line_of 'Left out')" "1 damaged; the first is line 4: 'READ x'"
}

@test "replay rejects wrong options and traces" {
	refuses 'replay: a trace is missing (--trace=FILE, or --load=FILE for a trace that makes the database)' \
		replay
	printf 'READ 1\n' >one.txt
	refuses 'replay: --format=text and tap are for check; ' replay --trace=one.txt --format=text
	mininb 3 replay --trace=/dev/null
	equals "$stderr" 'mininb: /dev/null: is empty'
	mininb 1 replay --trace=gone.trace
	equals "$stderr" 'mininb: gone.trace: No such file or directory'
	printf 'no operation at all\n' >text
	refuses 'text: has no line that is an operation of a known format' \
		replay --trace=text
}

@test "run rejects a record that cannot be written before it begins" {
	mininb 1 run -w ycsb-a -d memory --record=gone/run.trace
	equals "$stderr" 'mininb: --record: cannot write gone/run.trace: No such file or directory'
	equals "$output" ''
	refuses 'record: only a run of one group' run -w readwhilewriting -d memory \
		--record=run.trace
}

@test "an interrupted replay is reported as partial" {
	mininb 0 convert --from=workload:ycsb-b -v 100 --phase=load --to=load.trace
	start replay --load=load.trace --trace=load.trace -d memory --run.rate=10 --interval=50ms
	wait_until grep -q '0\.[1-9]' out
	stop INT
	equals "$stderr" 'mininb: interrupted'
	contains "$output" 'Partial           : yes'
}
