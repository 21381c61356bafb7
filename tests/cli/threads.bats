#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# Many workers on mininb's own engines while all observing threads run. The tests are mainly for the
# thread sanitizer.
# shellcheck disable=SC2154,SC2016
load helper

# Run many threads on few records, with short intervals between samples, and with the options $@.
crowd()
{
	mininb 0 run -w ycsb-a -v 100 --records=500 --threads=12 --count=12000 \
		--interval=10ms --sample=5ms --verify-rate=1 "$@"
	equals "$(ops_of all)" 12000
}

load_records()
{
	needs_engine "$1"
	mininb 0 load -w ycsb-a -v 100 --records=500 --threads=4 -d "$1"
}

@test "many threads on memory read their writes" {
	crowd -d memory
	matches "$(line_of Verified)" '^[0-9]+ records: 0 wrong$'
}

@test "all operations of many threads on null are counted" {
	crowd -d null
	equals "$(line_of Verified)" 'nothing (not possible)'
}

@test "many threads on fptree read their writes" {
	load_records fptree
	crowd -d fptree
	matches "$(line_of Verified)" '^[0-9]+ records: 0 wrong$'
}

@test "many threads of several processes read their writes" {
	load_records lmdb
	crowd -d lmdb --procs=2
	contains "$output" $'\n24 threads, '
	matches "$(line_of Verified)" '^[0-9]+ records: 0 wrong$'
}

# Run "$@" with a /sys and /proc that have one network interface. Its interrupt 77 is a plain file.
with_interface()
{
	mkdir -p net/eth7/device/msi_irqs irq/77
	touch net/eth7/device/msi_irqs/77
	echo 0-1 >irq/77/smp_affinity_list
	# shellcheck disable=SC2016
	exec unshare -m sh -c 'mount --bind net /sys/class/net && mount --bind irq /proc/irq &&
		exec "$@"' sh env --default-signal=INT,TERM "$@"
}

@test "--pinirq moves network interrupts during a run, and moves them back at its end" {
	(with_interface true) 2>/dev/null || skip 'may not mount a file system'
	[[ $(</sys/devices/system/cpu/online) == *-* ]] || skip 'the machine has one CPU'
	local signal run=(run -d memory -w ycsb-c --records=100 --pin --pinirq=eth7)
	for signal in INT TERM; do
		(with_interface "$MININB" "${run[@]}" --duration=10m) >out 2>err 3>&- &
		# shellcheck disable=SC2034 # stop uses it
		pid=$!
		wait_until grep -qx '[0-9]*' irq/77/smp_affinity_list
		stop "$signal"
		matches "$stderr" '^mininb: moved 1 network interrupt until the end: 77 from CPU 0-1 to [0-9]'
		equals "$(<irq/77/smp_affinity_list)" 0-1
	done
	run -0 --separate-stderr with_interface "$MININB" "${run[@]}" -c 1000
	contains "$stderr" 'moved 1 network interrupt'
	equals "$(<irq/77/smp_affinity_list)" 0-1
	mininb 2 run -d memory -w ycsb-c -c 10 --pinirq=eth7
	contains "$stderr" '--pinirq: the threads may run on any CPU; pin them by --pin'
	mininb 2 "${run[@]}" -c 10 --pinirq=lo
	contains "$stderr" 'lo has no device'
}
