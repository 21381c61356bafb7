#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# Engines that hang, fail, crash or end the process: messages and results.
# shellcheck disable=SC2154
load helper

# Run 10000 puts on the faulty engine; mininb must exit with $1. The result file is r.json.
faulty()
{
	local status_wanted=$1
	shift
	[[ -e keys.bin ]] || mininb 0 keys -c 10000
	mininb "$status_wanted" put -c 10000 -d "$(plugin faulty)" --output=r.json "$@"
}

@test "an operation that does not return is reported, and the result is kept" {
	faulty 1 -o how=hang -o number=700 --op-timeout=100ms
	matches "$stderr" '^mininb: faulty: put, operation 700 \(key [0-9a-f]{32}\), worker 0: has not returned for [0-9.]+m?s; '
	contains "$stderr" 'use --op-timeout=TIME to wait longer'
	equals "$(wc -l <<<"$stderr")" 1
	contains "$output" 'only 700 of 10000 operations were done'
	equals "$(total_of "$output")" 700
	equals "$(sum_of_rows "$output")" 700
	contains "$(<r.json)" 'has not returned for'
}

@test "each call that does not return is reported by name" {
	local verb
	mininb 0 keys -c 10
	# few operations, so that a wait for a CPU does not count as a hang
	for verb in session_open stats session_close open flush close; do
		mininb 1 put -c 10 -d "$(plugin faulty)" -o "verb=$verb" -o how=hang \
			--op-timeout=200ms
		matches "$stderr" "^mininb: faulty: $verb(, worker 0)?: has not returned for "
	done
	# close comes after all operations
	equals "$(total_of "$output")" 10
	contains "$stderr" 'the report covers the time until then'
}

@test "an operation of a job that does not return is reported, in one process and in several" {
	local procs
	for procs in 1 2; do
		mininb 1 run -d "$(plugin faulty)" --read=50 --update=50 --records=1000 \
			-c 20000 --procs="$procs" -o how=hang -o number=700 --op-timeout=100ms
		matches "$stderr" 'faulty: update, operation [0-9]+ \(key [0-9a-f]+\), worker [01]: has not returned for '
		contains "$output" Partial
		equals "$(ops_of update)" "$((procs == 1 ? 700 : $(ops_of update)))"
	done
}

@test "an impossible size of a value is reported" {
	local huge=(-d "$(plugin faulty)" -o verb=get -o how=size)
	local text='get lent 18446744073709551615 bytes, which is not a size (the limit is 9223372036854775807); as a signed number it is -1'
	mininb 0 keys -c 100
	mininb 1 get -c 100 "${huge[@]}"
	equals "$stderr" "mininb: faulty: get, operation 0: $text"
	contains "$output" 'only 0 of 100 operations were done'
	mininb 1 run "${huge[@]}" --read=100 --records=100 -c 100
	contains "$stderr" "mininb: faulty: read, operation 0: $text"
	mininb 4 check "${huge[@]}" --only=synthetic_get
	contains "$output" "get answered NB_FAIL ($text), not NB_OK"
}

@test "mininb finds its files after an engine changes the working directory" {
	local verb cold=() wanders=(-d "$MININB_TEST_PLUGINS/keeper.so" -o defect=wanders)
	mininb 0 keys -c 100
	for verb in open session_open put flush stats session_close close; do
		mininb 0 put -c 100 -d "$(plugin faulty)" -o "verb=$verb" -o how=chdir \
			--output=r.json
		rm r.json
	done
	mininb 0 put -c 100 -d "$MININB_TEST_PLUGINS/moves_loading.so" --output=r.json
	rm r.json
	# keeper is persistent, so mininb inspects its database before and after
	mininb 0 put -c 100 --verify-rate=1 "${wanders[@]}" --output=r.json
	contains "$output" "100 of 100 (read back after close and reopen): 0 missing"
	matches "$output" "Database  *: [1-9]"
	[[ $(stat -f -c %T .) == @(tmpfs|ramfs) ]] || cold=(--cold)
	mininb 0 get -c 100 "${wanders[@]}" "${cold[@]}" --output=r2.json
	mininb 0 load "${wanders[@]}" --fresh --records=100 --record=load.trace
	mininb 0 run "${wanders[@]}" --read=50 --update=50 --records=100 -c 100 --threads=1 \
		--record=run.trace --output=r3.json
	mininb 0 replay "${wanders[@]}" --trace=run.trace
	mininb 0 check "${wanders[@]}" --path here --only='put is found'
	mininb 0 crash "${wanders[@]}" --path there --rounds=1 --ops=100
	[[ -s r.json && -s r2.json && -s r3.json && -s load.trace && -d nb/keeper ]]
}

