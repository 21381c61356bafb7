# SPDX-License-Identifier: BSD-2-Clause
# shellcheck disable=SC2154 # output and stderr are set by run
# Private servers (server.py): start, readiness, measurement and stop.

load helper

setup()
{
	enter_work
	served=$MININB_TEST_PLUGINS/served.so
	kept=$MININB_TEST_PLUGINS/served_kept.so
}

# No server that was started in this directory still runs.
nobody_is_left()
{
	for _ in {1..500}; do
		pgrep -f "server.py.*$PWD/" >/dev/null || return 0
		sleep 0.02
	done
	pgrep -af "server.py.*$PWD/"
	return 1
}

# Write a job of few operations, with standard input as its section [target].
job()
{
	printf '[workload]\nrecords = 100\nvalue-size = 10\n[target]\n' >job.ini
	cat >>job.ini
	printf '[run]\nread = 1\nupdate = 1\ncount = %s\n' "${1-200}" >>job.ini
}

@test "a client starts its own server and stops it properly" {
	mininb 0 run -w ycsb-a -d "$served" --set records=100 -c 200 -t 2
	matches "$output" 'Server  *: unix:/[^ ]*mininb-server-'
	contains "$output" "start server "
	contains "$(<nb/logs/server/latest/served.log)" "stopped in order"
	contains "$(<nb/logs/client/latest/served.log)" "$(grep -o 'Server  .*' <<<"$output")"
	nobody_is_left
	run ! compgen -G "$(sed -n 's/^Server *: unix:\(.*\)\/s$/\1/p' <<<"$output")"
}

@test "CPU and memory of servers and their children are reported separately" {
	# Two busy loops run beside two servers that answer every 10 ms.
	job 100 <<-END
		count = 2
		command = sh -c "timeout 30 sh -c 'while :; do :; done' & exec $MININB_TEST_SERVER unix:{socket}"
	END
	mininb 0 run -w ./job.ini -d "$served" --rate=100 --output=result.json --csv=table
	matches "$output" $'\nServer CPU/op *: [0-9.]+[um]s\nServer memory *: [0-9.]+MiB\n'
	jq -e '..|objects|.server//empty|.servers == 2 and .cpu_ns > 0 and .resident_bytes > 1e6' result.json
	jq -e '[..|objects|select(.usage_ns?)][0]|.server.cpu_ns > 0.05 * .usage_ns' result.json
	# The samples of the series end with the phase, like the sum, or slightly earlier.
	jq -e '[..|objects|select(.usage_ns?)][0] | .server.cpu_ns as $all |
		[.series.samples[].server] | length > 1 and all(.servers == 2) and
		all(.resident_bytes > 1e6) and ([.[].cpu_ns] | add) <= 1.1 * $all' result.json
	contains "$(head -1 table-operations.csv)" ",server_cpu_ns_op,server_resident_bytes"
	mininb 0 merge result.json result.json --output=both.json --force
	nobody_is_left
}

@test "a persistent server keeps its data for the next command; --fresh removes it" {
	mininb 0 keys -c 100
	mininb 0 put -d "$kept" -c 100
	mininb 0 get -d "$kept" -c 100
	contains "$output" "Not found         : 0"
	mininb 0 put -d "$kept" -c 10 --fresh
	mininb 3 get -d "$kept" -c 100 --force
	contains "$stderr" "90"
	nobody_is_left
}

@test "a run without a database loads one and removes it" {
	mininb 0 run -w ycsb-a -d "$kept" --set records=100 -c 200
	contains "$output" "served_kept had no database: mininb put the data before the first operation"
	mininb 0 run -w ycsb-a -d "$kept" --set records=50 -c 200
	contains "$output" "Records           : 50"
	[[ -z $(ls -A nb/served_kept) ]]
	nobody_is_left
}

@test "the automatic load has many requests in flight" {
	mininb 0 run -d net -w ycsb-c --set records=6400 -c 64
	# The server counts the batches that it reads. Single requests would be 6400 batches.
	awk '$1 == "put" { puts = $2 } $1 == "batches" { batches = $2 }
		END { exit !(puts == 6400 && batches > 0 && batches < 4000) }' nb/logs/server/latest/net.log
}

