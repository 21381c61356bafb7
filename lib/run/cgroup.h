/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RUN_CGROUP_H
#define RUN_CGROUP_H
/**
 * Memory cgroups: the process's own one, and one with a limit for a run.
 *
 * Version 1 has one tree per controller, version 2 one tree for all. A machine with both has
 * the memory controller in one of them, and that one is used.
 */
#include <stdbool.h>
#include <stdint.h>

#include <mininb/mininb.h>

enum { CGROUP_PATH = 512 };

/** The location of the process's own cgroup. */
struct cgroup {
	uint32_t version;       /* 1 or 2; 0: no memory cgroup was found */
	char path[CGROUP_PATH]; /* of its directory, including `root` */
	size_t mount_length;    /* of the part of `path` that is the topmost cgroup */
};

/** `root` replaces "/" in tests: "" is "/". */
void
cgroup_find(struct cgroup *cgroup, const char *root);

/** The lowest limit of the cgroup and its ancestors; UINT64_MAX: none. */
uint64_t
cgroup_memory_limit(const struct cgroup *cgroup);

/** The memory use of a run. Plain data; 0: not known. */
struct memory_use {
	uint64_t limit_bytes;                 /* requested limit; 0: none */
	uint64_t harness_bytes;               /* added to the limit for mininb itself */
	uint64_t peak_bytes;                  /* of the whole cgroup */
	uint64_t anonymous_bytes, file_bytes; /* charged to it at the end */
	/* time in which at least one task waited for memory; version 2 only */
	uint64_t pressure_ns;
	uint64_t kills; /* processes that the kernel killed because of the limit */
};

/** The current values. */
void
memory_group_use(const struct nb_memory_group *group, struct memory_use *use);

#endif /* RUN_CGROUP_H */
