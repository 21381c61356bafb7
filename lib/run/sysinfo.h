/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RUN_SYSINFO_H
#define RUN_SYSINFO_H
/** The machine and what else happened on it: what decides whether a number can be believed. */
#include <stdbool.h>

#include <mininb/mininb.h>

/** What does not change during a run. */
struct sysinfo {
	uint64_t memory_bytes; /* that the process may use: of the machine or its cgroup */
	uint32_t cpus;         /* that it may run on */
	uint32_t machine_cpus; /* that the machine has */
	char hypervisor[16];   /* "KVM"; "" on bare metal or where it cannot be told */
	char filesystem[16];   /* that the database is on: "ext4", "tmpfs", "0x6969" */
	bool is_memory_filesystem;
};

/** Counters; two of them around a run tell what it took and what disturbed it. */
struct sysinfo_usage {
	uint64_t user_ns, system_ns;   /* CPU time of the process, all its threads */
	uint64_t involuntary_switches; /* of the process */
	uint64_t steal_ns;             /* CPU time that a hypervisor kept back, whole machine */
	uint64_t busy_ns;              /* CPU time used by all processes, whole machine */
};

void
sysinfo_create(struct sysinfo *info, const char *path);

void
sysinfo_usage(struct sysinfo_usage *usage);

/** after - before, field by field; 0 where a counter went back. */
struct sysinfo_usage
sysinfo_usage_between(const struct sysinfo_usage *before, const struct sysinfo_usage *after);

/** Largest resident set of the process so far. */
uint64_t
sysinfo_max_resident_bytes(void);

/** Space that `path` and the files below it take on their file system, holes not counted. */
uint64_t
sysinfo_allocated_bytes(const char *path);

/** Whether the directory has no entries, or is not there. */
bool
sysinfo_is_empty_dir(const char *path);

#endif /* RUN_SYSINFO_H */
