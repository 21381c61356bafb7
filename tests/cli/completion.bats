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

# What is offered behind $1 is $2, by name.
offers()
{
	run zsh -f "$BATS_TEST_DIRNAME/complete.zsh" "$PWD" "$1"
	equals "$status" 0
	equals "$(xargs <<<"$output")" "$2"
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
	offers 'mininb sh' shuffle
	offers 'mininb -a pu' put
	offers 'mininb put --th' --threads
	offers 'mininb shuffle --dr' ''
	offers 'mininb run --readers.dis' --readers.distribution
}

@test "zsh completes values" {
	needs_zsh
	offers 'mininb put --durability p' 'periodic process'
	offers 'mininb put --clock=t' tsc
	offers 'mininb --help=z' zsh
	offers 'mininb run --readers.distribution=ho' hotspot
	touch mykeys.bin
	offers 'mininb put -i my' mykeys.bin
}

@test "zsh completes engines and their options" {
	needs_zsh
	offers "$MININB put -d mem" memory
	offers "$MININB put --driver=null,mem" memory
	needs_leveldb
	offers "$MININB put -d leveldb -o comp" compression
	offers "$MININB put --option=compression=sn" snappy
}

@test "zsh completes workloads and their keys" {
	needs_zsh
	offers "$MININB run -w ycsb-" 'ycsb-a ycsb-b ycsb-c ycsb-d ycsb-e ycsb-f'
	offers "$MININB workloads readwh" readwhilewriting
	touch mine.ini mine.txt
	offers "$MININB run -w mi" mine.ini
	offers "$MININB run -w readwhilewriting --set reade" readers.
	offers 'mininb run --set readers.distrib' readers.distribution
	offers 'mininb run --set distribution=ho' hotspot
}

@test "zsh completes files of results, and what report means otherwise" {
	needs_zsh
	touch mine.json mine.txt
	offers 'mininb report mi' mine.json
	offers 'mininb report -o mi' 'mine.json mine.txt'
	offers 'mininb report --format=ht' html
	offers 'mininb check --format=ta' tap
}
