#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# The plugin mariadb with a server that the tests share, and with private servers.
# shellcheck disable=SC2154,SC2030,SC2031,SC2016
load helper

setup_file()
{
	local path=$PATH:/usr/sbin
	if ! PATH=$path command -v mariadbd >/dev/null ||
		! "$MININB" engines 2>/dev/null | grep -q '^mariadb '; then
		skip "mariadbd is not installed, or its plugin is not built"
	fi
	export server=$BATS_FILE_TMPDIR/m
	mkdir "$server"
	mariadb-install-db --no-defaults --datadir="$server/data" --user="$(id -un)" \
		--auth-root-authentication-method=normal --skip-test-db >"$server/install" 2>&1
	PATH=$path start_server
}

# A file stores the pid, because each test is a separate process.
start_server()
{
	PATH=$PATH:/usr/sbin mariadbd --no-defaults --user="$(id -un)" --datadir="$server/data" \
		--socket="$server/s" --skip-networking --pid-file="$server/mariadb.pid" \
		--skip-name-resolve --skip-log-bin --innodb-rollback-on-timeout=1 \
		--innodb-flush-log-at-trx-commit=2 >"$server/log" 2>&1 3>&- &
	echo $! >"$server/pid"
	until sql 'SELECT 1' >/dev/null 2>&1; do
		kill -0 "$(cat "$server/pid")"
		sleep 0.05
	done
}

teardown_file()
{
	if [[ -f ${server-}/pid ]]; then
		kill -KILL "$(cat "$server/pid")" || true
	fi
}

sql()
{
	mariadb --no-defaults --user=root --socket="$server/s" --skip-column-names -e "$1"
}

executed()
{
	sql 'SHOW GLOBAL STATUS LIKE "Com_stmt_execute"' | cut -f2
}

on_server()
{
	mininb "$@" -d mariadb --servers="unix:$server/s"
}

@test "put records are found in a separate table; --fresh removes them" {
	mininb 0 keys -c 500
	on_server 0 put -c 500 --fresh
	on_server 0 get -c 500 --verify-rate=1
	contains "$output" 'Verified          : 500 of 500 (as they were read): 0 missing, 0 wrong'
	equals "$(sql 'SELECT COUNT(*) FROM mininb.records')" 500
	contains "$(sql 'SHOW CREATE TABLE mininb.records')" '`k` varbinary(255)'
	on_server 0 delete -c 250
	equals "$(sql 'SELECT COUNT(*) FROM mininb.records')" 250
	on_server 0 put -c 10 --fresh
	equals "$(sql 'SELECT COUNT(*) FROM mininb.records')" 10
}

@test "requests in flight, scans and lists of steps give correct answers" {
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
		read = 20
		update = 10
		scan = 5
		insert = 5
		count = 3000
		threads = 2
	END
	on_server 0 load -w job.ini --fresh
	on_server 0 run -w job.ini --verify-rate=1 --output=a.json
	equals "$(jq -r '.results[0].groups[0].level' a.json)" snapshot
	on_server 0 load -w ycsb-b --set records=300 --fresh
	on_server 0 run -w ycsb-b --set records=300 -c 3000 --depth=16 --verify-rate=1
}

@test "a job's tables become tables of the server with correct answers" {
	"$MININB_TEST_SQL_TABLES" mariadb "unix:$server/s" 1 database=tables
	"$MININB_TEST_SQL_TABLES" mariadb "unix:$server/s" 2 database=tables isolation=serializable
	"$MININB_TEST_SQL_TABLES" mariadb "unix:$server/s" 3 database=tables isolation=read-committed
	contains "$(sql 'SHOW CREATE TABLE tables.edges')" 'PRIMARY KEY (`id1`,`id2`,`type`)'
}

