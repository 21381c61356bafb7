#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# Parts of one run by several processes that start together, merged into one result.
# shellcheck disable=SC2154
load helper

job='--records=500 --count=4000 --read=50 --update=50 --seed=3'

# Run shard $1 with the result file $2 and the remaining options.
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

@test "all shards together execute the operations of one process" {
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

# Decodes HdrHistogram's V2 format independently, and adds the counts of all indices.
@test "each merged histogram is the exact sum of the shards' histograms" {
	shard 0/3 0.json
	shard 1/3 1.json --threads=2
	shard 2/3 2.json
	mininb 0 merge 1.json 0.json 2.json --output=all.json
	python3 - <<-'EOF'
		import base64, json, struct, zlib

		def counts(text):
		    whole = base64.b64decode(text)
		    data = zlib.decompress(whole[8:])
		    head, size = data[:40], struct.unpack(">i", data[4:8])[0]
		    places, at, i = {}, 0, 40
		    while i < 40 + size:
		        word, shift = 0, 0
		        while True:
		            byte, i = data[i], i + 1
		            word |= (byte if shift == 56 else byte & 127) << shift
		            shift += 7
		            if byte < 128 or shift == 63:
		                break
		        number = word >> 1 ^ -(word & 1)
		        if number > 0:
		            places[at] = number
		        at += -number if number < 0 else 1
		    return head[8:], places

		def histograms(node, path=()):
		    if isinstance(node, dict) and "hdr" in node:
		        yield path, node
		    elif isinstance(node, (dict, list)):
		        items = node.items() if isinstance(node, dict) else enumerate(node)
		        for name, child in items:
		            if name in ("service", "operations", "groups", "measured") or type(name) is int:
		                yield from histograms(child, path + (name,))

		def read(name):
		    with open(name) as file:
		        return dict(histograms(json.load(file)["results"][0]))

		shards, merged = [read("%d.json" % k) for k in range(3)], read("all.json")
		assert len(merged) >= 3, merged.keys()
		for path, whole in merged.items():
		    parts = [shard[path] for shard in shards if path in shard]
		    total = {}
		    for part in parts:
		        head, places = counts(part["hdr"])
		        for place, count in places.items():
		            total[place] = total.get(place, 0) + count
		    assert counts(whole["hdr"])[1] == total, path
		    assert counts(whole["hdr"])[0] == head, path
		    assert whole["count"] == sum(total.values()), path
		    assert whole["sum_ns"] == sum(part["sum_ns"] for part in parts), path
		    assert whole["min_ns"] == min(part["min_ns"] for part in parts), path
		    assert whole["max_ns"] == max(part["max_ns"] for part in parts), path
	EOF
}

@test "shards begin at --start-at, and a note states the skew" {
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
		# not earlier, but possibly later on a busy machine
		((begun >= start * 1000000000 - 1000000))
		((begun < (start + 10) * 1000000000))
	done
	mininb 0 merge 0.json 1.json --output=all.json
	matches "$(notes_of all.json)" '(^| )shards(-apart)?( |$)'
	matches "$(<all.json)" 'first operations of 2 shards began within [0-9.]+ ms'
}

@test "a past --start-at fails before the first operation" {
	# shellcheck disable=SC2086
	mininb 1 run -d memory $job --start-at=1000000000
	contains "$stderr" 'start-at: that moment was'
	lacks "$output" 'update'
	# shellcheck disable=SC2086
	refuses "--start-at: 'soon' is not a moment" run -d memory $job --start-at=soon
	# shellcheck disable=SC2086
	refuses '--start-at: only a single run' run -d memory $job --start-at=1000000000 --sweep
}

@test "shards that ran one after another cause a serious note" {
	shard 0/2 0.json
	sleep 0.3
	shard 1/2 1.json
	mininb 0 merge 0.json 1.json --output=all.json
	contains "$(notes_of all.json)" shards-apart
	contains "$(<all.json)" 'adds up operations of different times'
}

@test "merge rejects missing, repeated or different shards" {
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
