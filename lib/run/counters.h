/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RUN_COUNTERS_H
#define RUN_COUNTERS_H
/**
 * The counters of an engine: their values at one time, and their growth between two. An empty
 * list is {0}.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <mininb/mininb.h>

struct counter {
	char *name, *unit; /* owned */
	uint32_t kind;     /* NB_STAT_* */
	bool has_run_back; /* a COUNTER that fell: its value means nothing */
	uint64_t value;
};

/** Each name once, in the order in which the engine emitted them. */
struct counters {
	struct counter *items;
	size_t count;
	bool is_short; /* out of memory for some of them */
};

/**
 * Read the current values; empty if the engine has no counters. Called on the thread of the
 * database, with no session inside a call. *out need not be initialised, and is empty after a
 * failure.
 */
NB_MUST_CHECK int
counters_collect(struct counters *out, const struct nb_engine *engine, struct nb_db *db);

/**
 * Add the growth of each COUNTER between two collections to `sum`, and copy the gauges of the
 * later one. So `sum` can cover several periods.
 */
NB_MUST_CHECK int
counters_add_growth(
	struct counters *sum, const struct counters *from, const struct counters *until);

/** The counter of that name, or NULL. Borrowed until the list grows. */
struct counter *
counters_find(const struct counters *counters, const char *name);

/** Leaves an empty list. */
void
counters_destroy(struct counters *counters);

#endif /* RUN_COUNTERS_H */
