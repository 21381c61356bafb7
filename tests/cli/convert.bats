#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# Traces from one format into another.
# shellcheck disable=SC2154,SC2016 # set by run; for a shell of its own
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

@test "what came of it can be turned into another format" {
	echo "$log" >run.log
	mininb 0 convert --from=run.log --to=run.trace
	mininb 0 convert --from=run.trace --to=- --to-format=ycsb-log
	equals "$output" 'INSERT usertable user6284781860667377211 [ field0=xxxxxx ]
READ usertable user1 [ <all fields>]
SCAN usertable user2 10 [ <all fields>]
DELETE usertable user1'
	mininb 0 convert --from=run.trace --to=- --to-format=ycsb-text
	equals "$output" 'INSERT 6284781860667377211
READ 1
SCAN 2 10
DELETE 1'
}

@test "from a pipe into a pipe" {
	run -0 --separate-stderr sh -c \
		'printf "READ 1\nREAD 2" | "$MININB" convert --from=- --to=- --to-format=u64 |
		"$MININB" convert --from=- --from-format=u64 --to=- --to-format=ycsb-text --bare-as=update'
	equals "$output" 'UPDATE 1
UPDATE 2'
}

@test "the order of a key's bytes" {
	echo 'INSERT 6284781860667377211' >one
	mininb 0 convert --from=one --to=big --to-format=keys --klen=8
	equals "$(hex big)" 573807cdd7e5c63b
	mininb 0 convert --from=one --to=little --to-format=keys --klen=8 --key-bytes=little
	equals "$(hex little)" 3bc6e5d7cd073857
	echo "$log" >run.log
	mininb 0 convert --from=run.log --to=text --to-format=cache-csv --key-bytes=text \
		--skip-bad --from-format=ycsb-text
	matches "$stderr" '0 operations'
	head -3 run.log >short.log
	mininb 0 convert --from=short.log --to=- --to-format=cache-csv --key-bytes=text
	equals "$output" '0,user6284781860667377211,23,6,0,add,0
0,user1,5,0,0,get,0'
}

@test "a damaged line is told with its number, and nothing is written" {
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

@test "operations that mininb does not do are told" {
	printf '0x61 0 0 0 5\n0x61 0x62 4 0 0 6\n' >P-human_readable_trace.txt
	mininb 0 convert --from=P-human_readable_trace.txt --to=run.trace --quiet
	equals "$stderr" 'mininb: warning: convert: skipped 1 operations of kinds that mininb does not support'
}

@test "what the target cannot hold is told with the operation's number" {
	printf '0,abcdefgh,8,5,1,get,0\n0,abc,3,5,1,get,0\n' >cache.csv
	mininb 2 convert --from=cache.csv --to=run.bin --to-format=u64
	equals "$stderr" 'mininb: run.bin: operation 2 cannot be written: its key has 3 bytes, but keys of u64 have 8 bytes'
	[[ ! -e run.bin ]]
}

@test "each format can be named, and each but rocksdb written" {
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

@test "wrong usage" {
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

@test "a trace that is cut short is found" {
	echo 'READ 1' >run.txt
	mininb 0 convert --from=run.txt --to=run.trace
	head -c -1 run.trace >cut.trace
	mininb 3 convert --from=cut.trace --to=b
	contains "$stderr" 'the file ends inside it or before its end mark'
}

@test "a trace that is compressed is refused with what reads it" {
	printf 'INSERT 1\nREAD 1\n' | gzip >t.gz
	refuses 't.gz: is compressed by gzip; use: zcat t.gz | ' \
		convert --from=t.gz --to=t
	refuses 't.gz: is compressed by gzip' convert --from=t.gz --to=t --from-format=ycsb-text
	run -2 --separate-stderr "$MININB" convert --from=- --to=t <t.gz
	contains "$stderr" 'stdin: is compressed by gzip'
	zcat t.gz | "$MININB" convert --from=- --to=t --quiet
	[[ -s t ]]
}

@test "an interrupted conversion leaves nothing" {
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

@test "a progress line on a terminal" {
	command -v script >/dev/null || skip 'script (util-linux) is not installed'
	yes 'READ 6284781860667377211' | head -n 2000000 >run.txt
	run -0 env TERM=xterm NO_COLOR=1 script -qec \
		"'$MININB' convert --from=run.txt --to=b" /dev/null </dev/null
	matches "$output" $'\rconvert  [0-9]+/50000000'
}
