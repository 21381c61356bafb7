#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
#
# One run by the tasks of a Slurm job: each does its shard, all begin together, and one result
# comes out of it.
#
#   sbatch --ntasks=4 extra/examples/cluster/slurm.sh DIR [options of mininb run]
#
# DIR is on a file system that all nodes share. The servers hold the data already (mininb load).
# The clocks of the nodes must agree, as NTP keeps them. MININB_DELAY seconds are left for the
# tasks to start and connect.
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

# SLURM_PROCID is set for each task, so that shell has to expand it.
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