@test "the command line of TAOBench loads and runs a graph in tables of the server" {
	printf '%s\n' mysqldb.dbname=graph "mysqldb.url=$server/s" mysqldb.username=root \
		mysqldb.password= mysqldb.dbport=4000 >db.properties
	printf '1,0.1,0.4\n# two\n4,0.1,0.4\n' >experiments.txt
	local taobench=$MININB_TEST_MAN/../compat/taobench
	run -0 "$taobench" -load-threads 3 -db mysql -p db.properties -c workload_a.json -load -n 300 \
		-- --quiet --output=load.json
	equals "$(jq .results[0].measured.depth load.json)" 64
	contains "$output" 'Done with batch insert phase!'
	equals "$(sql 'SELECT COUNT(*) FROM graph.objects') $(sql 'SELECT COUNT(*) FROM graph.edges')" \
		'600 300'
	run -0 "$taobench" -load-threads 48 -db mysql -p db.properties -c workload_a.json -run \
		-e experiments.txt -- --quiet --output=a.json --verify-rate=1
	equals "$(grep -c '^Number of failed operations: 0$' <<<"$output")" 2
	contains "$output" 'Experiment description: 4 threads, 0.1 seconds (warmup), 0.4 seconds (experiment)'
	# Each run starts with the rows that the previous one left; no row was lost.
	equals "$(jq -c '[.results[].measured | .rows_before, .rows_after | .how] | unique' a.json)" \
		'["engine"]'
	equals "$(jq '.results[0].measured.rows_after == .results[1].measured.rows_before' a.json)" true
	equals "$(sql 'SELECT COUNT(*) FROM graph.objects')" \
		"$(jq '.results[1].measured.rows_after.objects' a.json)"
	contains "$(sql 'SHOW CREATE TABLE graph.edges')" 'PRIMARY KEY (`id1`,`id2`,`type`)'
	contains "$(sql 'SHOW CREATE TABLE graph.objects')" '`value` varbinary(150)'
}

@test "an edge that contradicts a unique edge of a run is reported" {
	sed -e '/"operations"/s/"weights".*/"weights": [0,1,0,0]}/' \
		-e '/"write_operation_types"/s/"weights".*/"weights": [0,0,0,1,0,0]}/' \
		-e '/"edge_types"/s/"weights".*/"weights": [1,0,0,0]}/' \
		"$MININB_TEST_MAN/../workloads/taobench/workload_a.json" >unique.json
	local graph=(-w taobench-a --graph=./unique.json --edges=60 -o database=uniques)
	on_server 0 load "${graph[@]}" --fresh
	on_server 0 run "${graph[@]}" --duration=0s --warmup=0 -c 100
	matches "$output" 'Edges +: 60 before, 160 after'
	sql 'INSERT INTO uniques.edges SELECT id1, id2 + 1, 3, timestamp, value FROM uniques.edges'
	on_server 3 run "${graph[@]}" --duration=0s --warmup=0 -c 100 --epoch=1
	contains "$stderr" '100 objects have an added edge that contradicts another one'
}

# The contract tests of Meson use the default isolation.
@test "the contract holds at the other isolations" {
	local isolation
	for isolation in read-committed serializable; do
		on_server 0 check --hang-after=5m --only=transaction,scan -o isolation="$isolation"
		contains "$output" ' 0 broken'
	done
}

@test "a private server is created, started and stopped, and keeps the records" {
	mininb 0 keys -c 100
	mininb 0 put -d mariadb -c 100
	mininb 0 get -d mariadb -c 100 --verify-rate=1 --durability=process
	contains "$stderr" 'innodb_flush_log_at_trx_commit=2'
	contains "$output" 'Verified          : 100 of 100'
	mininb 0 put -d mariadb -c 100 --durability=commit --fresh
	contains "$stderr" 'innodb_flush_log_at_trx_commit=1'
	mininb 0 load -d mariadb -w ycsb-a --set records=100 --depth=16 --durability=none --fresh
	contains "$stderr" 'innodb_flush_log_at_trx_commit=0'
}

