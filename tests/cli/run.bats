#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# put, shuffle, get, delete from end to end, and the form of the report.
# shellcheck disable=SC2154
load helper

# The report in $output of action $1 with $2 operations.
check_report()
{
	local action=$1 count=$2
	contains "$output" "Action: $action"
	contains "$output" "Count: $count"
	equals "$(grep -c '^Histogram:$' <<<"$output")" 1
	equals "$(grep -cxF -- "$(printf -- '-%.0s' {1..50})" <<<"$output")" 2
	# between the two rules stand rows of this form and nothing else
	local rows
	rows=$(awk '/^-+$/ { inside = !inside; next } inside' <<<"$output")
	[[ -n $rows ]]
	equals "$(grep -vE '^\[ *[0-9.]+, *[0-9.]+\) +[0-9]+ +[0-9.]+$' <<<"$rows")" ''
	equals "$(sum_of_rows "$rows")" "$count"
	equals "$(total_of "$output")" "$count"
	matches "$output" $'\n''Total: +[0-9]+ +[0-9]+ +100%'
	for name in Min Avg Max; do
		matches "$output" $'\n'"$name latency +: [0-9]+\.[0-9]+ \* 1e-6 sec/op"
	done
	for percentile in 5 50 95 96 97 98 99 99.5 99.9 99.95 99.99; do
		matches "$output" $'\n'"$percentile(\.?0*)%  latency +: "
	done
	matches "$output" $'\n''Avg throughput +: +[0-9]+ ops/sec'
}

# The classic run of driver $1, of which what was put must be there later.
classic_run()
{
	local driver=$1
	mininb 0 --action=keys -k 16 -c 5000
	mininb 0 --path ./db --action=put --driver="$driver" -k 16 -v 100 -c 5000
	check_report put 5000
	contains "$output" "Driver: $driver"
	contains "$output" 'Key Len: 16'
	contains "$output" 'Val Len: 100'
	mininb 0 --path ./db --action=shuffle -k 16 -c 5000
	mininb 0 --path ./db --action=get --driver="$driver" -k 16 -v 100 -c 5000
	check_report get 5000
	mininb 0 --path ./db --action=delete --driver="$driver" -k 16 -c 5000
	check_report delete 5000
}

@test "the classic run on leveldb" {
	needs_leveldb
	classic_run leveldb
	[[ -e db/leveldb/CURRENT ]]
	mininb 3 --path ./db --action=get -k 16 -v 100 -c 5000
}

@test "the classic run on null" {
	classic_run null
	mininb 0 get -d null -c 10
	contains "$output" verif
}

@test "the classic run on memory" {
	classic_run memory
}

@test "two threads share the operations" {
	mininb 0 keys -c 5000
	mininb 0 put -d memory -c 5000 -t 2
	check_report put 5000
	matches "$output" $'\n''Threads *: *2'
	needs_leveldb
	mininb 0 put -c 5000 -t 2
	mininb 0 get -c 5000 -t 2
	check_report get 5000
}

@test "more threads than operations are refused" {
	mininb 0 keys -c 3
	mininb 2 put -d memory -c 3 -t 8
	contains "$stderr" threads
	mininb 0 put -d memory -c 3 -t 3
	check_report put 3
}

@test "a single operation" {
	mininb 0 keys -c 1
	mininb 0 put -d memory -c 1
	check_report put 1
	lacks "$output" nan
	lacks "$output" inf
}

@test "what the engine has counted is told, and how many an operation" {
	mininb 0 keys -c 500
	mininb 0 put -d memory -c 500
	contains "$output" $'\nGauge             : records 500\nGauge             : bytes '
	lacks "$output" 'Counter '
	mininb 0 put -d null -c 500 # which counts nothing
	lacks "$output" 'Counter'
	lacks "$output" 'Gauge'
	needs_engine fptree
	mininb 0 put -d fptree -c 500
	contains "$output" $'\nCounter           : inserts 500 records (1 per op)\n'
	mininb 0 get -d fptree -c 500
	lacks "$output" 'Counter '
	contains "$output" $'\nGauge             : records 500\n'
	mininb 0 delete -d fptree -c 500
	contains "$output" $'\nCounter           : deletes 500 records (1 per op)\n'
	lacks "$output" 'Gauge             : records'
}

@test "fold leaves no row below a microsecond but [0, 1)" {
	mininb 0 keys -c 5000
	mininb 0 put -d null -c 5000 --fold
	check_report put 5000
	equals "$(grep -E '^\[ *0\.[0-9]' <<<"$output")" ''
	matches "$output" $'\n''\[ *0, +1\) +[0-9]+'
	mininb 0 put -d null -c 5000
	matches "$output" $'\n''\[ *0\.[0-9]+,'
}

@test "rows are half-open intervals that ascend and do not overlap" {
	mininb 0 keys -c 5000
	mininb 0 put -d memory -c 5000
	awk '/^\[ *[0-9.]+,/ {
		gsub(/[\[,)]/, " ")
		if ($1 < last || $2 <= $1) exit 1
		last = $2
	}' <<<"$output"
}

