#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# Workloads: listed, printed as files, and set key by key on the command line.
# shellcheck disable=SC2154,SC2016
load helper

presets='deleterandom fillrandom fillseq fptree-220w graph-read overwrite readrandom readrandomwriterandom
	readseq readwhilewriting seekrandom transfer ycsb-a ycsb-b ycsb-c ycsb-d ycsb-e ycsb-f'

# The value of key $2 in section [$1] of $output.
value_of()
{
	awk -v section="[$1]" -v key="$2" '
		/^\[/ { is_here = $0 == section }
		is_here && $1 == key { sub(/^[^=]*= ?/, ""); print }' <<<"$output"
}

@test "workloads are listed with summary and file" {
	mininb 0 workloads
	equals "$stderr" ''
	matches "$output" '^name +summary +where'$'\n'
	for preset in $presets; do
		matches "$output" $'\n'"$preset +[A-Za-z].* /[^ ]*/$preset\\.ini"
	done
	equals "$(sed 1d <<<"$output" | sort)" "$(sed 1d <<<"$output")"
}

@test "a printed workload is a file of the same workload" {
	mininb 0 workloads readwhilewriting
	contains "$output" '[workload]'
	printf '%s\n' "$output" >my.ini
	local first=$output
	mininb 0 workloads my.ini
	equals "$output" "$first"
	mininb 0 workloads "$PWD/my.ini"
	equals "$output" "$first"
}

@test "the examples in the documentation are workloads" {
	awk '/^```ini$/ { at++; is_in = 1; next } /^```$/ { is_in = 0 } is_in { print >at ".ini" }' \
		"$MININB_TEST_INCLUDE/../extra/workloads/README.md"
	mv 1.ini sessions.ini
	mininb 0 run -w sessions.ini -d memory --records=1k --duration=100ms
	contains "$output" $'\nwriters: update 80 %, insert 20 %; zipfian keys\n2 threads, 10000 ops/sec offered'
	contains "$output" $'\nreaders: read 100 %; zipfian keys\n6 threads, closed loop'
	contains "$output" $'\ncheck: scan 100 %; zipfian keys\n'
	mininb 0 run -w 2.ini -d memory --records=20 --space=40 --count=2k --verify-rate=1
	contains "$output" $'\nrun: order 80 %, restock 15 %, purge 5 %; uniform keys'
	contains "$output" 'Level             : atomic writes'
}

@test "keys are set in the order of the command line" {
	mininb 0 workloads ycsb-a --records=10M --read 90 --set update=10 --records=5M \
		--distribution=hotspot --set=run.hot-share=0.25 --duration=60s --warmup=10s
	equals "$(value_of workload records)" 5000000
	equals "$(value_of run read)" 90
	equals "$(value_of run update)" 10
	equals "$(value_of run distribution)" hotspot
	equals "$(value_of run hot-share)" 0.25
	equals "$(value_of run duration)" 1m
	equals "$(value_of run warmup)" 10s
	mininb 0 --records=7 --action=workloads --seed=3 readwhilewriting --threads=2 \
		--readers.threads=8 --writer.rate=10k --load.threads=4 --key-prefix=
	equals "$(value_of workload records)" 7
	equals "$(value_of workload seed)" 3
	equals "$(value_of readers threads)" 8
	equals "$(value_of writer threads)" 2
	equals "$(value_of writer rate)" 10k
	equals "$(value_of load threads)" 4
}

@test "options with the same meaning set keys if they are given" {
	mininb 0 workloads overwrite --klen=24 -v 1KiB -c 5k --value-ratio=0.25 -t 3 -i my.bin \
		--key-format=file
	equals "$(value_of workload key-size)" 24
	equals "$(value_of workload value-size)" 1KiB
	equals "$(value_of workload value-ratio)" 0.25
	equals "$(value_of workload keys)" my.bin
	equals "$(value_of run threads)" 3
	equals "$(value_of run count)" 5000
	mininb 0 workloads ycsb-a -v 10 --value-size=20
	equals "$(value_of workload value-size)" 20
	mininb 0 workloads ycsb-a --value-size=20 -v 10
	equals "$(value_of workload value-size)" 10
	mininb 0 workloads ycsb-a # without them, the workload's own values
	equals "$(value_of workload value-size)" 1000
	equals "$(value_of run count)" 1000
}

@test "an unknown workload names the nearest" {
	refuses "unknown workload 'ycbs-a', did you mean 'ycsb-a'?" workloads ycbs-a
	contains "$stderr" "'mininb workloads' lists all"
	refuses "unknown workload 'ycbs-a', did you mean 'ycsb-a'?" run -w ycbs-a
	refuses "unknown workload 'x'. 'mininb workloads' lists all" load --workload=x
	refuses '--workload: NAME must not be empty' run --workload=
	mininb 1 run -w ./gone.ini
	equals "$stderr" 'mininb: ./gone.ini: No such file or directory'
}

@test "a wrong key names the nearest" {
	refuses 'unknown option --recrods, did you mean --records?' run --recrods=5
	refuses 'unknown option --recrods, did you mean --records?' --recrods=5 run
	refuses 'unknown option --readers.thraeds, did you mean --readers.threads?' \
		run --readers.thraeds=5
	refuses 'unknown option --distr, did you mean --distribution?' run --distr=x
	refuses 'unknown option -records, did you mean --records?' run -records 5
	refuses 'unknown option --.read' run --.read=5
	refuses 'unknown option --recrods' put --recrods=5
	refuses "unknown key 'recrods', did you mean 'records'?" \
		run -w ycsb-a --set recrods=5
	refuses "unknown group 'reader', did you mean 'readers'?" \
		run -w readwhilewriting --reader.threads=5
	refuses "--set: 'records' is not [GROUP.]KEY=VALUE" run --set records
}

@test "a wrong value of a key names the allowed ones" {
	refuses "records: '12x': 'x' is not a suffix" run -w ycsb-a --records=12x
	refuses "distribution: 'zipfain' is not known, did you mean 'zipfian'?" \
		load -w ycsb-a --distribution=zipfain
	refuses '--threads: 2000 is too large; allowed: 1 to 1024' run -w ycsb-a --threads=2000
	refuses 'threads: 2000 is too large; allowed: 1 to 1024' run -w ycsb-a --run.threads=2000
	refuses '--records: a value is missing (--records=COUNT)' run --records
	refuses '--run.rate: a value is missing (--run.rate=RATE)' run --run.rate --threads=2
	refuses 'records: is a key of [workload]' run -w ycsb-a --run.records=5
	refuses 'count: is not a key of [load]' run -w ycsb-a --load.count=5
	refuses '[run]: the mix is empty' run
	refuses '[run]: theta: must be 0.99 for zipfian-ycsb' \
		run -w ycsb-a --distribution=zipfian-ycsb --theta=0.5
}

@test "keys are only for actions with a workload" {
	refuses "--read: keys of workloads are for the actions load, run, replay, workloads, convert, vs, matrix; the action is 'put'" \
		put --read=5
	refuses "--readers.threads: keys of workloads are for the actions load, run, replay, workloads, convert, vs, matrix; the action is 'get'" \
		--readers.threads=5 get
	refuses "--records: keys of workloads are for" keys --records 5
	equals "$(ls -A)" ''
	mininb 0 keys -c 10 -w nothing --set a=b # only a warning
}
