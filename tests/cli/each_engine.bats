#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# Requirements for every built engine, tested through the command as a user types it.
# shellcheck disable=SC2154
load helper

# With a sanitizer: known leaks of libraries are identified by function names, which needs the slow
# unwinder. The program itself reports a mapped file on a full disk.
export ASAN_OPTIONS="${ASAN_OPTIONS-}:fast_unwind_on_malloc=0:handle_sigbus=0"

# Name and capabilities of each engine that can be loaded, one per line. Clients of servers are
# omitted, because they have no files.
engines()
{
	"$MININB" engines 2>/dev/null | sed '1d; /^$/,$d; / remote/d'
}

# The engines whose line contains the word $1.
engines_that_are()
{
	engines | grep -w -- "$1" | sed 's/ .*//'
}

# The life of a database: rejected while missing, created, read, changed, damaged. Two threads on an
# engine that is not concurrent are rejected.
@test "each engine puts, gets and deletes, and rejects a missing or damaged database" {
	local driver threads file count=0
	mininb 0 keys -c 500
	cp keys.bin shuffled.bin
	mininb 0 shuffle -c 500 -i shuffled.bin
	for driver in $(engines_that_are persistent); do
		echo "# $driver" >&3
		mininb 1 get -c 10 -d "$driver"
		contains "$stderr" "--action=put --driver=$driver"
		threads=2
		if ! engines_that_are concurrent | grep -qx -- "$driver"; then
			mininb 1 put -c 500 -t 2 -d "$driver"
			contains "$stderr" 'threads'
			threads=1
		fi
		mininb 0 put -c 500 -t $threads -d "$driver"
		contains "$output" "Driver: $driver"
		mininb 0 get -c 500 -t $threads -d "$driver" -i shuffled.bin --verify-rate=1
		contains "$output" 'Verified          : 500 of 500 (as they were read): 0 missing, 0 wrong'
		mininb 0 put -c 250 -d "$driver" --seed=2
		mininb 0 delete -c 250 -d "$driver" --verify-rate=1
		mininb 3 get -c 500 -d "$driver"
		contains "$output" 'Not found         : 250'
		# from another program, or truncated by a full disk
		while IFS= read -r -d '' file; do
			printf 'this is no database, but a text that is longer than a head' >"$file"
		done < <(find nb -type f -print0)
		run --separate-stderr "$MININB" get -c 10 -d "$driver"
		[[ $status == 1 || $status == 3 ]] || {
			echo "$driver: status $status: $stderr"
			return 1
		}
		contains "$stderr" mininb:
		count=$((count + 1))
		rm -r nb
	done
	echo "# $count engines" >&3
}

# With these counts, most engines still run at the signal. An engine that has finished has all
# records.
@test "each engine closes an interrupted put and keeps its records" {
	local driver count status_got
	mininb 0 keys -c 300k
	for driver in $(engines_that_are persistent); do
		echo "# $driver" >&3
		start put -c 300k -d "$driver" --settle=flush
		wait_until has_begun "$driver" "$pid"
		kill -INT "$pid" 2>/dev/null || true
		status_got=0
		wait "$pid" || status_got=$?
		pid=
		cat err
		[[ $status_got == 130 || $status_got == 0 ]]
		count=$(sed -n 's/^Count: //p' out)
		if [[ -n $count && $count -gt 0 ]]; then # otherwise the puts had not begun
			mininb 0 get -c "$count" -d "$driver"
		fi
		rm -rf nb
	done
}

# Process $2 has created a file for driver $1, or has ended.
has_begun()
{
	[[ -n $(ls -A "nb/$1" 2>/dev/null) || ! -e /proc/$2 ]]
}

# Run "$@" with a file system of 4 MiB at ./small.
on_small_disk()
{
	run --separate-stderr unshare -rm sh -c 'mount -t tmpfs -o size=4m none small && exec "$@"' sh "$@"
}

@test "on a full disk, each engine reports a failure or stores every record" {
	local driver
	mkdir small
	unshare -rm mount -t tmpfs none small 2>/dev/null || skip 'may not mount a tmpfs'
	mininb 0 keys -c 3000
	for driver in $(engines_that_are persistent); do
		echo "# $driver" >&3
		# shellcheck disable=SC2016
		on_small_disk sh -c '"$1" put -c 3000 -v 2000 -d "$2" --path=small >&2 || exit
			exec "$1" get -c 3000 -v 2000 -d "$2" --path=small --verify-rate=1' \
			sh "$MININB" "$driver"
		# 6 MB of values; compression may save half
		[[ $status == 0 && $output == *'Verified          : 3000 of 3000'* ]] ||
			[[ ($status == 1 || $status == 3) && -n $stderr ]]
		[[ $status == 0 ]] || matches "$stderr" $'(^|\n)mininb: '
	done
}

@test "tokyocabinet reports pages that it could not write to the file" {
	needs_engine tokyocabinet
	mkdir small
	unshare -rm mount -t tmpfs none small 2>/dev/null || skip 'may not mount a tmpfs'
	mininb 0 keys -c 3000
	on_small_disk "$MININB" put -c 3000 -v 2000 -d tokyocabinet --path=small --verify-rate=0
	equals "$status" 1
	contains "$stderr" 'tokyocabinet: settling: sync: a part of the file was not written'
	on_small_disk "$MININB" put -c 3000 -v 2000 -d tokyocabinet --path=small \
		--verify-rate=0 --settle=none
	equals "$status" 1
	contains "$stderr" 'tokyocabinet: closing: close: a part of the file was not written'
}
