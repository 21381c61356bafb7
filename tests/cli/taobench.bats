#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# TAOBench: its graph, its experiments and its output.
# shellcheck disable=SC2154
load helper

stepper=$MININB_TEST_PLUGINS/stepper.so

@test "a load of 20,000 edges writes 20,000 edges and 40,000 objects" {
	mininb 0 load -w taobench-o -d memory --edges=20000 --threads=3 --output=a.json
	matches "$output" 'Objects +: 40000 after \(by a scan\)'
	matches "$output" 'Edges +: 20000 after \(by a scan\)'
	equals "$(jq -c .results[0].measured.rows_after a.json)" \
		'{"how":"scan","objects":40000,"edges":20000}'
}

@test "a run reads the graph, adds rows by inserts, and reports its transaction level" {
	mininb 0 run -w taobench-a -d memory --edges=500 --duration=0s --warmup=0 -c 20000 \
		--threads=3 --verify-rate=1 --output=a.json
	matches "$output" 'Transactions +: serializable'
	contains "$output" 'tao-read-txn-257-1024'
	# The classes of read transactions, and their sum.
	local all
	all=$(jq '[.results[0].groups[0].operations[] | select(.operation | startswith("tao-read-txn"))
		| .ops] | add' a.json)
	matches "$output" "tao-read-txn +service +$all "
	# mininb reports unused names in the file once.
	equals "$(grep -c 'does not use these names, .*read_operation_latency.*read_tiers' <<<"$stderr")" 1
	# with the mix of the file, each of 20,000 operations adds 0.0416 objects on average
	local before after
	before=$(jq .results[0].measured.rows_before.objects a.json)
	after=$(jq .results[0].measured.rows_after.objects a.json)
	((before == 1000 && after - before > 700 && after - before < 950))
}

@test "sqlite has tables of objects and edges, counts their rows, and uses transactions" {
	"$MININB" engines 2>/dev/null | grep -q '^sqlite ' || skip "the plugin sqlite is not built"
	for journal in wal delete; do
		mkdir "$journal"
		(cd "$journal" && "$MININB_TEST_SQL_TABLES" sqlite '' 7 "journal=$journal")
	done
	mininb 0 load -w taobench-a -d sqlite --edges=500
	mininb 0 run -w taobench-a -d sqlite --edges=500 --duration=0s --warmup=0 -c 5000 --threads=2 \
		--verify-rate=1
	matches "$output" 'Transactions +: serializable'
	matches "$output" 'Objects +: 1000 before, 1[12][0-9]{2} after \(counted by the engine\)'
	# Another job's database has no such tables.
	mininb 0 keys -c 10
	mininb 0 put -c 10 -d sqlite --fresh
	mininb 1 run -w taobench-a -d sqlite --edges=500
	contains "$stderr" 'not a database of this job: no table objects'
}

@test "blind updates read nothing and are never refused" {
	mininb 0 run -w taobench-a -d memory --edges=500 --duration=0s --warmup=0 -c 20000 \
		--threads=2 --graph-update=blind --verify-rate=1
	[[ $output != *Refused* ]]
}

@test "--edge-range=scan scans as many edges as an object has" {
	mininb 0 run -w taobench-a -d memory --edges=2000 --duration=0s --warmup=0 -c 5000 \
		--edge-range=scan --degree=uniform:1..20 --verify-rate=1 --output=a.json
	matches "$output" 'scan +service +1[0-9]{3} '
	# Objects with more edges are read more often, so the mean exceeds that of the degrees,
	# 10.5.
	local scan='.results[0].groups[0].operations[] | select(.operation == "scan")'
	equals "$(jq "$scan | .records > 10 * .ops and .records < 20 * .ops" a.json)" true
}

@test "experiments run one after another, each with the next epoch and its own result" {
	printf '# threads,warm-up,length\n\n1,0.1,0.3\n3, 0.1, 0.3\n' >experiments.txt
	mininb 0 load -w taobench-a -d lmdb --edges=500
	mininb 0 run -w taobench-a -d lmdb --edges=500 --experiments=experiments.txt \
		--verify-rate=1 --output=a.json --format=taobench --quiet
	equals "$(jq '.results | length' a.json)" 2
	equals "$(jq -c '[.results[].groups[0].threads]' a.json)" '[1,3]'
	equals "$(jq '.results[0].measured.rows_after == .results[1].measured.rows_before' a.json)" true
	# The lines of the original program, in its order.
	local number='[0-9.e+]+' kinds=''
	for kind in INSERT READ UPDATE READTRANSACTION WRITETRANSACTION WRITE; do
		kinds+=" \[$kind: Count=[0-9]+ Max=[0-9]+\.[0-9]{2} Min=[0-9]+\.[0-9]{2} Avg=[0-9]+\.[0-9]{2}\]"
	done
	matches "$output" "Experiment description: 3 threads, 0.1 seconds \(warmup\), 0.3 seconds \(experiment\)
Total runtime \(sec\): $number
Runtime excluding warmup \(sec\): $number
Total completed operations excluding warmup: [0-9]+
Throughput excluding warmup: $number
Number of overtime operations: [0-9]+
Number of failed operations: 0
[0-9]+ operations;$kinds"
	run -0 --separate-stderr "$MININB" report --format=taobench a.json
	equals "$(grep -c '^Experiment description: ' <<<"$output")" 2
}

