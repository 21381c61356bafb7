#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# Sources of operations, and the verb that executes an insert.
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
	# put replaces existing records; insert returns NB_EXISTS, which is an error for new records
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

@test "an array of keys is replayed without a reader, and repeated from its start" {
	mininb 0 keys --keys=load.u64 --klen=8 --count=1000 --seed=3
	array=(replay --driver=lmdb --path=nb --format=u64 --array --verify-rate=1)
	mininb 0 "${array[@]}" --load=load.u64 --fresh --threads=2
	contains "$output" 'load.u64, an array of 1000 keys'
	# the array gives the same keys as a reader of the same file
	mininb 0 replay --driver=lmdb --path=nb --format=u64 --trace=load.u64 --verify-rate=1
	contains "$output" 'Verified          : 1000 records: 0 wrong'
	mininb 3 replay --driver=lmdb --path=nb --format=u64 --trace=load.u64 --array \
		--key-bytes=little
	for threads in 1 2; do
		mininb 0 "${array[@]}" --load=load.u64 --trace=load.u64 --fresh --count=5000 \
			--read=30 --update=50 --read-modify-write=20 --threads=$threads \
			--output=$threads.json
		equals "$(jq -c '[.results[0].groups[].ops]' $threads.json)" '[1000,5000]'
		equals "$(jq '.results[0].groups[1].findings.verdicts | del(.good) | length' \
			$threads.json)" 0
	done
	equals "$(jq '.results[0].digest' 1.json)" "$(jq '.results[0].digest' 2.json)"
}

@test "an unsuitable array is rejected before anything is written" {
	head -c 8001 /dev/zero >long.u64
	: >empty.u64
	refused()
	{
		mininb "$1" replay --driver=lmdb --path=refused --load="$2" --array "${@:4}"
		contains "$stderr" "$3"
		[ ! -e refused ]
	}
	refused 1 none.u64 'No such file'
	refused 3 long.u64 'has 1000 keys of 8 bytes and 1 bytes more'
	refused 3 empty.u64 'holds no key of 8 bytes'
	truncate --size=8000 long.u64
	refused 2 - 'give its name'
	refused 2 long.u64 'needs a trace in the format u64, not ycsb-text' --format=ycsb-text
	refused 2 long.u64 'makes no text keys' --key-bytes=text
	mininb 2 replay --driver=lmdb --path=refused --trace=long.u64 --array --speed=1x
	contains "$stderr" 'an array has no timestamps'
	mininb 2 replay --driver=lmdb --path=refused --trace=long.u64 --array --multi-get=100
	contains "$stderr" 'has one key'
}

@test "threads with private key ranges use only their own slices" {
	private=(run --driver=lmdb --path=nb --records=1000 --key-range=private --verify-rate=1)
	mininb 0 load --driver=lmdb --path=nb --records=1000
	for threads in 1 3; do
		mininb 0 "${private[@]}" --read=40 --upsert=40 --delete=20 --threads=$threads \
			--count=20000 --output=$threads.json
		equals "$(jq -r '.results[0].groups[0].key_range' $threads.json)" private
		equals "$(jq '.results[0].groups[0].findings.verdicts | del(.good) | length' \
			$threads.json)" 0
	done
	contains "$output" "uniform keys of the thread's own slice"
	mininb 2 compare 1.json 3.json
	contains "$output$stderr" 'differing stream of operations'
	# two processes with two threads each have the same slices as four threads
	update=(--update=1 --batch=1 --distribution=latest --count=20000)
	mininb 0 load --driver=lmdb --path=nb --records=1000 --fresh
	mininb 0 "${private[@]}" "${update[@]}" --threads=2 --procs=2 --output=procs.json
	mininb 0 "${private[@]}" "${update[@]}" --threads=4 --output=threads.json
	equals "$(jq .results[0].digest procs.json)" "$(jq .results[0].digest threads.json)"
}

@test "impossible private key ranges are rejected" {
	refused()
	{
		mininb 2 "$1" --driver=lmdb --path=refused --key-range=private "${@:3}"
		contains "$stderr" "$2"
		[ ! -e refused ]
	}
	refused run 'insert adds records to no slice' --records=10 --insert=5 --read=95
	refused run '8 threads need a record each, and there are 7' --records=7 --read=1 --threads=8
	refused run '8 threads need a record each, and there are 7' --records=7 --read=1 \
		--threads=4 --procs=2
	refused run '4 threads need a record each, and there are 3' --records=100 --space=3 \
		--upsert=1 --threads=4
	echo 'READ 1' >t.txt
	refused replay 'a replay goes to the keys of its trace' --trace=t.txt
}

