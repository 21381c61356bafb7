#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# rerun repeats the operations of stored result files. They use memory, which every build contains.
# tests/golden tests the output of report and compare.
# shellcheck disable=SC2154
load helper

digest_of()
{
	python3 -c 'import json, sys
print(json.load(open(sys.argv[1]))["results"][0]["digest"])' "$1"
}

# Repeat the stored results $@.
repeats()
{
	local name stored
	for name in "$@"; do
		stored=$BATS_TEST_DIRNAME/../golden/stored/$name.json
		mininb 0 rerun "$stored" "${options[@]}" --quiet --output="$name.json"
		lacks "$stderr" 'did other operations than the run that it repeats'
		equals "$name $(digest_of "$name.json")" "$name $(digest_of "$stored")"
	done
}

options=(-d memory)

@test "rerun repeats put, get and delete" {
	mininb 0 keys -c 10000
	repeats put
	mininb 0 shuffle -c 10000
	repeats get delete
}

@test "rerun repeats workloads with rates, groups and own kinds" {
	repeats load run-a run-c rate groups kinds
}

@test "rerun repeats a replay" {
	mininb 0 convert --from=workload:ycsb-a --phase=load --to=load.trace -v 100 --records=2000
	mininb 0 convert --from=workload:ycsb-a --to=run.trace -v 100 --records=2000 \
		--count=2000 --rate=10k
	repeats replay
}

@test "rerun repeats a sweep and a vs" {
	repeats sweep
	options=('-d' 'memory,memory' --durability=none)
	repeats vs
}
