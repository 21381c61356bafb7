#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# Several engines in one command: a separate report for each, and a table at the end.
# shellcheck disable=SC2154,SC2016
load helper

# The row of engine $1 in the table at the end of $output.
row_of()
{
	sed -n '/^== all$/,$p' <<<"$output" | grep "^$1 "
}

setup_keys()
{
	mininb 0 keys -c 3000
}

@test "each engine has its report and a row in the table" {
	needs_leveldb
	setup_keys
	mininb 0 put -c 3000 --driver=leveldb,memory,null
	equals "$(grep -c '^Histogram:$' <<<"$output")" 3
	contains "$output" '== leveldb, 1 of 3'
	contains "$output" '== null, 3 of 3'
	matches "$(row_of leveldb)" $'^leveldb +[0-9]+ +[0-9]+ .*\nleveldb .* process .* done$'
	matches "$(row_of memory)" $'^memory +[0-9]+ +[0-9]+ .*\nmemory .* none .* done$'
	contains "$output" 'Durability differs'
	equals "$stderr" ''
	mininb 0 get -c 3000 --driver=leveldb,memory
	matches "$(row_of leveldb)" ' done$'
	mininb 0 delete -c 3000 --driver=leveldb
	lacks "$output" '== all'
}

@test "an engine that crashes loses only its own run" {
	setup_keys
	mininb 1 get -c 3000 --driver="null,$(plugin crashes),memory"
	# or the sanitizer's version of it
	matches "$stderr" 'crashes: SIG(SEGV|ABRT) in get, operation 0 '
	matches "$(row_of crashes)" 'SIG(SEGV|ABRT) in get, operation 0 '
	matches "$(row_of memory)" ' done$'
	matches "$(row_of null)" ' done$'
}

@test "a hanging engine is ended, and the others run" {
	setup_keys
	mininb 1 put -c 3000 --driver="$(plugin hangs),null" --hang-after=300ms
	contains "$stderr" 'hung during put'
	contains "$(row_of hangs)" 'hung during put'
	matches "$(row_of null)" ' done$'
}

@test "--hang-after also applies to a single engine" {
	setup_keys
	mininb 1 put -c 3000 --driver="$(plugin hangs)" --hang-after=300ms
	contains "$stderr" 'hung during put'
	mininb 0 put -c 3000 --driver=null --hang-after=1h
	contains "$output" 'Driver: null'
	lacks "$output" '== '
	refuses "--hang-after: " put --hang-after=10
}

@test "the table has the reason of each failure, which determines the exit status" {
	needs_leveldb
	setup_keys
	mininb 1 get -c 3000 --driver=leveldb,memory
	contains "$(row_of leveldb)" 'holds no database'
	matches "$(row_of memory)" ' done$'
	mininb 2 put -c 3000 --driver=memory,memroy
	contains "$stderr" "did you mean 'memory'"
	contains "$(row_of memroy)" 'no such engine'
	mininb 0 put -c 1000 --driver=leveldb
	mininb 3 get -c 3000 --driver=memory,leveldb
	contains "$(row_of leveldb)" '2000 of 3000 keys were not found'
}

@test "several puts need empty databases, or --fresh" {
	needs_leveldb
	setup_keys
	mininb 0 put -c 3000 --driver=leveldb
	refuses './nb/leveldb contains data' put -c 3000 --driver=memory,leveldb
	mininb 0 put -c 1000 --driver=memory,leveldb --fresh
	mininb 3 get -c 3000 --driver=leveldb
	contains "$output" 'Not found         : 2000'
	mininb 0 put -c 500 --fresh
	mininb 3 get -c 1000 --driver=leveldb
	contains "$output" 'Not found         : 500'
}

@test "a database of another program is read, and written only with --force" {
	needs_leveldb
	setup_keys
	mininb 0 put -c 100 --path=made
	mkdir nb
	cp -r made/leveldb nb/leveldb
	mininb 0 get -c 100
	for action in 'put' 'put --fresh' 'delete' 'load -w ycsb-a' 'run -w ycsb-a'; do
		read -ra words <<<"$action"
		mininb 1 "${words[@]}" -c 100
		contains "$stderr" './nb/leveldb: is not '
		contains "$stderr" 'and mininb did not make it: .mininb-leveldb is missing'
		contains "$stderr" 'use --force to do it anyway'
	done
	mininb 0 get -c 100
	mininb 1 put -c 100 --driver=leveldb,memory --fresh
	contains "$(row_of leveldb)" './nb/leveldb: is not removed'
	mininb 0 put -c 100 --force
	mininb 0 put -c 100 --fresh # --force has made it a database of mininb
}

