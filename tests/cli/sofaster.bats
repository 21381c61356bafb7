#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# shellcheck disable=SC2154 # output and stderr are set by run
# The commands of SoFASTER, with the arguments in its manual, at small sizes.
load helper

compat=$BATS_TEST_DIRNAME/../../extra/compat

# Output of YCSB's binding basic: an operation $1 on each of 500 records, and two other lines.
ycsb_output()
{
	echo 'Command line: -db site.ycsb.BasicDB'
	for ((i = 1; i <= 500; i++)); do
		echo "$1 usertable user$((i * 7919)) [ field0=value ]"
	done
	echo '[OVERALL], RunTime(ms), 12'
}

# Each test has its own address, because SoFASTER always uses the same port.
serve()
{
	ip=127.$((BASHPID / 250 % 250 + 1)).$((BASHPID % 250 + 1)).1
	"$compat/sofaster-server" run --ip "$ip" --id 1 --threads 1 --logSizeGB 1 >/dev/null 3>&- &
	pid=$!
	until grep -q '^mininb: ready: ' logs/server/latest/server1.log 2>/dev/null; do
		kill -0 "$pid"
		sleep 0.05
	done
}

stop()
{
	kill -TERM "$pid"
	wait "$pid"
	pid=
}

@test "process_ycsb writes the same bytes as FASTER's" {
	printf '%s\n' 'READ usertable user6284781860667377211 [ <all fields>]' >raw_load_file
	run -0 "$compat/process_ycsb" --from raw_load_file --dest ycsb.load
	equals "$(od -An -tx1 ycsb.load)" ' 3b c6 e5 d7 cd 07 38 57'
	run -0 "$compat/process_ycsb" raw_load_file ycsb.txns
	cmp ycsb.load ycsb.txns
	echo '[OVERALL], RunTime(ms), 12' >no_load_file
	run -1 "$compat/process_ycsb" --from no_load_file --dest ycsb.load
	contains "$output" "no_load_file contains no operation of YCSB's binding basic"
	run -2 "$compat/process_ycsb" --from raw_load_file
	contains "$output" 'give --from FILE and --dest FILE'
}

@test "server and client run as in SoFASTER's manual and write logs" {
	ycsb_output INSERT >raw_load_file
	ycsb_output READ >raw_run_file
	grep -m 40 usertable raw_run_file >>raw_run_file2
	cat raw_run_file2 >>raw_run_file # 40 keys occur twice
	run -0 "$compat/process_ycsb" --from raw_load_file --dest ycsb.load
	run -0 "$compat/process_ycsb" --from raw_run_file --dest ycsb.txns
	serve
	run -0 "$compat/sofaster-ycsb" run --servers "$ip" --nKeys 500 --loadFile ycsb.load \
		--nTxns 540 --txnsFile ycsb.txns --threads 1 --duration 1
	matches "$(sed -n 1p <<<"$output")" 'Running client with 1 threads\. .* YCSB-F with 500 keys and 540 '
	matches "$(sed -n 1p <<<"$output")" ' for 1 seconds\. .* batches of 32768 B with a pipeline of size 2$'
	equals "$(grep -c 'Running client' <<<"$output")" 1
	contains "$output" 'Loading workload data from ycsb.load and ycsb.txns into memory'
	contains "$output" 'Filling data into the server'
	contains "$output" 'Filled 500 keys'
	contains "$output" 'Warming up'
	contains "$output" 'Completed Experiment'
	equals "$(value_of logs/client/latest/result.json results.0.measured.batch_bytes)" 32768
	equals "$(value_of logs/client/latest/result.json results.0.measured.depth)" 3852
	matches "$output" 'Average Throughput: [0-9.]+ Mops/sec'
	contains "$(<logs/client/latest/ycsb.log)" 'Average Throughput: '
	run -0 "$compat/sofaster-ycsb" run --servers "$ip" --nKeys 500 --loadFile ycsb.load \
		--nTxns 540 --txnsFile ycsb.txns --threads 1 --duration 1 --type YCSB-C --no-fill
	contains "$output" 'Running YCSB-C benchmark' # status 0, so no key was missing
	run -0 "$compat/sofaster-ycsb" run --servers "$ip" --nKeys 500 --nTxns 500 --threads 1 \
		--duration 1
	contains "$output" 'Generating workload keys and requests from PRNG'
	matches "$output" 'Average Throughput: [0-9.]+ Mops/sec'
	equals "$(value_of logs/client/latest/result.json results.0.measured.batch_bytes)" 32768
	equals "$(value_of logs/client/latest/result.json results.0.measured.depth)" 3852
	stop
	contains "$(<logs/server/latest/server1.log)" 'Running server with 1 worker threads'
	# tee writes the log and may end after the server.
	wait_until grep -q '^merge ' logs/server/latest/server1.log
	matches "$(<logs/server/latest/server1.log)" 'merge +[1-9]'
}

@test "wrong arguments of SoFASTER's commands are rejected" {
	run -2 "$compat/sofaster-server" run --id 1
	contains "$output" '--ip is missing'
	for wrong in x -1 40 ''; do
		run -2 "$compat/sofaster-server" run --ip 127.0.0.1 --id 1 --buckets="$wrong"
		contains "$output" "--buckets is 0 to 39, not $wrong"
	done
	run -2 "$compat/sofaster-ycsb" run --servers 127.0.0.1 --type YCSB-E
	contains "$output" '--type is YCSB-A, YCSB-B, YCSB-C, YCSB-D or YCSB-F, not E'
	run -2 "$compat/sofaster-ycsb" run --servers 127.0.0.1 --loadFile one
	contains "$output" '--loadFile and --txnsFile come together'
	run -2 "$compat/sofaster-ycsb" run --servers 127.0.0.1 --migrate 1
	contains "$output" 'the option --migrate is unknown'
	head -c 80 /dev/zero >ten.u64
	run -2 "$compat/sofaster-ycsb" run --servers 127.0.0.1 --loadFile ten.u64 --txnsFile ten.u64 \
		--nKeys 10 --nTxns 20
	contains "$output" 'ten.u64 does not have 20 keys of 8 bytes'
}
