/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RUN_SYSINFO_H
#define RUN_SYSINFO_H
/** The machine and its state, which influence how credible a number is. */
#include <stdbool.h>

#include <mininb/mininb.h>

/** Facts that do not change during a run. */
struct sysinfo {
	uint64_t memory_bytes; /* available to the process: of the machine or its cgroup */
	uint32_t cpus;         /* available to the process */
	uint32_t machine_cpus; /* of the machine */
	char hypervisor[16];   /* "KVM"; "": bare metal, or not known */
	char filesystem[16];   /* of the database: "ext4", "tmpfs", "0x6969" */
	bool is_memory_filesystem;
};

void
sysinfo_create(struct sysinfo *info, const char *path);

/** Largest resident set so far, of the process or of a child that it has waited for. */
uint64_t
sysinfo_max_resident_bytes(void);

/** Space that `path` and the files below it occupy on their file system, without holes. */
uint64_t
sysinfo_allocated_bytes(const char *path);

/** Whether the directory is empty or does not exist. */
bool
sysinfo_is_empty_dir(const char *path);

#endif /* RUN_SYSINFO_H */
