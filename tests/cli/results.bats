#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# Result files: written, reported, merged, repeated, and judged by --strict.
# shellcheck disable=SC2154,SC2016,SC2030,SC2031
load helper

# Run 3000 puts with a result file $1 and more options. The text report is in $1.txt.
put_into()
{
	local file=$1
	shift
	[[ -f keys.bin ]] || "$MININB" keys -c 3000 --quiet
	mininb 0 put -c 3000 --driver=memory --quiet --output="$file" "$@"
	printf '%s\n' "$output" >"$file.txt"
}

# Run mininb "$@", which exits with $1. report must print the result file r.json as the run did.
prints_again()
{
	local printed
	mininb "$@" --quiet --output=r.json
	printed=$output
	mininb 0 report r.json
	equals "$output" "$printed"
}

@test "report prints the same text as the run" {
	local job=(--read=1 --records=1000 --driver=memory)
	mininb 0 keys -c 3000
	prints_again 0 put -c 3000 --driver=memory
	equals "$(value_of r.json format)" mininb-result
	equals "$(value_of r.json version)" 1
	equals "$(value_of r.json command.action)" put
	prints_again 0 load --driver=memory --workload=ycsb-a --records=2000
	prints_again 0 run "${job[@]}" --duration=300ms --interval=100ms --rate=20k
	matches "$output" '^ seconds '
	prints_again 0 put -c 3000 --driver=memory,null
	equals "$(value_of r.json results.1.driver)" null
	prints_again 1 put -c 3000 --driver="memory,$(plugin crashes)"
	contains "$output" '== crashes, 2 of 2'
	mininb 1 put -c 3000 --driver=memory,/nowhere/x.so --quiet --output=one.json
	equals "$(value_of one.json results.1.driver)" x
	contains "$(value_of one.json results.1.end)" /nowhere/x.so
	prints_again 0 run "${job[@]}" --duration=50ms --sweep
	matches "$(value_of r.json results.1.label)" '^at [0-9]+ ops/s$'
	prints_again 0 run "${job[@]}" --driver=memory,null --duration=20ms --sweep
	equals "$(grep -c '^Capacity: ' <<<"$output")" 2
	matches "$(value_of r.json results.0.sweep.points.9.share)" '^0\.9(49|5)'
	equals "$(value_of r.json results.1.sweep)" None
	equals "$(value_of r.json results.11.driver)" null
	matches "$(value_of r.json results.11.sweep.points.9.share)" '^0\.9(49|5)'
	mininb 0 report r.json r.json
	equals "$(grep -c '^Capacity: ' <<<"$output")" 4
	equals "$(grep -c 'Stream digest' <<<"$output")" 4
	# a search in which no rate satisfied the limit
	prints_again 4 run "${job[@]}" --driver=memory,null --duration=2ms --slo='max<1ns'
}

@test "--output=- prints only the result file on stdout" {
	"$MININB" keys -c 3000 --quiet
	mininb 0 put -c 3000 --driver=memory --output=-
	printf '%s\n' "$output" >x.json
	equals "$(value_of x.json command.action)" put
	mininb 0 run --driver=memory,null --read=1 --records=1000 --count=1000 --output=-
	printf '%s\n' "$output" >y.json
	equals "$(value_of y.json results.1.driver)" null
}

# mininb "$@" prints only its result on stdout, although the engine prints, too.
prints_one_result()
{
	mininb 0 "$@"
	printf '%s\n' "$output" >document.json
	equals "$(value_of document.json results.0.driver)" faulty
	contains "$stderr" 'line of the engine'
	contains "$stderr" 'bytes of it'
}

@test "--output=- stays valid if an engine prints" {
	local printing=(--driver="$MININB_TEST_PLUGINS/faulty.so" -o how=print)
	mininb 0 keys -c 10
	for verb in open put close; do
		prints_one_result put -c 10 "${printing[@]}" -o "verb=$verb" --output=-
	done
	prints_one_result run --read=1 --records=10 -c 10 "${printing[@]}" -o verb=get --output=-
	prints_one_result run --read=1 --records=10 -c 10 --procs=2 "${printing[@]}" -o verb=get \
		--output=-
	mininb 0 put -c 10 --driver="$MININB_TEST_PLUGINS/faulty.so,null" -o faulty.how=print \
		-o faulty.verb=open --output=-
	printf '%s\n' "$output" >document.json
	equals "$(value_of document.json results.1.driver)" null
}

