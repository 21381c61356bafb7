#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# Help, man page and completion: complete, and in their own language.
# shellcheck disable=SC2154,SC1090
load helper

actions='keys put shuffle get delete load run replay workloads engines check crash new-engine convert
	report merge rerun explain compare vs gate'
options='action path driver klen vlen keys report-interval count threads option durability
	cache seed value-ratio verify-rate settle clock pin allow-missing fold quiet only format fresh
	hang-after op-timeout workload set version help from to from-format to-format key-bytes bare-as skip-bad
	phase load trace speed record procs interval until-steady sweep slo
	output hlog csv notebook baseline strict allow cold sample hardware
	runs precision budget max-regress confidence force
	rounds ops moment keep again power file-system states'
# Keys of jobs; those that an option has the name of are above.
job_keys='summary records space key-format key-order key-size key-prefix key-digits value-size lag
	read update insert upsert delete scan read-modify-write batch multi-get txn-read txn-write
	distribution theta hot-share hot-ops exp-percent exp-share pareto-h scan-length
	scan-distribution items duration warmup rate arrivals background cpus start'

@test "help goes to stdout and lists every action and option" {
	mininb 0 --help
	equals "$stderr" ''
	for action in $actions; do
		matches "$output" $'\n'"  $action( \\[?[A-Z. ]+\\]?)? +[a-z]"
	done
	for option in $options $job_keys; do
		matches "$output" $'\n'"  (-[a-z], |    )--${option}[^a-z]"
	done
	long=$output
	mininb 0 -h
	equals "$output" "$long"
}

@test "help lists no option that is not taken" {
	mininb 0 --help
	local names
	names=$(grep -oE '^  (-[a-z], |    )--[a-z-]+' <<<"$output" | grep -oE '[a-z-]+$' | sort -u)
	equals "$(wc -l <<<"$names")" "$(wc -w <<<"$options $job_keys")"
	for name in $names; do
		run "$MININB" "$name=" run
		lacks "$output" 'unknown option'
	done
}

@test "help fits 80 columns" {
	mininb 0 --help
	equals "$(awk 'length > 80' <<<"$output")" ''
}

@test "help of an action has what it looks at, and nothing else" {
	mininb 0 crash --help
	equals "$stderr" ''
	matches "$output" '^Usage: mininb crash \[OPTION\]\.\.\.'
	contains "$output" '--file-system=KIND'
	lacks "$output" '--klen'
	lacks "$output" '--read='
	equals "$(awk 'length > 80' <<<"$output")" ''
	equals "$(grep -c '^  -o, ' <<<"$output")" 1 # of two options that have it
	matches "$output" $'\n''      --output=FILE'
	mininb 0 report --help
	matches "$output" $'\n''  -o, --output=FILE'
	mininb 0 --help --action=run
	contains "$output" '--read='
	lacks "$output" '--file-system='
	for action in $actions; do
		mininb 0 "$action" --help
		matches "$output" "^Usage: mininb $action( \\[?[A-Z. ]+\\]?)? \\[OPTION"
	done
}

@test "help states the defaults" {
	mininb 0 --help
	local flat
	flat=$(tr -s ' \n' '  ' <<<"$output")
	for default in 100000 16 100 keys.bin leveldb ./nb auto compact 0.01 0.5 10000; do
		contains "$flat" "[$default]"
	done
}

@test "version" {
	mininb 0 --version
	matches "$output" '^mininb [0-9]+\.[0-9]+\.[0-9]+$'
	equals "$stderr" ''
}

