#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# Help and manual page list everything. completion.bats tests completion.
# shellcheck disable=SC2154
load helper

actions='keys put shuffle get delete load run replay workloads engines check crash serve new-engine convert
	report merge rerun explain compare vs matrix gate'
options='action path driver shuffle klen vlen keys report-interval count threads depth batch-bytes memory option durability
	cache seed value-ratio verify-rate settle clock latency pin allow-missing fold quiet only format fresh
	servers hang-after op-timeout workload set version help from to from-format to-format key-bytes bare-as skip-bad
	phase load trace speed array record procs interval checkpoint-every start-at until-steady sweep slo experiments transport
	output hlog csv notebook baseline strict allow cold sample hardware
	runs precision budget results dry-run retry max-regress confidence force
	rounds ops moment keep again power file-system states
	listen max-connections max-value max-buffers log-dirs checkpoint-dirs spin allow-reset async pinirq'
# Keys of jobs. Keys that have an option of the same name are above.
job_keys='summary records space key-format key-order key-size key-prefix key-digits value-size
	graph edges degree graph-update edge-range preconditions batch-read epoch lag shard
	read update insert upsert delete scan read-modify-write batch multi-get txn-read txn-write add
	source masstree-test verify distribution key-range theta hot-share hot-ops exp-percent exp-share pareto-h scan-length
	scan-distribution scan-direction scan-keys-only batch-atomic items insert-verb duration warmup rate arrivals background cpus start'

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

@test "help lists only options that are accepted" {
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

@test "help of an action has its options and no others" {
	mininb 0 crash --help
	equals "$stderr" ''
	matches "$output" '^Usage: mininb crash \[OPTION\]\.\.\.'
	contains "$output" '--file-system=KIND'
	lacks "$output" '--klen'
	lacks "$output" '--read='
	equals "$(awk 'length > 80' <<<"$output")" ''
	equals "$(grep -c '^  -o, ' <<<"$output")" 1 # two options have the letter
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

@test "--version prints the version" {
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

@test "the manual page lists for each action the options that it uses" {
	mininb 0 --help=scdoc
	local part
	part=$(awk '/^## / { is_it = $2 == "put" } is_it' <<<"$output")
	contains "$part" '*mininb put* [_OPTION_]...'
	contains "$part" '*--fresh*,'
	lacks "$part" '*--procs*'
	part=$(awk '/^## / { is_it = $2 == "new-engine" } is_it' <<<"$output")
	contains "$part" '*mininb new-engine* _NAME_ [_OPTION_]...'
}
