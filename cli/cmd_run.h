/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CLI_CMD_RUN_H
#define CLI_CMD_RUN_H
/** Runs: one in this process, or several, each in a process of its own. */
#include <stdbool.h>

#include <mininb/mininb.h>

struct failure;
struct nb_results;
struct options;

enum { DRIVERS_MAX = 64, DRIVER_LABEL = 96 };

/** The engines of a list "a,b,c". */
struct drivers {
	char *text; /* owned, to free(); cut into names */
	const char *names[DRIVERS_MAX];
	uint32_t numbers
		[DRIVERS_MAX]; /* among those of the same engine, from 1; 0: the only one */
	char labels[DRIVERS_MAX]
		   [DRIVER_LABEL]; /* "leveldb", "leveldb#2", "./other/leveldb.so" */
	size_t count;
};

/** False if the list makes no sense, which then has been said. `may_repeat`: an engine twice. */
bool
drivers_split(struct drivers *drivers, const char *list, bool may_repeat);

/** Whether each option of an engine is for one of these; else it has been said. */
bool
drivers_have_options(const struct options *options, const struct drivers *drivers);

/**
 * Leave in `options` those that are for every engine and those for options->driver, without
 * its name; `number` is of struct drivers. `chosen` is room for all of them, and has them then.
 */
void
drivers_choose_options(struct options *options, uint32_t number, const char **chosen);

/** What is run on each engine. */
struct run_kind {
	/**
	 * Run it on options->driver, print the report and what went wrong, append what came of
	 * it to `results`, and return the exit status. With `summary`, fill that in as well;
	 * with `progress`, call that often, whatever is shown.
	 */
	int (*run)(const struct options *options, nb_progress_fn progress,
		struct nb_results *results, struct nb_summary *summary);
	bool makes_data; /* of several engines none may hold data before */
};

/**
 * Run it on each engine of the list options->driver, "a,b,c". A single one runs in this
 * process, unless it is to be watched.
 */
int
run_drivers(const struct options *options, const struct run_kind *kind);

/** How often a run is sampled, as of struct nb_run_options. */
uint64_t
run_sample_ns(const struct options *options);

/** Keep how a run ended for the table side by side; `summary` may be NULL. */
void
run_keep_end(struct nb_summary *summary, const struct failure *failure);

#endif /* CLI_CMD_RUN_H */
