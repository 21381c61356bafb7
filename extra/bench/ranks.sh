#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
#
# Runs ranks of MPICH in separate network namespaces, like machines, with servers on this host. Each
# run of 2 and of RANKS ranks is compared with one process with as many threads, in the first
# namespace. The merged histograms must equal those of the ranks' own files.
#
#   sudo extra/bench/ranks.sh BUILD [RANKS]   BUILD: a build directory; RANKS: 2 if it is not given
#
# The servers are a Redis Cluster of three nodes, and `mininb serve` with the engine memory.
# MININB_SECONDS is the duration of each run, by default 5. Needs root, ip, mpich and redis.
#
# Exit status: 0 digests and histograms are equal; 1 they differ, or a run failed; 2 wrong usage.
set -euo pipefail

. "$(dirname "${BASH_SOURCE[0]}")/../common.sh"

build_and_number 2 "$@"
readonly ranks=$number net=10.213.87 bridge=mininb-br duration=${MININB_SECONDS-5}s
((EUID == 0)) || die "needs root, for network namespaces"
for tool in ip unshare mpirun.mpich redis-server redis-cli jq; do
	command -v "$tool" >/dev/null || die "$tool is not installed"
done

# In separate namespaces, because the kernel then removes the network when the script ends.
if [[ -z ${MININB_RANKS_INSIDE-} ]]; then
	export MININB_RANKS_INSIDE=yes
	exec unshare --net --mount "$0" "$@"
fi
mkdir -p /run/netns
mount -t tmpfs none /run/netns

scratch=$(mktemp -d)
pids=()

end()
{
	((${#pids[@]} == 0)) || kill "${pids[@]}" 2>/dev/null || true
	wait
	rm -rf "$scratch"
}
trap end EXIT

# Create a namespace for each rank, connected by a bridge. This host has the address .254.
make_network()
{
	local i
	ip link set lo up
	ip link add $bridge type bridge
	ip address add $net.254/24 dev $bridge
	ip link set $bridge up
	for ((i = 0; i < ranks; i++)); do
		ip netns add "mininb-$i"
		ip link add "mininb-v$i" type veth peer name eth0 netns "mininb-$i"
		ip link set "mininb-v$i" master $bridge up
		ip -n "mininb-$i" address add "$net.$((i + 1))/24" dev eth0
		ip -n "mininb-$i" link set eth0 up
		ip -n "mininb-$i" link set lo up
	done
	# The launcher calls this instead of ssh: enter [OPTION]... HOST WORD...
	cat >"$scratch/enter" <<-EOF
		#!/bin/sh
		while [ "\${1#-}" != "\$1" ]; do shift; done
		host=\$1
		shift
		exec ip netns exec "mininb-\$((\${host##*.} - 1))" sh -c "\$*"
	EOF
	chmod +x "$scratch/enter"
}

start_redis()
{
	local i nodes=()
	for i in 1 2 3; do
		mkdir "$scratch/$i"
		redis-server --port $((7600 + i)) --bind $net.254 --protected-mode no --save '' \
			--dir "$scratch/$i" --cluster-enabled yes >/dev/null &
		pids+=($!)
		nodes+=("$net.254:$((7600 + i))")
	done
	for i in 1 2 3; do
		until redis-cli -h $net.254 -p $((7600 + i)) ping >/dev/null 2>&1; do sleep 0.1; done
	done
	redis-cli --cluster create "${nodes[@]}" --cluster-yes >/dev/null
	until redis-cli -h $net.254 -p 7601 cluster info | grep -q cluster_state:ok; do
		sleep 0.1
	done
}

start_serve()
{
	"$mininb" serve -d memory --allow-reset --listen=$net.254:7700 >/dev/null 2>&1 &
	pids+=($!)
	until (: >/dev/tcp/$net.254/7700) 2>/dev/null; do sleep 0.1; done
}

# $1: a name; $2: the number of ranks; the rest: options of the run.
run_ranks()
{
	local hosts i
	hosts=$(for ((i = 1; i <= $2; i++)); do printf '%s,' "$net.$i"; done)
	rm -f "$scratch"/rank-*.json
	timeout -k 5 60 mpirun.mpich -launcher ssh -launcher-exec "$scratch/enter" \
		-localhost $net.254 -hosts "${hosts%,}" -env UCX_TLS tcp,self -n "$2" \
		"$mininb" run "${@:3}" --threads=1 --output="$scratch/rank-%r.json" >/dev/null ||
		die "$1: mpirun.mpich failed"
	mv "$scratch/rank-all.json" "$scratch/all.json"
	"$mininb" merge "$scratch"/rank-*.json --output="$scratch/merged.json" >/dev/null ||
		die "$1: the results of the ranks cannot be merged"
}

# The histograms of all operations and of each kind.
histograms()
{
	jq -cS '.results[0] | [.service, [.groups[].operations[] | .service]]' "$1"
}

# $1: the number of ranks; $2: a name; the rest: options with which a client connects.
compare()
{
	local count=$1 name=$2 one all
	shift 2
	local job=(-w ycsb-b --records=20000 --duration="$duration" --quiet)
	"$mininb" load "$@" -w ycsb-b --records=20000 --quiet >/dev/null
	ip netns exec mininb-0 "$mininb" run "$@" "${job[@]}" --threads="$count" \
		--output="$scratch/one.json" >/dev/null
	run_ranks "$name" "$count" "$@" "${job[@]}"
	one=$(jq -r '.results[0].digest' "$scratch/one.json")
	all=$(jq -r '.results[0].digest' "$scratch/all.json")
	jq -rs --arg name "$name" --arg count "$count" '
		def rate: .results[0] | .measured.ops / .measured.wall_ns * 1e9;
		def begins: [.results[0].generators[].begun_at_ns];
		"\($name): one process \(.[0] | rate | floor) ops/s, \($count) ranks "
		+ "\(.[1] | rate | floor) ops/s; "
		+ "begins within \((.[1] | begins | max - min) / 1000) us, clocks to within "
		+ "\([.[1].results[0].generators[].clock_error_ns // 0] | max / 1000) us"' \
		"$scratch/one.json" "$scratch/all.json"
	[[ $one == "$all" ]] || die "$name: the digests $one and $all differ"
	[[ $(histograms "$scratch/merged.json") == "$(histograms "$scratch/all.json")" ]] ||
		die "$name: the histograms differ from those of the ranks' files"
}

# $1: a name; the rest: options with which a client connects.
compare_all()
{
	compare 2 "$@"
	((ranks == 2)) || compare "$ranks" "$@"
}

make_network
start_redis
start_serve
compare_all redis -d redis --durability=none -o cluster=yes --servers=$net.254:7601,$net.254:7602,$net.254:7603
compare_all serve -d net --servers=$net.254:7700
