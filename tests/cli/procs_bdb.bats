#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# Several processes with one database of Berkeley DB: -o shared=yes.
# shellcheck disable=SC2154
load helper

bdb()
{
	local wanted=$1 action=$2
	shift 2
	mininb "$wanted" "$action" --driver=berkeleydb -w ycsb-a --records=2000 "$@"
}

# All 2000 records exist and are correct.
holds_all()
{
	bdb 0 run --set update=0 --read=100 --distribution=sequential --count=2000 \
		--verify-rate=1 "$@"
	matches "$output" 'Verified +: 2000 records: 0 wrong'
	equals "$stderr" ''
}

has_records_open()
{
	# shellcheck disable=SC2010 # /proc has no unusual file names
	ls -l "/proc/$1/fd" 2>/dev/null | grep -q 'berkeleydb/records\.db$'
}

children_have_records_open()
{
	local child count=0
	for child in $(<"/proc/$1/task/$1/children"); do
		has_records_open "$child" && count=$((count + 1))
	done
	((count == $2))
}

# Start a run that does not end by itself.
begin_endless()
{
	start run --driver=berkeleydb -w ycsb-a --records=2000 --duration=1h "$@"
	[[ -e /proc/$pid/task/$pid/children ]] || skip 'this kernel does not list children'
}

@test "several processes share a database, which is private again afterwards" {
	needs_engine berkeleydb
	bdb 0 load
	bdb 0 run --procs=3 --threads=2 --count=20000 -o shared=yes
	matches "$output" 'Processes +: 3, '
	matches "$output" '6 threads, closed loop, 20000 operations'
	matches "$output" 'Verified +: [1-9][0-9]* records: 0 wrong'
	equals "$stderr" ''
	# the last process removes the files that only a shared environment needs
	equals "$(compgen -G 'nb/berkeleydb/__db.*' || true)" ''
	holds_all
	bdb 0 run --threads=2 --count=20000
	matches "$output" '2 threads, closed loop, 20000 operations'
	bdb 0 run --procs=2 --count=20000 -o shared=yes --durability=none
	matches "$output" '2 threads, closed loop, 20000 operations'
	holds_all
	holds_all --procs=3 -o shared=yes
}

@test "processes also share a hash, and snapshots" {
	needs_engine berkeleydb
	bdb 0 load -o type=hash -o shared=yes
	bdb 0 run --procs=2 --count=10000 -o type=hash -o shared=yes -o snapshot=yes
	holds_all -o type=hash
}

@test "a database that is not shared is rejected, and the message names the option" {
	needs_engine berkeleydb
	bdb 0 load
	bdb 1 run --procs=2
	contains "$stderr" 'berkeleydb lets one process at a time have a database open'
	contains "$stderr" '-o shared=yes may allow several'
	for product in cds ds; do
		bdb 1 run --procs=2 -o shared=yes -o product=$product
		lacks "$stderr" 'shared=yes may allow'
		bdb 1 run -o shared=yes -o product=$product --threads=1
		contains "$stderr" 'shared=yes needs product=tds'
	done
	bdb 1 run --path=nowhere -o shared=yes
	[[ ! -e nowhere/berkeleydb/shared.lock ]]
}

# With another path, mininb does not see its own lock on the marker. The engine must detect the
# conflict.
by_another_path()
{
	mkdir -p beside
	ln -sfn "$PWD/nb/berkeleydb" beside/berkeleydb
	bdb "$@" --path=beside --force
}

@test "a private environment excludes every other process" {
	needs_engine berkeleydb
	bdb 0 load
	begin_endless --procs=2 -o shared=yes
	wait_until children_have_records_open "$pid" 2
	bdb 1 run --count=10
	contains "$stderr" "nb/berkeleydb: is in use by process $pid ("
	by_another_path 1 run --count=10
	contains "$stderr" 'it is open already, here or in another process'
	by_another_path 0 run --set update=0 --read=100 --count=1000 -o shared=yes
	kill -TERM "$pid"
	wait "$pid" || true
	begin_endless
	wait_until has_records_open "$pid"
	by_another_path 1 run --count=10 -o shared=yes
	contains "$stderr" 'it is open already, here or in another process'
	kill -TERM "$pid"
	wait "$pid" || true
	holds_all
}

# Kill one of three processes during a run, then check all records in a run with the options $@.
loses_nothing()
{
	local children
	begin_endless --procs=3 --threads=2 -o shared=yes --durability=process
	wait_until children_have_records_open "$pid" 3
	IFS=" " read -r -d "" -a children <"/proc/$pid/task/$pid/children" || true
	kill -KILL "${children[1]}"
	ends_with 1
	contains "$stderr" 'process 1 was ended by SIGKILL'
	holds_all "$@"
}

@test "a killed process is reported, and the next open recovers" {
	needs_engine berkeleydb
	bdb 0 load
	loses_nothing
	loses_nothing -o shared=yes
	loses_nothing --procs=2 -o shared=yes
	bdb 0 run --count=10000
}
