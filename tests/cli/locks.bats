#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# Only one run at a time uses a database.
# shellcheck disable=SC2154
load helper

# The kernel lists a lock on the marker $1 of a database.
is_locked()
{
	[[ -e $1 ]] && grep -q "FLOCK .*:$(stat -c %i "$1") " /proc/locks
}

# Start a run on the database of engine $1, named $2. It lasts until it is stopped and leaves the
# CPU to others.
start_run()
{
	start run -d "$1" --records=100 --duration=10m --rate=100 --quiet "${@:3}"
	wait_until is_locked "nb/.mininb-$2"
}

refused()
{
	mininb 1 "$@" --quiet
	contains "$stderr" "nb/$name: is in use by process $pid ($MININB run -d "
	contains "$stderr" '; wait until it ends, or name another --path'
	equals "$(wc -l <<<"$stderr")" 1
}

@test "a database in use is rejected, and its data stays" {
	local name=keeper driver=$MININB_TEST_PLUGINS/keeper.so
	mininb 0 keys -c 100
	mininb 0 load -w ycsb-a -d "$driver" --records=100
	start_run "$driver" keeper -w ycsb-a
	refused load -d "$driver" --records=10 --fresh
	refused load -d "$driver" --records=10 --fresh --force
	refused run -w ycsb-c -d "$driver" --records=100 -c 10
	refused put -d "$driver" -c 10 --fresh
	refused get -d "$driver" -c 10
	refused delete -d "$driver" -c 10
	mininb 0 convert --from=workload:ycsb-a --records=100 -c 10 --to=t.trace
	refused replay -d "$driver" --trace=t.trace
	stop TERM
	equals "$stderr" 'mininb: interrupted'
	mininb 0 run -w ycsb-c -d "$driver" --records=100 -c 1000 --verify-rate=1
}

@test "check, crash and vs work during a run, because they have their own databases" {
	local driver=$MININB_TEST_PLUGINS/keeper.so
	mininb 0 keys -c 100
	mininb 0 load -w ycsb-a -d "$driver" --records=100
	start_run "$driver" keeper -w ycsb-a
	mininb 0 check -d "$driver" --path=nb --only=put_after_delete
	mininb 0 crash -d "$driver" --path=nb --rounds=1 --durability=process
	mininb 0 vs -d "$driver,memory" --path=nb/made/here --runs=2 -c 100 -i keys.bin --force
	stop TERM
}

@test "a killed run leaves no lock behind" {
	local driver=$MININB_TEST_PLUGINS/keeper.so
	mininb 0 load -w ycsb-a -d "$driver" --records=100
	start_run "$driver" keeper -w ycsb-a
	stop KILL 137
	mininb 0 run -w ycsb-c -d "$driver" --records=100 -c 10
}

@test "the processes of one run share its lock, and other runs are rejected" {
	needs_engine lmdb
	local name=lmdb
	mininb 0 load -w ycsb-a -d lmdb --records=100
	start_run lmdb lmdb -w ycsb-a --procs=2
	refused run -w ycsb-c -d lmdb --records=100 -c 10
	stop KILL 137
	mininb 0 run -w ycsb-a -d lmdb --records=100 -c 10 --procs=2
}
