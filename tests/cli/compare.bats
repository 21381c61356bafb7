#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# Comparisons of result files, for people and, with gate, for scripts. tests/golden tests the output
# of compare and gate.
# shellcheck disable=SC2154
load helper

# Write a result file $1 of a put of $2 keys, with more options.
make_result()
{
	local file=$1 count=$2
	shift 2
	[[ -e keys.bin ]] || mininb 0 keys -c 3000
	mininb 0 put -d memory -c "$count" --output="$file" "$@"
}

@test "engines in one file are compared with its first engine" {
	mininb 0 keys -c 3000
	mininb 0 put -d memory,null -c 3000 --durability=none --output=all.json
	mininb 0 compare all.json
	# The machine decides which of the two is faster.
	matches "$output" '^null is [0-9.]+ (times|%) (faster|slower) than memory (in throughput|at p50)'
	matches "$output" $'\nput: null \(1 run\) against memory \(1 run\), service times\n'
	matches "$output" $'\n +memory +null +ratio +95 % CI +p\n'
}

@test "compare and gate reject wrong files and limits" {
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
	refuses "gate: 'p99' is not a limit; limits are like p99:5%" gate a.json a2.json --max-regress=p99
	refuses "gate: 'p99.99' is not a metric that both have" \
		gate a.json a2.json --max-regress=p50:5%,p99.99:5%
	refuses 'gate: --max-regress is missing' gate a.json a2.json
	refuses 'gate: needs two files' gate a.json --max-regress=p50:5%
	refuses 'gate: BASE NEW is missing' gate
	refuses "unexpected argument 'c.json'" gate a.json b.json c.json
}
