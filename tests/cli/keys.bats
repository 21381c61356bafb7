#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# The key file: created, shuffled, and rejected if unsuitable.
# shellcheck disable=SC2154,SC2016
load helper

# The keys of file $1, of $2 bytes each, one per line.
list_keys()
{
	od -A n -v -t x1 -w"$2" "$1"
}

@test "keys makes as many as were asked for, all different" {
	mininb 0 keys -k 16 -c 1000
	equals "$(stat -c %s keys.bin)" 16000
	equals "$(list_keys keys.bin 16 | sort -u | wc -l)" 1000
	equals "$output" "$(printf 'Action: keys\nFile: keys.bin\nKey Len: 16\nCount: 1000\nSeed: 1')"
	equals "$stderr" ''
}

@test "shuffle permutes a file that dd made, and the classic run goes through" {
	needs_leveldb
	dd if=/dev/urandom of=keys.bin bs=1000 count=100 2>/dev/null
	cp keys.bin before.bin
	mkdir nb
	mininb 0 --path ./nb --action=put --driver=leveldb -k 16 -v 100 -c 1000
	mininb 0 --path ./nb --action=shuffle -k 16 -c 1000
	equals "$stderr" "mininb: warning: the action 'shuffle' ignores --path"
	run ! cmp -s keys.bin before.bin
	equals "$(list_keys keys.bin 16 | sort | sha256sum)" \
		"$(list_keys before.bin 16 | sort | sha256sum)"
	cmp -i 16000 keys.bin before.bin
	mininb 0 --path ./nb --action=get --driver=leveldb -k 16 -v 100 -c 1000
	equals "$(total_of "$output")" 1000
}

@test "shuffle reports bytes at the end that are less than a key" {
	head -c 1001 /dev/urandom >keys.bin
	cp keys.bin before.bin
	mininb 0 shuffle -k 16 -c 62
	contains "$stderr" 'keys.bin: the last 9 bytes are less than a key of 16 bytes'
	equals "$(stat -c %s keys.bin)" 1001
	cmp -i 992 keys.bin before.bin
	equals "$(list_keys keys.bin 16 | sort | sha256sum)" \
		"$(list_keys before.bin 16 | sort | sha256sum)"
}

@test "a missing file of keys says which command makes one" {
	mininb 1 put -d memory -c 1000 -k 20 -i some.bin
	contains "$stderr" some.bin
	equals "$output" ''
	equals "$(ls -A)" ''
	# and the suggested command is correct
	local command
	command=$(grep -oE 'mininb --action=keys .*' <<<"$stderr")
	# shellcheck disable=SC2086
	"$MININB" ${command#mininb } >/dev/null
	mininb 0 put -d memory -c 1000 -k 20 -i some.bin
}

@test "a file one key too short is refused before anything is written" {
	needs_leveldb
	mininb 0 keys -c 999
	mininb 1 put -c 1000
	contains "$stderr" '999 keys'
	contains "$stderr" 1000
	contains "$stderr" 'mininb --action=keys'
	equals "$output" ''
	equals "$(ls -A)" keys.bin
	# a partial key does not count
	head -c 15 /dev/zero >>keys.bin
	mininb 1 put -c 1000
	contains "$stderr" '999 keys'
	equals "$(ls -A)" keys.bin
}

@test "duplicates in the file are counted and reported" {
	mininb 0 keys -c 10
	cat keys.bin keys.bin >twice.bin
	mininb 0 put -d memory -c 20 -i twice.bin
	matches "$output$stderr" '10 [^'$'\n'']*[Dd]uplicate|[Dd]uplicate[^'$'\n'']*10'
	mininb 0 put -d memory -c 10 -i twice.bin
	lacks "$stderr" uplicate
}
