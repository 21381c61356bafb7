#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
#
# The tasks of a Slurm job execute one run together. Each task executes a shard, all start at the
# same time, and the script merges their results.
#
#   sbatch --ntasks=4 extra/examples/cluster/slurm.sh DIR [options of mininb run]
#
# DIR is on a file system that all nodes share. The servers must already have the data (mininb
# load). NTP must keep the clocks of the nodes equal. The tasks have MININB_DELAY seconds [30] to
# start and connect.
#SBATCH --job-name=mininb
#SBATCH --ntasks=4
set -euo pipefail

(($# >= 1)) || {
	echo "usage: sbatch --ntasks=N $0 DIR [options of mininb run]" >&2
	exit 2
}
dir=$1
shift
mkdir -p "$dir"
start=$(($(date +%s) + ${MININB_DELAY:-30}))
tasks=${SLURM_NTASKS:?is not set: start this with sbatch}

# Each task has its own SLURM_PROCID, so the task's shell must expand it.
# shellcheck disable=SC2016
srun --ntasks="$tasks" --kill-on-bad-exit=1 bash -c '
	dir=$1 start=$2 tasks=$3
	exec mininb run --shard="$SLURM_PROCID/$tasks" --start-at="$start" \
		--path="$dir/$SLURM_PROCID" --output="$dir/$SLURM_PROCID.json" "${@:4}"
' shard "$dir" "$start" "$tasks" "$@"

results=()
for ((i = 0; i < tasks; i++)); do
	results+=("$dir/$i.json")
done
mininb merge "${results[@]}" --output="$dir/all.json"
mininb report "$dir/all.json"
