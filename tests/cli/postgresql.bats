#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# The plugin postgresql with a server that the tests share, and with private servers.
# shellcheck disable=SC2154,SC2030,SC2031
load helper

# The server does not run as root. If root runs the tests, it runs as nobody, in a directory that
# all users may enter.
setup_file()
{
	local programs
	programs=$(compgen -G '/usr/lib/postgresql/*/bin' | tail -1) || programs=
	export PATH=$PATH:$programs
	if ! command -v initdb >/dev/null || ! command -v psql >/dev/null ||
		! "$MININB" engines 2>/dev/null | grep -q '^postgresql '; then
		skip "initdb and psql are not installed, or their plugin is not built"
	fi
	server=$(mktemp -d /tmp/mininb-pg-XXXXXX)
	export server
	((EUID != 0)) || chown nobody "$server"
	chmod 755 "$server"
	as_nobody initdb -D "$server/data" -A trust -U mininb -E UTF8 --locale=C -N \
		>"$BATS_FILE_TMPDIR/initdb" 2>&1
	start_server
	set_to fsync off
}

as_nobody()
{
	local by=()
	((EUID != 0)) || by=(setpriv --reuid=nobody --clear-groups --)
	(cd / && exec "${by[@]}" "$@")
}

# A file stores the pid, because each test is a separate process.
start_server()
{
	as_nobody postgres -D "$server/data" -k "$server" -p 5432 -c listen_addresses= \
		-c deadlock_timeout=10ms >"$BATS_FILE_TMPDIR/log" 2>&1 3>&- &
	until sql 'SELECT 1' >/dev/null 2>&1; do
		sleep 0.05
	done
	head -1 "$server/data/postmaster.pid" >"$BATS_FILE_TMPDIR/pid"
}

stop_server()
{
	kill -"$1" "$(cat "$BATS_FILE_TMPDIR/pid")" || true
	while sql 'SELECT 1' >/dev/null 2>&1; do
		sleep 0.05
	done
}

teardown_file()
{
	if [[ -n ${server-} ]]; then
		stop_server QUIT
		rm -rf "$server"
	fi
}

sql()
{
	psql -qtA -h "$server" -U mininb postgres -c "$1"
}

# Change a setting of the server and wait until it takes effect.
set_to()
{
	sql "ALTER SYSTEM SET $1 = $2"
	sql 'SELECT pg_reload_conf()' >/dev/null
	until [[ $(sql "SHOW $1") == "$2" ]]; do
		sleep 0.02
	done
}

# Run mininb with the server, at $address.
on_server()
{
	address=unix:$server/.s.PGSQL.5432
	mininb "$@" -d postgresql --servers="$address"
}

@test "put records are found in a separate table; --fresh removes them" {
	mininb 0 keys -c 500
	on_server 0 put -c 500 --fresh
	on_server 0 get -c 500 --verify-rate=1
	contains "$output" 'Verified          : 500 of 500 (as they were read): 0 missing, 0 wrong'
	equals "$(sql 'SELECT count(*), sum(length(v)) FROM mininb.records')" '500|50000'
	on_server 0 delete -c 250
	equals "$(sql 'SELECT count(*) FROM mininb.records')" 250
	on_server 0 put -c 10 --fresh
	equals "$(sql 'SELECT count(*) FROM mininb.records')" 10
}

@test "a private server keeps the data for the next command" {
	# The server's user cannot enter the test's own directory.
	mkdir "$server/work"
	cd "$server/work" || return
	mininb 0 load -d postgresql -w ycsb-e --set records=500 --depth=16
	matches "$stderr" 'PostgreSQL [0-9.]+ .*fsync=off, full_page_writes=on'
	mininb 0 run -d postgresql -w ycsb-e --set records=500 -c 1000 --verify-rate=1
	mininb 0 run -d postgresql -w ycsb-e --set records=500 -c 100 --durability=commit
	matches "$stderr" 'fsync=on, full_page_writes=on'
	equals "$(pgrep -fc "$PWD/nb")" 0
}

@test "all kinds of requests give correct answers at each isolation" {
	cat >job.ini <<-END
		[workload]
		records = 300
		[kind transfer]
		steps = get*2, put@1
		atomic = required
		[kind look]
		steps = get*2..20
		snapshot = yes
		[kind fresh]
		steps = put-if-newer
		[run]
		transfer = 20
		look = 20
		fresh = 20
		txn-read = 10
		txn-write = 10
		batch = 10
		multi-get = 10
		read = 20
		update = 10
		scan = 5
		insert = 5
		items = 5
		count = 2000
		threads = 2
	END
	local level
	local -A levels=([read-committed]=emulated [repeatable-read]=snapshot
		[serializable]=serializable)
	for level in "${!levels[@]}"; do
		on_server 0 load -w job.ini --fresh --depth=16 -o isolation="$level"
		on_server 0 run -w job.ini --verify-rate=1 -o isolation="$level" --output=a.json
		equals "$(jq -r '.results[0].groups[0].level' a.json)" \
			"${levels[$level]}"
	done
	for level in each submit; do
		on_server 0 load -w ycsb-a --set records=300 --fresh --depth=16
		on_server 0 run -w ycsb-a --set records=300 -c 3000 --depth=16 --threads=2 \
			--verify-rate=1 -o commit=$level
	done
}

