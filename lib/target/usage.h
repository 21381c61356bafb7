/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TARGET_USAGE_H
#define TARGET_USAGE_H
/** The resources used by the processes of private servers. */
#include <stdbool.h>
#include <stdint.h>

struct target;

/** The sum over all servers and their child processes. */
struct target_usage {
	uint32_t servers;
	uint64_t cpu_ns; /* includes processes that have ended */
	/* includes processes that have ended */
	uint64_t storage_read_bytes, storage_write_bytes;
	uint64_t resident_bytes; /* a page that several processes share counts once */
};

/**
 * Read the use since the servers started, and their present memory. For the memory, the
 * kernel walks the page tables of each process; without `looks_at_memory`
 * out->resident_bytes stays unchanged.
 */
void
target_usage(const struct target *target, bool looks_at_memory, struct target_usage *out);

/** Add the use between two readings, and the memory of the second. */
void
target_usage_add(struct target_usage *sum, const struct target_usage *from,
	const struct target_usage *until);

#endif /* TARGET_USAGE_H */
