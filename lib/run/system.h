/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RUN_SYSTEM_H
#define RUN_SYSTEM_H
/**
 * What the system counts while a run goes on: for this process, for the device below its
 * database, for the machine. Two looks make a difference.
 */
#include <stdbool.h>
#include <stdint.h>

#include "run/system_counts.h"

/** What could be read: bits of struct system_counts.known, SYSTEM_PROCESS and so on. */
enum {
#define BIT(name, ...) SYSTEM_##name##_BIT,
	SYSTEM_GROUPS(BIT) SYSTEM_GROUP_COUNT,
#undef BIT
#define GROUP(name, ...) SYSTEM_##name = 1 << SYSTEM_##name##_BIT,
	SYSTEM_GROUPS(GROUP)
#undef GROUP
};

/** All of them only grow. Plain data; after `known` nothing but uint64_t, SYSTEM_COUNTS of them. */
struct system_counts {
	uint64_t known; /* SYSTEM_* */
#define MEMBER(name, ...) uint64_t name;
	SYSTEM_COUNTS_LIST(MEMBER)
};

enum { SYSTEM_COUNTS = sizeof(struct system_counts) / sizeof(uint64_t) - 1 };

/** What is at a moment. Plain data, nothing but uint64_t; 0: not known. */
struct system_levels {
	SYSTEM_LEVELS_LIST(MEMBER)
#undef MEMBER
};

enum { SYSTEM_LEVELS = sizeof(struct system_levels) / sizeof(uint64_t) };

/** Where they are read. Files are kept open, so that a look costs little. */
struct system_probe;

/**
 * For a database at `path`; `device` is st_dev of its file system. `root` stands for "/" where
 * tests need it: "" is "/". Counters of the processor are those of this thread and of all
 * threads that are made after this call; none if `no_hardware` says why not. Never fails but for
 * memory; what cannot be had is not known, and system_missing() says why.
 */
struct system_probe *
system_probe_new(const char *root, const char *path, uint32_t device_major,
	uint32_t device_minor, const char *no_hardware);

/** NULL is fine. */
void
system_probe_delete(struct system_probe *probe);

/** One text, "" if nothing is missing: "hardware counters: not supported (ENOENT)". */
const char *
system_missing(const struct system_probe *probe);

/**
 * Without a probe: CPU times and switches of the process and of those that it waited for, and
 * the machine's busy and steal times.
 */
void
system_usage(struct system_counts *counts);

void
system_look(struct system_probe *probe, struct system_counts *counts);

/** `with_data`: data_bytes as well, which is a walk over the database's files. */
void
system_levels(struct system_probe *probe, struct system_levels *levels, bool with_data);

/** As if the groups, SYSTEM_*, could not be read. */
void
system_forget(struct system_counts *counts, uint64_t groups);

/** after - before, field by field; 0 where one went back; known: what both know. */
struct system_counts
system_between(const struct system_counts *before, const struct system_counts *after);

/** Field by field; known: what both know, or what `more` knows if `sum` is all zero. */
void
system_add(struct system_counts *sum, const struct system_counts *more);

#endif /* RUN_SYSTEM_H */