@test "the batch read scans all edges once, in pages, and is reported" {
	printf '1,0.1,0.3\n2,0.1,0.3\n' >experiments.txt
	mininb 0 load -w taobench-a -d lmdb --edges=1100
	mininb 0 run -w taobench-a -d lmdb --edges=1100 --experiments=experiments.txt --batch-read=yes \
		--verify-rate=1 --output=a.json --format=taobench
	contains "$output" 'num read by thread: 1100
Number of failed batch reads: 0
Done with batch read phase!
Total edges read: 1100'
	equals "$(jq -c '[.results[].measured.batch_read | .edges, .pages]' a.json)" \
		'[1100,3,null,null]'
	run -0 --separate-stderr "$MININB" report a.json
	matches "$output" 'Batch read +: 1100 edges in .*; 3 pages of 500 keys'
	# Edges that the run has added are also read.
	local edges
	edges=$(jq .results[1].measured.rows_after.edges a.json)
	mininb 0 run -w taobench-a -d lmdb --edges=1100 --epoch=2 --batch-read=yes --duration=0s \
		--warmup=0 -c 100 --output=b.json
	equals "$(jq .results[0].measured.batch_read.edges b.json)" "$edges"
	mininb 1 run -w taobench-o --driver="$stepper" --edges=100 --batch-read=yes --preconditions=no
	contains "$stderr" 'batch-read needs ordered scans, which stepper does not have'
	mininb 2 run -w ycsb-a -d memory --batch-read=yes
	contains "$stderr" 'only a social graph has edges to read'
}

@test "a status line lists the kinds of operations; a kind without operations has a huge minimum" {
	# The last line appears at the end and has operations even on a slow machine.
	mininb 0 run -w taobench-o -d memory --edges=100 --warmup=0 --duration=1s --interval=0.2s \
		--threads=1 --format=taobench
	local number='[0-9]+\.[0-9]{2}'
	matches "$output" "[0-9-]{10} [0-9:]{8} [0-9]+ sec: [0-9]+ operations;( \[INSERT: [^]]*\])? \[READ: Count=[0-9]+ Max=$number Min=$number Avg=$number\]"
	cat >read.ini <<-END
		[workload]
		graph = workload_o.json
		edges = 100
		value-size = 158
		[run]
		read = 1
		count = 1000
		threads = 1
	END
	mininb 0 run -w read.ini -d memory --format=taobench
	matches "$output" '1000 operations; \[READ: Count=1000 [^]]*\] \[WRITE: Count=0 Max=0.00 Min=17976931348623157[0-9]{200}[0-9]{92}\.00 Avg=0.00\]'
}

@test "an unknown name in the workload file causes a warning" {
	small_graph
	printf '\n%s\n' '{"name": "colours", "weights": [1]}' >>small.json
	mininb 0 run -w taobench-a --graph=./small.json -d memory --edges=60 --duration=0s --warmup=0 \
		-c 100 --quiet
	contains "$stderr" 'warning: ./small.json: ignored unknown names: colours'
}

@test "wrong experiments and files are rejected before anything runs" {
	printf '1,2\n' >experiments.txt
	mininb 2 run -w taobench-o -d memory --experiments=experiments.txt
	contains "$stderr" "experiments.txt:1: '1,2' is not THREADS,WARMUP,LENGTH"
	printf '1,2,1\n' >experiments.txt
	mininb 2 run -w taobench-o -d memory --experiments=experiments.txt
	printf '# none\n' >experiments.txt
	mininb 2 run -w taobench-o -d memory --experiments=experiments.txt
	contains "$stderr" 'has no experiment'
	mininb 2 run -w taobench-o -d memory --graph=workload_t.json
	contains "$stderr" "mininb has no workload file 'workload_t.json'"
	mininb 2 run -w taobench-o -d memory --records=5
	contains "$stderr" 'set edges'
	mininb 2 run -w taobench-o -d memory --edges=49
	contains "$stderr" 'too few for 50 shards'
}

@test "preconditions need an engine with ordered scans" {
	mininb 1 run -w taobench-o --driver="$stepper" --edges=100 --duration=0s --warmup=0 -c 1000
	contains "$stderr" 'prefix-empty needs ordered scans, which stepper does not have'
}

# The stepper has small buffers, so its graph comes from a separate file.
small_graph()
{
	sed -e '/"read_txn_sizes"/c {"name": "read_txn_sizes", "values": [2,3], "weights": [1,1]}' \
		-e '/"write_txn_sizes"/c {"name": "write_txn_sizes", "values": [2,3], "weights": [1,1]}' \
		-e '/"operations"/c {"name": "operations", "weights": [1,1,4,4]}' \
		-e '/"write_txn_operation_types"/s/"weights".*/"weights": [0,1,0,0,1,0]}/' \
		"$MININB_TEST_MAN/../workloads/taobench/workload_a.json" >small.json
}

@test "verification finds omitted writes of a transaction" {
	small_graph
	local run=(run -w taobench-a --graph=./small.json --preconditions=no --edges=60 --duration=0s
		--warmup=0 -c 5000 --threads=1 --verify-rate=1 --driver="$stepper")
	mininb 0 "${run[@]}"
	mininb 3 "${run[@]}" -o defect=torn
	matches "$stderr" '(torn|stale) [0-9]+'
}
