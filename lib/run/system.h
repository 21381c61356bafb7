/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RUN_SYSTEM_H
#define RUN_SYSTEM_H
/**
 * What the system counts while a run goes on: for this process, for the device below its
 * database, for the machine. Two looks make a difference.
 */
#include <stdbool.h>
#include <stdint.h>

/** What could be read: bits of struct system_counts.known. */
enum {
	SYSTEM_PROCESS = 1 << 0,  /* CPU time, faults, switches */
	SYSTEM_IO = 1 << 1,       /* /proc/self/io */
	SYSTEM_DEVICE = 1 << 2,   /* /sys/dev/block/.../stat */
	SYSTEM_MACHINE = 1 << 3,  /* /proc/stat, /proc/vmstat */
	SYSTEM_PRESSURE = 1 << 4, /* /proc/pressure */
	SYSTEM_CGROUP = 1 << 5,   /* throttling */
	SYSTEM_CYCLES = 1 << 6,   /* cycles and instructions, by perf_event_open(2) */
	SYSTEM_CACHE = 1 << 7,    /* cache references and misses, likewise */
	SYSTEM_BRANCHES = 1 << 8, /* branches and their misses, likewise */
	SYSTEM_SYNCS = 1 << 9,    /* calls that make data durable: run/syncs.h */
};

/** All of them only grow. Plain data; after `known` nothing but uint64_t, SYSTEM_COUNTS of them. */
struct system_counts {
	uint64_t known; /* SYSTEM_* */
	/* the process, all its threads, and children that it has waited for */
	uint64_t user_ns, system_ns;
	uint64_t minor_faults, major_faults;
	uint64_t voluntary_switches, involuntary_switches;
	/* the process; see proc(5) */
	uint64_t call_read_bytes, call_write_bytes; /* by read(2), write(2) and kin */
	uint64_t read_calls, write_calls;
	uint64_t storage_read_bytes,
		storage_write_bytes;    /* fetched from storage; dirtied for it */
	uint64_t cancelled_write_bytes; /* of those, what was removed before it was written */
	/* the device below the database, whoever used it */
	uint64_t device_read_bytes, device_write_bytes;
	uint64_t device_reads, device_writes, device_flushes;
	uint64_t device_busy_ns;
	/* the machine */
	uint64_t steal_ns, busy_ns;
	uint64_t swap_in_bytes, swap_out_bytes;
	uint64_t pressure_cpu_ns, pressure_memory_ns,
		pressure_io_ns; /* some task was held up */
	uint64_t throttled_ns;  /* of the cgroup */
	/* the process, and those that it has forked; see run/syncs.h */
	uint64_t fsync_calls, fdatasync_calls, msync_calls, sync_calls;
	/* the processor, user and kernel as far as may be counted, all threads of the process */
	uint64_t cycles, instructions;
	uint64_t cache_references, cache_misses;
	uint64_t branches, branch_misses;
};

enum { SYSTEM_COUNTS = sizeof(struct system_counts) / sizeof(uint64_t) - 1 };

/** What is at a moment. Plain data, nothing but uint64_t; 0: not known. */
struct system_levels {
	uint64_t anonymous_bytes, file_bytes, shared_bytes; /* resident, of the process */
	uint64_t
		data_bytes; /* that the database takes on its file system, by allocated blocks */
	uint64_t dirty_bytes; /* of the machine: page cache that is still to be written */
	uint64_t threads;     /* of the process */
};

/** Where they are read. Files are kept open, so that a look costs little. */
struct system_probe;

/**
 * For a database at `path`; `device` is st_dev of its file system. Counters of the processor
 * are those of this thread and of all threads that are made after this call; none if
 * `no_hardware` says why not. Never fails but for memory; what is not to be had is not known,
 * and system_missing() says why.
 */
struct system_probe *
system_probe_new(const char *path, uint32_t device_major, uint32_t device_minor,
	const char *no_hardware);

/** NULL is fine. */
void
system_probe_delete(struct system_probe *probe);

/** One text, "" if nothing is missing: "hardware counters: not supported (ENOENT)". */
const char *
system_missing(const struct system_probe *probe);

void
system_look(struct system_probe *probe, struct system_counts *counts);

/** `with_data`: data_bytes as well, which is a walk over the database's files. */
void
system_levels(struct system_probe *probe, struct system_levels *levels, bool with_data);

/** after - before, field by field; 0 where one went back; known: what both know. */
struct system_counts
system_between(const struct system_counts *before, const struct system_counts *after);

/** Field by field; known: what both know, or what `more` knows if `sum` is all zero. */
void
system_add(struct system_counts *sum, const struct system_counts *more);

#endif /* RUN_SYSTEM_H */
