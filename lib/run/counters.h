/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RUN_COUNTERS_H
#define RUN_COUNTERS_H
/**
 * What an engine counts by itself, as it was at a moment, and what it grew between two.
 * An empty list is {0}.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <mininb/mininb.h>

struct counter {
	char *name, *unit; /* owned */
	uint32_t kind;     /* NB_STAT_* */
	bool has_run_back; /* a COUNTER that fell: its value tells nothing */
	uint64_t value;
};

/** Each name once, in the order in which the engine told them. */
struct counters {
	struct counter *items;
	size_t count;
	bool is_short; /* memory did not reach for all */
};

/**
 * As they are now; none if the engine has none. On the thread of the database, no session
 * within a call. *out need not be anything before, and on failure it is empty.
 */
NB_MUST_CHECK int
counters_collect(struct counters *out, const struct nb_engine *engine, struct nb_db *db);

/**
 * Add to `sum` what each COUNTER grew from one collection to another, and take over the
 * levels of the later one. So `sum` can be of several spans of time.
 */
NB_MUST_CHECK int
counters_add_growth(
	struct counters *sum, const struct counters *from, const struct counters *until);

/** The one of that name, or NULL. Borrowed until the list grows. */
struct counter *
counters_find(const struct counters *counters, const char *name);

/** What is left is empty. */
void
counters_destroy(struct counters *counters);

#endif /* RUN_COUNTERS_H */
