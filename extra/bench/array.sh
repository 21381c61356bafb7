#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
#
# Measures how replays of an array of keys scale on the null engine: one thread, two threads, and
# two parallel processes with one thread each.
#
#   extra/bench/array.sh [RUNS [COUNT]]
#
# RUNS is the number of runs of each [9], in turn, and COUNT the total number of operations
# [10000000]. Two processes share nothing, so they limit the speed of two threads: two CPUs of a
# virtual machine may be one core. If permitted, runs have real-time priority, which keeps other
# work off their CPUs. Such a run must take less than a second, because the kernel takes back 5 % of
# each second.
set -euo pipefail

. "$(dirname "${BASH_SOURCE[0]}")/../common.sh"

build=${BENCH_BUILD:-$repo/build-bench}
dir=${BENCH_DIR:-/dev/shm/mininb-bench}
runs=${1:-9}
count=${2:-10000000}

configure "$build" --buildtype=release -Dtests=false >/dev/null
as_owner ninja -C "$build" cli/mininb >/dev/null
mkdir -p "$dir"
work=$(mktemp -d "$dir/array.XXXXXX")
trap 'rm -rf "$work"' EXIT
head -c 8000000 /dev/urandom >"$work/keys.u64"
first=()
if chrt -f 50 true 2>/dev/null; then
	first=(chrt -f 50)
fi

# Replay $3 operations with $2 threads, and write the operations per second to file $1.
replay()
{
	"${first[@]}" "$build/cli/mininb" replay -d null --trace="$work/keys.u64" --format=u64 \
		--array --threads="$2" --count="$3" --verify-rate=0 -p "$work/db.$1" |
		awk '$1 == "read" && $2 == "service" { print $4 }' >"$work/$1"
}

sum()
{
	cat "$@" | awk '{ sum += $1 } END { if (NR == 0 || sum <= 0) exit 1; print sum }'
}

# Median, minimum and maximum of column $1 of the samples.
spread()
{
	cut -d ' ' -f "$1" "$work/samples" | sort -n | awk '{ at[NR] = $1 }
		END { printf "%.2f [%.2f .. %.2f]\n", at[int((NR + 1) / 2)], at[1], at[NR] }'
}

echo "load average: $(cut -d ' ' -f 1-3 /proc/loadavg), $(nproc) CPUs${first:+, real-time priority}"
for ((i = 0; i < runs; i++)); do
	replay one 1 "$count"
	replay two 2 "$count"
	replay a 1 $((count / 2)) &
	replay b 1 $((count / 2))
	wait $!
	one=$(sum "$work/one") two=$(sum "$work/two") both=$(sum "$work/a" "$work/b")
	awk -v one="$one" -v two="$two" -v both="$both" \
		'BEGIN { print one / 1e6, two / 1e6, two / one, both / one, two / both }' >>"$work/samples"
done
echo "1 thread, million operations a second   $(spread 1)"
echo "2 threads, million operations a second  $(spread 2)"
echo "2 threads to 1                          $(spread 3)"
echo "2 processes to 1                        $(spread 4)"
echo "2 threads to 2 processes                $(spread 5)"
