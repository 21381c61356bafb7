#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# The engine fptree and its pool, as a user sees them.
# shellcheck disable=SC2154,SC2016
load helper

setup_file()
{
	needs_engine fptree
	# Without persistent memory, flushes of cache lines make data durable only on tmpfs.
	[[ -d /dev/shm ]] || skip '/dev/shm is missing'
	SHM=$(mktemp -d /dev/shm/mininb-bats.XXXXXX)
	export SHM
}

teardown_file()
{
	[[ -z ${SHM-} ]] || rm -rf "$SHM"
}

in_shm()
{
	cd "$(mktemp -d "$SHM/XXXXXX")" || return
	[[ -z ${1-} ]] || mininb 0 keys -c 20000 -k "$1"
}

@test "on tmpfs, auto is commit, and the result states that the memory is emulated" {
	in_shm 8
	mininb 0 put -k 8 -v 8 -c 20000 --driver=fptree
	matches "$output" 'Durability +: commit, by default'
	matches "$output" 'Note +: fptree: .* emulated persistent memory'
	matches "$output" 'Gauge +: emulated_pools 1'
	contains "$stderr" 'emulated persistent memory'
	mininb 0 put -k 8 -v 8 -c 20000 --driver=fptree --durability=process
	matches "$output" 'Durability +: process'
	lacks "$output" 'flushed_lines'
	mininb 1 put -k 8 -v 8 -c 20000 --driver=fptree --durability=periodic
	contains "$stderr" 'it gives: process, commit'
}

@test "on a disk, auto is process, and commit has a note on its cost" {
	[[ $(stat -f -c %T .) != tmpfs ]] || skip 'the tests are on tmpfs'
	mininb 0 keys -c 200 -k 8
	mininb 0 put -k 8 -v 8 -c 200 --driver=fptree
	matches "$output" 'Durability +: process, by default'
	mininb 0 put -k 8 -v 8 -c 200 --driver=fptree --durability=commit
	matches "$output" 'Durability +: commit'
	matches "$output" 'Note +: fptree: .*msync'
	mininb 0 get -k 8 -v 8 -c 200 --driver=fptree --verify-rate=1
	matches "$output" 'Not found +: 0'
}

@test "an insert flushes one line and executes one fence, except in splits" {
	in_shm 8
	mininb 0 put -k 8 -v 8 -c 20000 --driver=fptree
	read -r lines < <(sed -n 's/^Counter *: flushed_lines .*(\([0-9.]*\) per op)$/\1/p' <<<"$output")
	read -r fences < <(sed -n 's/^Counter *: fences .*(\([0-9.]*\) per op)$/\1/p' <<<"$output")
	awk -v lines="$lines" -v fences="$fences" \
		'BEGIN { exit !(lines >= 1 && lines <= 2 && fences >= 1 && fences <= 1.2) }' || {
		printf 'flushed lines %s, fences %s per insert\n' "$lines" "$fences"
		return 1
	}
}

@test "a pool keeps its sizes, and other sizes are rejected" {
	in_shm 8
	mininb 0 put -k 8 -v 8 -c 20000 --driver=fptree
	mininb 1 get -k 8 -v 100 -c 20000 --driver=fptree
	contains "$stderr" 'made for keys of 8 and values of 8 bytes, not for 8 and 100'
	mininb 1 get -k 8 -v 8 -c 20000 --driver=fptree -o leaf_slots=12
	contains "$stderr" '55 slots, not 12'
	mininb 0 get -k 8 -v 8 -c 20000 --driver=fptree -o fanout=5 --verify-rate=1
	matches "$output" 'Not found +: 0'
	matches "$output" 'Gauge +: recovery_time '
}

@test "a full pool reports pool_size, loses no record and continues with a larger size" {
	in_shm 16
	mininb 1 put -c 20000 -v 2000 --driver=fptree -o pool_size=16MiB
	contains "$stderr" 'is full (16 MiB): give a larger -o pool_size='
	mininb 1 put -c 20000 -v 2000 --driver=fptree -o pool_size=20MiB
	contains "$stderr" 'give a larger -o pool_size='
	mininb 0 put -c 20000 -v 2000 --driver=fptree -o pool_size=1GiB
	mininb 0 get -c 20000 -v 2000 --driver=fptree --verify-rate=1
	matches "$output" 'Not found +: 0'
}

@test "a pool in use by another process is rejected, and that process continues" {
	in_shm
	mininb 0 load --driver=fptree --records=1000 --value-size=8 --key-format=be64
	start run --driver=fptree --records=1000 --value-size=8 --key-format=be64 --read=100 \
		--duration=100s
	wait_until grep -q 'emulated persistent memory' err # the pool is open
	mininb 1 load --driver=fptree --records=10 --value-size=8 --key-format=be64
	contains "$stderr" "nb/fptree: is in use by process $pid ("
	# with another path, mininb does not see its lock, but the engine detects the conflict
	mkdir beside && ln -s "$PWD/nb/fptree" beside/fptree
	mininb 1 load --driver=fptree --records=10 --value-size=8 --key-format=be64 --path=beside \
		--force
	contains "$stderr" 'in use by another process'
	stop TERM
	lacks "$stderr" 'in use'
}

@test "two threads execute every kind of operation with mixed sizes, verified" {
	in_shm
	for sizes in 8 uniform:1..3000; do
		mininb 0 load --fresh --driver=fptree --records=5000 --value-size="$sizes" \
			--key-format=text
		mininb 0 run --driver=fptree --records=5000 --value-size="$sizes" \
			--key-format=text --read=20 --update=15 --insert=10 --upsert=10 --delete=10 \
			--scan=5 --read-modify-write=10 --batch=10 --multi-get=10 -c 20000 -t 2 \
			--verify-rate=1
		matches "$output" 'Verified +: [0-9]+ records: 0 wrong'
	done
}

@test "crash --power rejects fptree, whose stores need no system call" {
	[[ -n ${MININB_RECORDER_PATH:-} ]] || skip 'the recorder is not built: not 64-bit Linux'
	in_shm
	mininb 1 crash --power --driver=fptree --durability=commit --rounds=1 --states=2 --path=.
	contains "$stderr" 'without a call to sync it, as on persistent memory'
	equals "$output" ''
}