@test "an option with an engine's name applies only to that engine" {
	needs_leveldb
	setup_keys
	mininb 0 put -c 3000 --driver=leveldb,memory -o leveldb.block_size=8KiB
	contains "$output" 'Option            : block_size=8KiB'
	mininb 0 put -c 3000 --driver=leveldb -o leveldb.block_size=16KiB
	contains "$output" 'Option            : block_size=16KiB'
	refuses "-o levedb.block_size=8KiB: 'levedb' is not one of the engines" put \
		-o levedb.block_size=8KiB
	mininb 2 put -c 3000 --driver=memory,null -o block_size=8KiB
	contains "$(row_of memory)" 'block_size'
}

@test "a list with an empty name or the same engine twice is rejected" {
	refuses "--driver: 'memory,' contains an empty name" put --driver=memory,
	refuses "--driver: ',' contains an empty name" put --driver=,
	refuses "--driver: 'null' is named twice" put --driver=null,memory,null
}

@test "vs compares two builds of one engine; writing actions reject them" {
	local builds=./old/keeper.so,./new/keeper.so action
	setup_keys
	mkdir old new
	cp "$(plugin keeper)" old
	cp "$(plugin keeper)" new
	mininb 0 vs -d "$builds" -c 100 --runs=1 --output=r.json
	contains "$output" 'put: ./new/keeper.so is '
	contains "$(<r.json)" '"path": "./old/keeper.so"'
	contains "$(<r.json)" '"path": "./new/keeper.so"'
	for action in put load delete; do
		refuses "--driver: './old/keeper.so' and './new/keeper.so' share the database ./nb/keeper; compare them with vs, or run each with its own --path" \
			"$action" -c 100 -d "$builds"
	done
	[[ ! -e nb/keeper ]]
	# reading actions may share a database: both engines get the records that one has put
	mininb 0 put -c 100 -d ./old/keeper.so
	mininb 0 get -c 100 -d "$builds"
	contains "$output" './new/keeper.so'
}

@test "a plugin whose file has a comma in its name is one engine" {
	setup_keys
	cp "$(plugin forgets)" a,b.so
	mininb 0 put -c 100 --driver=./a,b.so --verify-rate=0
	contains "$output" 'Driver: forgets'
}

@test "an interrupt ends the running engine, and the others do not start" {
	needs_leveldb
	mininb 0 keys -c 500k
	start put -c 500k -v 1000 --driver=leveldb,memory
	wait_until compgen -G 'nb/leveldb/*.ldb' >/dev/null
	stop INT
	contains "$output" Partial
	contains "$(row_of leveldb)" interrupted
	contains "$stderr" '1 of 2 engines did not run'
	lacks "$output" '== memory'
	mininb 3 get -c 500k --driver=leveldb --force # it was closed well
}

has_child()
{
	[[ -n $(<"/proc/$1/task/$1/children") ]]
}

# Start puts on an engine that hangs in $child, a child of $pid.
start_hanging()
{
	local drivers
	setup_keys
	drivers=$(plugin hangs),null # not inside start: $(...) would briefly be another child
	start put -c 3000 --driver="$drivers"
	[[ -e /proc/$pid/task/$pid/children ]] || skip 'this kernel does not list children'
	wait_until has_child "$pid"
	child=$(<"/proc/$pid/task/$pid/children")
	child=${child% }
}

@test "a child does not outlive the program" {
	start_hanging
	[[ -d /proc/$child ]]
	kill -KILL "$pid"
	wait_until test ! -e "/proc/$child"
}

@test "the signal that killed an engine is reported" {
	start_hanging
	kill -KILL "$child"
	ends_with 1
	contains "$stderr" 'killed by SIGKILL during '
}

@test "several reports to a full disk fail" {
	setup_keys
	run -1 --separate-stderr sh -c '"$1" put -c 100 -d null,memory >/dev/full' sh "$MININB"
	contains "$stderr" 'cannot be written'
}
