#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
#
# The table of extra/workloads/taobench/README.md: taobench.sh ENGINE...
#
# Loads workloads O and A of TAOBench into each engine and runs them: two threads, $EDGES edges
# (20000), a second of warm-up and $SECONDS_EACH (3) that count. Prints a row for each engine: the level of
# its transactions, operations and records a second. An ENGINE may have options:
# "redis,--preconditions=no". $MININB is the program, $DIR a directory for databases.
set -eu

mininb=${MININB:-mininb}
seconds=${SECONDS_EACH:-3}
edges=${EDGES:-20000}
dir=${DIR:-${TMPDIR:-/tmp}}/taobench.$$
mkdir -p "$dir"
trap 'rm -rf "$dir"' EXIT

# Operations a second, records a second, level, share of refused operations.
figures='.results[0].groups[0] | [.ops / (.wall_ns / 1e9),
	([.operations[].records] | add) / (.wall_ns / 1e9),
	.level,
	100 * ([.operations[].answers.exists // 0] | add) / .ops] | @tsv'

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
		if "$mininb" run --threads=2 --warmup=1s --duration="$((seconds + 1))s" --force \
			--output="$dir/result.json" "$@" >/dev/null 2>"$dir/error"; then
			values=$(jq -r "$figures" "$dir/result.json")
			level=$(echo "$values" | cut -f3)
			row="$row$([ "$workload" = a ] || echo "| $level ")"
			row="$row| $(echo "$values" | awk -F'\t' \
				'{printf "%.1f k | %.1f k | %.2f %%", $1 / 1000, $2 / 1000, $4}') "
		else
			row="$row| $(tail -1 "$dir/error") | | "
		fi
		rm -rf "${dir:?}/$name" "$dir/result.json"
	done
	echo "$row|"
done
