#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# put, shuffle, get, delete from end to end, and the form of the report.
# shellcheck disable=SC2154
load helper

# $output must contain the report of action $1 with $2 operations.
check_report()
{
	local action=$1 count=$2
	contains "$output" "Action: $action"
	contains "$output" "Count: $count"
	equals "$(grep -c '^Histogram:$' <<<"$output")" 1
	equals "$(grep -cxF -- "$(printf -- '-%.0s' {1..50})" <<<"$output")" 2
	# between the two rules, only rows of this form are allowed
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

# The classic run of driver $1. get and delete must find all records.
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

@test "the classic run" {
	local driver
	for driver in null memory; do
		classic_run "$driver"
	done
	needs_leveldb
	classic_run leveldb
	[[ -e db/leveldb/CURRENT ]]
	mininb 3 --path ./db --action=get -k 16 -v 100 -c 5000
	mininb 0 put -c 5000 -t 2
	check_report put 5000
	matches "$output" $'\n''Threads *: *2'
	mininb 2 put -c 3 -t 8
	contains "$stderr" threads
}

@test "--fold has only the row [0, 1) below a microsecond" {
	mininb 0 keys -c 5000
	mininb 0 put -d null -c 5000 --fold
	check_report put 5000
	equals "$(grep -E '^\[ *0\.[0-9]' <<<"$output")" ''
	matches "$output" $'\n''\[ *0, +1\) +[0-9]+'
	mininb 0 put -d null -c 5000
	matches "$output" $'\n''\[ *0\.[0-9]+,'
}

@test "verification finds a value with a wrong size" {
	needs_leveldb
	mininb 0 keys -c 100
	mininb 0 put -c 100 -v 100
	mininb 0 get -c 100 -v 100 --verify-rate=1
	mininb 3 get -c 100 -v 101 --verify-rate=1
	contains "$stderr" '(wrong size 100, of another key 0, corrupt 0, stale 0); --vlen must be that of put'
	check_report get 100
	mininb 3 get -c 100 -v 99 --verify-rate=1
	# with another seed and ratio, a value still belongs to its key
	mininb 0 put -c 50 -v 100 --seed 2 --value-ratio=1
	mininb 0 get -c 100 -v 100 --verify-rate=1
}

@test "verification finds a value that was damaged on the disk" {
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

@test "a get after a delete reports a record that came back" {
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

@test "put and get accept --settle, --cache, --pin and --verify-rate" {
	needs_leveldb
	mininb 0 keys -c 100
	for settle in none flush compact; do
		mininb 0 put -c 100 --settle $settle
	done
	mininb 0 put -c 100 --cache 1MiB --pin --verify-rate 0
	mininb 0 get -c 100 --cache=64KiB --pin --verify-rate=1
}

@test "stdout contains only the result, and stderr nothing" {
	mininb 0 keys -c 20000
	mininb 0 put -d memory -c 20000 -r 1
	equals "$(head -n 1 <<<"$output")" 'Action: put'
	equals "$stderr" ''
}
