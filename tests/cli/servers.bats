# SPDX-License-Identifier: BSD-2-Clause
# shellcheck disable=SC2154 # output and stderr are set by run
# Client engines with running servers (server.py).

load helper

setup()
{
	enter_work
	remote=$MININB_TEST_PLUGINS/remote.so
	kept=$MININB_TEST_PLUGINS/remote_kept.so
}

# Start a server at each address unix:PATH, and wait until it is ready.
serve()
{
	local address
	for address; do
		"$MININB_TEST_SERVER" "$address" >"${address#unix:}.log" 3>&- &
		pids+=($!)
	done
	for address; do
		until [[ -S ${address#unix:} ]]; do
			sleep 0.01
		done
	done
}

@test "a client without a server is rejected with a suggestion" {
	mininb 2 put -d "$remote" -c 10
	contains "$stderr" "servers: remote needs a server; name it, or several, with --servers=HOST:PORT,..."
	[[ ! -e nb ]]
}

@test "wrong addresses, and servers of an engine that is not a client, are rejected early" {
	mininb 0 keys -c 10
	mininb 2 put -d null -c 10 --servers=localhost:1
	contains "$stderr" "servers: null runs within mininb and connects to no server; omit --servers"
	mininb 2 put -d "$remote" -c 10 --servers=localhost
	contains "$stderr" "servers: 'localhost' lacks its port; use host:port, [v6]:port or unix:PATH"
	mininb 2 run -w ycsb-c -d "$remote" --servers=a:1,a:1
	contains "$stderr" "servers: 'a:1' is named twice"
	mininb 2 check -d null --servers=localhost:1 --only=put_is_found
	contains "$stderr" "servers: null runs within mininb"
	mininb 1 put -d "$remote" -c 10 --servers=localhost:1 --cold
	contains "$stderr" "cold: the data is in the memory of a server"
	[[ ! -e nb ]]
}

@test "a missing server is a failure that names its address" {
	mininb 0 keys -c 10
	mininb 1 put -d "$remote" -c 10 --servers=unix:nowhere
	contains "$stderr" "unix:nowhere: cannot connect: No such file or directory"
}

@test "a workload runs on two servers, and the result, report and rerun have their addresses" {
	serve unix:one unix:two
	mininb 0 run -w ycsb-a -d "$remote" --servers=unix:one,unix:two --set records=200 -c 300 \
		-t 2 --output=result.json
	contains "$output" "Server            : unix:one"
	equals "$(jq -c '.. | objects | .servers? // empty' result.json)" '["unix:one","unix:two"]'
	mininb 0 report result.json
	contains "$output" "Server            : unix:two"
	mininb 0 rerun result.json --quiet
}

@test "a get by another process finds the records in the server" {
	serve unix:one
	mininb 0 keys -c 100
	mininb 0 put -d "$kept" -c 100 --servers=unix:one
	mininb 0 get -d "$kept" -c 100 --servers=unix:one
	contains "$output" "Not found         : 0"
}

@test "servers with other data or in another order are rejected before the run" {
	serve unix:one unix:two
	mininb 0 load -w ycsb-c -d "$kept" --set records=400 --servers=unix:one,unix:two
	mininb 0 run -w ycsb-c -d "$kept" --set records=400 --servers=unix:one,unix:two
	mininb 3 run -w ycsb-c -d "$kept" --set records=400 --servers=unix:two,unix:one
	contains "$stderr" "of 64 records that mininb looked at before the run, 64 are missing and 0 hold other data"
	equals "$output" ''
	mininb 3 run -w ycsb-c -d "$kept" --set records=400 --set value-size=50 --servers=unix:one,unix:two
	contains "$stderr" "0 are missing and 64 hold other data"
	mininb 3 run -w ycsb-c -d "$kept" --set records=400 --servers=unix:two,unix:one --force
	contains "$output" "Action"
}

@test "get and delete of other keys are rejected before the first operation" {
	local action
	serve unix:one
	mininb 0 keys -c 400
	mininb 0 keys -c 400 -i other.bin --seed=2
	mininb 0 put -d "$kept" -c 400 --servers=unix:one
	for action in get delete; do
		mininb 3 $action -d "$kept" -c 400 -i other.bin --servers=unix:one
		contains "$stderr" "64 are missing and 0 hold other data"
		equals "$output" ''
	done
	mininb 0 get -d "$kept" -c 400 --servers=unix:one
}

@test "--fresh empties the servers" {
	serve unix:one
	mininb 0 keys -c 100
	mininb 0 put -d "$kept" -c 100 --servers=unix:one
	mininb 0 put -d "$kept" -c 10 --servers=unix:one --fresh
	mininb 3 get -d "$kept" -c 100 --servers=unix:one --force
	contains "$stderr" "90"
}
