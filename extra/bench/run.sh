#!/bin/bash
# Benchmarks of mininb itself: what its harness costs. Prints ratios within one run, which
# can be compared, and times, which cannot be unless the machine is quiet.
#
#   extra/bench/run.sh [harness|leveldb] [PAIRS] [COUNT]
#
# Runs in $BENCH_DIR, by default on tmpfs, so that no disk is in the way.
set -euo pipefail

root=$(cd "$(dirname "$0")/../.." && pwd)
build=${BENCH_BUILD:-$root/build-bench}
dir=${BENCH_DIR:-/dev/shm/mininb-bench}
what=${1:-all}
shift || true

if [[ ! -f $build/build.ninja ]]; then
	meson setup --buildtype=release -Dtests=false "$build" "$root" >/dev/null
fi
targets=(extra/bench/bench_harness)
known=$(ninja -C "$build" -t targets all)
if [[ $known == *extra/bench/bench_leveldb:* ]]; then
	targets+=(extra/bench/bench_leveldb)
fi
ninja -C "$build" all "${targets[@]}" >/dev/null

mkdir -p "$dir"
cd "$dir"
echo "load average: $(cut -d' ' -f1-3 /proc/loadavg), $(nproc) CPUs"
case $what in
all)
	for target in "${targets[@]}"; do
		"$build/$target" "$@"
	done
	;;
harness | leveldb) "$build/extra/bench/bench_$what" "$@" ;;
*)
	echo "usage: extra/bench/run.sh [harness|leveldb] [PAIRS] [COUNT]" >&2
	exit 2
	;;
esac
