#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# --memory: a control group for each run.
# shellcheck disable=SC2154,SC2016
load helper

# A sanitizer keeps freed memory, which counts against the limit.
needs_group()
{
	needs_no_sanitizer
	run --separate-stderr "$MININB" run -d null --records=1 --read=100 --count=1 --memory=64MiB
	((status == 0)) && return
	[[ $stderr == *'control group'* ]] || {
		echo "$stderr"
		return 1
	}
	skip "$stderr"
}

needs_disk()
{
	[[ $(stat -f -c %T .) != tmpfs ]] || skip 'the directory is on tmpfs'
}

member()
{
	value_of r.json "results.0.measured.memory.$1"
}

@test "without permission for a control group, load prints a suggestion before it starts" {
	((EUID == 0)) || skip 'needs root'
	command -v setpriv >/dev/null || skip 'setpriv is not installed'
	chmod 777 .
	run -1 --separate-stderr setpriv --reuid=65534 --clear-groups "$MININB" load -d memory \
		-w ycsb-c --records=10 --memory=64MiB
	matches "$stderr" 'memory: (cannot make a control group|this system has no control group)'
	[[ $stderr == *'this system'* || $stderr == *systemd-run* ]]
	[[ ! -e nb ]]
}

@test "without memory control groups, load prints a suggestion" {
	((EUID == 0)) || skip 'needs root'
	unshare --mount sh -c 'mount -t tmpfs none /sys/fs/cgroup' || skip 'cannot hide /sys/fs/cgroup'
	run -1 --separate-stderr unshare --mount sh -c 'mount -t tmpfs none /sys/fs/cgroup
		exec "$0" load -d memory -w ycsb-c --records=10 --memory=64MiB' "$MININB"
	contains "$stderr" 'no control group of memory, so no limit can be set; mount control groups'
	[[ ! -e nb ]]
}

# An administrator delegates a cgroup by making the user its owner.
@test "a user with a delegated version 1 control group can set a limit" {
	needs_no_sanitizer
	((EUID == 0)) || skip 'needs root'
	command -v setpriv >/dev/null || skip 'setpriv is not installed'
	local group=/sys/fs/cgroup/memory
	group+=$(sed -n 's/^[0-9]*:\([^:]*,\)*memory\(,[^:]*\)*:\(.*\)/\3/p' /proc/self/cgroup)
	[[ -e $group/memory.limit_in_bytes ]] || group=/sys/fs/cgroup/memory
	[[ -e $group/memory.limit_in_bytes ]] || skip 'the system has no memory control groups of version 1'
	group=$group/test-$$
	mkdir "$group" || skip "cannot create $group"
	chown 65534 "$group" "$group/cgroup.procs" "$group/tasks"
	chmod 777 .
	run -0 --separate-stderr sh -c 'echo $$ >"$0/cgroup.procs"
		exec setpriv --reuid=65534 --clear-groups "$@"' "$group" \
		"$MININB" run -d null --records=100 --read=100 --count=100 --memory=16MiB --quiet
	for _ in {1..100}; do # the last process may still be exiting
		rmdir "$group" 2>/dev/null && break
		sleep 0.1
	done
	[[ ! -e $group ]]
	contains "$output" 'Memory limit      : 16MiB, and '
}

@test "the peak is at most the limit plus the reported share of mininb" {
	needs_group
	needs_disk
	needs_leveldb
	mininb 0 load -d leveldb --records=20000 --vlen=1000 --memory=16MiB --output=r.json --quiet
	contains "$output" 'Memory limit'
	contains "$output" ': 16MiB, and '
	equals "$(member limit_bytes)" $((16 << 20))
	(($(member harness_bytes) > 0))
	(($(member peak_bytes) > 1 << 20))
	(($(member peak_bytes) <= $(member limit_bytes) + $(member harness_bytes)))
	equals "$(member kills)" 0
	mininb 0 report --format=csv r.json
	contains "$output" memory_peak_bytes
}

@test "files cached before the run are evicted and charged again" {
	needs_group
	needs_disk
	needs_leveldb
	mininb 0 load -d leveldb --records=20000 --vlen=1000 --fresh --quiet
	cat nb/leveldb/* >/dev/null
	mininb 0 run -d leveldb --records=20000 --vlen=1000 --read=100 --count=20000 \
		--memory=64MiB --output=r.json --quiet
	(($(member file_bytes) > 4 << 20))
}

@test "the report states that the limit killed the engine" {
	needs_group
	mininb 1 load -d memory --records=200000 --vlen=1000 --memory=16MiB --output=r.json
	contains "$stderr" 'memory: the kernel killed the engine during '
	contains "$stderr" 'because it needs more memory than --memory=16777216'
	contains "$(value_of r.json results.0.end)" 'the kernel killed the engine'
}

@test "the report states in which phase the limit killed the server" {
	needs_group
	needs_engine net
	mininb 1 load -d net -o engine=memory --records=200000 --vlen=1000 --depth=64 \
		--memory=64MiB --output=r.json
	# the kernel sometimes kills the client as well
	matches "$stderr" 'net: the kernel killed the (server|engine) during load, because it needs more'
	matches "$(value_of r.json results.0.end)" 'the kernel killed the (server|engine) during load'
}

@test "mininb's share equals the peak of a run on null" {
	needs_group
	mininb 0 run -d null --records=1000 --read=50 --update=50 --count=100000 --threads=2 \
		--memory=64MiB --output=r.json --quiet
	local share peak
	share=$(member harness_bytes) peak=$(member peak_bytes)
	# the kernel charges memory in batches of some pages for each CPU
	((peak < share + share / 5 + (1 << 20)))
	((share < peak + peak / 5 + (1 << 20)))
}

@test "runs with different limits are not ranked" {
	needs_group
	mininb 0 run -d memory -w taobench-o --edges=100 --duration=0s --warmup=0 --count=100 \
		--memory=64MiB --output=r.json --quiet
	(($(member harness_bytes) > 0)) # measured although null lacks the job's ordered scans
	mininb 0 run -d null --records=10 --read=100 --count=100 --memory=64MiB --output=r.json
	mininb 0 run -d null --records=10 --read=100 --count=100 --memory=32MiB --output=s.json
	mininb 2 compare r.json s.json
	contains "$stderr" 'memory limit'
}
