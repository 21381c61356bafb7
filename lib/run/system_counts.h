/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RUN_SYSTEM_COUNTS_H
#define RUN_SYSTEM_COUNTS_H
/**
 * The system's counters, one row each. The structures, JSON members, CSV columns and
 * explanations are generated from the rows. Append new counters at the end.
 */

/* clang-format off */

/** Groups of counters that are available only together: name, name in JSON, source. */
#define SYSTEM_GROUPS(X) \
	X(PROCESS, "process", "getrusage(2), of the process, all threads") \
	X(IO, "io", "/proc/self/io, of the process; see proc(5)") \
	X(DEVICE, "device", "/sys/dev/block/.../stat, of the device below the database, whoever used it") \
	X(MACHINE, "machine", "/proc/stat and /proc/vmstat, of the machine; CPU times in ticks") \
	X(PRESSURE, "pressure", "/proc/pressure, of the machine") \
	X(CGROUP, "cgroup", "cpu.stat of the cgroup") \
	X(CYCLES, "cycles", "perf_event_open(2), all threads of the process") \
	X(CACHE, "cache", "perf_event_open(2), all threads of the process") \
	X(BRANCHES, "branches", "perf_event_open(2), all threads of the process") \
	X(SYNCS, "syncs", "counted in the process and those that it forked; see Syncs") \
	X(ENERGY, "energy", "/sys/class/powercap/intel-rapl:*/energy_uj, of all processor packages, whoever used them")

/** Counters that only grow: member and name in JSON, column, group, meaning. */
#define SYSTEM_COUNTS_LIST(X) \
	X(user_ns, "user_ns", PROCESS, "CPU time in user code") \
	X(system_ns, "system_ns", PROCESS, "CPU time in the kernel") \
	X(minor_faults, "minor_faults", PROCESS, "page faults that read nothing from storage") \
	X(major_faults, "major_faults", PROCESS, "page faults that read from storage") \
	X(voluntary_switches, "voluntary_switches", PROCESS, "times that a thread gave the CPU up") \
	X(involuntary_switches, "involuntary_switches", PROCESS, "times that the CPU was taken from a thread") \
	X(call_read_bytes, "call_read_bytes", IO, "bytes read by read(2) and similar calls") \
	X(call_write_bytes, "call_write_bytes", IO, "bytes written by write(2) and similar calls") \
	X(read_calls, "read_calls", IO, "calls of read(2) and similar calls") \
	X(write_calls, "write_calls", IO, "calls of write(2) and similar calls") \
	X(storage_read_bytes, "storage_read_bytes", IO, "bytes fetched from storage for the process") \
	X(storage_write_bytes, "storage_write_bytes", IO, "bytes of pages made dirty by the process, to be written later") \
	X(cancelled_write_bytes, "cancelled_write_bytes", IO, "of those, bytes that were removed before they were written") \
	X(device_read_bytes, "device_read_bytes", DEVICE, "bytes that the block device read") \
	X(device_write_bytes, "device_write_bytes", DEVICE, "bytes that the block device wrote") \
	X(device_reads, "device_reads", DEVICE, "requests to read that the block device did") \
	X(device_writes, "device_writes", DEVICE, "requests to write that the block device did") \
	X(device_flushes, "device_flushes", DEVICE, "flushes that the block device did, as fsync(2) requests them") \
	X(device_busy_ns, "device_busy_ns", DEVICE, "time in which the block device had something to do") \
	X(steal_ns, "machine_steal_ns", MACHINE, "CPU time that a hypervisor kept back") \
	X(busy_ns, "machine_busy_ns", MACHINE, "CPU time that all processes used") \
	X(swap_in_bytes, "machine_swap_in_bytes", MACHINE, "bytes read from swap") \
	X(swap_out_bytes, "machine_swap_out_bytes", MACHINE, "bytes written to swap") \
	X(pressure_cpu_ns, "pressure_cpu_ns", PRESSURE, "time in which some task waited for a CPU") \
	X(pressure_memory_ns, "pressure_memory_ns", PRESSURE, "time in which some task waited for memory") \
	X(pressure_io_ns, "pressure_io_ns", PRESSURE, "time in which some task waited for storage") \
	X(throttled_ns, "throttled_ns", CGROUP, "time in which its quota kept the cgroup from the CPU") \
	X(fsync_calls, "fsync_calls", SYNCS, "calls of fsync(2) that succeeded") \
	X(fdatasync_calls, "fdatasync_calls", SYNCS, "calls of fdatasync(2) that succeeded") \
	X(msync_calls, "msync_calls", SYNCS, "calls of msync(2) with MS_SYNC that succeeded") \
	X(sync_calls, "sync_calls", SYNCS, "calls of sync(2) and syncfs(2) that succeeded") \
	X(cycles, "cycles", CYCLES, "cycles of the processor, as far as they may be counted") \
	X(instructions, "instructions", CYCLES, "instructions of the processor") \
	X(cache_references, "cache_references", CACHE, "uses of the last cache") \
	X(cache_misses, "cache_misses", CACHE, "misses of the last cache") \
	X(branches, "branches", BRANCHES, "branches") \
	X(branch_misses, "branch_misses", BRANCHES, "branches that were predicted wrong") \
	X(package_energy_uj, "package_energy_uj", ENERGY, "energy that the processor packages used, in microjoules")

/** Values at one time, 0: not known: member and name in JSON, column, meaning, source. */
#define SYSTEM_LEVELS_LIST(X) \
	X(anonymous_bytes, "anonymous_bytes", "resident memory of the process that is of no file", \
		"/proc/self/status, at the end of the stretch; heap and stacks.") \
	X(file_bytes, "file_bytes", "resident pages of mapped files, of the process", \
		"/proc/self/status; an engine that maps its database has it here.") \
	X(shared_bytes, "shared_bytes", "resident pages of shared memory, of the process", \
		"/proc/self/status.") \
	X(data_bytes, "database_bytes", "space that the database takes on its file system", \
		"Allocated blocks.") \
	X(dirty_bytes, "machine_dirty_bytes", "pages of the machine that are still to be written", \
		"/proc/meminfo.") \
	X(threads, "process_threads", "threads of the process", "The engine's own among them.")

/* clang-format on */

#endif /* RUN_SYSTEM_COUNTS_H */
