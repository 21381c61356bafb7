#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# Where operations come from, and what an insert calls.
# shellcheck disable=SC2154
load helper

@test "threads=all is the number of CPUs that the process may use" {
	mininb 0 keys --keys=keys.bin --count=1000
	for action in put get delete; do
		mininb 0 "$action" --driver=memory --path=nb --count=1000 --threads=all \
			--allow-missing --output=out.json
		equals "$(jq '.results[0].threads' out.json)" "$(nproc)"
	done
	mininb 0 load --driver=memory --path=nb --records=1000 --threads=all --output=out.json
	equals "$(jq '.results[0].groups[0].threads' out.json)" "$(nproc)"
	run_with=(run --driver=memory --path=nb --records=1000 --read=100 --threads=all)
	first=$(taskset -c -p $$ | sed 's/.*: //; s/[-,].*//')
	taskset -c "$first" "$MININB" "${run_with[@]}" --output=one.json
	equals "$(jq '.results[0].groups[0].threads' one.json)" 1
	mininb 0 workloads ycsb-a --threads=all
	contains "$output" "threads = $(nproc)"
	mininb 2 run --driver=memory --records=1000 --threads=most
	contains "$stderr" 'most'
}

@test "inserts call put, or the engine's insert that keeps a record" {
	insert=(run --driver=lmdb --path=nb --records=1000 --insert=100 --count=500)
	mininb 0 load --driver=lmdb --path=nb --records=1000 --load.insert-verb=insert
	mininb 0 "${insert[@]}" --insert-verb=insert --output=first.json
	equals "$(jq '.results[0].groups[0].operations[0].answers.exists' first.json)" null
	equals "$(jq -r '.results[0].groups[0].insert_verb' first.json)" insert
	# put replaces what is there; insert finds it, which is wrong of new records
	mininb 0 "${insert[@]}" --output=put.json
	equals "$(jq '.results[0].groups[0] | has("insert_verb")' put.json)" false
	mininb 3 "${insert[@]}" --insert-verb=insert --output=again.json
	equals "$(jq '.results[0].groups[0].operations[0].answers.exists' again.json)" 500
	equals "$(jq '.results[0].groups[0].findings.verdicts.exists' again.json)" 500
	contains "$stderr" 'If an earlier run inserted them, use --fresh'
	equals "$(jq .results[0].digest put.json)" "$(jq .results[0].digest first.json)"
	mininb 2 compare put.json first.json
	contains "$output$stderr" 'differing verb of inserts: put'
}
