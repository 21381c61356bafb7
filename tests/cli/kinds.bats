#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# Kinds of operations that a job defines, and counters.
# shellcheck disable=SC2154
load helper

stepper=$MININB_TEST_PLUGINS/stepper.so

job_with() {
	cat >job.ini <<-END
		[workload]
		records = 20
		[kind transfer]
		steps = get*2, put@1
		$1
		[kind look]
		steps = get*2..5
		[run]
		transfer = 50
		look = 50
		count = 20000
		threads = 2
	END
}

@test "a job's own kinds are counted, reported and compared by name, with their level" {
	job_with ''
	local run=(run --workload=job.ini --path=nb --driver="$stepper")
	mininb 0 "${run[@]}" --output=a.json --verify-rate=1
	equals "$(jq -r '.results[0].kinds | join(" ")' a.json)" 'add transfer look'
	equals "$(jq -c '[.results[0].groups[0].operations[] | .operation, .answers.ok]' a.json)" \
		'["transfer",10000,"look",10000]'
	equals "$(jq -r '.results[0].groups[0].level' a.json)" serializable
	equals "$(jq -r '.results[0].groups[0].mix.look' a.json)" 50
	mininb 0 report a.json
	matches "$output" $'\nLevel +: serializable\n'
	matches "$output" $'\ntransfer +service +10000 '
	mininb 0 report --format=csv a.json
	contains "$output" ',look,'
	# without begin, commit, multi_get and batch, mininb uses single verbs
	mininb 0 "${run[@]}" -o defect=unsupported --output=b.json
	equals "$(jq -r '.results[0].groups[0].level' b.json)" emulated
	equals "$(jq -r '.results[0].digest' a.json)" "$(jq -r '.results[0].digest' b.json)"
	mininb 2 compare a.json b.json
	contains "$output$stderr" 'level of operations of several steps'
	mininb 0 "${run[@]}" --output=c.json
	mininb 0 merge --output=ac.json a.json c.json
	equals "$(jq '.results[0].groups[0].operations[1].answers.ok' ac.json)" 20000
}

@test "atomic = required rejects an engine that can only emulate" {
	job_with 'atomic = required'
	mininb 0 run --workload=job.ini --path=nb --driver="$stepper"
	mininb 1 run --workload=job.ini --path=nb --driver="$stepper" -o defect=unsupported
	contains "$stderr" 'can only do its steps one by one'
	needs_engine gdbm
	needs_leveldb
	mininb 1 run --workload=job.ini --path=nb --driver=gdbm,leveldb
}

@test "an operation that reads what it wrote itself is not a finding" {
	cat >job.ini <<-END
		[workload]
		records = 50
		space = 80
		[kind twice]
		steps = get*2, put@1, get@1
		[kind renew]
		steps = put*1..3, get, delete, get@3, insert@3, get@3
		[kind newer]
		steps = put-if-newer, get@1
		[run]
		twice = 50
		renew = 30
		newer = 20
		count = 5000
		threads = 2
	END
	mininb 0 run --workload=job.ini --path=nb --driver=memory --verify-rate=1 --output=a.json
	equals "$(jq -r '.results[0].groups[0].level' a.json)" serializable
	mininb 0 run --workload=job.ini --path=nb --driver=memory --verify-rate=1 --threads=1
	# leveldb executes steps one by one, with other writes between them
	mininb 0 load --workload=job.ini --path=nb --driver=leveldb
	mininb 0 run --workload=job.ini --path=nb --driver=leveldb --verify-rate=1 --output=b.json
	equals "$(jq -r '.results[0].groups[0].level' b.json)" emulated
}

@test "a kind that only reads opens the database to read" {
	printf '[workload]\nrecords = 20\n[kind look]\nsteps = get*2..5\n[run]\nlook = 1\n' >job.ini
	mininb 0 load --workload=job.ini --path=nb --driver=lmdb
	mininb 0 run --workload=job.ini --path=nb --driver=lmdb
	matches "$output" $'\nPhases .* run '
	lacks "$output" ' settle '
}

@test "verification finds a transaction that was written in part" {
	job_with ''
	mininb 3 run --workload=job.ini --path=nb --driver="$stepper" -o defect=torn \
		--verify-rate=1 --output=a.json
	[ "$(jq '.results[0].groups[0].findings.verdicts.torn' a.json)" -gt 0 ]
	contains "$output$stderr" torn
}

# The kinds of findings of two threads; each operation reads two of twenty records and writes one.
findings_of() {
	cat >skew.ini <<-END
		[workload]
		records = 20
		[kind check]
		steps = get, get, put@1
		[run]
		check = 1
		count = 10000
		threads = 2
	END
	mininb "$1" run --workload=skew.ini --path=nb --driver="$stepper" -o defect="$2" \
		--verify-rate=1 --output=a.json
	jq -r '.results[0].groups[0].findings.verdicts | del(.good) | keys | join(" ")' a.json
}

