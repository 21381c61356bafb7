#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# Our own engine in persistent memory: its pool, as a user sees it.
# shellcheck disable=SC2154,SC2016
load helper

setup_file()
{
	needs_engine fptree
	# What is durable by flushes of lines is so on tmpfs only, short of persistent memory.
	[[ -d /dev/shm ]] || skip 'there is no /dev/shm'
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

@test "on tmpfs auto is commit, and the result says that the memory is emulated" {
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

@test "in a file auto is process, and commit says that it is slow" {
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

@test "inserts are counted by lines and fences: one of each, and splits" {
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

@test "a pool keeps its sizes, and says with which it was made" {
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

@test "a full pool names pool_size, loses nothing and goes on with more" {
	in_shm 16
	mininb 1 put -c 20000 -v 2000 --driver=fptree -o pool_size=16MiB
	contains "$stderr" 'is full (16 MiB): give a larger -o pool_size='
	mininb 1 put -c 20000 -v 2000 --driver=fptree -o pool_size=20MiB
	contains "$stderr" 'give a larger -o pool_size='
	mininb 0 put -c 20000 -v 2000 --driver=fptree -o pool_size=1GiB
	mininb 0 get -c 20000 -v 2000 --driver=fptree --verify-rate=1
	matches "$output" 'Not found +: 0'
}

@test "a pool that is open elsewhere is refused, and nobody is disturbed" {
	in_shm
	mininb 0 load --driver=fptree --records=1000 --value-size=8 --key-format=be64
	start run --driver=fptree --records=1000 --value-size=8 --key-format=be64 --read=100 \
		--duration=100s
	wait_until grep -q 'emulated persistent memory' err # it has the pool
	mininb 1 load --driver=fptree --records=10 --value-size=8 --key-format=be64
	contains "$stderr" "nb/fptree: is in use by process $pid ("
	# the engine finds it as well: by another path mininb does not see the lock on the marker
	mkdir beside && ln -s "$PWD/nb/fptree" beside/fptree
	mininb 1 load --driver=fptree --records=10 --value-size=8 --key-format=be64 --path=beside \
		--force
	contains "$stderr" 'in use by another process'
	stop TERM
	lacks "$stderr" 'in use'
}

@test "every kind of operation, mixed sizes, two threads, all verified" {
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

@test "power cannot be lost where stores are durable without a sync" {
	[[ -n ${MININB_RECORDER_PATH:-} ]] || skip 'the recorder is not built: not 64-bit Linux'
	in_shm
	mininb 1 crash --power --driver=fptree --durability=commit --rounds=1 --states=2 --path=.
	contains "$stderr" 'without a call to sync it, as on persistent memory'
	equals "$output" ''
}
