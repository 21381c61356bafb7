#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# The list of engines, and how engines are selected and rejected.
# shellcheck disable=SC2154
load helper

@test "engines lists all engines, or one with its options" {
	mininb 0 engines
	contains "$output" null
	contains "$output" memory
	equals "$stderr" ''
	needs_leveldb
	contains "$output" leveldb
	mininb 0 engines --driver=leveldb
	for name in write_buffer block_size compression bloom_bits max_open_files \
		verify_checksums snappy BSD-3-Clause; do
		contains "$output" "$name"
	done
	mininb 0 keys -c 10
	mininb 0 put -c 10 -o compression=none -o block_size=8KiB --durability=commit
	matches "$output" 'compression[ =:]+none'
	matches "$output" 'block_size[ =:]+(8192|8 ?KiB)'
	matches "$output" $'\n''Durability *: .*commit'
}

@test "an unknown driver names the nearest and all" {
	mininb 0 keys -c 10
	refuses '' put -c 10 -d memroy
	contains "$stderr" "did you mean 'memory'"
	contains "$stderr" null
	[[ ! -e nb ]]
	mininb 2 engines -d memroy
	contains "$stderr" "did you mean 'memory'? There are: "
	touch mine.so
	refuses "driver 'mine.so': no such engine; if the file is meant: ./mine.so" engines -d mine.so
	refuses "driver 'other.so': no such engine; there are: " engines -d other.so
}

@test "plugins are found from any working directory" {
	needs_leveldb
	mininb 0 keys -c 10
	local work=$PWD
	cd /
	mininb 0 put -c 10 -i "$work/keys.bin" -p "$work/nb"
	[[ -d $work/nb/leveldb ]]
}

@test "MININB_PLUGIN_PATH comes first, and a broken plugin is rejected with a reason" {
	mkdir first second
	echo 'no shared object' >second/broken.so
	export MININB_PLUGIN_PATH=$PWD/first:$PWD/second
	mininb 0 keys -c 10
	mininb 1 put -c 10 -d broken
	contains "$stderr" broken.so
	contains "$stderr" 'not a shared object'
	[[ ! -e nb ]]
	mininb 0 engines
	contains "$output" memory
	contains "$output" broken
	mininb 0 put -c 10 -d memory
	mininb 1 put -c 10 -d ./second/broken.so
	contains "$stderr" 'not a shared object'
	mininb 1 put -c 10 -d ./none.so
	contains "$stderr" none.so
}

@test "engines names a plugin that crashes while it is loaded, and lists the others" {
	local place=$MININB_TEST_PLUGINS
	! grep -qa '__asan_init\|__tsan_init' "$MININB" || skip 'a sanitizer has its own handlers'
	MININB_PLUGIN_PATH=$place mininb 0 engines
	matches "$output" $'\n'right' '
	contains "$output" "$place/crashes_loading.so: refused: SIGSEGV while it was loaded"
	contains "$output" "$place/exits_loading.so: refused: it ended the process with status 0 while it was loaded"
	contains "$output" "$place/no_options.so: refused: SIGSEGV while its table was read"
	contains "$output" "$place/endless_options.so: refused: its option table has more than 256 rows"
	equals "$stderr" 'on load' # printed by prints_loading
	mininb 1 engines -d "$place/crashes_loading.so"
	contains "$stderr" "$place/crashes_loading.so: refused: SIGSEGV while it was loaded"
	mininb 0 keys -c 10
	mininb 1 put -c 10 -d "$place/endless_options.so"
	contains "$stderr" 'the last row must have a NULL name'
	mininb 139 put -c 10 -d "$place/crashes_loading.so"
	contains "$stderr" "SIGSEGV in $place/crashes_loading.so"
}

@test "engines with equal names are reported" {
	local place=$MININB_TEST_PLUGINS
	mkdir -p one two
	cp "$place/right.so" one/other.so
	mininb 0 keys -c 10
	mininb 0 put -c 10 -d "$PWD/one/other.so"
	equals "$stderr" "mininb: warning: $PWD/one/other.so: the engine in this file is called 'right'; its database and its results have that name"
	cp "$place/right.so" one/right.so
	cp "$place/right.so" two/right.so
	mininb 0 get -c 10 -d ./one/right.so,./two/right.so
	equals "$stderr" ''
	contains "$output" '== ./one/right.so, 1 of 2'
	matches "$output" $'\n''== all.*/one/right.so .*/two/right.so '
	# the first one in the search path wins
	cp "$place/right.so" one/memory.so
	MININB_PLUGIN_PATH=$PWD/one:$PWD/two mininb 0 engines
	contains "$output" "$PWD/two/right.so: hidden by $PWD/one/right.so"
	contains "$output" "memory (linked in): hidden by $PWD/one/memory.so"
}

@test "an unknown option of an engine names the nearest" {
	needs_leveldb
	mininb 0 keys -c 10
	refuses '' put -c 10 -o write_bufer=4MiB
	contains "$stderr" "did you mean 'write_buffer'"
	[[ ! -e nb ]]
	refuses '' put -c 10 -o write_buffer
	contains "$stderr" 'name=value'
}

@test "an unavailable durability is rejected, and the message names the available ones" {
	needs_leveldb
	mininb 0 keys -c 10
	mininb 1 put -c 10 --durability=periodic
	equals "$output" ''
	contains "$stderr" periodic
	contains "$stderr" process
	contains "$stderr" commit
	[[ ! -e nb/leveldb/CURRENT ]]
}