@test "the manual page has every action and option" {
	mininb 0 --help=scdoc
	equals "$stderr" ''
	for action in $actions; do
		contains "$output" $'\n'"## $action"$'\n'
	done
	for option in $options; do
		matches "$output" $'\n'"(\*-[a-z]\*, )?\*--$option\*(=_[^ ]*_|\[=_WHAT_\])?"$'\n\t'
	done
	for key in $job_keys; do
		contains "$output" $'\n'"*--$key*=_"
	done
	for section in NAME SYNOPSIS DESCRIPTION ACTIONS OPTIONS 'EXIT STATUS' ENVIRONMENT FILES \
		EXAMPLES DURABILITY WORKLOADS 'LOAD CONTROL' VERIFICATION TRACES 'SEE ALSO'; do
		contains "$output" $'\n'"# $section"$'\n'
	done
	contains "$output" MININB_PLUGIN_PATH
	contains "$output" MININB_WORKLOAD_PATH
	contains "$output" NO_COLOR
}

@test "an action's part of the manual page has the options that it looks at" {
	mininb 0 --help=scdoc
	local part
	part=$(awk '/^## / { is_it = $2 == "put" } is_it' <<<"$output")
	contains "$part" '*mininb put* [_OPTION_]...'
	contains "$part" '*--fresh*,'
	lacks "$part" '*--procs*'
	part=$(awk '/^## / { is_it = $2 == "new-engine" } is_it' <<<"$output")
	contains "$part" '*mininb new-engine* _NAME_ [_OPTION_]...'
}

# Outside of a completion this one fails.
compopt()
{
	:
}

