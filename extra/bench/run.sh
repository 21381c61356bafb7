#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
#
# Benchmarks of mininb itself: the cost of its harness. Each side runs in several new processes, in
# turn. Compare the ratios of one run; compare its times only if the machine was quiet.
#
#   extra/bench/run.sh [harness|jobs|ENGINE] [PROCESSES] [COUNT]
#
# ENGINE is an engine with a file hand_ENGINE.c here. PROCESSES is the number of processes that
# measure each side [7]. With BENCH_SAME=1 both sides are mininb, so the ratios should be 1.
#
# Runs in $BENCH_DIR, by default on tmpfs, to avoid the influence of a disk.
set -euo pipefail

. "$(dirname "${BASH_SOURCE[0]}")/../common.sh"

build=${BENCH_BUILD:-$repo/build-bench}
dir=${BENCH_DIR:-/dev/shm/mininb-bench}
what=${1:-all}
shift || true

configure "$build" --buildtype=release -Dtests=false >/dev/null
as_owner ninja -C "$build" build.ninja >/dev/null # an old configuration may lack engines
known=$(ninja -C "$build" -t targets all)
targets=(extra/bench/bench_harness extra/bench/bench_jobs)
for hand in "$repo"/extra/bench/hand_*.c; do
	target=$(basename "$hand" .c)
	target=extra/bench/bench_${target#hand_}
	if [[ $known == *"$target:"* ]]; then
		targets+=("$target")
	fi
done
as_owner ninja -C "$build" all "${targets[@]}" >/dev/null

mkdir -p "$dir"
cd "$dir"
echo "load average: $(cut -d' ' -f1-3 /proc/loadavg), $(nproc) CPUs"
case $what in
all)
	for target in "${targets[@]}"; do
		"$build/$target" "$@"
	done
	;;
*)
	if [[ " ${targets[*]} " != *" extra/bench/bench_$what "* ]]; then
		echo "usage: extra/bench/run.sh [harness|jobs|ENGINE] [PROCESSES] [COUNT]; there are:" \
			"${targets[@]##*bench_}" >&2
		exit 2
	fi
	"$build/extra/bench/bench_$what" "$@"
	;;
esac