@test "values of no bytes and of 64 KiB" {
	needs_leveldb
	mininb 0 keys -c 50
	for size in 0 1 15 16 17 64KiB; do
		mininb 0 put -c 50 -v $size --verify-rate=1
		mininb 0 get -c 50 -v $size --verify-rate=1
	done
}

@test "a value that is not what was put is found" {
	needs_leveldb
	mininb 0 keys -c 100
	mininb 0 put -c 100 -v 100
	mininb 0 get -c 100 -v 100 --verify-rate=1
	mininb 3 get -c 100 -v 101 --verify-rate=1
	contains "$stderr" '(wrong size 100, of another key 0, corrupt 0, stale 0); --vlen must be that of put'
	check_report get 100
	mininb 3 get -c 100 -v 99 --verify-rate=1
	# of another seed and ratio it is still the key's
	mininb 0 put -c 50 -v 100 --seed 2 --value-ratio=1
	mininb 0 get -c 100 -v 100 --verify-rate=1
}

@test "a value that was damaged on the disk is found" {
	needs_leveldb
	mininb 0 keys -c 100
	mininb 0 put -c 100 -v 1000 --value-ratio=0 -o compression=none
	local table offset
	table=$(grep -laE 'v{200}' nb/leveldb/*.ldb | head -n 1)
	[[ -n $table ]]
	offset=$(grep -obUaE 'v{200}' "$table" | head -n 1 | cut -d: -f1)
	printf X | dd of="$table" bs=1 seek=$((offset + 100)) conv=notrunc status=none
	mininb 3 get -c 100 -v 1000 --verify-rate=1
	check_report get 100
	contains "$stderr" 'mininb: '
}

@test "keys that were never put are counted, reported and exit 3" {
	needs_leveldb
	mininb 0 keys -c 100
	mininb 0 keys -c 100 --seed 2 -i other.bin
	cat keys.bin other.bin >both.bin
	mininb 0 put -c 100
	mininb 3 get -c 200 -i both.bin
	check_report get 200
	contains "$stderr" 100
	matches "$output" '[Nn]ot[ -]found *: *100'
	mininb 0 get -c 200 -i both.bin --allow-missing
	matches "$output" '[Nn]ot[ -]found *: *100'
}

@test "a get after a delete reports the record that came back" {
	needs_leveldb
	mininb 0 keys -c 100
	mininb 0 put -c 100
	mininb 0 delete -c 100
	head -c 16 keys.bin >one.bin
	mininb 0 put -c 1 -i one.bin
	mininb 3 get -c 100
	contains "$stderr" '99 of 100 keys were not found, 1 was found (it came back'
	matches "$output" '[Nn]ot[ -]found *: *99 \(found: 1\)'
	mininb 0 get -c 100 --allow-missing
	contains "$stderr" '99 of 100 keys were not found, 1 was found (it came back'
	matches "$output" '[Nn]ot[ -]found *: *99 \(found: 1\)'
	mininb 0 delete -c 1 -i one.bin
	mininb 0 get -c 100 --allow-missing
	lacks "$stderr" 'came back'
}

@test "get makes no database" {
	needs_leveldb
	mininb 0 keys -c 10
	mininb 1 get -c 10
	contains "$stderr" nb/leveldb
	[[ ! -e nb/leveldb/CURRENT ]]
}

@test "the path is made" {
	needs_leveldb
	mininb 0 keys -c 10
	mininb 0 put -c 10 --path ./new
	[[ -e new/leveldb/CURRENT ]]
}

@test "the same run has the same digest, another has another" {
	mininb 0 keys -c 100
	digest()
	{
		"$MININB" put -d memory -c 100 "$@" | grep -i digest
	}
	one=$(digest)
	[[ -n $one ]]
	equals "$(digest)" "$one"
	equals "$(digest -t 2)" "$one"
	[[ $(digest --seed 2) != "$one" ]]
	[[ $(digest -v 99) != "$one" ]]
	mininb 0 shuffle -c 100
	[[ $(digest) != "$one" ]]
}

@test "the result says what it was measured with" {
	mininb 0 keys -c 100
	mininb 0 put -d memory -c 100
	for word in Threads Durability Clock digest; do
		contains "${output,,}" "${word,,}"
	done
	mininb 0 put -d memory -c 100 --clock=monotonic
	matches "$output" '[Cc]lock[^'$'\n'']*MONOTONIC|[Cc]lock[^'$'\n'']*monotonic'
}

@test "settle, cache, pin and verify-rate are taken" {
	needs_leveldb
	mininb 0 keys -c 100
	for settle in none flush compact; do
		mininb 0 put -c 100 --settle $settle
	done
	mininb 0 put -c 100 --cache 1MiB --pin --verify-rate 0
	mininb 0 get -c 100 --cache=64KiB --pin --verify-rate=1
}

@test "nothing but the result is on stdout, nothing on stderr" {
	mininb 0 keys -c 20000
	mininb 0 put -d memory -c 20000 -r 1
	equals "$(head -n 1 <<<"$output")" 'Action: put'
	equals "$stderr" ''
}
