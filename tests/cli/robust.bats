#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# Signals, full disks, unwritable places: messages and exit status.
# shellcheck disable=SC2154,SC2016,SC2030,SC2031
load helper

# Start a put that has written some of its 500000 records.
start_put()
{
	needs_leveldb
	[[ -e keys.bin ]] || mininb 0 keys -c 500k
	rm -rf nb
	start put -c 500k -v 1000 "$@"
	wait_until compgen -G 'nb/leveldb/*.ldb' >/dev/null
}

# The partial report in $output counts $done_count operations.
is_partial()
{
	contains "$output" Partial
	done_count=$(total_of "$output")
	((done_count > 0 && done_count < 500000))
	equals "$(sum_of_rows "$output")" "$done_count"
}

@test "a signal ends a put with a report and a readable database" {
	local signal done_count
	for signal in INT TERM HUP; do # HUP: a closed terminal sends it
		start_put -t $((1 + (${#signal} - 3)))
		stop "$signal"
		contains "$stderr" 'mininb: interrupted'
		is_partial
		if [[ $signal == INT ]]; then # two threads do not put the first keys only
			mininb 0 get -c "$done_count" -v 1000
			equals "$(total_of "$output")" "$done_count"
		fi
	done
}

@test "a key file truncated during a run is reported" {
	local done_count
	start_put
	truncate -s 1000 keys.bin
	ends_with 1
	contains "$stderr" 'mininb: keys.bin: the file was cut short or became unreadable during its use'
	is_partial
	# mininb closed the database, which contains the finished puts
	mininb 0 keys -c 500k
	mininb 0 get -c "$((done_count - 100))" -v 1000
}

@test "a trace truncated during a replay is reported" {
	# the reader is about 2000 operations ahead
	mininb 0 convert --from=workload:ycsb-a --records=100k --phase=load --to=t.trace
	start replay -d memory --load=t.trace --rate=10k --interval=20ms
	wait_until grep -qs '[0-9]' out
	truncate -s 1000 t.trace
	ends_with 1
	contains "$stderr" 'mininb: t.trace: the file was cut short or became unreadable during its use'
	contains "$output" Partial
}

# The process has opened a file in this directory other than out, err and keys.bin.
has_begun_file()
{
	readlink /proc/"$pid"/fd/* 2>/dev/null | grep -vE '/(out|err|keys\.bin)$' | grep -q "^$PWD/"
}

# Kill mininb "$@" while it rewrites $file.
killed_while_writing()
{
	cp "$file" before
	start "$@"
	wait_until has_begun_file
	stop KILL 137
	cmp "$file" before
}

@test "a killed action leaves the old file" {
	mininb 0 keys -c 1000
	file=keys.bin killed_while_writing keys -c 50M
	rm ./*
	mininb 0 convert --from=workload:ycsb-a --records=100 --phase=load --to=t.trace
	file=t.trace killed_while_writing convert --from=workload:ycsb-a --records=100M \
		--phase=load --to=t.trace
}

@test "a full disk behind stdout is a failure" {
	mininb 0 keys -c 100
	for words in 'put -d memory -c 100' 'engines' '--help' '--help=scdoc' '--version' \
		'shuffle -c 10' 'check -d memory --only=scan' 'workloads ycsb-a'; do
		# shellcheck disable=SC2086
		run -1 --separate-stderr sh -c '"$MININB" "$@" >/dev/full' sh $words
		contains "$stderr" 'No space left'
		equals "$(wc -l <<<"$stderr")" 1
	done
}

@test "a closed stdout is a failure" {
	needs_leveldb
	mininb 0 keys -c 100
	run -1 --separate-stderr sh -c '"$MININB" put -c 100 >&-'
	contains "$stderr" 'mininb: '
	mininb 0 get -c 100
}

@test "no file of the engine gets the descriptor of a closed stdout or stderr" {
	needs_leveldb
	mininb 0 keys -c 500k
	env --default-signal=INT "$MININB" put -c 500k -v 1000 >&- 2>&- 3>&- &
	pid=$!
	wait_until compgen -G 'nb/leveldb/*.ldb' >/dev/null
	equals "$(readlink "/proc/$pid/fd/1")" /dev/null
	equals "$(readlink "/proc/$pid/fd/2")" /dev/null
	: >out
	: >err
	stop INT
}

@test "a closed pipe ends the program like SIGPIPE, without a message" {
	local words
	mininb 0 keys -c 100
	mininb 0 put -d memory -c 100 --output=r.json
	for words in 'put -d memory -c 100' engines explain 'report r.json' help; do
		run -141 --separate-stderr bash -c 'set -o pipefail
			(sleep 0.2; "$MININB" $1) | true' bash "${words/#help/--help}"
		equals "$stderr" ''
	done
}

@test "an unwritable place is reported" {
	needs_leveldb
	mininb 0 keys -c 10
	mkdir locked
	chmod 555 locked
	unprivileged 1 put -c 10 --path locked/nb
	contains "$stderr" 'Permission denied'
	contains "$stderr" locked
	unprivileged 1 put -c 10 --path locked
	contains "$stderr" 'Permission denied'
	unprivileged 1 keys -c 10 -i locked/keys.bin
	contains "$stderr" 'Permission denied'
	chmod 000 keys.bin
	unprivileged 1 put -c 10
	contains "$stderr" 'Permission denied'
	contains "$stderr" keys.bin
}

@test "a full disk during put is reported with the finished operations" {
	needs_leveldb
	needs_small_room
	mininb 0 keys -c 100k
	run -1 --separate-stderr in_small_room "$MININB" put -c 100k -v 1000 --value-ratio=1 \
		-i ../keys.bin
	contains "$stderr" 'No space left'
	contains "$stderr" 'mininb: '
	contains "$output" 'Action: put'
	contains "$output" Partial
}

# Updates or inserts $2 on engine $1 that exceed the room.
full_in_the_middle()
{
	run -1 --separate-stderr in_small_room sh -c '
		"$MININB" load -d "$0" --records=500 --value-size=1000 --value-ratio=1 >/dev/null &&
		exec "$MININB" run -d "$0" "$1" --records=500 --value-size=1000 --value-ratio=1 \
			-c 20000 --output=../full.json' "$1" "$2"
	matches "$stderr" "^mininb: $1: (update|insert), operation [0-9]+: .*No space left on device"
	equals "$(wc -l <<<"$stderr")" 1
	contains "$(line_of Partial)" 'yes, a partial result'
	contains "$(<full.json)" 'No space left on device'
}

@test "a full disk during a run is reported with a partial result" {
	needs_leveldb
	needs_small_room
	full_in_the_middle leveldb --update=100
	needs_engine lmdb # an engine that maps its file
	full_in_the_middle lmdb --insert=100
}

@test "on a full disk, the report is printed and old result files stay" {
	needs_small_room
	# shellcheck disable=SC2016
	run -0 --separate-stderr in_small_room sh -c '
		put() { "$MININB" put -d memory -c 100 --output=r.json --hlog=r.hlog --csv=r \
			--notebook=r.nb "$@"; }
		"$MININB" keys -c 100 >/dev/null && put >/dev/null && sha256sum r* >../before
		dd if=/dev/zero of=fill bs=1k 2>/dev/null
		put; echo "status $?"; sha256sum -c --quiet ../before && echo kept && ls -A'
	contains "$output" 'status 1'
	equals "$(total_of "$output")" 100
	contains "$output" kept
	local file
	for file in r.json r.hlog r-operations.csv r.nb; do
		matches "$stderr" "$file: .*No space left on device"
	done
	equals "$(sed '1,/^kept$/d' <<<"$output" | tr '\n' ' ')" \
		'fill keys.bin nb r-counters.csv r-latency.csv r-operations.csv r-series.csv r.hlog r.json r.nb '
}

@test "on a full disk, keys leaves the old file" {
	needs_small_room
	run -0 --separate-stderr in_small_room sh -c '
		"$MININB" keys -c 1000 >/dev/null && cp keys.bin before.bin &&
		! "$MININB" keys -c 1M 2>&1 && cmp keys.bin before.bin && ls -A'
	contains "$output" 'No space left'
	lacks "$output" tmp
	equals "$(tail -n 2 <<<"$output")" "$(printf 'before.bin\nkeys.bin')"
}

@test "a database in use by another program is reported" {
	needs_leveldb
	mininb 0 keys -c 1000
	mininb 0 put -c 1000
	python3 - nb/leveldb/LOCK <<'PY' 3>&- &
import fcntl, sys, time
lock = open(sys.argv[1], "r+")
fcntl.lockf(lock, fcntl.LOCK_EX)
open("held", "w").close()
time.sleep(60)
PY
	holder=$!
	while [[ ! -e held ]]; do sleep 0.05; done
	mininb 1 get -c 1000
	kill "$holder"
	equals "$output" ''
	contains "$stderr" 'another process has it open'
}