@test "data loaded by a killed run is not used as a database" {
	job <<<'count = 1'
	"$MININB" run -w ./job.ini -d "$kept" --set duration=60s --quiet >out 2>&1 3>&- &
	pid=$!
	timeout 20 bash -c "until pgrep -f 'server.py.*$PWD/' >/dev/null; do sleep 0.01; done"
	kill -KILL "$pid"
	wait "$pid" || true
	mininb 0 run -w ./job.ini -d "$kept"
	contains "$output" "served_kept had no database"
	mininb 0 keys -c 100
	mininb 0 put -d "$kept" -c 100
	lacks "$output" "the database was not new"
	nobody_is_left
}

@test "several servers share the records, and another number of servers is rejected" {
	job <<<'count = 3'
	mininb 0 load -w ./job.ini -d "$kept"
	mininb 0 run -w ./job.ini -d "$kept"
	equals "$(grep -c '^Server  ' <<<"$output")" 3
	for i in 1 2 3; do
		[[ -s nb/served_kept/server/$i/data && -s nb/logs/server/latest/served_kept-$i.log ]]
		[[ $(jq length "nb/served_kept/server/$i/data") -gt 10 ]]
	done
	mininb 1 run -w ./job.ini -d "$kept" --set target.count=2
	contains "$stderr" "the database was made with another number of servers than 2; use that count, or --fresh"
	nobody_is_left
}

@test "[target NAME] applies to one engine, [target] to all, which must be clients" {
	job <<<'cpus = 0'
	mininb 2 run -w ./job.ini -d memory
	contains "$stderr" "memory runs within mininb and connects to no server; omit [target]"
	sed -i 's/^\[target\]/[target served]/' job.ini
	mininb 0 run -w ./job.ini -d "$served,memory"
	nobody_is_left
}

@test "vs starts servers for both engines" {
	mininb 0 vs -d "$served,$kept" -w ycsb-c --set records=50 -c 100 --runs=2 --quiet
	nobody_is_left
}

@test "errors in a section are rejected before anything is written" {
	local lines message
	while IFS='|' read -r lines message; do
		job <<<"$lines"
		mininb 2 run -w ./job.ini -d "$served"
		contains "$stderr" "$message"
	done <<-'END'
		colour = red|a target has no key 'colour'
		count = 0|count: must be 1 to 256
		cpus = 0-|cpus: '0-' is not a list of CPUs
		ready = soon|ready: must be connect or output:TEXT, not 'soon'
		command = "x|command: '"x' lacks the end of a quote
		command = cat {nothing}|target: unknown placeholder {nothing}
		stop-timeout = 5 cats|stop-timeout:
		address = nowhere|target: address: 'nowhere' lacks its port
	END
	[[ ! -e nb ]]
	mininb 1 run -w ycsb-c -d "$served" --set "target.command=no-such-program {socket}" \
		--set target.package=a-package
	contains "$stderr" "no-such-program: the program is not in \$PATH; install it: apt-get install a-package, or name a running server with --servers"
	mininb 1 run -w ycsb-c -d "$served" --durability=commit --set "target.command=cat {durability}"
	contains "$stderr" "no key durability.commit says how to start a served server at that level"
	[[ ! -e nb ]]
}

@test "a section with only an address names a running server" {
	job <<<"address = unix:$PWD/socket"
	"$MININB_TEST_SERVER" "unix:$PWD/socket" >log 3>&- &
	pid=$!
	until [[ -S socket ]]; do sleep 0.01; done
	mininb 0 run -w ./job.ini -d "$served"
	contains "$output" "Server            : unix:$PWD/socket"
	contains "$output" "Server CPU/op     : not available: not sampled, since mininb did not start it"
	[[ ! -e nb/logs ]]
}

@test "a server that ends at its start is reported with its last output" {
	job <<<'command = sh -c "echo one; echo two; echo three; echo four; exit 5" {dir}'
	mininb 1 run -w ./job.ini -d "$served"
	contains "$stderr" "the served server ended with status 5 before it was ready, after it had printed: two|three|four ("
	contains "$stderr" "logs/server/"
	nobody_is_left
}

@test "a server that never gets ready and ignores its stop signal is killed" {
	job <<-END
		command = sh -c "trap '' TERM; echo hello; sleep 1000" server.py {dir}
		start-timeout = 2s
		stop-timeout = 100ms
	END
	mininb 1 run -w ./job.ini -d "$served"
	contains "$stderr" "the served server is not ready after 2s (start-timeout), after it had printed: hello ("
	nobody_is_left
}