@test "/dev/stdout is the standard output of the command" {
	"$MININB" keys -c 10 --quiet
	mininb 0 put -c 10 --driver=memory --hlog=/dev/stdout
	contains "$output" '#[Histogram log format version'
	local words=(convert --from=workload:ycsb-a --records=10 --phase=load --to=/dev/stdout
		--to-format=cache-csv)
	mininb 0 "${words[@]}"
	contains "$output" user
	"$MININB" "${words[@]}" >to.txt 2>said.txt
	contains "$(<to.txt)" user
	lacks "$(<said.txt)" user
}

@test "report reads stdin and writes to a file" {
	put_into a.json
	"$MININB" report - <a.json >again.txt
	equals "$(cat again.txt)" "$(cat a.json.txt)"
	mininb 0 report --format=json -o b.json a.json
	equals "$output" ''
	cmp a.json b.json
	mininb 0 report a.json --csv=table --hlog=a.hlog
	equals "$output" ''
	[[ -s table-operations.csv && -s a.hlog ]]
}

@test "every format in the help can be written" {
	put_into a.json
	local formats
	formats=$("$MININB" --help | tr -d ' \n' | sed 's/.*formatofthereport:\([a-z|]*\).*/\1/; s/|/ /g')
	contains "$formats" html
	for format in $formats; do
		mininb 0 report --format="$format" a.json
		[[ -n $output ]]
	done
	refuses "--format: 'docx' is not known" report --format=docx a.json
}

@test "report rejects a file that is not a result" {
	put_into a.json
	head -c 700 a.json >short.json
	mininb 3 report short.json
	matches "$stderr" '^mininb: short.json'
	equals "$output" ''
	echo '{"format": "other"}' >other.json
	mininb 3 report a.json other.json
	matches "$stderr" '^mininb: other.json'
	equals "$output" ''
	mininb 1 report none.json
	contains "$stderr" none.json
	refuses 'report: FILE... is missing' report
	sed 's/"version": 1/"version": 99/' a.json >newer.json
	mininb 3 report newer.json
	contains "$stderr" newer
}

@test "a file that cannot be written is reported before anything runs" {
	mininb 0 keys -c 100
	local file
	for file in none/x.json none/ .; do
		mininb 1 put -c 100 --driver=memory --output=$file
		equals "$output" ''
		contains "$stderr" '--output: '
	done
	mininb 2 put -c 100 --driver=memory --output=a.json --hlog=a.json
	contains "$stderr" 'same file'
	[[ ! -e a.json ]]
}

@test "an old file stays until the new one is complete" {
	[[ -w /dev/full ]] || skip '/dev/full is missing'
	put_into a.json
	local before
	before=$(cat a.json)
	mininb 1 report --format=json a.json -o none/b.json
	equals "$(cat a.json)" "$before"
	run bash -c '"$1" report --format=json a.json >/dev/full' - "$MININB"
	equals "$status" 1
}

@test "merge sums counts and rejects different runs" {
	put_into a.json
	put_into b.json
	mininb 0 merge a.json b.json --output=c.json
	equals "$output" ''
	mininb 0 report c.json
	contains "$output" $'\nCount: 6000\n'
	put_into d.json --vlen=50
	mininb 2 merge a.json d.json
	equals "$output" ''
	matches "$stderr" '^mininb: '
}

@test "rerun repeats the operations" {
	put_into a.json --vlen=37
	local digest
	digest=$(sed -n 's/^Stream digest *: //p' a.json.txt)
	mkdir elsewhere
	mininb 0 rerun "$PWD/a.json" --output=elsewhere/again.json
	equals "$stderr" ''
	equals "$(line_of 'Stream digest')" "$digest"
	contains "$output" $'\nVal Len: 37\n'
	[[ -s elsewhere/again.json ]]
	# file names in the old command refer to its directory, new ones to the current directory
	run -0 bash -c 'cd elsewhere && "$1" rerun ../a.json --output=here.json' - "$MININB"
	[[ -s elsewhere/here.json && ! -e here.json ]]
	equals "$(sed -n 's/^Stream digest *: //p' a.json.txt)" "$digest"
	mininb 0 rerun a.json --vlen=40
	contains "$stderr" 'did other operations than the run that it repeats'
	contains "$output" $'\nVal Len: 40\n'
}

