#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# run under mpirun: the ranks execute one run together, with each installed MPI.
# shellcheck disable=SC2154
load helper

job='--records=500 --count=4000 --read=50 --update=50 --seed=3'

# Set the array `mpirun` to the launcher of MPI $1 with $2 ranks.
launcher()
{
	local name=mpirun.$1
	command -v "$name" >/dev/null || skip "$name is not installed"
	[[ -e $(dirname "$MININB")/../lib/mininb-$1.so ]] || skip "mininb was built without $1"
	mpirun=("$name" -n "$2")
	if [[ $1 == openmpi ]]; then
		export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
		mpirun+=(--oversubscribe)
	fi
}

# The histograms of all operations and of each kind.
histograms()
{
	jq -cS '.results[0] | [.service, [.groups[].operations[] | .service]]' "$1"
}

# Run one process with $1 threads as a reference, and $1 / 2 ranks with 2 threads by MPI $2.
as_one_process()
{
	launcher "$2" $(($1 / 2))
	# shellcheck disable=SC2086
	mininb 0 run -d memory $job --threads="$1" --output=whole.json --quiet
	# shellcheck disable=SC2086
	run -0 --separate-stderr timeout -k 5 240 "${mpirun[@]}" "$MININB" run -d memory $job \
		--threads=2 --output=r-%r.json
	mv r-all.json r.json
	equals "$(value_of r.json results.0.digest)" "$(value_of whole.json results.0.digest)"
	equals "$(value_of r.json results.0.measured.ops)" 4000
	equals "$(value_of r.json results.0.threads)" "$1"
	equals "$(jq '.results | length' r.json)" 1
	equals "$(jq '.results[0].generators | length' r.json)" $(($1 / 2))
	equals "$(jq '[.results[0].generators[].ops] | add' r.json)" 4000
	# each kind of operation occurs as often as in one process, and each operation is timed
	equals "$(jq -c '[.results[0].groups[0].operations[] | .ops]' r.json)" \
		"$(jq -c '[.results[0].groups[0].operations[] | .ops]' whole.json)"
	equals "$(jq '.results[0].service.count' r.json)" 4000
	# all ranks use the same clock here, so an offset beyond its error is wrong
	equals "$(jq '[.results[0].generators[1:][] | .clock_error_ns > 0 and
		((.clock_offset_ns // 0) | fabs) <= .clock_error_ns] | all' r.json)" true
	contains "$output" "Generator         : 1/$(($1 / 2)) on "
	contains "$output" 'by clocks that were compared to within'
	# the ranks' own files merge to the same histograms
	equals "$(echo r-*.json | wc -w)" $(($1 / 2))
	mininb 0 merge r-*.json --output=merged.json
	equals "$(histograms merged.json)" "$(histograms r.json)"
	equals "$(value_of r-1.json results.0.measured.ops)" \
		"$(value_of r.json results.0.generators.1.ops)"
}

@test "two ranks of Open MPI execute the operations of one process with as many threads" {
	as_one_process 4 openmpi
}

@test "four ranks of MPICH execute the operations of one process with as many threads" {
	as_one_process 8 mpich
}

@test "ranks begin at the same time, and due times start there" {
	launcher mpich 2
	# shellcheck disable=SC2086
	run -0 --separate-stderr timeout -k 5 240 "${mpirun[@]}" "$MININB" run -d memory \
		--records=500 --count=400 --read=100 --rate=2000 --threads=1 --output=r.json
	equals "$(jq '.results[0].response.count' r.json)" 400
	equals "$(jq '.results[0].groups[0].rate_ops_s' r.json)" 4000
}

# Start a long run of two ranks by MPI $1, and wait for its first partial result.
start_long()
{
	launcher "$1" 2
	timeout -k 5 240 "${mpirun[@]}" "$MININB" run -d memory --records=500 --duration=200s \
		--read=100 --threads=1 --rate=200 --output=r.json >out 2>err 3>&- &
	pid=$!
	local i
	for ((i = 0; i < 900; i++)); do
		[[ ! -s r.json ]] || return 0
		sleep 0.1
	done
	cat out err
	return 1
}

# The process of rank 1 ($1 is `rank`) or its child that runs the engine ($1 is `child`).
rank_one()
{
	local stat process parent wanted=1
	for stat in /proc/[0-9]*/stat; do
		process=${stat//[!0-9]/}
		tr '\0' '\n' <"/proc/$process/environ" 2>/dev/null |
			grep -qxE '(OMPI_COMM_WORLD_RANK|PMI_RANK)=1' || continue
		[[ $(readlink "/proc/$process/exe") == "$(readlink -f "$MININB")" &&
			$(readlink "/proc/$process/cwd") == "$(pwd -P)" ]] || continue
		parent=$(sed 's/.*) . \([0-9]*\).*/\1/' "$stat")
		[[ $(readlink "/proc/$parent/exe") == "$(readlink -f "$MININB")" ]] &&
			wanted=child || wanted=rank
		[[ $wanted != "$1" ]] || echo "$process"
	done 2>/dev/null
}

# mpirun must fail. The result is partial, and its end matches $1.
ends_partial()
{
	local status=0
	wait "$pid" || status=$?
	pid=
	((status != 0 && status != 124)) || {
		cat out err
		return 1
	}
	equals "$(value_of r.json results.0.measured.is_partial)" True
	(($(value_of r.json results.0.measured.ops) > 0))
	matches "$(value_of r.json results.0.end)" "$1"
}

# If an engine dies, its rank survives and reports it.
loses_an_engine()
{
	start_long "$1"
	kill -KILL "$(rank_one child)"
	ends_partial '^rank 1 \(.*\): killed by SIGKILL during run$'
	contains "$(<out)" 'Partial           : yes'
	contains "$(value_of r.json results.0.generators.1.end)" 'killed by SIGKILL'
}

@test "a dead engine ends the run of all ranks and is named, with Open MPI" {
	loses_an_engine openmpi
}

@test "a dead engine ends the run of all ranks and is named, with MPICH" {
	loses_an_engine mpich
}

# The launcher then kills all ranks. The last partial result remains.
@test "a rank that dies leaves a partial result with Open MPI" {
	start_long openmpi
	kill -KILL "$(rank_one rank)"
	ends_partial '^(unfinished: |rank 1 \(.*\): did not answer)'
}

@test "a rank that dies leaves a partial result with MPICH" {
	start_long mpich
	kill -KILL "$(rank_one rank)"
	ends_partial '^unfinished: '
}

# The other rank waits for it in MPI_Init.
fails_alone()
{
	launcher "$1" 2
	mkdir there-1
	# shellcheck disable=SC2086
	run -1 --separate-stderr timeout -k 5 240 "${mpirun[@]}" "$MININB" run -d memory $job \
		--output=there-%r/r.json
	contains "$stderr" '--output: cannot write there-0/r.json: No such file or directory'
	[[ ! -e there-1/r.json ]]
}

@test "a rank that fails before it joins ends all ranks with Open MPI" {
	fails_alone openmpi
}

@test "a rank that fails before it joins ends all ranks with MPICH" {
	fails_alone mpich
}

@test "an MPI that disagrees with the launcher on the number of ranks is rejected" {
	local mpi prefix
	for mpi in openmpi mpich; do
		[[ -e $(dirname "$MININB")/../lib/mininb-$mpi.so ]] || continue
		[[ $mpi == openmpi ]] && prefix=OMPI_COMM_WORLD || prefix=PMI
		# shellcheck disable=SC2086
		run -1 --separate-stderr env ${prefix}_RANK=0 ${prefix}_SIZE=2 "$MININB" \
			run -d memory $job --output=r.json
		contains "$stderr" "MPI ($mpi) has 1 ranks and this is rank 0, but the launcher's"
		[[ ! -e r.json ]]
	done
}

@test "ranks reject options of one process, and --shard makes each rank independent" {
	export PMI_RANK=0 PMI_SIZE=2
	# shellcheck disable=SC2086
	refuses '--procs cannot be used under mpirun: start more ranks' run -d memory $job --procs=2
	# shellcheck disable=SC2086
	refuses '--driver: under mpirun' run -d memory,null $job
	# shellcheck disable=SC2086
	mininb 0 run -d memory $job --shard=0/2
	contains "$output" 'Shard             : 0/2'
	PMI_RANK=2 refuses 'PMI_RANK=2 and PMI_SIZE=2 are not a rank' run -d memory
}

# The script compares digests and histograms itself, in its own network namespace.
@test "ranks in network namespaces match one process, with a Redis Cluster and with serve" {
	((EUID == 0)) || skip 'needs root for network namespaces'
	for tool in ip unshare mpirun.mpich redis-server redis-cli jq; do
		command -v "$tool" >/dev/null || skip "$tool is not installed"
	done
	[[ -e $(dirname "$MININB")/../lib/mininb-mpich.so ]] || skip 'mininb was built without mpich'
	"$MININB" engines 2>/dev/null | grep -q '^redis ' || skip 'the plugin redis is not built'
	unshare --net --mount sh -ec 'mkdir -p /run/netns; mount -t tmpfs none /run/netns
		ip netns add one; ip link add probe0 type bridge
		ip link add probe1 type veth peer name probe2 netns one' ||
		skip 'may not create network namespaces, bridges or veth'
	run -0 --separate-stderr env MININB_SECONDS=0.3 timeout -k 5 240 \
		"$MININB_TEST_MAN/../bench/ranks.sh" "$(dirname "$MININB")/.." 4
	for server in redis serve; do
		for ranks in 2 4; do
			matches "$output" \
				"$server: one process [0-9]+ ops/s, $ranks ranks [0-9]+ ops/s"
		done
	done
}
