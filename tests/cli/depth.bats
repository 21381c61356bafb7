#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# --depth and --batch-bytes: requests in flight.
# shellcheck disable=SC2154
load helper

RUN=(run --driver=memory --records=1000 --count=10000 --read=50 --update=50 --quiet)

# The number of counted operations and the digest of their stream.
operations() {
	awk '/^(read|update) / { print $1, $3 } /^Stream digest/' <<<"$output"
}

@test "each depth executes the same operations, and the report states it" {
	mininb 0 "${RUN[@]}" --verify-rate=1
	local first
	first=$(operations)
	lacks "$output" 'Batch, p50'
	lacks "$output" ', depth'
	for depth in 2 64 1000; do
		mininb 0 "${RUN[@]}" --verify-rate=1 --depth=$depth --threads=2
		equals "$(operations)" "$first"
		contains "$output" ", depth $depth,"
		contains "$output" ' 0 wrong'
		contains "$output" 'Batch, p50'
		contains "$output" "up to $depth requests of each thread were in flight"
	done
}

@test "put, get and delete report their depth in all formats" {
	mininb 0 keys --count=5000 --quiet
	for action in put get delete; do
		mininb 0 "$action" --driver=null --count=5000 --depth=32 --batch-bytes=1KiB \
			--output=$action.json --quiet
		contains "$output" \
			'Depth             : 32 requests of each thread in flight, handed over in batches of 1024 bytes'
		mininb 0 report $action.json --format=text
		contains "$output" 'Depth             : 32 requests'
		mininb 0 report $action.json --format=csv
		contains "$output" 'batch_p50_ns'
	done
}

@test "load and run use the depth of each group" {
	mininb 0 load --driver=null --records=1000 --depth=8 --quiet
	contains "$output" ', depth 8,'
	printf '[workload]\nrecords = 1000\n[a]\nread = 1\ndepth = 4\n[b]\nread = 1\n' >two.ini
	mininb 0 run --driver=memory --workload=./two.ini --count=1000 --quiet
	contains "$output" ', depth 4,'
	equals "$(grep -c ', depth ' <<<"$output")" 1
}

@test "compare reports different depths" {
	mininb 0 "${RUN[@]}" --output=one.json
	mininb 0 "${RUN[@]}" --depth=8 --output=eight.json
	mininb 2 compare one.json eight.json
	contains "$stderr" 'differing depth: 1 (one.json), 8 (eight.json)'
}

@test "impossible depths are rejected before anything is written" {
	mininb 1 run --driver=leveldb --read=1 --depth=4
	contains "$stderr" 'leveldb cannot do several requests in flight; use --depth=1'
	mininb 2 "${RUN[@]}" --depth=0
	mininb 2 "${RUN[@]}" --depth=65537
	contains "$stderr" 'allowed: 1 to 65536'
	mininb 2 "${RUN[@]}" --batch-bytes=1KiB
	contains "$stderr" 'needs a depth above 1'
	mininb 2 "${RUN[@]}" --depth=4 --batch-bytes=1KiB
	contains "$stderr" '4 requests of up to 116 bytes hold 464'
	mininb 2 "${RUN[@]}" --depth=4 --scan=1
	contains "$stderr" 'a scan cannot be a request in flight'
	mininb 2 "${RUN[@]}" --depth=4 --multi-get=1
	contains "$stderr" "a multi-get cannot be a request in flight; use --depth=1, or a kind of your own"
	mininb 2 "${RUN[@]}" --depth=4 --latency=sampled:64
	contains "$stderr" 'latency: must be each with a depth'
	mininb 0 keys --count=10 --quiet
	mininb 2 put --driver=null --count=10 --depth=4 --latency=block
	contains "$stderr" 'latency: must be each with a depth'
	printf 'READ 1\n' >trace
	mininb 2 replay --driver=memory --trace=trace --depth=4
	contains "$stderr" '--depth'
	[ ! -e nb ]
}

# A job with its own kind of operation, whose steps read and write.
kinds_job() {
	cat >kinds.ini <<-'END'
		[workload]
		records = 100
		[kind transfer]
		steps = get*2, put@1
		[kind look]
		steps = get*2..8, delete, insert
		[run]
		read = 40
		update = 20
		transfer = 30
		look = 10
		count = 20000
		threads = 2
	END
}

@test "lists of steps in flight are counted and verified as at depth 1" {
	local counts='.results[0].groups[0] | [.level, (.operations[] | [.answers[]] | add)]'
	kinds_job
	mininb 0 run --driver=memory --workload=kinds.ini --verify-rate=1 --output=one.json
	for depth in 2 64; do
		mininb 0 run --driver=memory --workload=kinds.ini --verify-rate=1 \
			--depth=$depth --output=deep.json
		equals "$(jq -c "$counts" deep.json)" "$(jq -c "$counts" one.json)"
		equals "$(jq -c '.results[0].digest' deep.json)" "$(jq -c '.results[0].digest' one.json)"
	done
}