@test "rerun uses the workload stored in the result" {
	printf '[workload]\nrecords = 500\n[mine]\nread = 1\ncount = 700\n' >w.ini
	mininb 0 run --driver=memory --workload=./w.ini --quiet --output=a.json
	local before=$output
	rm w.ini
	mininb 0 rerun a.json
	equals "$stderr" ''
	equals "$(line_of 'Stream digest')" "$(output=$before line_of 'Stream digest')"
	equals "$(line_of Workload)" ./w.ini
	equals "$(ops_of read)" 700
}

@test "rerun rejects a result without a valid command" {
	put_into a.json
	python3 - <<'PY'
import json
document = json.load(open("a.json"))
command = document["command"]
cases = {"none": ["--version"], "endless": ["rerun", "endless.json"], "other": ["get"]}
for name, command["words"] in cases.items():
    json.dump(document, open(name + ".json", "w"))
for name, command["action"] in {"itself": "rerun", "bare": None}.items():
    json.dump(document, open(name + ".json", "w"))
PY
	for name in none endless other; do
		mininb 3 rerun "$name.json"
		contains "$stderr" "not one of the action 'put'"
	done
	for name in itself bare; do
		mininb 1 rerun "$name.json"
		contains "$stderr" 'so mininb cannot repeat it'
	done
}

@test "--strict exits with 4 if the result has notes that are not allowed" {
	"$MININB" keys -c 3000 --quiet
	mininb 4 put -c 3000 --driver=memory --strict --quiet
	contains "$stderr" 'strict: closed-loop: '
	matches "$output" '^Action: put'
	# all notes except those about other activity of the machine, which vary
	mininb 0 explain
	local names
	names=$(sed -n '/^closed-loop /,/^not-steady /s/ .*//p' <<<"$output" | paste -sd ,)
	mininb 0 put -c 3000 --driver=memory --strict --quiet --allow="$names"
	mininb 4 put -c 3000 --driver=memory --strict --quiet --allow="${names#closed-loop,}"
	contains "$stderr" 'strict: closed-loop: '
	contains "$stderr" 'strict: 1 note why'
	mininb 2 put -c 3000 --driver=memory --strict --quiet --allow=close-loop
	contains "$stderr" "unknown note 'close-loop', did you mean 'closed-loop'"
}

@test "a result with more operations than answers is rejected" {
	put_into r.json
	sed '0,/"ops": 3000/s//"ops": 6000/' r.json >doubled.json
	mininb 3 report doubled.json
	contains "$stderr" 'doubled.json: results[0]: measured.ops is more than measured.answers together'
}

@test "a result stores times in their largest unit" {
	put_into r.json --sample=1500ms
	contains "$(tr -d ' \n' <r.json)" '{"name":"op-timeout","value":"10m"}'
	contains "$(tr -d ' \n' <r.json)" '{"name":"sample","value":"1500ms"}'
}

@test "explain prints the meaning of a figure, and lists all figures" {
	mininb 0 explain
	contains "$output" 'Settled throughput'
	mininb 0 explain 'p99 us'
	matches "$output" '^p99 us'
	refuses "unknown figure 'Setled throughput', did you mean 'Settled throughput'" \
		explain 'Setled throughput'
	# a word of three letters is too short for a suggestion
	refuses "unknown figure 'foo'; mininb explain lists them" explain foo
}

@test "each command adds an experiment to the notebook" {
	mininb 0 keys -c 3000
	for _ in 1 2; do
		mininb 0 put -c 3000 --driver=memory --threads=2 --quiet --notebook=n.json
	done
	equals "$(value_of n.json experiments | grep -o "'x[0-9]'" | paste -sd ' ')" "'x0' 'x1'"
	equals "$(value_of n.json data | grep -o "'puts'" | wc -l)" 4
	mininb 0 report --format=candlestick n.json
	contains "$output" x0
	contains "$output" x1
	mininb 0 report --format=candlestick n.json -o plot.gp
	cp plot.gp older.gp
	echo '{"experiments": 1}' >broken.json
	mininb 3 report --format=candlestick broken.json -o plot.gp
	contains "$stderr" broken.json
	cmp plot.gp older.gp
}

