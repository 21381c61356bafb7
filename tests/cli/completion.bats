#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# Completion for zsh, as an interactive zsh does it in a terminal. That for bash: help.bats.
# shellcheck disable=SC2154
load helper

needs_zsh()
{
	command -v zsh >/dev/null || skip 'zsh is not installed'
	"$MININB" --help=zsh >_mininb
}

# What is offered behind $1 is $2, by name; and so on.
offers()
{
	local lines=() wanted=()
	while (($# > 0)); do
		lines+=("$1") wanted+=("$2")
		shift 2
	done
	run zsh -f "$BATS_TEST_DIRNAME/complete.zsh" "$PWD" "${lines[@]}"
	equals "$status" 0
	equals "$output" "$(printf '%s\n' "${wanted[@]}")"
}

@test "zsh can read the completion, and no mark is left in it" {
	needs_zsh
	run zsh -n _mininb
	equals "$output" ''
	run grep -n '@[a-z-]*@' _mininb
	equals "$output" ''
}

@test "zsh completes actions and the options of each" {
	needs_zsh
	offers 'mininb sh' shuffle \
		'mininb -a pu' put \
		'mininb put --th' --threads \
		'mininb shuffle --dr' '' \
		'mininb run --readers.dis' --readers.distribution
}

@test "zsh completes values" {
	needs_zsh
	offers 'mininb put --durability p' 'periodic process' \
		'mininb put --clock=t' tsc \
		'mininb --help=z' zsh \
		'mininb run --readers.distribution=ho' hotspot
	touch mykeys.bin
	offers 'mininb put -i my' mykeys.bin
}

@test "zsh completes engines and their options" {
	needs_zsh
	offers "$MININB put -d mem" memory \
		"$MININB put --driver=null,mem" memory
	needs_leveldb
	offers "$MININB put -d leveldb -o comp" compression \
		"$MININB put --option=compression=sn" snappy
}

@test "zsh completes workloads and their keys" {
	needs_zsh
	offers "$MININB run -w ycsb-" 'ycsb-a ycsb-b ycsb-c ycsb-d ycsb-e ycsb-f' \
		"$MININB workloads readwh" readwhilewriting
	touch mine.ini mine.txt
	offers "$MININB run -w mi" mine.ini \
		"$MININB run -w readwhilewriting --set reade" readers. \
		'mininb run --set readers.distrib' readers.distribution \
		'mininb run --set distribution=ho' hotspot
}

@test "zsh completes files of results, and what report means otherwise" {
	needs_zsh
	touch mine.json mine.txt
	offers 'mininb report mi' mine.json \
		'mininb report -o mi' 'mine.json mine.txt' \
		'mininb report --format=ht' html \
		'mininb check --format=ta' tap
}
