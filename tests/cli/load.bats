#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# The action load. Its records equal those of a published trace.
# shellcheck disable=SC2154,SC2016
load helper

@test "load inserts each record and reports it" {
	mininb 0 load -w ycsb-a -d memory
	equals "$stderr" ''
	equals "$(line_of Action)" load
	equals "$(line_of Workload)" ycsb-a
	equals "$(line_of Records)" 1000
	equals "$(ops_of insert)" 1000
	contains "$output" $'\nload: insert 100 %\n'
	matches "$(line_of Verified)" '^[0-9]+ records: 0 wrong$'
	lacks "$output" 'Partial '
	contains "$output" $'\nGauge             : records 1000\n'
}

@test "load needs no workload" {
	mininb 0 load -d memory --records=300 --value-size=10
	equals "$(ops_of insert)" 300
	equals "$(line_of Keys)" 'raw, hashed, 16 bytes'
	contains "$(line_of Values)" '10 bytes'
	refuses 'there are only 256 different keys of 1 bytes, and 300 records' \
		load -d memory --records=300 --key-size=1
}

@test "load accepts options for its threads" {
	mininb 0 load -w ycsb-a -d memory -t 3
	contains "$output" $'\n3 threads, closed loop, 1000 operations in '
	matches "$(line_of 'Ops/s by thread')" '^[0-9]+ [0-9]+ [0-9]+$'
	mininb 0 load -w ycsb-a -d memory --load.threads=2 --threads=5 --load.threads=2
	contains "$output" $'\n2 threads, '
	mininb 0 load -w ycsb-a -d memory --records=100 --rate=2k
	matches "$output" '1 thread, [0-9]+ ops/sec offered, evenly spaced, 100 operations'
	matches "$output" $'\n +response +[0-9]'
}

@test "load of several engines needs new data" {
	needs_leveldb
	mininb 0 load -w ycsb-a -d leveldb
	refuses './nb/leveldb contains data, and several engines are compared on new data' \
		load -w ycsb-a -d leveldb,memory
	mininb 0 load -w ycsb-a -d leveldb,memory --fresh
	matches "$output" $'\n'"leveldb .* done"$'\n'"memory .* done"
}

@test "convert writes keys in either byte order" {
	mininb 0 convert --from=workload:fptree-220w --phase=load --to=one.u64 \
		--to-format=u64 --records=1
	equals "$(od -An -tx1 one.u64 | tr -d ' \n')" 3bc6e5d7cd073857
	# mininb replays the key in one of the two byte orders
	printf 'INSERT usertable user6284781860667377211 [ field0=xxxxxxxxxxxxxxxx ]\n' >one.log
	mininb 0 convert --from=one.log --to=little.keys --to-format=keys --klen=8 \
		--key-bytes=little
	equals "$(od -An -tx1 little.keys | tr -d ' \n')" 3bc6e5d7cd073857
	mininb 0 convert --from=one.log --to=big.keys --to-format=keys --klen=8
	equals "$(od -An -tx1 big.keys | tr -d ' \n')" 573807cdd7e5c63b
}

@test "an interrupted load is reported as partial" {
	needs_leveldb
	start load -d leveldb --records=10M -v 1000
	wait_until compgen -G 'nb/leveldb/*.ldb' >/dev/null
	stop INT
	equals "$stderr" 'mininb: interrupted'
	contains "$(line_of Partial)" 'yes, a partial result'
	[[ $(ops_of insert) -gt 0 && $(ops_of insert) -lt 10000000 ]]
}

@test "load rejects a wrong workload before it writes" {
	refuses "unknown workload 'ycbs-a', did you mean 'ycsb-a'?" load -w ycbs-a
	refuses 'ycsb-a: no records to load' load -w ycsb-a --records=0 \
		--read=0 --update=0 --insert=1
	refuses "unknown option --recrods, did you mean --records?" load --recrods=5
	mininb 1 load -w ./gone.ini
	equals "$stderr" 'mininb: ./gone.ini: No such file or directory'
	echo mine >nb
	mininb 1 load -w ycsb-a -d memory
	contains "$stderr" nb
	equals "$(<nb)" mine
	equals "$(ls -A)" nb
}

@test "load accepts a rate of many steps" {
	local rate
	rate=$(printf '1M/1s,%.0s' {1..40})
	mininb 0 load -d memory --records=100 --rate="${rate}1M"
	contains "$output" "$rate"
	refuses "rate: " load -d memory --records=100 --rate="${rate}1x"
}
