#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# Result files against each other.
# shellcheck disable=SC2154
load helper

# A result file $1 of a put of $2 keys with the options behind.
make_result()
{
	local file=$1 count=$2
	shift 2
	[[ -e keys.bin ]] || mininb 0 keys -c 3000
	mininb 0 put -d memory -c "$count" --output="$file" "$@"
}

@test "two files of an engine are told apart by their names" {
	make_result a.json 3000
	make_result b.json 3000
	mininb 0 compare a.json b.json
	equals "$stderr" ''
	matches "$output" ' than a.json (in throughput|at p[0-9]+)'
	contains "$output" 'put memory: b.json (1 run) against a.json (1 run), service times'
	contains "$(tr -s '\n ' '  ' <<<"$output")" \
		'One run each, so the variation is not known; repeat them, or use mininb vs.'
	matches "$output" $'\nthroughput ops/s +[0-9]+ +[0-9]+ +[0-9.]+ *\n'
	matches "$output" $'\np99 us +[0-9.]+ +[0-9.]+ +[0-9.]+ *\n'
	contains "$output" 'Too few operations for p99.9, p99.99.'
	equals "$(awk 'length > 80' <<<"$output")" ''
}

@test "engines of one file are compared with its first" {
	mininb 0 keys -c 3000
	mininb 0 put -d memory,null -c 3000 --durability=none --output=all.json
	mininb 0 compare all.json
	# Which of the two is faster is the machine's business.
	matches "$output" '^null is [0-9.]+ (times|%) (faster|slower) than memory (in throughput|at p50)'
	matches "$output" $'\nput: null \(1 run\) against memory \(1 run\), service times\n'
	matches "$output" $'\n +memory +null +ratio +95 % CI +p\n'
}

@test "a comparison as Markdown and as JSON" {
	make_result a.json 3000
	make_result b.json 3000
	mininb 0 compare a.json b.json --format=md
	contains "$output" '|  | a.json | b.json | ratio | 95 % CI | p |'
	mininb 0 compare a.json b.json --format=json
	run python3 -c 'import json, sys; print([m["name"] for m in
		json.load(sys.stdin)["comparisons"][0]["metrics"]])' <<<"$output"
	equals "$output" "['throughput', 'settled', 'p50', 'p90', 'p99']"
}

@test "what cannot be ranked is refused, and compared by force" {
	make_result a.json 3000
	make_result b.json 2000 -v 10
	mininb 2 compare a.json b.json
	equals "$output" ''
	contains "$stderr" 'these results cannot be ranked: differing value size: 100 (a.json), 10 (b.json)'
	contains "$stderr" 'differing number of records: 3000 (a.json), 2000 (b.json)'
	contains "$stderr" 'stream of operations'
	mininb 0 compare a.json b.json --force
	matches "$output" '^NOT COMPARABLE: differing value size: 100 \(a.json\), 10 \(b.json\)'
	contains "$output" 'in throughput'
}

@test "files that make no sense" {
	make_result a.json 3000
	refuses 'compare: FILE... is missing' compare
	refuses 'there is nothing to compare: all runs are of memory, put' compare a.json
	refuses 'a.json is named twice' compare a.json a.json
	refuses 'a.json and ./a.json are the same file' compare a.json ./a.json
	cp a.json a2.json
	refuses 'the confidence must be above 0.5 and below 1, not 0.3' compare a.json a2.json --confidence=0.3
	mininb 1 compare a.json missing.json
	contains "$stderr" 'missing.json'
	echo '{' >broken.json
	mininb 3 compare a.json broken.json
	contains "$stderr" 'broken.json'
	equals "$output" ''
}
