#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# extra/run.sh: the classic run as a matrix. Its build directory contains the built program.
# shellcheck disable=SC2154
load helper

# Run the script, which must exit with $1. $output is its stdout, $stderr its stderr.
script()
{
	local status_wanted=$1
	shift
	mkdir -p built/cli
	printf 'build all: phony\n' >built/build.ninja
	ln -sf "$MININB" built/cli/mininb
	run "-$status_wanted" --separate-stderr "$BATS_TEST_DIRNAME/../../extra/run.sh" \
		--no-setup --build=built -p db "$@"
}

needs_ninja()
{
	command -v ninja >/dev/null || skip 'ninja is not installed'
}

@test "all engines put and get the same keys, and the script leaves a page, tables and reports" {
	needs_ninja
	script 0 -d "memory,$(plugin keeper)" -c 200 --klen 8
	contains "$output" 'put   memory     1 '
	contains "$output" 'get   keeper     1 '
	local out
	out=$(echo results/*)
	matches "$output" "Page: ./$out/report.html"
	[[ -s $out/report.html && -s $out/report.md && -s $out/machine.txt && -s $out/keys.txt ]]
	contains "$output" "$(<"$out/table.txt")"
	contains "$(<"$out/keeper.txt")" 'Action: get'
	local run digests=()
	for run in memory keeper; do
		digests+=("$(grep '^Stream digest' "$out/$run.txt" | paste -sd ' ')")
	done
	equals "${digests[0]}" "${digests[1]}"
	matches "${digests[0]}" ': ([0-9a-f]+) .*: ([0-9a-f]+)$'
	[[ ${BASH_REMATCH[1]} != "${BASH_REMATCH[2]}" ]]
	[[ ! -e db ]]
}

@test "an interrupted run continues, and a complete one is repeated in a new directory" {
	needs_ninja
	script 0 -d memory,null -c 100
	local out files
	out=$(echo results/*)
	rm "$out/index.html" "$(realpath "$out/null.json")"
	files=$(stat -Lc '%i %y' "$out/memory.json")
	script 0 -d memory,null -c 100
	contains "$stderr" "continuing the run in ./$out"
	equals "$(echo results/*)" "$out"
	equals "$(stat -Lc '%i %y' "$out/memory.json")" "$files"
	script 0 -d memory,null -c 100
	has_lines "$(ls results)" 2
}

@test "one engine prints its report and uses the given options, keys and database" {
	needs_ninja
	mininb 0 keys -c 50 -k 8
	local sum
	sum=$(<keys.bin sha256sum)
	script 0 -d "$(plugin keeper)" -c 50 -k 8 --keys keys.bin --keep -- --verify-rate=1
	contains "$output" 'Verified          : 50 of 50 '
	equals "$(sha256sum <keys.bin)" "$sum"
	contains "$(cat results/*/keys.txt)" "${sum%% *}"
	matches "$stderr" 'keeper: kept in (db/matrix-[0-9a-f]+/vs-[A-Za-z0-9]+)'
	local place=${BASH_REMATCH[1]}
	[[ -e $place/db1/keeper/log ]]
	equals "$(cmp -s keys.bin "$place/shuffled.bin" || echo 'other order')" 'other order'
	equals "$(od -An -v -tx8 -w8 <"$place/shuffled.bin" | sort)" \
		"$(od -An -v -tx8 -w8 <keys.bin | sort)"
}

@test "a failing engine stops only its own run; wrong options stop the script at the start" {
	needs_ninja
	script 1 -d "$(plugin crashes),memory" -c 50
	contains "$output" 'failed: crashes, repetition 1: put ended with status 1: '
	contains "$output" 'get   memory  '
	rm -r results
	script 1 -d "$(plugin no_entry),memory" -c 50
	contains "$stderr" 'run.sh: '
	contains "$output" 'get   memory  '
	rm -r results
	script 2 -d memori -c 50
	contains "$stderr" "did you mean 'memory'"
	script 2 -d memory -c many
	script 2 --hang 3
	contains "$stderr" 'unknown option --hang'
	[[ ! -e results && ! -e db ]]
}