@test "verification finds lost updates and write skew of a serializable engine" {
	equals "$(findings_of 0 none)" ''
	equals "$(findings_of 3 skew)" write_skew
	mininb 0 report a.json
	contains "$output" ': write skew, read version '
	contains "$(findings_of 3 overwritten)" lost_update
}

@test "verification finds a read of half a transaction" {
	job_with ''
	mininb 3 run --workload=job.ini --path=nb --driver="$stepper" -o defect=half_seen \
		--verify-rate=1 --output=a.json
	[ "$(jq '.results[0].groups[0].findings.verdicts.torn' a.json)" -gt 0 ]
}

@test "verification finds lost additions to counters" {
	local run=(run --path=nb --records=100 --add=90 --read=10 --count=20000 --threads=2)
	mininb 0 "${run[@]}" --driver="$stepper" --output=a.json
	mininb 0 report a.json
	matches "$output" $'\nValues +: 8 bytes'
	# 1 sum over all records, 100 counters, and the reads of the sample
	[ "$(jq '.results[0].groups[0].findings.verified' a.json)" -ge 101 ]
	mininb 3 "${run[@]}" --driver="$stepper" -o defect=lost --output=b.json
	[ "$(jq '.results[0].groups[0].findings.verdicts.wrong_sum' b.json)" -gt 1 ]
	contains "$output$stderr" 'wrong sum: grew by'
}

@test "verification of counters counts only the additions of this run" {
	local run=(run --path=nb --driver=lmdb --records=100 --add=100 --count=2000)
	mininb 0 load --path=nb --driver=lmdb --records=100 --add=100
	mininb 0 "${run[@]}"
	mininb 0 "${run[@]}" --output=a.json
	equals "$(jq '.results[0].groups[0].findings.verified' a.json)" 101
}

@test "a job selects the calls that execute its steps" {
	local calls level
	while read -r calls level; do
		cat >job.ini <<-END
			[workload]
			records = 100
			[kind purge]
			steps = delete*2..10
			calls = $calls
			[kind fill]
			steps = put*1..20
			calls = $calls
			[run]
			purge = 50
			fill = 50
			count = 2000
		END
		mininb 0 load --workload=job.ini --path=nb --driver=lmdb --fresh
		mininb 0 run --workload=job.ini --path=nb --driver=lmdb --verify-rate=1 \
			--output="$calls.json"
		equals "$calls $(jq -r '.results[0].groups[0].level' "$calls.json")" "$calls $level"
		mininb 0 workloads ./job.ini
		contains "$output" $'\ncalls = '"$calls"$'\n'
	done <<-'END'
		execute serializable
		transaction serializable
		batch atomic writes
		single emulated
	END
	equals "$(jq -r .results[0].digest execute.json)" "$(jq -r .results[0].digest batch.json)"
	sed -i 's/^calls = .*/calls = batch/' job.ini
	mininb 1 run --workload=job.ini --path=nb --driver="$stepper"
	contains "$stderr" 'stepper cannot do these steps with calls = batch'
}

@test "kinds with atomic = no do not affect the level" {
	cat >job.ini <<-END
		[workload]
		records = 20
		[kind look]
		steps = get*2..5
		[kind loose]
		steps = put*1..4
		atomic = no
		[kind single]
		steps = put*1..4
		calls = single
		[run]
		look = 50
		loose = 50
		count = 20000
		threads = 2
	END
	local run=(run --workload=job.ini --path=nb --driver=memory --verify-rate=1)
	mininb 0 "${run[@]}" --output=a.json
	equals "$(jq -r '.results[0].groups[0].level' a.json)" serializable
	mininb 0 "${run[@]}" --set run.single=50 --set run.loose=0 --output=b.json
	equals "$(jq -r '.results[0].groups[0].level' b.json)" emulated
}

@test "wrong kinds are rejected with the allowed values" {
	local bad
	while IFS='|' read -r bad said; do
		printf '[workload]\nrecords = 10\n%b\n[run]\nread = 1\n' "$bad" >job.ini
		mininb 2 run --workload=job.ini --path=nb --driver=memory
		contains "$stderr" "$said"
	done <<-'END'
		[kind look]\nsteps = get\ncalls = all|allowed: auto, execute, transaction, batch, single
		[kind look]\nsteps = gte|unknown step 'gte', did you mean 'get'?
		[kind look]\nsteps = get@1|comes the number of a step before it
		[kind look]\nsteps = get*0|a number or a range of 1 to 1024
		[kind look]\nsteps = get:5|only add takes a number
		[kind look]\nstep = get|has no key 'step'
		[kind look]\natomic = yes|a kind has 1 to 16 steps
		[kind read]\nsteps = get|the name is taken
		[kind look]\nsteps = get*600, put*600|allowed: 1024
	END
	printf '[workload]\nrecords = 9\n[kind look]\nsteps = prefix-empty\n[run]\nlook = 1\n' >job.ini
	mininb 1 run --workload=job.ini --path=nb --driver="$stepper"
	contains "$stderr" 'prefix-empty needs ordered scans, which stepper does not have'
	mininb 2 run --path=nb --driver=memory --records=10 --add=1 --update=1
	contains "$stderr" 'a job with add keeps counters'
}
