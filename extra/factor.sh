#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
#
# Factor analysis of the engine masstree, like section 6.2 of its paper. Runs puts and gets of rw1
# on variants of the engine, each of which adds an option to the previous one.
#
#   factor.sh [DIRECTORY] [OPTION of mininb vs]...
#
# Writes to DIRECTORY (./factor): factor.json, the results; factor.txt, a table; factor.gp, a
# gnuplot script of bars, for: gnuplot factor.gp >factor.png
#
# Needs jq. $MININB is the command to call, $COUNT the number of puts of a run (5M), $RUNS the
# number of repetitions (5). All variants put the same keys, and run in random order in each round.
# The binary tree and the 4-tree of the paper are omitted, because they are other data structures.
set -eu

mininb=${MININB:-mininb} dir=factor
case ${1:-} in
'' | -*) ;;
*)
	dir=$1
	shift
	;;
esac
mkdir -p "$dir"

# Each variant after the first leaves one more of these options at its default.
base='allocator=malloc hugepages=no compare=bytes prefetch=no permutation=no'

drivers=masstree names=Base number=1
for setting in $base; do
	number=$((number + 1))
	drivers=$drivers,masstree
	names="$names +${setting%%=*}"
done
words=''
for variant in $(seq $number); do
	place=0
	for setting in $base; do
		place=$((place + 1))
		[ $place -lt "$variant" ] || words="$words -o masstree#$variant.$setting"
	done
done
# shellcheck disable=SC2086
"$mininb" vs --driver=$drivers --workload=rw1 --puts.duration=0s --puts.count="${COUNT:-5M}" \
	--latency=sampled:64 --runs="${RUNS:-5}" --path="$dir/nb" --output="$dir/factor.json" --force $words "$@" >&2
rm -rf "$dir/nb"

# The median of each variant and phase, in M operations per second, and its ratio to the previous
# variant.
jq -r --arg names "$names" '
	def median: sort | (.[(length - 1) / 2 | floor] + .[length / 2 | floor]) / 2;
	($names | split(" ")) as $name
	| [.results[] | select(.groups) | {variant: (.name | sub(".*#"; "") | tonumber)} +
		([.groups[] | {(.name): .throughput_ops_s}] | add)]
	| group_by(.variant)[]
	| "\($name[.[0].variant - 1]) \(map(.puts) | median) \(map(.gets) | median)"
' "$dir/factor.json" | awk '
	BEGIN { printf "%-14s %10s %8s %10s %8s\n", "variant", "puts M/s", "factor", "gets M/s", "factor" }
	{
		printf "%-14s %10.3f %8.2f %10.3f %8.2f\n", $1, $2 / 1e6,
			(NR > 1 ? $2 / puts : 1), $3 / 1e6, (NR > 1 ? $3 / gets : 1)
		puts = $2; gets = $3
	}' >"$dir/factor.txt"

{
	echo 'set title "Factor analysis: rw1"'
	echo 'set terminal png size 800,500'
	echo 'set style data histogram'
	echo 'set style fill solid 0.6'
	echo 'set yrange [0:*]'
	echo 'set ylabel "M operations a second"'
	# shellcheck disable=SC2016 # gnuplot expands them
	echo '$factors << EOD'
	sed 1d "$dir/factor.txt"
	echo EOD
	# shellcheck disable=SC2016
	echo 'plot $factors using 2:xtic(1) title "puts", $factors using 4 title "gets"'
} >"$dir/factor.gp"
cat "$dir/factor.txt"