@test "verification finds broken steps and counters with requests in flight" {
	local stepper=$MININB_TEST_PLUGINS/stepper.so
	local add=(run --path=nb --records=100 --add=90 --read=10 --count=20000 --threads=2 --depth=8)
	mininb 0 "${add[@]}" --driver="$stepper" -o defect=conflict --output=d.json
	[ "$(jq '.results[0].groups[0].operations[] | select(.operation == "add") | .answers.conflict' d.json)" -gt 1000 ]
	printf '[workload]\nrecords = 20\n[kind transfer]\nsteps = get*2, put@1\n' >torn.ini
	printf '[kind look]\nsteps = get*2..5\n[run]\ntransfer = 1\nlook = 1\ndepth = 8\n' >>torn.ini
	local torn=(run --path=nb --workload=torn.ini --count=20000 --threads=2 --verify-rate=1)
	mininb 0 "${add[@]}" --driver="$stepper" --output=a.json
	[ "$(jq '.results[0].groups[0].findings.verified' a.json)" -ge 101 ]
	mininb 3 "${add[@]}" --driver="$stepper" -o defect=lost --output=b.json
	[ "$(jq '.results[0].groups[0].findings.verdicts.wrong_sum' b.json)" -gt 1 ]
	mininb 0 "${torn[@]}" --driver="$stepper"
	mininb 3 "${torn[@]}" --driver="$stepper" -o defect=torn --output=c.json
	[ "$(jq '.results[0].groups[0].findings.verdicts.torn' c.json)" -gt 0 ]
	mininb 1 "${torn[@]}" --driver="$stepper" -o defect=unsupported
	contains "$stderr" 'the engine does not execute these steps; use --depth=1'
}

@test "single additions and lists of additions are in flight together" {
	local stepper=$MININB_TEST_PLUGINS/stepper.so
	cat >adds.ini <<-'END'
		[workload]
		records = 100
		[kind pair]
		steps = get, add*2
		[run]
		add = 50
		pair = 30
		read = 20
		count = 20000
		threads = 2
		depth = 8
	END
	local run=(run --path=nb --workload=adds.ini --driver="$stepper" --verify-rate=1)
	for defect in none conflict; do
		mininb 0 "${run[@]}" -o defect=$defect --output=$defect.json
		equals "$(jq -c '[.results[0].groups[0].operations[] | [.operation, .answers.ok]]' $defect.json)" \
			'[["read",4000],["add",10000],["pair",6000]]'
	done
	mininb 3 "${run[@]}" -o defect=lost
	contains "$stderr" 'wrong sum'
}

@test "an engine that cannot execute steps as one request is rejected" {
	needs_engine fptree
	kinds_job
	mininb 1 run --driver=fptree --workload=kinds.ini --depth=4
	contains "$stderr" 'fptree cannot do the steps of transfer as one request (calls = auto); use --depth=1'
	sed -i 's/^steps = get\*2, put@1/&\ncalls = single/' kinds.ini
	mininb 1 run --driver=memory --workload=kinds.ini --depth=4
	contains "$stderr" 'memory cannot do the steps of transfer as one request (calls = single)'
	[ ! -e nb ]
}

@test "a group in flight reads all records that another group put in flight" {
	printf '[workload]\nrecords = 0\nspace = 1M\nthreads = 3\ndepth = 16\n' >again.ini
	printf '[puts]\nupsert = 1\nduration = 100ms\n[gets]\nstart = after\nagain = puts\nread = 1\n' >>again.ini
	mininb 0 run --driver=memory --workload=./again.ini --verify-rate=1 --output=again.json
	equals "$(jq '.results[0].groups[1].ops' again.json)" "$(jq '.results[0].groups[0].ops' again.json)"
	equals "$(jq -c '.results[0].groups[1].findings.verdicts | keys' again.json)" '["good"]'
}

@test "processes, groups with a rate and sweeps have requests in flight" {
	mininb 0 run --driver=null --records=1000 --read=1 --add=1 --value-size=8 --count=10000 \
		--procs=2 --threads=2 --depth=16 --output=procs.json
	equals "$(jq -c '.results[0].groups[0] | [.depth, .threads, (.operations | map(.answers.ok) | add)]' \
		procs.json)" '[16,4,10000]'
	mininb 0 run --driver=memory --records=1000 --read=1 --update=1 --count=2000 --depth=16 \
		--rate=100k --arrivals=poisson --verify-rate=1 --output=rate.json
	equals "$(jq -c '.results[0].groups[0].operations | map(.answers.ok) | add' rate.json)" 2000
	mininb 0 run --driver=null --records=1000 --read=1 --duration=50ms --depth=8 \
		--sweep --output=sweep.json
	equals "$(jq -c '[.results[].groups[0].depth] | unique' sweep.json)" '[8]'
}