# Start mininb "$@" with an engine that hangs, and send it signal $1 when it does.
interrupt_hang()
{
	local number=$1
	shift
	rm -f hangs
	start "$@" --output=r.json
	wait_until test -e hangs
	kill "-$number" "$pid"
}

is_gone()
{
	! kill -TERM "$pid" 2>/dev/null
}

@test "after an interrupt, mininb waits for a hanging engine for a limited time" {
	mininb 0 keys -c 10000
	interrupt_hang INT put -c 10000 -d "$(plugin faulty)" -o how=hang -o number=700
	ends_with 130
	matches "$stderr" '^mininb: interrupted: faulty: put, operation 700 \(key [0-9a-f]+\), worker 0: has not returned for [0-9.]+s; the report covers the time until then'
	equals "$(total_of "$output")" 700
	contains "$(<r.json)" 'interrupted: faulty: put, operation 700'
}

@test "a second interrupt ends a hanging engine, and the result is written" {
	local verb faulty=("$(plugin faulty)" -o how=hang)
	mininb 0 keys -c 1000
	for verb in put close session_close; do
		interrupt_hang INT put -c 1000 -d "${faulty[@]}" -o "verb=$verb"
		wait_until is_gone
		ends_with 130
		contains "$stderr" "mininb: interrupted: faulty: $verb"
		contains "$output" 'Action: put'
		[[ $verb == put || $(total_of "$output") == 1000 ]]
		contains "$(<r.json)" 'has not returned for'
	done
	# with several engines or processes, the parent process writes the result
	interrupt_hang TERM put -c 1000 -d "null,${faulty[0]}" -o faulty.how=hang -o faulty.number=99
	wait_until is_gone
	ends_with 130
	contains "$(<r.json)" 'interrupted: faulty: put, operation 99'
	contains "$(<r.json)" '"null"'
	interrupt_hang TERM run -d "${faulty[@]}" --read=50 --update=50 --records=1000 -c 20000 \
		--procs=2 -o number=700
	wait_until is_gone
	ends_with 130
	contains "$stderr" 'interrupted: faulty: update, operation '
	contains "$output" Partial
	[[ -s r.json ]]
}

@test "the CPU time limit leaves a partial result" {
	(
		ulimit -t 2
		"$MININB" run -d null --read=100 --records=1000 --duration=1000s --output=r.json \
			>out 2>err
	) || equals $? 130
	equals "$(<err)" 'mininb: interrupted: the limit of CPU time (ulimit -t) is reached'
	contains "$(<out)" Partial
	contains "$(<r.json)" 'the limit of CPU time'
}

@test "a verb that fails is reported, and the result is kept" {
	local verb text count
	faulty 1 -o how=fail -o number=700
	equals "$stderr" 'mininb: faulty: put, operation 700: out of luck'
	equals "$(total_of "$output")" 700
	contains "$(<r.json)" 'out of luck'
	while read -r verb count text; do
		faulty 1 -o "verb=$verb" -o how=fail
		contains "$stderr" "mininb: faulty: $text: out of luck"
		[[ $count == - ]] || equals "$verb $(total_of "$output")" "$verb $count"
	done <<-'END'
		flush 10000 settling
		close 10000 closing
		open - ./nb/faulty
		session_open - session_open
		session_close - session_close
	END
}

