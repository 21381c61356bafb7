#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# Traces from one format into another.
# shellcheck disable=SC2154,SC2016
load helper

log='YCSB Client 0.18
INSERT usertable user6284781860667377211 [ field1=a b field0=c=d ]
READ usertable user1 [ <all fields>]
SCAN usertable user2 10 [ <all fields>]
DELETE usertable user1
[OVERALL], RunTime(ms), 12'

hex()
{
	od -An -v -tx1 "$1" | tr -d ' \n'
}

@test "a log becomes bare keys, and the counts go to stderr" {
	echo "$log" >run.log
	mininb 0 convert --from=run.log --to=run.bin --to-format=u64
	equals "$output" ''
	matches "$stderr" '^mininb: convert: 4 operations \(1 reads, 1 inserts, 1 deletes, 1 scans\); 2 lines ignored, 0 of other kinds, 0 bad; 0\.0 MB read, [0-9]+ MB/s$'
	equals "$(hex run.bin)" \
		3bc6e5d7cd073857010000000000000002000000000000000100000000000000
	[[ $(stat -c %s run.bin) == 32 ]]
	mininb 0 convert --from=run.log --to=run.bin --to-format=u64 --quiet
	equals "$stderr" ''
}

@test "convert reads a pipe and writes a pipe" {
	run -0 --separate-stderr sh -c \
		'printf "READ 1\nREAD 2" | "$MININB" convert --from=- --to=- --to-format=u64 |
		"$MININB" convert --from=- --from-format=u64 --to=- --to-format=ycsb-text --bare-as=update'
	equals "$output" 'UPDATE 1
UPDATE 2'
}

@test "convert reports the number of a damaged line and writes nothing" {
	printf 'READ 1\nREAD x\nREAD 3\n' >run.txt
	mininb 3 convert --from=run.txt --to=run.bin
	equals "$stderr" "mininb: run.txt:2: 'READ x' is not an operation: its key is not a number"
	[[ ! -e run.bin ]]
	mininb 0 convert --from=run.txt --to=run.bin --skip-bad --to-format=u64
	contains "$stderr" '2 operations (2 reads); 0 lines ignored, 0 of other kinds, 1 bad'
	contains "$stderr" "mininb: warning: convert: skipped 1 bad; the first is line 2: 'READ x'"
	mininb 0 convert --from=run.txt --to=run.bin --skip-bad --to-format=u64 --quiet
	equals "$stderr" "mininb: warning: convert: skipped 1 bad; the first is line 2: 'READ x' is not an operation: its key is not a number"
}

@test "each format can be read, and each except rocksdb can be written" {
	local format
	for format in ycsb-text ycsb-log u64 keys cache-csv mininb; do
		: >empty
		mininb 0 convert --from=empty --from-format=ycsb-text --to="to.$format" \
			--to-format="$format"
		mininb 0 convert --from="to.$format" --from-format="$format" --to=back
	done
	mininb 0 convert --from=empty --from-format=rocksdb --to=back
	refuses "--to-format: 'rocksdb' is not known" convert --from=a --to=b --to-format=rocksdb
}

@test "convert reports wrong usage and unsuitable files" {
	refuses 'convert: --from is missing' convert --to=b
	refuses 'convert: --to is missing' convert --from=a
	refuses "--from-format: 'ycsb-txt' is not known, did you mean 'ycsb-text'?" \
		convert --from=a --to=b --from-format=ycsb-txt
	mininb 1 convert --from=none --to=b
	equals "$stderr" 'mininb: none: No such file or directory'
	mininb 1 convert --from=. --to=b
	contains "$stderr" 'is a directory'
	: >empty
	mininb 3 convert --from=empty --to=b
	equals "$stderr" 'mininb: empty: is empty'
	head -c 160 /dev/zero >zeros
	refuses 'zeros: is neither text nor a mininb trace' convert --from=zeros --to=b
}

@test "convert rejects a compressed trace and names the command that reads it" {
	printf 'INSERT 1\nREAD 1\n' | gzip >t.gz
	refuses 't.gz: is compressed by gzip; use: zcat t.gz | ' \
		convert --from=t.gz --to=t
	refuses 't.gz: is compressed by gzip' convert --from=t.gz --to=t --from-format=ycsb-text
	run -2 --separate-stderr "$MININB" convert --from=- --to=t <t.gz
	contains "$stderr" 'stdin: is compressed by gzip'
	zcat t.gz | "$MININB" convert --from=- --to=t --quiet
	[[ -s t ]]
}

@test "an interrupted conversion leaves no file" {
	mkfifo pipe
	"$MININB" convert --from=pipe --from-format=ycsb-text --to=b 2>err &
	local pid=$!
	exec 7>pipe
	printf 'READ 1\n' >&7
	kill -TERM "$pid"
	local status=0
	wait "$pid" || status=$?
	exec 7>&-
	equals "$status" 130
	equals "$(<err)" 'mininb: interrupted'
	[[ ! -e b ]]
}

@test "convert shows its progress on a terminal" {
	command -v script >/dev/null || skip 'script (util-linux) is not installed'
	yes 'READ 6284781860667377211' | head -n 2000000 >run.txt
	run -0 env TERM=xterm NO_COLOR=1 script -qec \
		"'$MININB' convert --from=run.txt --to=b" /dev/null </dev/null
	matches "$output" $'\rconvert  [0-9]+/50000000'
}
