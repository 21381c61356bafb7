/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RUN_CGROUP_H
#define RUN_CGROUP_H
/**
 * Control groups of memory: the process's own one, and one with a limit for a run.
 *
 * Version 1 has a tree for each controller, version 2 one tree for all; a machine with both has
 * memory in one of them, and that one counts.
 */
#include <stdbool.h>
#include <stdint.h>

#include <mininb/mininb.h>

enum { CGROUP_PATH = 512 };

/** Where the process's own group is. */
struct cgroup {
	uint32_t version;       /* 1 or 2; 0: no memory group was found */
	char path[CGROUP_PATH]; /* of its directory, with the root */
	size_t mount_length;    /* of the part of it that is the topmost group */
};

/** `root` stands for "/" where tests need it: "" is "/". */
void
cgroup_find(struct cgroup *cgroup, const char *root);

/** The lowest limit of the group and those above it; UINT64_MAX: there is none. */
uint64_t
cgroup_memory_limit(const struct cgroup *cgroup);

/** What a run used of its memory. Plain data; 0: not known. */
struct memory_use {
	uint64_t limit_bytes;                 /* requested limit; 0: none */
	uint64_t harness_bytes;               /* added to it */
	uint64_t peak_bytes;                  /* of the whole group */
	uint64_t anonymous_bytes, file_bytes; /* charged to it at the end */
	uint64_t pressure_ns; /* in which at least one task waited for memory; version 2 only */
	uint64_t kills;       /* processes that the kernel killed because of the limit */
};

/** Of this moment. */
void
memory_group_use(const struct nb_memory_group *group, struct memory_use *use);

#endif /* RUN_CGROUP_H */