@test "a server that ignores its stop signal is killed with a warning" {
	job <<-END
		command = $MININB_TEST_SERVER --ignore TERM unix:{socket}
		stop-timeout = 100ms
	END
	mininb 0 run -w ./job.ini -d "$served"
	contains "$stderr" "the served server did not stop within 100ms (stop-timeout), so mininb killed it"
	nobody_is_left
}

@test "a server that ends during the run causes both failures and a partial result" {
	job 100000 <<<"command = $MININB_TEST_SERVER --die-after 700 unix:{socket}"
	mininb 1 run -w ./job.ini -d "$served"
	contains "$stderr" "the server closed the connection"
	contains "$stderr" "the served server ended with status 7 during the run, after it had printed: no luck any more"
	contains "$output" "partial"
	nobody_is_left
}

@test "after kill -9 of mininb the server stops properly, and the next run waits for it" {
	mininb 0 keys -c 100
	mininb 0 put -d "$kept" -c 100
	job <<<'count = 1'
	"$MININB" run -w ./job.ini -d "$kept" --set duration=60s --quiet >out 2>&1 3>&- &
	pid=$!
	timeout 20 bash -c "until pgrep -f 'server.py.*$PWD/' >/dev/null; do sleep 0.01; done"
	kill -KILL "$pid"
	wait "$pid" || true
	mininb 0 get -d "$kept" -c 100
	contains "$output" "Not found         : 0"
	nobody_is_left
}

@test "an interrupt stops the server properly" {
	job <<<'stop-timeout = 20s'
	"$MININB" run -w ./job.ini -d "$served" --set duration=60s --set records=10 >out 2>&1 3>&- &
	pid=$!
	until grep -q '^' nb/logs/server/latest/served.log 2>/dev/null; do sleep 0.01; done
	kill -TERM "$pid"
	local status=0
	wait "$pid" || status=$?
	equals "$status" 130
	nobody_is_left
	contains "$(<nb/logs/server/latest/served.log)" "stopped in order"
}

@test "prepare runs once, ready may be an output line, and stop may be a command" {
	job <<-END
		prepare = sh -c "echo prepared >>{dir}/../count; touch {dir}/made"
		command = sh -c "test -e {dir}/made && exec $MININB_TEST_SERVER --print 'is ready' --file {dir}/data unix:{socket}"
		ready = output:is ready
		stop = pkill -TERM -f {socket}
	END
	mininb 0 run -w ./job.ini -d "$served"
	mininb 0 run -w ./job.ini -d "$served"
	equals "$(wc -l <nb/served/server/count)" 1
	contains "$(<nb/logs/server/latest/served.log)" "stopped in order"
	nobody_is_left
}

@test "join runs once with all addresses, and ports are free" {
	job <<-END
		count = 2
		command = $MININB_TEST_SERVER 127.0.0.1:{port}
		address = 127.0.0.1:{port}
		bus = yes
		join = sh -c "echo {addresses} >>{dir}/../joins"
	END
	mininb 0 run -w ./job.ini -d "$served"
	mininb 0 run -w ./job.ini -d "$served"
	matches "$(<nb/served/server/joins)" '^127.0.0.1:[0-9]+ 127.0.0.1:[0-9]+$'
	nobody_is_left
}

@test "the server gets cpus and cache, and the result stores the section" {
	job <<-END
		cpus = 0
		command = sh -c "grep Cpus_allowed_list /proc/self/status; echo {cache} {cache_mib} {sessions}; exec $MININB_TEST_SERVER unix:{socket}"
	END
	mininb 0 run -w ./job.ini -d "$served" --cache=2MiB -t 3 --output=result.json
	matches "$(<nb/logs/server/latest/served.log)" 'Cpus_allowed_list:[[:space:]]0
2097152 2 3'
	mininb 0 rerun result.json --quiet
}

@test "check shares servers, and restarts them to test persistence" {
	mininb 0 check -d "$kept" --only=put_is_found
	contains "$output" "kept    put is found"
	mininb 0 check -d "$kept" --only=reopen_finds_everything
	contains "$output" "kept    reopen finds everything"
	mininb 0 check -d "$kept" --only=databases_are_apart
	mininb 2 check -d "$MININB_TEST_PLUGINS/remote.so" --only=put_is_found
	contains "$stderr" "servers: remote needs a server"
	nobody_is_left
}

@test "crash rejects an engine with a server" {
	mininb 1 crash -d "$kept"
	contains "$stderr" "served_kept keeps its data in a server, which outlives the process that crash kills"
}
