#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# The contract suite as a command.
# shellcheck disable=SC2154,SC2016
load helper

@test "check of a correct engine lists its promises and exits with 0" {
	mininb 0 check --driver=memory
	contains "$output" 'Driver: memory'
	contains "$output" '  kept    put is found'
	contains "$output" '  -       reopen finds everything: not persistent'
	lacks "$output" BROKEN
	matches "$output" $'\n[0-9]+ promises: [0-9]+ kept, 0 broken, [0-9]+ not applicable$'
	equals "$stderr" ''
	equals "$(ls -A)" ''
}

@test "check of an engine that loses records prints the operations and exits with 4" {
	mininb 4 check --driver="$(plugin forgets)"
	contains "$output" '  BROKEN  put is found'
	contains "$output" 'not the'
	contains "$output" 'shortest sequence of operations that shows it, of '
	matches "$output" '[1-9][0-9]* broken'
}

@test "a crash breaks only the promise under test" {
	mininb 4 check --driver="$(plugin crashes)"
	contains "$output" '  BROKEN  put is found'
	# a sanitizer may turn it into an abort
	matches "$output" 'SIG(SEGV|ABRT) in get \(key key\), worker 0'
	contains "$output" 'Fix first: put is found'
	contains "$output" '  kept    sessions open and close many times'
}

@test "--only selects promises by text or by name" {
	mininb 0 check -d memory --only='put is'
	contains "$output" 'put is found'
	contains "$output" '1 promises: 1 kept'
	mininb 0 check -d memory --only=put_is_found
	contains "$output" '1 promises: 1 kept'
	mininb 0 check -d memory --only='put is,missing_key_is_not'
	contains "$output" '2 promises: 2 kept'
	mininb 0 check --help
	contains "$(tr -s '[:space:]' ' ' <<<"$output")" "TEXT in their name; a space matches '_'"
	refuses "--only: no promise has ',' in its name" check -d memory --only=,
	refuses "--only: no promise has 'nonsense' in its name" check -d memory --only=nonsense
}

@test "--format=tap prints valid TAP" {
	mininb 0 check -d memory --format=tap
	local plan
	plan=$(head -n 1 <<<"$output")
	matches "$plan" '^1\.\.[0-9]+$'
	equals "$(grep -cE '^(not )?ok [0-9]+ ' <<<"$output")" "${plan#1..}"
	equals "$(grep -cE '^ok [0-9]+ .* # SKIP ' <<<"$output")" \
		"$("$MININB" check -d memory | grep -c '^  -  ')"
	mininb 4 check -d "$(plugin forgets)" --format=tap --only=put_is_found
	contains "$output" 'not ok 1 put_is_found'
}

@test "check uses the directory of --path or TMPDIR and removes its databases" {
	needs_leveldb
	mkdir here there
	TMPDIR=$PWD/here mininb 0 check -d leveldb --only=reopen
	equals "$(ls -A here there)" "$(printf 'here:\n\nthere:')"
	mininb 0 check -d leveldb --only=reopen --path there
	equals "$(ls -A there)" ''
	mininb 0 check -d leveldb --only=reopen --path made/with/parents
	equals "$(find made -mindepth 1)" "$(printf 'made/with\nmade/with/parents')"
	touch file
	mininb 1 check -d leveldb --only=reopen --path file/below
	contains "$stderr" 'file: is not a directory'
	TMPDIR=$PWD/nowhere mininb 1 check -d leveldb --only=reopen
	contains "$stderr" 'nowhere'
	contains "$stderr" 'No such file'
	[[ ! -e nowhere ]]
}

@test "check tests an engine with its options" {
	mininb 0 check -d "$(plugin variants)" -o type=hash --only='offered durability'
	mininb 1 check -d "$(plugin variant_without_get)" -o type=hash
	contains "$stderr" "'get' is NULL"
}

@test "a plugin built for a newer mininb passes" {
	local only
	for only in 'fit the capabilities' 'options have names'; do
		mininb 0 check -d "$(plugin newer)" --only="$only"
		contains "$output" '  kept    '
	done
	mininb 0 keys -c 10
	mininb 0 put -c 10 -d "$(plugin newer)"
}

@test "check reports an engine that prints, and its own output stays valid TAP" {
	local faulty=$MININB_TEST_PLUGINS/faulty.so
	mininb 4 check -d "$faulty" -o verb=open -o how=print --format=tap \
		--only=prints_nothing
	contains "$output" 'it printed on standard output: "'
	contains "$output" 'bytes of it\n'
	contains "$output" 'line of the engine\n'
	equals "$(grep -c '^not ok' <<<"$output")" 1
	mininb 0 check -d "$faulty" -o how=nothing --only=prints_nothing
	mininb 4 check -d "$(plugin prints_loading)" --only=prints_nothing
	contains "$output" 'it printed on standard output while mininb loaded it: "on load'
}

@test "check names the call that crashes, exits or hangs" {
	local faulty=$MININB_TEST_PLUGINS/faulty.so only='sessions open'
	mininb 4 check -d "$faulty" -o verb=session_open -o how=exit --only="$only"
	contains "$output" 'a call of exit() in session_open, worker 0: an engine must not end'
	mininb 4 check -d "$faulty" -o verb=close -o how=hang --hang-after=200ms --only="$only"
	contains "$output" 'it hangs: close: has not returned for '
	mininb 4 check -d "$faulty" -o verb=session_open -o how=segv --only="$only"
	matches "$output" 'SIG(SEGV|ABRT)( in session_open, worker 0)?|status [0-9]+ in session_open'
}

@test "an interrupted check ends and leaves no files" {
	mkdir tmp
	TMPDIR=$PWD/tmp start check -d "$(plugin hangs)" --only='offered durability opens'
	wait_until grep -q Seed out
	sleep 0.2
	stop INT
	contains "$stderr" interrupted
	equals "$(ls -A tmp)" ''
}

@test "a promise is broken if the engine hangs longer than --hang-after" {
	mininb 4 check -d "$(plugin hangs)" --hang-after=200ms --only=session
	matches "$output" 'it hangs: put \(key k, 1 bytes\), worker 0: has not returned for [0-9.]+m?s'
	refuses "--hang-after: " check --hang-after=soon
}