complete_words()
{
	COMP_WORDS=("$@")
	COMP_CWORD=$(($# - 1))
	COMPREPLY=()
	_mininb
}

@test "completion has every action and option" {
	source <("$MININB" --help=bash)
	complete_words mininb ''
	for action in $actions; do
		contains " ${COMPREPLY[*]} " " $action "
	done
	complete_words mininb --
	for option in $options $job_keys; do
		matches " ${COMPREPLY[*]} " " --$option=? "
	done
}

@test "completion offers what the action looks at" {
	source <("$MININB" --help=bash)
	complete_words mininb shuffle --
	contains " ${COMPREPLY[*]} " ' --count= '
	lacks " ${COMPREPLY[*]} " ' --driver= '
	complete_words mininb put --th
	equals "${COMPREPLY[*]}" '--threads='
	complete_words mininb new-engine put --
	lacks " ${COMPREPLY[*]} " ' --threads= '
	complete_words mininb new-engine ''
	equals "${COMPREPLY[*]}" ''
	complete_words mininb put --re
	equals "${COMPREPLY[*]}" '--report-interval='
	complete_words mininb run --re
	equals "$(tr ' ' '\n' <<<"${COMPREPLY[*]}" | sort | tr '\n' ' ')" \
		'--read-modify-write= --read= --record= --records= --report-interval= '
}

@test "completion of values" {
	source <("$MININB" --help=bash)
	complete_words mininb put --clock = t
	equals "${COMPREPLY[*]}" tsc
	complete_words mininb put --settle =
	equals "${COMPREPLY[*]}" 'none flush compact'
	complete_words mininb put --durability p
	equals "${COMPREPLY[*]}" 'process periodic'
	complete_words mininb -a sh
	equals "${COMPREPLY[*]}" shuffle
	complete_words mininb --help = z
	equals "${COMPREPLY[*]}" zsh
	touch mykeys.bin
	complete_words mininb put -i my
	equals "${COMPREPLY[*]}" mykeys.bin
	complete_words mininb replay --trace = my
	equals "${COMPREPLY[*]}" mykeys.bin
	complete_words mininb replay --load my
	equals "${COMPREPLY[*]}" mykeys.bin
	complete_words mininb convert --from = my
	equals "${COMPREPLY[*]}" mykeys.bin
	complete_words mininb run --record my
	equals "${COMPREPLY[*]}" mykeys.bin
	complete_words mininb convert --to-format = mi
	equals "${COMPREPLY[*]}" mininb
	complete_words mininb put -c ''
	equals "${COMPREPLY[*]}" ''
}

@test "completion of drivers" {
	source <("$MININB" --help=bash)
	complete_words "$MININB" put -d mem
	equals "${COMPREPLY[*]}" memory
	complete_words "$MININB" put --driver = nu
	equals "${COMPREPLY[*]}" null
	touch mine.so
	complete_words "$MININB" put -d ./mi
	equals "${COMPREPLY[*]}" ./mine.so
}

@test "completion of workloads and their keys" {
	source <("$MININB" --help=bash)
	complete_words "$MININB" run -w ycsb-
	equals "${COMPREPLY[*]}" 'ycsb-a ycsb-b ycsb-c ycsb-d ycsb-e ycsb-f'
	complete_words "$MININB" load --workload = fp
	equals "${COMPREPLY[*]}" fptree-220w
	complete_words "$MININB" workloads readwh
	equals "${COMPREPLY[*]}" readwhilewriting
	touch mine.ini mine.txt
	complete_words "$MININB" run -w mi
	equals "${COMPREPLY[*]}" mine.ini
	complete_words "$MININB" run -w ./mi
	equals "${COMPREPLY[*]}" ./mine.ini
	complete_words mininb run --distribution = ho
	equals "${COMPREPLY[*]}" hotspot
	complete_words mininb run --readers.distribution zipfian-
	equals "${COMPREPLY[*]}" zipfian-ycsb
	complete_words mininb run --records = ''
	equals "${COMPREPLY[*]}" ''
}

@test "completion of what engines and workloads take" {
	needs_leveldb
	source <("$MININB" --help=bash)
	complete_words "$MININB" put -d leveldb -o comp
	equals "${COMPREPLY[*]}" compression=
	complete_words "$MININB" put --driver = leveldb,null --option = comp
	equals "${COMPREPLY[*]}" compression=
	complete_words "$MININB" put -o compression = sn
	equals "${COMPREPLY[*]}" snappy
	complete_words "$MININB" put -d null -o comp
	equals "${COMPREPLY[*]}" ''
	complete_words "$MININB" put -d null,le
	equals "${COMPREPLY[*]}" null,leveldb
	complete_words "$MININB" run -w readwhilewriting --set re
	equals "${COMPREPLY[*]}" 'records= read= read-modify-write= readers.'
	complete_words "$MININB" run --set readers.di
	equals "${COMPREPLY[*]}" 'readers.distribution='
	complete_words "$MININB" run --set distribution = ho
	equals "${COMPREPLY[*]}" hotspot
	complete_words "$MININB" run --set = readers.distribution = ho
	equals "${COMPREPLY[*]}" hotspot
	complete_words "$MININB" run --set = readers.distribution =
	contains "${COMPREPLY[*]}" hotspot
}

@test "completion of files of results" {
	source <("$MININB" --help=bash)
	touch mine.json mine.txt
	complete_words mininb report mi
	equals "${COMPREPLY[*]}" mine.json
	complete_words mininb merge a.json mi
	equals "${COMPREPLY[*]}" mine.json
}

# report has a --format of its own, and -o is short for another option there.
@test "completion of an option that two actions mean otherwise" {
	source <("$MININB" --help=bash)
	complete_words mininb check --format = t
	equals "${COMPREPLY[*]}" 'text tap'
	complete_words mininb report --format = h
	equals "${COMPREPLY[*]}" 'hgrm hlog html'
	complete_words mininb report --form
	equals "${COMPREPLY[*]}" --format=
	complete_words mininb --form
	equals "${COMPREPLY[*]}" --format=
	touch mine.txt
	complete_words mininb report -o mi
	equals "${COMPREPLY[*]}" mine.txt
	complete_words "$MININB" put -d null -o mi
	equals "${COMPREPLY[*]}" ''
}

@test "shellcheck has nothing to say about the completion" {
	command -v shellcheck >/dev/null || skip 'shellcheck is not installed'
	"$MININB" --help=bash >mininb.bash
	run shellcheck mininb.bash
	equals "$output" ''
}
