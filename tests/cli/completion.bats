#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# Completion in bash, and in an interactive zsh on a terminal.
# shellcheck disable=SC2154
load helper

# Run the shell's completer on each line of `rows`, "line -> words", and compare the words.
offers()
{
	local line typed=() wanted=() place=$PWD/scripts script=complete.zsh
	mkdir scripts
	"$MININB" --help=bash >scripts/mininb.bash
	"$MININB" --help=zsh >scripts/_mininb
	[[ $1 == zsh ]] || place+=/mininb.bash script=complete.bash
	touch mykeys.bin mine.json mine.txt mine.ini mine.so
	while IFS= read -r line; do
		typed+=("${line%% ->*}")
		[[ $line != *'_ ->'* ]] || typed[-1]=${line%_ ->*} # '_' keeps the space at the end
		line=${line#*->}
		wanted+=("${line# }")
	done <<<"$rows"
	run "$1" "$BATS_TEST_DIRNAME/$script" "$place" "${typed[@]}"
	equals "$status" 0
	# shellcheck disable=SC2001 # sed edits each line
	diff <(paste -d'>' <(printf '%s\n' "${typed[@]}") <(sed 's/ $//' <<<"$output")) \
		<(paste -d'>' <(printf '%s\n' "${typed[@]}") <(printf '%s\n' "${wanted[@]}"))
}

both="mininb sh -> shuffle
mininb -a pu -> put
mininb put --th -> --threads
mininb shuffle --dr ->
mininb put --re -> --report-interval
mininb run --re -> --read --read-modify-write --record --records --report-interval
mininb report --form -> --format
mininb --form -> --format
mininb put --durability p -> periodic process
mininb put --clock=t -> tsc
mininb put --settle= -> compact flush none
mininb --help=z -> zsh
mininb run --distribution=ho -> hotspot
mininb run --readers.distribution=ho -> hotspot
mininb convert --to-format=mi -> mininb
mininb put -i my -> mykeys.bin
mininb replay --trace=my -> mykeys.bin
mininb run --record my -> mykeys.bin
mininb report mi -> mine.json
mininb merge a.json mi -> mine.json
mininb report -o mi -> mine.ini mine.json mine.so mine.txt
mininb report --format=ht -> html
mininb check --format=ta -> tap
mininb run --set readers.distrib -> readers.distribution
mininb run --set distribution=ho -> hotspot
$MININB put -d memo -> memory
$MININB put --driver=nu -> null
$MININB put -d null -o comp ->
$MININB run -w ycsb- -> ycsb-a ycsb-b ycsb-c ycsb-d ycsb-e ycsb-f
$MININB load --workload=fp -> fptree-220w
$MININB workloads readwh -> readwhilewriting
$MININB run -w mi -> mine.ini
$MININB run -w readwhilewriting --set re -> read read-modify-write readers. records"
leveldb="
$MININB put -d leveldb -o comp -> compression
$MININB put --driver=leveldb,null --option=comp -> compression
$MININB put --option=compression=sn -> snappy"

# The names of all options in the help, on one line.
names_of_help()
{
	"$MININB" --help | grep -oE '^  (-[a-z], |    )--[a-z-]+' | grep -oE -- '--[a-z-]+$' |
		sort -u | paste -sd ' '
}

@test "bash completes actions, options and values" {
	rows="$both
mininb _ -> $("$MININB" 2>&1 | sed -n 's/^  \([a-z-]*\) .*/\1/p' | sort | paste -sd ' ')
mininb -- -> $(names_of_help)
mininb new-engine put --t ->
mininb new-engine _ ->
mininb put -c _ ->
mininb run --records= ->
mininb report --format=h -> hgrm hlog html
$MININB put -d ./mi -> ./mine.ini ./mine.json ./mine.so ./mine.txt
$MININB put -d null -o mi ->
$MININB run --set=readers.distribution=ho -> hotspot"
	! "$MININB" engines -d leveldb >/dev/null 2>&1 || rows+="$leveldb
$MININB put -d null,le -> null,leveldb"
	offers bash
}

@test "zsh completes actions, options and values" {
	command -v zsh >/dev/null || skip 'zsh is not installed'
	rows="$both
mininb -- -> $(names_of_help)
mininb run --readers.dis -> --readers.distribution
$MININB put --driver=null,memo -> memory"
	! "$MININB" engines -d leveldb >/dev/null 2>&1 || rows+=$leveldb
	offers zsh
}

@test "the completions are valid scripts without unexpanded marks" {
	"$MININB" --help=bash >mininb.bash
	"$MININB" --help=zsh >_mininb
	run grep -n '@[a-z-]*@' mininb.bash _mininb
	equals "$output" ''
	! command -v zsh >/dev/null || run -0 zsh -n _mininb
	equals "$output" ''
	! command -v shellcheck >/dev/null || run -0 shellcheck mininb.bash
	equals "$output" ''
}
