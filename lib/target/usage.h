/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TARGET_USAGE_H
#define TARGET_USAGE_H
/** What the processes of private servers use. */
#include <stdbool.h>
#include <stdint.h>

struct target;

/** All servers, with their children. */
struct target_usage {
	uint32_t servers;
	uint64_t cpu_ns; /* with that of processes that have ended */
	uint64_t storage_read_bytes, storage_write_bytes; /* likewise */
	uint64_t resident_bytes; /* a page that several share is counted once */
};

/**
 * What they have used since they began, and their memory now. The kernel walks the page tables of
 * each process for its memory; without `looks_at_memory` out->resident_bytes stays as it is.
 */
void
target_usage(const struct target *target, bool looks_at_memory, struct target_usage *out);

/** Add what was used between two looks, and the memory of the second. */
void
target_usage_add(struct target_usage *sum, const struct target_usage *from,
	const struct target_usage *until);

#endif /* TARGET_USAGE_H */
