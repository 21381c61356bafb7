/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RUN_SYSTEM_H
#define RUN_SYSTEM_H
/**
 * The system's counters during a run: for this process, for the device of its database, for the
 * machine. A value is the difference of two readings.
 */
#include <stdbool.h>
#include <stdint.h>

#include "run/system_counts.h"

/**
 * Groups of counters that could be read: bits of struct system_counts.known, such as
 * SYSTEM_PROCESS.
 */
enum {
#define BIT(name, ...) SYSTEM_##name##_BIT,
	SYSTEM_GROUPS(BIT) SYSTEM_GROUP_COUNT,
#undef BIT
#define GROUP(name, ...) SYSTEM_##name = 1 << SYSTEM_##name##_BIT,
	SYSTEM_GROUPS(GROUP)
#undef GROUP
};

/**
 * Counters that only grow. Plain data; `known` is followed by SYSTEM_COUNTS uint64_t and
 * nothing else.
 */
struct system_counts {
	uint64_t known; /* SYSTEM_* */
#define MEMBER(name, ...) uint64_t name;
	SYSTEM_COUNTS_LIST(MEMBER)
};

enum { SYSTEM_COUNTS = sizeof(struct system_counts) / sizeof(uint64_t) - 1 };

/** Values at one time. Plain data, only uint64_t; 0: not known. */
struct system_levels {
	SYSTEM_LEVELS_LIST(MEMBER)
#undef MEMBER
};

enum { SYSTEM_LEVELS = sizeof(struct system_levels) / sizeof(uint64_t) };

/** The sources of the counters. Files stay open, so that a reading costs little. */
struct system_probe;

/**
 * For a database at `path`; device_major and device_minor are st_dev of its file system. `root`
 * replaces "/" in tests: "" is "/". Hardware counters cover this thread and all threads created
 * after this call. They are omitted if `no_hardware` gives a reason. Fails only if memory runs
 * out (NULL). Unavailable counters stay unknown, and system_missing() gives the reasons.
 */
struct system_probe *
system_probe_new(const char *root, const char *path, uint32_t device_major,
	uint32_t device_minor, const char *no_hardware);

/** Accepts NULL. */
void
system_probe_delete(struct system_probe *probe);

/**
 * The missing counters and the reasons: "hardware counters: not supported (ENOENT)"; "": none.
 */
const char *
system_missing(const struct system_probe *probe);

/**
 * Without a probe: CPU times and context switches of the process and of the children that it
 * has waited for, and the machine's busy and steal times.
 */
void
system_usage(struct system_counts *counts);

void
system_look(struct system_probe *probe, struct system_counts *counts);

/** `with_data`: also data_bytes, which walks over the database's files. */
void
system_levels(struct system_probe *probe, struct system_levels *levels, bool with_data);

/** Mark the groups, SYSTEM_*, as unknown. */
void
system_forget(struct system_counts *counts, uint64_t groups);

/** after - before, field by field; 0 where a field decreased. Known: groups that both know. */
struct system_counts
system_between(const struct system_counts *before, const struct system_counts *after);

/**
 * Add field by field. Known: groups that both know, or those of `more` if `sum` is all zero.
 */
void
system_add(struct system_counts *sum, const struct system_counts *more);

#endif /* RUN_SYSTEM_H */