@test "a job's tables become tables of the server with correct answers" {
	local at=unix:$server/.s.PGSQL.5432
	"$MININB_TEST_SQL_TABLES" postgresql "$at" 1
	"$MININB_TEST_SQL_TABLES" postgresql "$at" 2 isolation=repeatable-read commit=submit
	"$MININB_TEST_SQL_TABLES" postgresql "$at" 3 isolation=serializable
	equals "$(sql "SELECT pg_get_constraintdef(oid) FROM pg_constraint
		WHERE conrelid = 'mininb.edges'::regclass")" 'PRIMARY KEY (id1, id2, type)'
	equals "$(sql "SELECT max(id)::numeric - min(id) >= 2^63::numeric FROM mininb.objects")" t
}

# The number of transactions that have written since the server was created.
written()
{
	sql "SELECT pg_current_xact_id()"
}

@test "each write is a transaction, unless -o selects one for all requests in flight" {
	local before after
	on_server 0 load -w ycsb-a --set records=10 --fresh
	mininb 0 keys -c 640
	before=$(written)
	on_server 0 put -c 640 --depth=64
	after=$(written)
	((after - before >= 640))
	on_server 0 put -c 640 --depth=64 --fresh -o commit=submit
	before=$after
	after=$(written)
	((after - before < 640 / 2))
	equals "$(sql 'SELECT count(*) FROM mininb.records')" 640
}

# The contract tests of Meson use the default isolation.
@test "the contract holds at the other isolations, and with one transaction for all requests" {
	local isolation
	for isolation in read-committed serializable; do
		on_server 0 check --hang-after=5m --only=request,execute,transaction -o isolation=$isolation
		contains "$output" ' 0 broken'
	done
	on_server 0 check --hang-after=5m --only=request,execute,transaction -o isolation=serializable \
		-o commit=submit
	contains "$output" ' 0 broken'
}

# The number of lock timeouts in the server's log, which other tests may also cause.
lock_timeouts()
{
	grep -c 'due to lock timeout' "$BATS_FILE_TMPDIR/log" || true
}

@test "a write that waits too long for a lock is a conflict and is repeated" {
	local writer before
	before=$(lock_timeouts)
	on_server 0 load -w ycsb-a --set records=1 --fresh
	psql -q -h "$server" -U mininb postgres -c 'BEGIN' -c 'UPDATE mininb.records SET v = v' \
		-c 'SELECT pg_sleep(600)' >/dev/null 2>&1 3>&- &
	until [[ $(sql "SELECT count(*) FROM pg_stat_activity WHERE query ~ '^SELECT pg_sleep'") == 1 ]]; do
		sleep 0.05
	done
	"$MININB" run -w ycsb-a --set records=1 -c 100 -d postgresql --servers="$address" \
		-o lock_timeout=20ms >out 2>err 3>&- &
	writer=$!
	until (($(lock_timeouts) > before)); do
		sleep 0.05
	done
	sql "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query ~ '^SELECT pg_sleep'"
	wait "$writer"
	contains "$(cat out)" 'Conflicts  '
}

@test "a schema of another program is rejected and not changed" {
	mininb 0 keys -c 10
	sql 'CREATE DATABASE theirs'
	psql -q -h "$server" -U mininb theirs -c \
		'CREATE SCHEMA mininb; CREATE TABLE mininb.records AS SELECT 7 AS a'
	on_server 1 put -c 10 --fresh -o 'conninfo=user=mininb dbname=theirs'
	contains "$stderr" "$address: the schema mininb of database theirs was not made by mininb"
	equals "$(psql -qtA -h "$server" -U mininb theirs -c 'SELECT * FROM mininb.records')" 7
}

@test "a table with other columns is rejected until --fresh" {
	mininb 0 keys -c 10
	on_server 0 put -c 10 --fresh
	sql 'ALTER TABLE mininb.records ADD more int; CREATE TABLE mininb.other(a int)'
	on_server 1 put -c 10
	contains "$stderr" 'has the columns (k bytea, v bytea, more integer), not (k bytea, v bytea)'
	on_server 0 put -c 10 --fresh
	sql 'DROP TABLE mininb.other'
}

@test "a server with settings below the level is rejected" {
	mininb 0 keys -c 10
	on_server 1 put -c 10 --durability=commit
	contains "$stderr" 'fsync is off; set it to on'
	on_server 0 put -c 10 --durability=process --fresh
	set_to fsync on
	on_server 0 put -c 10 --durability=commit
	set_to synchronous_commit off
	on_server 0 put -c 10 --durability=commit
	contains "$stderr" 'synchronous_commit=on'
	set_to full_page_writes off
	on_server 1 put -c 10 --durability=process
	contains "$stderr" 'full_page_writes is off'
	on_server 0 put -c 10 --durability=none
	contains "$stderr" 'synchronous_commit=off'
	set_to full_page_writes on
	set_to synchronous_commit on
	set_to fsync off
}

@test "a server that is killed ends the run with its address" {
	local pid status before
	on_server 0 load -w ycsb-a --set records=100 --fresh
	for depth in 1 16; do
		before=$(written)
		"$MININB" run -w ycsb-a --set records=100 --duration=1m --depth=$depth -d postgresql \
			--servers="$address" >out 2>err 3>&- &
		pid=$!
		until (($(written) > before + 100)); do
			sleep 0.05
		done
		stop_server KILL
		status=0
		wait "$pid" || status=$?
		equals "$status" 1
		matches "$(cat err)" "$address: (server closed the connection|terminating connection)"
		contains "$(cat out)" partial
		start_server
	done
}
