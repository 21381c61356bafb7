#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# Runs of workloads: mixes, bounds, rates and verification.
# shellcheck disable=SC2154,SC2016
load helper

@test "the counts match the mixes of YCSB" {
	local -A mixes=(
		[a]='read 500 update 500' [b]='read 950 update 50' [c]='read 1000'
		[d]='read 950 insert 50' [e]='scan 950 insert 50'
		[f]='read 500 read-modify-write 500')
	local letter
	for letter in "${!mixes[@]}"; do
		mininb 0 run -w "ycsb-$letter" -d memory
		equals "$stderr" ''
		# shellcheck disable=SC2086
		set -- ${mixes[$letter]}
		while (($# > 0)); do
			equals "$letter: $(ops_of "$1")" "$letter: $2"
			shift 2
		done
	done
}

@test "each preset runs" {
	local name size
	for name in $("$MININB" workloads | sed '1d; s/ .*//'); do
		size=--records=500
		[[ $name != taobench-* ]] || size=--edges=200
		mininb 0 run -d memory -w "$name" "$size" -v 50 --count=200 --quiet
		equals "$stderr" ''
		matches "$output" 'Verified +: ([0-9]+ records: 0 wrong|nothing)'
	done
}

@test "--duration replaces the workload's count" {
	mininb 0 run -w ycsb-a -d memory --duration=300ms
	(($(ops_of all) > 1000))
	mininb 0 run -w ycsb-a -d memory --duration=10s --count=500
	equals "$(ops_of all)" 500
	mininb 0 run -w ycsb-a -d memory --run.duration=300ms
	(($(ops_of all) > 1000))
}

@test "a warm-up is not measured" {
	mininb 0 run -w ycsb-c -d memory --count=1000 --warmup=300
	equals "$(ops_of read)" 700
	contains "$output" 'without a warm-up of 300 operations'
	refuses '[run]: warmup: 1s leaves nothing of the duration of 1s to measure' \
		run -w ycsb-c --duration=1s --warmup=1s
	refuses '[run]: warmup: 10 of 10 operations leave nothing to measure' \
		run -w ycsb-c --count=10 --warmup=10
}

@test "with a rate, the report has response times and the queue" {
	mininb 0 run -w ycsb-a -d memory --rate=5k --count=500
	matches "$output" '1 thread, [0-9]+ ops/sec offered, evenly spaced, 500 operations'
	equals "$(grep -c '^ *response ' <<<"$output")" 3
	matches "$(line_of Queue)" 'the last of 500 began '
	contains "$output" 'Harness lateness  : p50 '
	lacks "$output" ': closed loop: '
	mininb 0 run -w ycsb-a -d memory --rate=5k --arrivals=poisson --count=500
	contains "$output" 'at random (Poisson)'
	mininb 0 run -w ycsb-a -d memory --count=500
	contains "$output" '1 thread, closed loop, 500 operations'
	equals "$(grep -c '^ *response ' <<<"$output")" 0
	contains "$output" ': closed loop: '
}

@test "an impossible rate makes the queue grow" {
	mininb 0 run -w ycsb-a -d memory --rate=1G --duration=100ms
	matches "$(line_of Queue)" '^grew, as more was offered than can be done: [0-9]+ operations were due, [0-9]+ left; the last of [0-9]+ began '
	contains "$output" 'the offered rate is above the possible one'
}

@test "a line is printed at the end of each interval" {
	mininb 0 run -w ycsb-c -d memory --duration=600ms --interval=100ms --warmup=400ms
	matches "$output" '^ seconds +ops +ops/s +p50 us +p99 us +max us +behind'$'\n'
	matches "$output" $'\n +0\\.[0-9]+ +[0-9]+ +[0-9]+ +warm-up\n'
	equals "$(grep -c ' $' <<<"$output")" 0
	matches "$output" $'\n +0\\.[0-9]+ +[0-9]+ +[0-9]+ +[0-9.]+ '
}

@test "--until-steady ends the run, or the report states that it was never steady" {
	mininb 0 run -w ycsb-c -d memory --duration=30s --until-steady=300ms,slope:100%,band:100%
	matches "$(line_of Steady)" '^yes: over the last window the rate changed by '
	lacks "$output" 'Partial '
	mininb 0 run -w ycsb-c -d memory --duration=300ms --until-steady=200ms,slope:0.0001%,band:0.0001%
	contains "$output" 'never steady: '
	equals "$(line_of Steady)" ''
	refuses '--until-steady: ' run -w ycsb-c --until-steady=often
	refuses "--until-steady: '0%' is not above 0%" run -w ycsb-c --until-steady=1s,band:0%
}

@test "operations on several records, rejected if the engine has none" {
	mininb 0 run -d memory --records=500 --count=100 --batch=50 --multi-get=50 --items=7
	equals "$(ops_of batch) $(ops_of multi-get)" '50 50'
	contains "$output" ': 700 read or written'
	mininb 0 run -d memory --records=500 --count=100 --txn-read=50 --txn-write=50
	equals "$(ops_of txn-read) $(ops_of txn-write)" '50 50'
	needs_leveldb
	mininb 0 load --records=500
	mininb 1 run --records=500 --txn-read=1
	equals "$stderr" 'mininb: run: leveldb cannot do transactions'
}

@test "a run rejects operations that the engine lacks before it begins" {
	mininb 1 run -w ycsb-e -d null
	equals "$stderr" 'mininb: run: null cannot do ordered scans'
	equals "$output" ''
	equals "$(ls -A)" ''
	needs_engine tdb
	mininb 1 run -w ycsb-a -d tdb -t 2
	contains "$stderr" 'threads: tdb supports one thread only'
}

@test "run names the command that makes a missing database" {
	needs_leveldb
	mininb 1 run -w ycsb-a -d leveldb
	equals "$stderr" 'mininb: ./nb/leveldb: holds no database of leveldb; make one with: mininb load --workload=NAME --driver=leveldb --path ./nb'
	equals "$output" ''
}

@test "records of another workload are reported as missing" {
	needs_leveldb
	mininb 0 load -w ycsb-a
	mininb 3 run -w readrandom --records=1000
	contains "$stderr" 'missing 1000; the first are listed in the report'
	matches "$(line_of Wrong)" '^read, operation [0-9]+, key [0-9]+: missing$'
	mininb 0 run -w readrandom --records=1000 --allow-missing
	equals "$(line_of 'Not found')" 1000
}

@test "a value older than the thread's own last write is stale" {
	mininb 3 run -w ycsb-a -d "$(plugin stale)" --verify-rate=1
	matches "$stderr" '^mininb: run: [0-9]+ of [0-9]+ verified records are wrong: stale [0-9]+; the first are listed in the report$'
	matches "$(line_of Wrong)" '^read, operation [0-9]+, key user[0-9]+: stale, version 0, expected [0-9]+$'
	equals "$(grep -c '^Wrong  ' <<<"$output")" 8
}

@test "a wrong value is corrupt, and a lost one is missing" {
	mininb 3 run -w ycsb-a -d "$(plugin corrupts)" --verify-rate=1
	contains "$stderr" ': corrupt '
	matches "$(line_of Wrong)" '^read, operation [0-9]+, key user[0-9]+: corrupt$'
	mininb 3 run -w ycsb-a -d "$(plugin loses)" --verify-rate=1
	contains "$stderr" 'missing '
	mininb 0 run -w ycsb-a -d "$(plugin corrupts)" --verify-rate=0
	equals "$(line_of Verified)" 'nothing (not asked for)'
}

@test "an interrupted run is reported as partial" {
	start run -w ycsb-a -d memory --duration=60s --interval=50ms
	wait_until grep -q '0\.1' out
	stop INT
	equals "$stderr" 'mininb: interrupted'
	contains "$(line_of Partial)" 'yes, a partial result'
}

more_lines_than()
{
	(($(wc -l <"$2") > $1))
}

@test "a stopped process is reported as a stall" {
	start run -d memory --read=100 --records=1000 --duration=60s --interval=50ms \
		--output=r.json
	wait_until grep -q '0\.1' out
	kill -STOP "$pid"
	sleep 2
	local lines
	lines=$(wc -l <out)
	kill -CONT "$pid"
	wait_until more_lines_than "$lines" out
	stop INT
	matches "$(line_of Stalls)" 'longest gap [0-9.]+s$'
	matches "$output" 'a thread that only sleeps woke up [0-9.]+s late'
	python3 - <<'PY'
import json
pulses = json.load(open("r.json"))["results"][0]["measured"]["series"]["pulses"][0]
gap = max(pulses["gaps"], key=lambda gap: gap["duration_ns"])
assert gap["duration_ns"] >= 1900000000, gap
begin = gap["begin_ns"] - pulses["begin_ns"]
first = begin // pulses["pulse_ns"] + 1
last = (begin + gap["duration_ns"]) // pulses["pulse_ns"]
within = pulses["ops"][first:last]
assert len(within) >= 90 and sum(within) == 0, within
PY
}

@test "--checkpoint-every writes checkpoints during the operations and reports their times" {
	mininb 0 run -d null --read=100 --records=1000 --duration=1s --checkpoint-every=50ms \
		--output=r.json
	matches "$output" 'Checkpoints +: [0-9]+ during the operations, median [0-9.]+[mun]?s, at most'
	local text=$output
	mininb 0 report r.json
	equals "$(grep ^Checkpoints <<<"$output")" "$(grep ^Checkpoints <<<"$text")"
	run -0 python3 -c 'import json
checkpoints = json.load(open("r.json"))["results"][0]["measured"]["checkpoints"]
assert 1 <= checkpoints["count"] <= 20, checkpoints'
	mininb 0 run -d null --read=100 --records=1000 -c 1000 --output=r.json
	lacks "$(<r.json)$output" heckpoints
	# an engine without checkpoints
	mininb 1 run -d memory --read=100 --records=1000 -c 1000 --checkpoint-every=1s
	contains "$stderr" 'memory cannot write a checkpoint while operations run; leave the option out'
}

@test "backward scans, scans without values and atomic batches" {
	local how
	needs_engine lmdb
	needs_engine tokyocabinet
	mininb 0 load -d lmdb --records=2000 --key-order=ordered
	for how in --scan-direction=backward --scan-keys-only=yes; do
		mininb 0 run -d lmdb --records=2000 --key-order=ordered --scan=100 -c 200 \
			--verify-rate=1 "$how"
		matches "$output" 'Verified +: [1-9][0-9]* records: 0 wrong'
	done
	mininb 0 run -d lmdb --records=2000 --key-order=ordered --batch=100 -c 200 --batch-atomic=yes
	mininb 1 run -d tokyocabinet --records=100 --batch=1 -c 200 --batch-atomic=yes
	matches "$stderr" 'cannot do (atomic )?batches'
}
