#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# The number of syncs of an engine, and claims of durability without them.
# shellcheck disable=SC2154,SC2016
load helper

# Put 40 keys at level commit with engine $2 and options $3...; exit status $1.
put_40()
{
	mininb 0 keys -c 40
	# the plugins for this test keep their records only in memory
	mininb "$1" put -c 40 -d "$2" --durability=commit --verify-rate=0 "${@:3}"
}

# Skip if mininb cannot count syncs, because another library precedes its functions.
needs_counts()
{
	put_40 0 "$(plugin syncs_never)"
	[[ $(line_of Syncs) != 'not known'* ]] || skip "$(line_of Syncs)"
}

@test "each sync of a plugin is counted" {
	needs_counts
	put_40 0 "$(plugin syncs)"
	equals "$(line_of Syncs)" '40 fdatasync, 1 per write'
	lacks "$output" ' claims commit'
	mininb 0 put -c 40 -d "$(plugin syncs)" --durability=none --verify-rate=0
	equals "$(line_of Syncs)" '40 fdatasync, 1 per write'
	put_40 0 "$(plugin syncs_never)" --durability=none
	equals "$(line_of Syncs)" ''
}

@test "an engine that claims commit and never syncs gets a note" {
	needs_counts
	equals "$(line_of Syncs)" 'none for 40 writes'
	contains "$output" ': syncs_never claims commit (writes survive power loss), but acknowledged 40 writes without one sync'
}

@test "--strict reports a claim without syncs, unless it is allowed" {
	needs_counts
	put_40 4 "$(plugin syncs_never)" --strict --quiet
	contains "$stderr" 'strict: claims-without-syncs: syncs_never claims commit'
	put_40 4 "$(plugin syncs_never)" --strict --quiet --allow=claims-without-syncs
	lacks "$stderr" 'strict: claims-without-syncs'
	put_40 4 "$(plugin syncs)" --strict --quiet
	lacks "$stderr" 'strict: claims-without-syncs'
}

@test "a preloaded library makes the number of syncs unknown" {
	needs_counts
	echo 'int fsync(int fd) { return fd - fd; }' >before.c
	cc -shared -fPIC -o before.so before.c 2>/dev/null || skip 'no C compiler is installed'
	LD_PRELOAD="$PWD/before.so" put_40 0 "$(plugin syncs_never)"
	contains "$(line_of Syncs)" 'not known: fsync is that of before.so'
	lacks "$output" ' claims commit'
}

@test "syncs of jobs are counted, with their warm-up and several processes" {
	needs_counts
	needs_engine lmdb
	mininb 0 load -w ycsb-a -d lmdb --records=40 -v 100 --durability=commit
	equals "$(line_of Syncs)" '40 fdatasync, 1 per write; then until closed 1 fdatasync'
	mininb 0 run -w ycsb-a -d lmdb --records=40 -v 100 --durability=commit --count=60 \
		--read=0 --update=1 --warmup=20 --threads=2
	matches "$(line_of Syncs)" '^60 fdatasync, 1 per write'
	mininb 0 run -w ycsb-a -d lmdb --records=40 -v 100 --durability=commit --count=60 \
		--read=0 --update=1 --procs=2
	matches "$(line_of Syncs)" '^([0-9] fsync, )?6[0-9] fdatasync, 1(\.[0-9]*)? per write'
	lacks "$output" ' claims commit'
}

@test "the syncs of leveldb at commit match those that strace counts" {
	needs_counts
	needs_leveldb
	put_40 0 leveldb
	matches "$(line_of Syncs)" '^4[0-9] fdatasync, 1(\.[0-9]*)? per write'
	strace -f -qq -e trace=fdatasync -o trace true 2>/dev/null || skip 'strace is not installed or not permitted'
	rm -r nb
	# A leak checker cannot run under strace.
	ASAN_OPTIONS=${ASAN_OPTIONS-}:detect_leaks=0 run -0 --separate-stderr strace -f -qq -e trace=fdatasync -o trace \
		"$MININB" put -c 40 -d leveldb --durability=commit --output=traced.json
	# strace also counts the few syncs of open
	local counted traced
	counted=$(grep -o '"fdatasync_calls": *[0-9]*' traced.json | head -2 |
		awk '{ sub(/.*: */, ""); sum += $0 } END { print sum }')
	traced=$(grep -c 'fdatasync.*= 0' trace)
	((counted <= traced && traced <= counted + 12))
}