@test "the shards of a stream execute each operation once" {
	words=(--records=1000 --key-format=text --read=60 --update=20 --delete=20 --verify-rate=1)
	parts=()
	# a random stream and a sequential one, because threads divide them differently
	for mix in --count=20000 '--update=0 --delete=0 --count=999 --distribution=sequential'; do
		read -ra mix <<<"$mix"
		stream=("${words[@]}" "${mix[@]}")
		for shard in whole 0/3 1/3 2/3; do
			name=${shard%/3} threads=2 only=(--shard="$shard")
			[ "$shard" != whole ] || threads=6 only=()
			mininb 0 load --driver=lmdb --path="$name" --fresh "${words[@]:0:2}"
			mininb 0 run --driver=lmdb --path="$name" "${stream[@]}" "${only[@]}" \
				--threads=$threads --record="$name.mnb" --output="$name.json"
			mininb 0 convert --from="$name.mnb" --to="$name.csv" --to-format=cache-csv
			equals "$(jq '.results[0].groups[0].findings.verdicts | del(.good) | length' \
				"$name.json")" 0
			parts+=("$(jq .results[0].digest "$name.json")")
		done
		equals "$(sort whole.csv | md5sum)" "$(sort -- [012].csv | md5sum)"
		# without --record, threads divide the stream in another way
		mininb 0 run --driver=lmdb --path=1 "${stream[@]}" --threads=2 --shard=1/3 \
			--allow-missing --output=again.json
		equals "$(jq .results[0].digest again.json)" "$(jq .results[0].digest 1.json)"
	done
	# the digest of a shard is that of the whole stream
	equals "$(printf '%s\n' "${parts[@]}" | sort -u | wc -l)" 2
	contains "$output" '1/3: this part of the operations'
	equals "$(jq -r '.results[0].job.shard' 2.json)" 2/3
	mininb 2 compare 1.json 2.json
	contains "$output$stderr" 'differing shard: 1/3 (1.json), 2/3 (2.json)'
	mininb 0 merge 0.json 1.json 2.json --output=all.json
	equals "$(jq -c '.results[0] | [.job.shard, .groups[0].ops]' all.json)" '[null,999]'
}

@test "an impossible shard is rejected before anything is written" {
	refused()
	{
		mininb 2 "$1" --driver=lmdb --path=refused "${@:3}"
		contains "$stderr" "$2"
		[ ! -e refused ]
	}
	refused run 'shard 3 of 3 does not exist; they are numbered from 0 to 2' --read=1 --shard=3/3
	refused run 'is not K/N' --read=1 --shard=3
	refused run 'would have to wait for inserts of the other shards' --read=95 --insert=5 \
		--shard=0/2
	refused load 'a load writes all records' --shard=0/2
	echo 'READ 1' >t.txt
	refused replay 'is read by one process' --trace=t.txt --shard=0/2
	mininb 2 convert --from=workload:ycsb-c --to=c.txt --to-format=ycsb-text --shard=0/2
	contains "$stderr" 'a trace is made of all operations'
}

@test "a group reads exactly the keys that another group has put" {
	cat >again.ini <<-'END'
		[workload]
		records = 0
		space = 2147483648
		key-format = text
		threads = 3

		[puts]
		upsert = 1
		duration = 200ms

		[gets]
		start = after
		again = puts
		read = 1

		[deletes]
		start = after
		again = puts
		delete = 1
	END
	for engine in memory lmdb; do
		mininb 0 run --workload=./again.ini --driver=$engine --path=nb --verify-rate=1 \
			--output=out.json
		for group in 1 2; do
			equals "$(jq -c ".results[0].groups[$group] | [.again, .again_keys, .ops]" out.json)" \
				"$(jq -c '["puts", .results[0].groups[0].ops, .results[0].groups[0].ops]' out.json)"
		done
		equals "$(jq '.results[0].groups[1].findings.verdicts | keys' -c out.json)" '["good"]'
		matches "$output" 'keys of the [0-9]+ puts of puts'
	done
	# with a count, the stream and its digest are the same each time
	count=(run --workload=./again.ini --driver=memory --path=nb --puts.duration=0s --puts.count=777)
	mininb 0 "${count[@]}" --output=one.json
	mininb 0 "${count[@]}" --threads=1 --output=other.json
	equals "$(jq .results[0].digest one.json)" "$(jq .results[0].digest other.json)"
	mininb 0 "${count[@]}" --gets.count=10 --output=few.json
	equals "$(jq -c '[.results[0].groups[1] | .again_keys, .ops]' few.json)" '[777,10]'
	# shards visit the keys that they put themselves
	mininb 0 "${count[@]}" --shard=1/2 --verify-rate=1 --output=shard.json
	equals "$(jq -c '[.results[0].groups[].ops]' shard.json)" '[384,384,384]'
	equals "$(jq '.results[0].groups[1].findings.verdicts | keys' -c shard.json)" '["good"]'
	mininb 2 "${count[@]}" --puts.upsert=0 --puts.read=1 --records=5
	contains "$stderr" '[gets]: again: [puts] has to put'
}