@test "an invalid answer is reported with its call" {
	local verb
	for verb in open session_open session_close flush close; do
		faulty 1 -o "verb=$verb" -o how=answer
		contains "$stderr" "mininb: faulty: $verb: answered 7, but may answer only NB_OK (0) or a negative failure"
	done
	mininb 1 run -d "$(plugin faulty)" --read=50 --update=50 --records=100 -c 100 \
		-o verb=session_open -o how=answer
	contains "$stderr" 'mininb: faulty: session_open: answered 7, but'
	faulty 1 -o how=answer -o number=700
	contains "$stderr" 'mininb: faulty: put, operation 700: answered 7, which means nothing here'
}

@test "a text that an engine logs is printed once, and repetitions are counted" {
	local verb
	for verb in open put close; do
		faulty 0 -o "verb=$verb" -o how=log
		equals "$(grep -cx 'mininb: warning: the same text' <<<"$stderr")" 1
		equals "$(grep -c 'the same text' <<<"$stderr")" 2
		contains "$stderr" 'mininb: warning: repeated 999 times: the same text'
		equals "$(grep -cx 'mininb: text [0-9]*' <<<"$stderr")" 31
		contains "$stderr" 'the engine logged more than 32 different messages; mininb left 69 out'
	done
	mininb 0 run -d "$(plugin faulty)" --update=100 --records=100 -c 100 \
		-o how=log --output=j.json
	equals "$(grep -c 'the same text' <<<"$stderr")" 2
	contains "$(<j.json)" 'the same text'
}

@test "a crash on a worker's thread is reported, and the result is kept" {
	local pair
	needs_no_sanitizer
	for pair in segv:SIGSEGV:139 fpe:SIGFPE:136 ill:SIGILL:132 abort:SIGABRT:134 \
		bus:SIGBUS:1 stack:SIGSEGV:139; do
		local how signal status_wanted
		IFS=: read -r how signal status_wanted <<<"$pair"
		rm -f r.json
		faulty "$status_wanted" -o "how=$how" -o number=700
		contains "$stderr" "mininb: faulty: $signal in put, operation 700 (key "
		equals "$(total_of "$output")" 700
		contains "$(<r.json)" "$signal in put"
	done
}

@test "a crash in open is reported without a result" {
	needs_no_sanitizer
	faulty 139 -o verb=open -o how=segv
	contains "$stderr" 'mininb: faulty: SIGSEGV in open; '
	contains "$stderr" 'nothing was measured, and the database was not closed'
	lacks "$stderr" 'is reported'
}

@test "heap corruption detected in close leaves the result" {
	needs_no_sanitizer
	faulty 134 -o verb=close -o how=overflow
	matches "$stderr" 'mininb: faulty: SIGABRT (in close|outside of all calls)'
	equals "$(total_of "$output")" 10000
	contains "$(<r.json)" SIGABRT
}

@test "an engine that ends the process with status 0 fails" {
	local verb how
	for how in exit quick_exit _exit _Exit; do
		[[ $how != _* ]] || needs_no_sanitizer
		for verb in put close; do
			rm -f r.json
			faulty 1 -o "verb=$verb" -o "how=$how"
			matches "$stderr" "mininb: faulty: a call of exit\\(\\) in $verb.*: an engine must not end the process"
			contains "$output" 'Action: put'
			[[ -s r.json ]]
		done
	done
	mininb 1 run -d "$(plugin faulty)" --read=50 --update=50 --records=1000 \
		-c 20000 --procs=2 -o how=exit
	contains "$stderr" 'a call of exit() in update'
}

@test "an engine that crashes among several keeps its figures" {
	needs_no_sanitizer
	faulty 1 -d "$MININB_TEST_PLUGINS/faulty.so,null" -o faulty.how=segv -o faulty.number=700
	contains "$stderr" 'mininb: faulty: SIGSEGV in put, operation 700 '
	contains "$output" 'only 700 of 10000 operations were done'
	contains "$output" '== null, 2 of 2'
}
