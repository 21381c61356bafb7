#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# Simulated power loss through the command.
# shellcheck disable=SC2154,SC2016
load helper

setup_file()
{
	[[ -n ${MININB_RECORDER_PATH:-} ]] || skip 'the recorder is not built: not 64-bit Linux'
}

@test "an engine that syncs each commit survives a power loss" {
	needs_leveldb
	mkdir here
	TMPDIR=$PWD/here mininb 0 crash --power --driver=leveldb --durability=commit --rounds=2 \
		--states=10
	contains "$output" 'loss of power (journalled), databases in '
	contains "$output" '--file-system=posix'
	contains "$output" 'No promise was broken in 20 crashes.'
	equals "$stderr" ''
	equals "$(ls -A here)" ''
}

@test "crash detects missing syncs, and --again repeats the finding" {
	local broken=(crash --power --driver="$(plugin syncer)" --durability=commit -o left_out=data
		--ops=10 --rounds=1 --states=20)
	mininb 3 "${broken[@]}" --keep=kept
	contains "$output" 'power lost'
	contains "$output" 'lost'
	local first=$output
	mininb 3 "${broken[@]}" --keep=kept2
	equals "$(grep -c 'power lost' <<<"$output")" "$(grep -c 'power lost' <<<"$first")"
	mininb 3 crash --again="$(printf '%s\n' kept/* | head -n 1)" --driver="$(plugin syncer)"
	contains "$output" 'power lost'
}

@test "the report names the levels that power failures cannot test" {
	mininb 0 crash --power --driver="$(plugin syncer)" --ops=10 --rounds=1 --states=2
	contains "$output" 'Only the levels periodic and commit were tested'
	mininb 0 crash --power --driver="$(plugin syncer)" --durability=commit --ops=10 --rounds=1 \
		--states=2
	lacks "$output" 'were tested with power failures'
}

@test "the printed command repeats all options" {
	mininb 3 crash --power --driver="$(plugin syncer)" --durability=commit -o left_out=data \
		--ops=10 --rounds=1 --states=9 --path=. --hang-after=1500ms
	contains "$output" '    repeat : mininb crash '
	contains "$output" '--ops=10 --power --file-system=journalled --states=9 -o left_out=data'
	contains "$output" ' --path=. --hang-after=1.5s'
}

@test "the recorder records the calls that another preloaded library makes" {
	LD_PRELOAD=$MININB_TEST_NO_SYNCS mininb 3 crash --power --driver="$(plugin syncer)" \
		--durability=commit --ops=10 --rounds=1 --states=10
	contains "$output" 'syncer, commit, round 1: lost'
}

@test "crash restarts itself with the same arguments and LD_PRELOAD" {
	mkdir $'of\xff' # invalid UTF-8
	LD_PRELOAD=libm.so.6 mininb 0 crash --power --path=$'of\xff' --driver="$(plugin syncer)" \
		--durability=commit --ops=10 --rounds=1 --states=2
	lacks "$output" 'syncer       process'
	contains "$output" $'databases in of\xff'
	MININB_RECORDER=1 LD_PRELOAD='' mininb 1 crash --power --driver="$(plugin syncer)"
	matches "$stderr" 'libmininb-recorder.so was not loaded: LD_PRELOAD is ignored here'
}

@test "masstree at level periodic recovers a prefix after a power loss" {
	needs_engine masstree
	mininb 0 crash --power --driver=masstree -o persistent=yes -o log_segment=64KiB --threads=2 \
		--durability=periodic --rounds=3 --states=30 --file-system=posix --seed=6
	contains "$output" 'No promise was broken in 90 crashes.'
}

@test "crash --power rejects options that put files elsewhere" {
	local engine option
	while read -r engine option; do
		"$MININB" engines -d "$engine" >/dev/null 2>&1 || continue
		mininb 2 crash --power --driver="$engine" -o "$option=there" --rounds=1
		contains "$stderr" "leave out the option $option=there"
	done <<<$'faster log_dir\nmasstree log_dirs\nmasstree checkpoint_dirs'
	equals "$(ls -A)" ''
}

@test "engines open a database that lost power before its first write" {
	local engine seed file_system count=0
	while read -r engine seed file_system; do
		"$MININB" engines -d "$engine" >/dev/null 2>&1 || continue
		mininb 0 crash --power --driver="$engine" --durability=commit --ops=2 --rounds=1 \
			--states=60 --seed="$seed" --file-system="$file_system"
		contains "$output" 'No promise was broken in 60 crashes.'
		count=$((count + 1))
	done <<<$'lmdb 1 journalled\ntdb 6 journalled\nfaster 5 posix'
	((count > 0)) || skip 'none of the engines is built'
}

@test "engines recreate a database that lost power during its creation" {
	needs_engine lmdb
	needs_engine tdb
	mkdir -p nb/lmdb nb/tdb
	head -c $((2 * $(getconf PAGESIZE))) /dev/zero >nb/lmdb/data.mdb
	head -c 696 /dev/zero >nb/tdb/data.tdb
	for engine in lmdb tdb; do
		mininb 0 load -w ycsb-a --records=100 -v 100 -d $engine --force
		mininb 0 run -w ycsb-c --records=100 -v 100 -d $engine --verify-rate=1
	done
}

@test "engines never overwrite a file that is not their database" {
	needs_engine lmdb
	needs_engine tdb
	mkdir -p nb/lmdb nb/tdb
	head -c $((3 * $(getconf PAGESIZE))) /dev/zero >nb/lmdb/data.mdb
	{
		head -c 696 /dev/zero
		echo mine
	} >nb/tdb/data.tdb
	cp -r nb before
	mininb 1 load -w ycsb-a --records=100 -v 100 -d lmdb --force
	contains "$stderr" 'not an LMDB file'
	mininb 1 load -w ycsb-a --records=100 -v 100 -d tdb --force
	contains "$stderr" 'this is not a TDB database, or it is damaged'
	cmp nb/lmdb/data.mdb before/lmdb/data.mdb
	cmp nb/tdb/data.tdb before/tdb/data.tdb
}
