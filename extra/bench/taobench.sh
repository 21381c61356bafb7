#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
#
# Prints the table of extra/workloads/taobench/README.md: taobench.sh ENGINE...
#
# Loads the workloads O and A of TAOBench into each engine, with $EDGES edges (20000), and runs each
# $RUNS times (3). A run has two threads, $WARMUP seconds (1) of warm-up and $SECONDS_EACH seconds
# (3) of measurement. Each row has the transaction level of the engine, and the medians of
# operations and records per second and of the share of refused operations. An ENGINE may have
# options: "redis,--preconditions=no". $MININB is the program, $DIR a directory for databases.
set -eu

mininb=${MININB:-mininb}
seconds=${SECONDS_EACH:-3}
warmup=${WARMUP:-1}
runs=${RUNS:-3}
edges=${EDGES:-20000}
dir=${DIR:-${TMPDIR:-/tmp}}/taobench.$$
mkdir -p "$dir"
trap 'rm -rf "$dir"' EXIT

# Operations per second, records per second, level, share of refused operations.
figures='.results[0].groups[0] | [.ops / (.wall_ns / 1e9),
	([.operations[].records] | add) / (.wall_ns / 1e9),
	.level,
	100 * ([.operations[].answers.exists // 0] | add) / .ops] | @tsv'

# The median of column $1 of the figures of all runs.
median() {
	cut -f"$1" "$dir/figures" | sort -n | awk '{value[NR] = $1}
		END {print NR % 2 ? value[(NR + 1) / 2] : (value[NR / 2] + value[NR / 2 + 1]) / 2}'
}

# Run one workload repeatedly on one database; each run is its next epoch.
run_all() {
	: >"$dir/figures"
	run=0
	while [ "$run" -lt "$runs" ]; do
		"$mininb" run --threads=2 --warmup="${warmup}s" --duration="$((seconds + warmup))s" \
			--epoch="$run" --force --output="$dir/result.json" "$@" >/dev/null \
			2>"$dir/error" || return 1
		jq -r "$figures" "$dir/result.json" >>"$dir/figures"
		run=$((run + 1))
	done
}

for engine in "$@"; do
	name=${engine%%,*}
	options=$(echo "${engine#"$name"}" | tr ',' ' ')
	row="| $name "
	for workload in o a; do
		# shellcheck disable=SC2086 # options are words
		set -- --workload="taobench-$workload" --driver="$name" --edges="$edges" \
			--path="$dir" --quiet $options
		if [ "$("$mininb" engines 2>/dev/null | grep -c "^$name .*in memory")" = 0 ]; then
			"$mininb" load --fresh "$@" >/dev/null 2>"$dir/error" || true
		fi
		if run_all "$@"; then
			[ "$workload" = a ] || row="$row| $(cut -f3 "$dir/figures" | head -n 1) "
			row="$row| $(printf '%s\t%s\t%s' "$(median 1)" "$(median 2)" "$(median 4)" |
				awk -F'\t' '{printf "%.1f | %.1f | %.2f %%", $1 / 1000, $2 / 1000, $3}') "
		else
			row="$row| $(tail -n 1 "$dir/error") | | "
		fi
		rm -rf "${dir:?}/$name" "$dir/result.json"
	done
	echo "$row|"
done
