#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
#
# Checks that a matrix of 24 runs ends with the same results after many SIGKILLs.
#
#   extra/bench/kills.sh BUILD [KILLS]   BUILD: a build directory; KILLS: 20 if it is not given
#
# Each kill hits at random only the matrix, or also its processes. After each kill, all result files
# must be complete and the older ones unchanged. If a matrix ends before all kills, another begins.
#
# Exit status: 0 the checks passed; 1 a check failed; 2 wrong usage.
set -euo pipefail

. "$(dirname "${BASH_SOURCE[0]}")/../common.sh"

build_and_number 20 "$@"
readonly kills=$number
command -v jq >/dev/null || die "jq is not installed"

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch"

cat >plan.ini <<-EOF
	[matrix]
	driver = memory, null
	threads = 1, 2
	vlen = 16, 64, 256
	repetitions = 2
	[options]
	records = 100
	count = 300
	read = 50
	update = 50
	durability = none
EOF

matrix()
{
	"$mininb" matrix plan.ini --results="$1" --quiet "${@:2}" >/dev/null
}

# Name, inode and time of each result of $1.
files()
{
	find "$1" -name '*.json' -printf '%f %i %T@\n' 2>/dev/null | sort
}

# Name, operations and digest of each step in the results of $1. Fails if a result is incomplete.
results()
{
	[[ -z $(files "$1") ]] || (cd "$1" && jq -r '(input_filename) as $file | .results[] |
		"\($file) \(.name) \(.measured.ops) \(.digest) \(.measured.is_partial)"' ./*.json)
}

milliseconds()
{
	local begin=$EPOCHREALTIME
	"$@"
	echo $(((${EPOCHREALTIME/./} - ${begin/./}) / 1000))
}

all_ms=$(milliseconds matrix alone)
plan_ms=$(milliseconds matrix alone --dry-run)
results alone >alone.txt
runs=$(files alone | wc -l)
((runs == 24)) || die "the plan has $runs runs, not 24"

# Start the matrix $1 and kill it within the time of three runs. Fails if it had ended before.
kill_matrix()
{
	local pid target status=0
	setsid "$mininb" matrix plan.ini --results="$1" --quiet >/dev/null 2>err.txt &
	pid=$! target=$!
	((RANDOM % 2)) || target=-$pid
	sleep "$(awk -v most=$((plan_ms + 3 * all_ms / runs)) -v seed=$RANDOM$RANDOM \
		'BEGIN { srand(seed); print rand() * most / 1000 }')"
	kill -KILL -- "$target" 2>/dev/null || true
	wait "$pid" 2>/dev/null || status=$?
	((status == 137 || status == 0)) || die "the matrix ended with status $status: $(<err.txt)"
	((status == 137))
}

# The earlier results of $1 must be unchanged files, and all results must be complete.
check()
{
	local now
	now=$(files "$1")
	[[ -z $seen || $(grep -cFx "$seen" <<<"$now") == $(wc -l <<<"$seen") ]] ||
		die "a result has changed after a kill"
	seen=$now
	results "$1" >now.txt || die "a result cannot be read"
	[[ ! -s now.txt || $(grep -cFxf alone.txt now.txt) == $(wc -l <now.txt) ]] ||
		die "a result differs from that of the undisturbed matrix"
}

end()
{
	matrix "$1" || die "the matrix failed after the kills"
	check "$1"
	cmp alone.txt now.txt || die "the sets of results differ"
	[[ $(find "$1" -type f ! -name '*.json' -printf '%f\n' | sort | paste -sd ' ') == \
		'index.html lock table.txt' ]] || die "$1 contains other files"
	[[ -z $(ls nb) ]] || die "the matrix left databases"
}

landed=0 round=1 seen=''
while ((landed < kills)); do
	if kill_matrix "killed$round"; then
		landed=$((landed + 1))
		check "killed$round"
	else
		end "killed$round"
		round=$((round + 1)) seen=''
	fi
done
before=$(grep -c . <<<"$seen" || true)
end "killed$round"
say "$landed kills, $round matrices of $runs runs; the last had $before results after its last kill"
