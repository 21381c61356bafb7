#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# mininb does not overwrite files of other programs.
# shellcheck disable=SC2154
load helper

# The action rejects the file $1 before it does anything else, and does not change it.
keeps()
{
	local file=$1
	shift
	echo 'what is mine' >"$file"
	mininb 1 "$@"
	contains "$stderr" "$file: exists and "
	equals "$output" ''
	equals "$(<"$file")" 'what is mine'
	[[ ! -e nb ]]
}

@test "no option overwrites a file of another program" {
	mininb 0 keys -c 10 -i k
	keeps mine keys -i mine -c 10
	local run=(run -w ycsb-a --records=10 -c 10 -d memory)
	keeps mine "${run[@]}" --output=mine
	keeps mine "${run[@]}" --hlog=mine
	keeps mine "${run[@]}" --notebook=mine
	keeps mine "${run[@]}" --record=mine
	keeps p-latency.csv "${run[@]}" --csv=p
	keeps mine put -d memory -i k -c 10 --output=mine
	keeps mine vs -d memory,null -i k -c 10 --runs=2 --output=mine
	keeps mine convert --from=workload:ycsb-a --to=mine -c 10
	rm p-latency.csv
	mininb 0 put -d memory -i k -c 10 --path=far --output=r.json
	keeps mine report r.json --output=mine
	keeps mine merge r.json --output=mine
	keeps mine rerun r.json --output=mine
}

@test "mininb replaces its own files and empty files" {
	for i in 1 2; do
		mininb 0 keys -i k -c "10$i" -k "1$i" --seed="$i"
		mininb 0 shuffle -i k -c 10 -k "1$i" --seed="$i"
		mininb 0 run -w ycsb-a --records=10 -c 10 -d null --output=r.json --hlog=r.hlog \
			--csv=r --notebook=r.nb --record=r.trace --quiet
		mininb 0 convert --from=workload:ycsb-a --to=t -c 10 --quiet
	done
	for format in text md csv json hgrm hlog gnuplot candlestick sofaster taobench mttest mtclient html; do
		mininb 0 report r.json --format="$format" --output="r.$format"
		setfattr -x user.mininb "r.$format" 2>/dev/null || true
		mininb 0 report r.json --format="$format" --output="r.$format"
	done
	mininb 0 report r.nb --format=candlestick --output=plot
	mininb 0 report r.nb --format=candlestick --output=plot
	: >empty
	mininb 0 report r.json --output=empty
	[[ -s empty ]]
}

@test "shuffle does not make a file one of mininb's own" {
	head -c 1600 /dev/urandom >mine
	mininb 0 shuffle -i mine -c 100
	cp mine before
	mininb 1 keys -i mine -c 10
	contains "$stderr" 'mine: exists and was not written by mininb'
	cmp mine before
}

@test "--force replaces a file of another program, except as a notebook" {
	echo 'what is mine' >mine
	mininb 0 keys -i mine -c 10 --force
	mininb 0 keys -i mine -c 10
	echo 'what is mine' >mine
	mininb 0 run -w ycsb-a --records=10 -c 10 -d null --output=mine --quiet --force
	contains "$(<mine)" mininb-result
	echo 'what is mine' >mine
	mininb 1 run -w ycsb-a --records=10 -c 10 -d null --notebook=mine --quiet --force
	equals "$(<mine)" 'what is mine'
}

@test "pipes, devices and directories are rejected as notebooks" {
	mkfifo pipe
	for path in pipe /dev/zero /dev/full .; do
		mininb 1 run -w ycsb-a --records=10 -c 10 -d null --notebook=$path --quiet
		contains "$stderr" "$path: exists and is not a notebook"
		equals "$output" ''
	done
}