@test "two servers share the keys" {
	local two
	mkdir "$BATS_TEST_TMPDIR/two"
	server=$BATS_TEST_TMPDIR/two
	mariadb-install-db --no-defaults --datadir="$server/data" --user="$(id -un)" \
		--auth-root-authentication-method=normal --skip-test-db >install 2>&1
	start_server
	pid=$(cat "$server/pid")
	two=unix:$BATS_FILE_TMPDIR/m/s,unix:$server/s
	mininb 0 load -d mariadb --servers="$two" -w ycsb-a --set records=400 --fresh
	((150 < $(sql 'SELECT COUNT(*) FROM mininb.records')))
	mininb 0 run -d mariadb --servers="$two" -w ycsb-a --set records=400 -c 3000 --depth=8 \
		--verify-rate=1
}

@test "a database of another program is rejected and not changed" {
	mininb 0 keys -c 10
	sql 'CREATE DATABASE theirs; CREATE TABLE theirs.t(a INT); INSERT INTO theirs.t VALUES(7)'
	on_server 1 put -c 10 --fresh -o database=theirs
	contains "$stderr" "the database theirs has 1 tables but not mininb's table mininb_marker"
	equals "$(sql 'SELECT a FROM theirs.t')" 7
	equals "$(sql 'SHOW TABLES FROM theirs')" t
}

@test "tables beside those of the marker survive --fresh" {
	mininb 0 keys -c 10
	on_server 0 put -c 10 --fresh -o database=ours
	sql 'CREATE TABLE ours.t(a INT); INSERT INTO ours.t VALUES(7)'
	on_server 0 put -c 10 --fresh -o database=ours
	equals "$(sql 'SELECT a FROM ours.t')" 7
}

@test "a server with settings below the level is rejected" {
	mininb 0 keys -c 10
	on_server 1 put -c 10 --durability=commit
	contains "$stderr" 'innodb_flush_log_at_trx_commit is not 1, as it must be for commit'
	sql 'SET GLOBAL innodb_flush_log_at_trx_commit=0'
	on_server 1 put -c 10 --durability=process
	contains "$stderr" 'innodb_flush_log_at_trx_commit is 0'
	sql 'SET GLOBAL innodb_flush_log_at_trx_commit=1'
	on_server 0 put -c 10 --durability=commit --fresh
	sql 'SET GLOBAL innodb_flush_log_at_trx_commit=2'
}

@test "a user with a password and few privileges can run" {
	mininb 0 keys -c 10
	sql "CREATE USER bench@localhost IDENTIFIED BY 'secret'; GRANT ALL ON own.* TO bench@localhost"
	on_server 1 put -c 10 -o user=bench -o database=own
	contains "$stderr" "unix:$server/s: cannot connect: Access denied for user 'bench'"
	export MYSQL_PWD=secret
	on_server 0 put -c 10 -o user=bench -o database=own --output=a.json
	on_server 0 get -c 10 -o user=bench -o database=own --verify-rate=1
	lacks "$(cat a.json)" secret
}

@test "a key longer than the table's column is rejected until --fresh" {
	mininb 0 keys -c 10
	on_server 0 put -c 10 --fresh
	mininb 0 keys -k 300 -c 10 -i long.bin
	on_server 1 put -c 10 -k 300 -i long.bin
	contains "$stderr" 'has other columns than this job'
	on_server 0 put -c 10 -k 300 -i long.bin --fresh
	on_server 0 get -c 10 -k 300 -i long.bin
}

@test "a server that is killed ends the run with its address" {
	on_server 0 load -w ycsb-b --set records=100 --fresh
	before=$(executed)
	"$MININB" run -w ycsb-b --set records=100 --duration=1m --depth=16 -d mariadb \
		--servers="unix:$server/s" >out 2>err 3>&- &
	pid=$!
	until (($(executed) > before + 1000)); do
		sleep 0.05
	done
	kill -KILL "$(cat "$server/pid")"
	status=0
	wait "$pid" || status=$?
	equals "$status" 1
	contains "$(cat err)" "unix:$server/s: the server closed the connection"
	contains "$(cat out)" partial
	start_server
}
