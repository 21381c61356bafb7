#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# What must hold of every engine that is built, by the command as a user types it.
# shellcheck disable=SC2154
load helper

# With a sanitizer: what libraries leak is known by their names, which takes the slow way of
# unwinding, and a mapped file on a full disk is for the program to report.
export ASAN_OPTIONS="${ASAN_OPTIONS-}:fast_unwind_on_malloc=0:handle_sigbus=0"

# Name and capabilities of each engine that can be loaded, a line each.
engines()
{
	"$MININB" engines 2>/dev/null | sed '1d; /^$/,$d'
}

# Those whose line has the word $1.
engines_that_are()
{
	engines | grep -w -- "$1" | sed 's/ .*//'
}

@test "put, shuffle, get, delete on every engine" {
	local driver count=0
	mininb 0 keys -c 2000
	cp keys.bin shuffled.bin
	mininb 0 shuffle -c 2000 -i shuffled.bin
	for driver in $(engines_that_are persistent); do
		echo "# $driver" >&3
		mininb 0 put -c 2000 -d "$driver"
		contains "$output" "Driver: $driver"
		mininb 0 get -c 2000 -d "$driver" -i shuffled.bin --verify-rate=1
		contains "$output" 'Verified          : 2000 of 2000 (as they were read): 0 missing, 0 wrong'
		mininb 0 put -c 1000 -d "$driver" --seed=2
		mininb 0 delete -c 1000 -d "$driver" --verify-rate=1
		mininb 3 get -c 2000 -d "$driver"
		contains "$output" 'Not found         : 1000'
		count=$((count + 1))
		rm -r nb
	done
	echo "# $count engines" >&3
}

# Two threads on an engine that is not concurrent are refused, on others they work.
@test "threads on every engine: as it says" {
	local driver
	mininb 0 keys -c 2000
	for driver in $(engines_that_are persistent); do
		if engines_that_are concurrent | grep -qx -- "$driver"; then
			mininb 0 put -c 2000 -t 2 -d "$driver"
			mininb 0 get -c 2000 -t 2 -d "$driver" --verify-rate=1
		else
			mininb 1 put -c 2000 -t 2 -d "$driver"
			contains "$stderr" 'threads'
		fi
	done
}

# The counts are such that most are still running then; one that is not must have it all.
@test "an interrupted put on every engine is closed, and keeps what it has put" {
	local driver pid status_got count
	mininb 0 keys -c 1M
	for driver in $(engines_that_are persistent); do
		echo "# $driver" >&3
		env --default-signal=INT "$MININB" put -c 1M -d "$driver" --settle=flush \
			>out 2>err 3>&- &
		pid=$! status_got=0
		wait_until has_begun "$driver" "$pid"
		kill -INT "$pid" 2>/dev/null || true
		wait "$pid" || status_got=$?
		cat err
		[[ $status_got == 130 || $status_got == 0 ]]
		count=$(sed -n 's/^Count: //p' out)
		if [[ -n $count && $count -gt 0 ]]; then # else it had not begun
			mininb 0 get -c "$count" -d "$driver"
		fi
		rm -rf nb
	done
}

has_begun()
{
	[[ -n $(ls -A "nb/$1" 2>/dev/null) || ! -e /proc/$2 ]]
}

@test "every engine refuses a get where there is no database, and says how to make one" {
	local driver
	mininb 0 keys -c 10
	for driver in $(engines_that_are persistent); do
		mininb 1 get -c 10 -d "$driver"
		contains "$stderr" "--action=put --driver=$driver"
		mininb 0 put -c 10 -d "$driver" # and is not in the way of one
		mininb 0 get -c 10 -d "$driver"
	done
}

# Of another program, or cut short by a full disk.
@test "every engine refuses a database that is not its own" {
	local driver file
	mininb 0 keys -c 10
	for driver in $(engines_that_are persistent); do
		mininb 0 put -c 10 -d "$driver"
		while IFS= read -r -d '' file; do
			printf 'this is no database, but a text that is longer than a head' >"$file"
		done < <(find nb -type f -print0)
		run --separate-stderr "$MININB" get -c 10 -d "$driver"
		[[ $status == 1 || $status == 3 ]] || {
			echo "$driver: status $status: $stderr"
			return 1
		}
		contains "$stderr" mininb:
		rm -r nb
	done
}

# Run "$@" where ./small is a file system of 4 MiB.
on_small_disk()
{
	run --separate-stderr unshare -rm sh -c 'mount -t tmpfs -o size=4m none small && exec "$@"' sh "$@"
}

@test "a full disk ends a put with a message, or every record is there" {
	local driver
	mkdir small
	unshare -rm mount -t tmpfs none small 2>/dev/null || skip 'no file system can be mounted'
	mininb 0 keys -c 3000
	for driver in $(engines_that_are persistent); do
		echo "# $driver" >&3
		# shellcheck disable=SC2016 # for the inner shell
		on_small_disk sh -c '"$1" put -c 3000 -v 2000 -d "$2" --path=small >&2 || exit
			exec "$1" get -c 3000 -v 2000 -d "$2" --path=small --verify-rate=1' \
			sh "$MININB" "$driver"
		# 6 MB of values, half of which may be saved by compression
		[[ $status == 0 && $output == *'Verified          : 3000 of 3000'* ]] ||
			[[ ($status == 1 || $status == 3) && -n $stderr ]]
		[[ $status == 0 ]] || matches "$stderr" $'(^|\n)mininb: '
	done
}

@test "tokyocabinet finds that its pages did not get into the file" {
	needs_engine tokyocabinet
	mkdir small
	unshare -rm mount -t tmpfs none small 2>/dev/null || skip 'no file system can be mounted'
	mininb 0 keys -c 3000
	on_small_disk "$MININB" put -c 3000 -v 2000 -d tokyocabinet --path=small --verify-rate=0
	equals "$status" 1
	contains "$stderr" 'tokyocabinet: settling: sync: a part of the file was not written'
	on_small_disk "$MININB" put -c 3000 -v 2000 -d tokyocabinet --path=small \
		--verify-rate=0 --settle=none
	equals "$status" 1
	contains "$stderr" 'tokyocabinet: closing: close: a part of the file was not written'
}
