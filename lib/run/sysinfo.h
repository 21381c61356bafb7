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

void
sysinfo_create(struct sysinfo *info, const char *path);

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
