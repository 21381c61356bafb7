#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# Parts of one run by several processes that begin together, merged into one result.
# shellcheck disable=SC2154
load helper

job='--records=500 --count=4000 --read=50 --update=50 --seed=3'

# Shard $1 into the file $2, with the options after these.
shard()
{
	# shellcheck disable=SC2086
	"$MININB" run -d memory $job --shard="$1" --output="$2" --quiet "${@:3}" >/dev/null
}

notes_of()
{
	python3 -c 'import json, sys
print(*[note["id"] for note in json.load(open(sys.argv[1]))["results"][0]["notes"]])' "$1"
}

@test "all shards together are the run of one process" {
	# shellcheck disable=SC2086
	mininb 0 run -d memory $job --threads=4 --output=whole.json --quiet
	shard 0/2 0.json --threads=2
	shard 1/2 1.json --threads=2
	mininb 0 merge 1.json 0.json --output=all.json
	equals "$(value_of all.json results.0.digest)" "$(value_of whole.json results.0.digest)"
	equals "$(value_of all.json results.0.measured.ops)" 4000
	equals "$(jq '.results[0].job.shard' all.json)" null
	equals "$(jq -c '[.results[0].generators[].shard]' all.json)" '["1/2","0/2"]'
	equals "$(jq '[.results[0].generators[].ops] | add' all.json)" 4000
}

@test "shards begin at the moment that was asked for, and a note says so" {
	local start
	start=$(($(date +%s) + 20))
	shard 0/2 0.json --start-at="$start" &
	pid=$!
	shard 1/2 1.json --start-at="$start"
	wait "$pid"
	pid=
	local i begun
	for i in 0 1; do
		begun=$(value_of $i.json results.0.measured.begun_at_ns)
		# not before it, and after it as late as a busy machine may be
		((begun >= start * 1000000000 - 1000000))
		((begun < (start + 10) * 1000000000))
	done
	mininb 0 merge 0.json 1.json --output=all.json
	matches "$(notes_of all.json)" '(^| )shards(-apart)?( |$)'
	matches "$(<all.json)" 'first operations of 2 shards began within [0-9.]+ ms'
}

@test "a moment that has passed is a failure before the first operation" {
	# shellcheck disable=SC2086
	mininb 1 run -d memory $job --start-at=1000000000
	contains "$stderr" 'start-at: that moment was'
	lacks "$output" 'update'
	# shellcheck disable=SC2086
	refuses "--start-at: 'soon' is not a moment" run -d memory $job --start-at=soon
	# shellcheck disable=SC2086
	refuses '--start-at: only a single run' run -d memory $job --start-at=1000000000 --sweep
}

@test "shards that ran one after the other have a serious note" {
	shard 0/2 0.json
	sleep 0.3
	shard 1/2 1.json
	mininb 0 merge 0.json 1.json --output=all.json
	contains "$(notes_of all.json)" shards-apart
	contains "$(<all.json)" 'did not happen at the same time'
}

@test "shards that are missing, twice or of another run are refused" {
	shard 0/3 0.json
	shard 2/3 2.json
	mininb 2 merge 0.json 2.json
	contains "$stderr" 'the shards 1/3 are missing'
	cp 0.json again.json
	mininb 2 merge 0.json again.json
	contains "$stderr" 'shard 0/3 is there twice'
	shard 1/2 half.json
	mininb 2 merge 0.json half.json
	contains "$stderr" 'it is shard 1/2, and the first is 0/3'
	shard 1/3 other.json --count=5000
	mininb 2 merge 0.json other.json 2.json
	contains "$stderr" 'shard 1/3 did other operations than shard 0/3'
	# shellcheck disable=SC2086
	mininb 0 run -d memory $job --output=whole.json --quiet
	mininb 2 merge 0.json whole.json
	contains "$stderr" 'it is not a shard of 3'
}
