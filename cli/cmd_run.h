/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CLI_CMD_RUN_H
#define CLI_CMD_RUN_H
/** Runs: one in this process, or several, each in its own process. */
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
		[DRIVERS_MAX]; /* its number among those of the same engine, from 1; 0: the
			          only one */
	char labels[DRIVERS_MAX]
		   [DRIVER_LABEL]; /* "leveldb", "leveldb#2", "./other/leveldb.so" */
	size_t count;
};

/** False: the list is wrong, which was reported. `may_repeat`: an engine may occur twice. */
bool
drivers_split(struct drivers *drivers, const char *list, bool may_repeat);

/** Whether each engine option is for one of these; if not, it was reported. */
bool
drivers_have_options(const struct options *options, const struct drivers *drivers);

/**
 * Keeps in `options` the engine options of all engines and those of options->driver, without
 * the prefix; `number` as in struct drivers. `chosen` has room for all and holds them.
 */
void
drivers_choose_options(struct options *options, uint32_t number, const char **chosen);

/** An action on one engine. */
struct run_kind {
	/**
	 * Runs on options->driver, prints the report and failures, appends the outcome to
	 * `results`, returns the exit status. Fills in `summary` if it is not NULL; calls
	 * `progress` often if it is not NULL.
	 */
	int (*run)(const struct options *options, nb_progress_fn progress,
		struct nb_results *results, struct nb_summary *summary);
	bool makes_data; /* with several engines, no database may contain data */
};

/**
 * Runs on each engine of the list options->driver, "a,b,c". A single engine runs in this
 * process, unless --hang-after is given.
 */
int
run_drivers(const struct options *options, const struct run_kind *kind);

/** Run options from the command line, without what is run. `progress` NULL: show it. */
struct nb_run_options
run_options_of(const struct options *options, nb_progress_fn progress);

/**
 * Runs it, prints the report and failures, appends the outcome to `results`, returns the exit
 * status. `summary`, for the table of all engines, may be NULL.
 */
int
run_one(const struct options *options, const struct nb_run_options *run_options,
	struct nb_results *results, struct nb_summary *summary);

#endif /* CLI_CMD_RUN_H */