@test "an interrupted list or sweep writes its partial result" {
	local words=(run --read=1 --records=1000 --duration=60s --interval=50ms --quiet
		--output=r.json)
	start "${words[@]}" --driver=memory,null
	wait_until grep -q seconds out
	stop TERM
	equals "$(value_of r.json results.0.measured.is_partial)" True
	start "${words[@]}" --driver=memory --sweep
	wait_until grep -q seconds out
	stop TERM
	contains "$(value_of r.json results.0.end)" interrupted
	mininb 0 report r.json
	contains "$output" 'Stream digest'
}

@test "a result is written to a pipe only if a process reads it" {
	"$MININB" keys -c 1000 --quiet
	mkfifo pipe
	mininb 1 put -c 1000 --driver=memory --quiet --output=pipe
	contains "$output" 'Action'
	contains "$stderr" 'pipe: no process reads this pipe'
	cat pipe >got.json 3>&- &
	exec 4>pipe
	mininb 0 put -c 1000 --driver=memory --quiet --output=pipe
	exec 4>&-
	wait
	mininb 0 report got.json
	contains "$output" 'Action'
}

@test "file names given to rerun are relative to the current directory" {
	put_into a.json
	mkdir elsewhere
	(cd elsewhere && "$MININB" keys --keys=other.bin -c 500 --seed=7 --quiet &&
		"$MININB" rerun ../a.json --keys=other.bin -c 500 --output=b.json >b.txt 2>err)
	mininb 0 rerun elsewhere/b.json
	equals "$stderr" ''
	contains "$output" $'\nCount: 500\n'
	printf '[workload]\nrecords = 500\n[mine]\nread = 1\ncount = 70\n' >elsewhere/w.ini
	(cd elsewhere && "$MININB" run --driver=memory --read=1 --records=100 --count=100 \
		--quiet --output=../r.json >r.txt)
	printf '[workload]\nrecords = 500\n[mine]\nread = 1\ncount = 90\n' >w.ini
	mininb 0 rerun r.json --workload=./w.ini --count=80
	equals "$(line_of Workload)" "$PWD/./w.ini"
}

@test "rerun does not overwrite the recorded trace" {
	mininb 0 run --driver=memory --read=1 --records=100 --count=100 --quiet \
		--record=t.mininb --output=a.json
	cp t.mininb before
	mininb 0 rerun a.json --count=50
	cmp t.mininb before
}

@test "the result stores --sample and --hardware" {
	local job=(run --driver=memory --read=1 --records=100 --quiet)
	mininb 0 "${job[@]}" --duration=200ms --sample=50ms --output=a.json
	equals "$(value_of a.json results.0.measured.series.interval_ns)" 50000000
	lacks "$(value_of a.json results.0.flags)" hardware
	mininb 0 "${job[@]}" --duration=50ms --sample=0s --hardware --output=b.json
	equals "$(value_of b.json results.0.measured.series.samples)" None
	contains "$(value_of b.json results.0.flags)" hardware
}

@test "a cold run is cold unless the file system is in memory" {
	needs_leveldb
	"$MININB" keys -c 3000 --quiet
	case $(stat -f -c %T .) in
	tmpfs | ramfs)
		mininb 1 put -c 3000 --cold --quiet
		equals "$output" ''
		contains "$stderr" 'can never be cold'
		;;
	*)
		mininb 0 put -c 3000 --cold --quiet
		matches "$(line_of 'Cache state')" '^new database'
		mininb 0 get -c 3000 --cold --quiet
		matches "$(line_of 'Cache state')" '^cold: '
		;;
	esac
}

@test "a page shows a comparison with a baseline, and other formats reject it" {
	mininb 0 run -d memory -w ycsb-c --records=100 --count=2000 --output=old.json
	mininb 0 run -d memory -w ycsb-c --records=100 --count=2000 --output=new.json
	mininb 0 report new.json --format=html
	lacks "$output" 'id="baseline"'
	mininb 0 report new.json --format=html --baseline=old.json
	contains "$output" 'id="baseline"'
	matches "$output" '"verdicts": \[
    "now is [^"]* than baseline'
	mininb 2 report new.json --baseline=old.json
	contains "$stderr" '--baseline needs --format=html'
	mininb 1 report new.json --format=html --baseline=missing.json
	contains "$stderr" 'missing.json'
}
