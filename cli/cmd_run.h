/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CLI_CMD_RUN_H
#define CLI_CMD_RUN_H
/** Runs: one in this process, or several, each in its own process. */
#include <stdbool.h>

#include <mininb/mininb.h>

#include "options.h"

struct nb_results;

enum { DRIVERS_MAX = 64, DRIVER_LABEL = 96 };

/** The engines of a list "a,b,c". */
struct drivers {
	const char *names[DRIVERS_MAX];
	uint32_t numbers[DRIVERS_MAX]; /* from 1, among equal engines; 0: the only one */
	char labels[DRIVERS_MAX]
		   [DRIVER_LABEL]; /* "leveldb", "leveldb#2", "./other/leveldb.so" */
	size_t count;
};

/**
 * Reads the list of --driver, and checks that each engine option is for one of them.
 * `may_repeat`: an engine may occur twice. STATUS_DONE, or the failure was reported.
 */
int
drivers_read(struct drivers *drivers, const struct options *options, bool may_repeat);

/**
 * Keeps in `options` the engine options of all engines and those of options->driver, without
 * the prefix; `number` as in struct drivers.
 */
void
drivers_choose_options(struct options *options, uint32_t number);

/** Destination of the results of a run. */
struct run_sink {
	nb_progress_fn progress; /* called often; NULL: show the progress */
	struct nb_results *results;
	struct nb_summary *summary; /* for the table of all engines; may be NULL */
};

/**
 * Runs the action on options->driver, prints the report and failures, fills the sink, returns the
 * exit status.
 */
typedef int (*run_fn)(const struct options *options, const struct run_sink *sink);

/**
 * Runs on each engine of the list options->driver, "a,b,c". A single engine runs in this
 * process, unless --hang-after is given. With `makes_data`, the databases of several engines must
 * be empty.
 */
int
run_drivers(const struct options *options, run_fn run, bool makes_data);

/**
 * Run options from the command line, without workload and job. STATUS_DONE, or the failure was
 * reported.
 */
int
run_options_of(
	struct nb_run_options *run, const struct options *options, const struct run_sink *sink);

/** Executes the run; see run_fn. */
int
run_one(const struct options *options, const struct nb_run_options *run_options,
	const struct run_sink *sink);

/* ---- traces and jobs ---- */

/** A trace with --key-bytes, --skip-bad, --klen and --vlen. */
struct nb_trace_options
trace_options_of(const struct options *options, const char *path, uint32_t format);

/**
 * Reads the workload `name` (NULL: an empty job), applies the settings in order, and checks it.
 * Returns a code of the library. After NB_OK free *job with nb_job_delete().
 */
int
job_options_read(struct nb_job **job, const char *name, const struct options *options);

/** Only applies the settings and checks the job. */
int
job_options_set(struct nb_job *job, const struct options *options);

/* ---- --pinirq ---- */

/**
 * With --pinirq, moves the interrupts away from the CPUs of `threads` pinned threads and those
 * of the list `cpus`, which may be NULL. Pass *irqs to irqs_end(). Returns an exit status.
 */
int
irqs_begin(struct nb_irqs **irqs, const struct options *options, uint32_t threads,
	const char *cpus);

/** The same for the threads of a run. */
int
irqs_begin_run(
	struct nb_irqs **irqs, const struct options *options, const struct nb_run_options *run);

/** Restores the interrupts. Returns `status`, or a failure if it was STATUS_DONE. */
int
irqs_end(struct nb_irqs *irqs, int status);

/* ---- tests of engines: check and crash ---- */

/** Loads options->driver with its engine options, and makes --path. Returns an exit status. */
int
test_load(struct nb_engine_ref **ref, struct nb_option_value **values,
	const struct options *options, struct nb_check_args *check);

/** NULL is fine. */
void
test_unload(struct nb_engine_ref *ref, struct nb_option_value *values);

/** The directory for databases: --path, $TMPDIR, or `otherwise`. */
const char *
test_scratch(const struct options *options, const char *otherwise);

/** --hang-after, or its default for checks and crash tests. */
uint64_t
test_patience_ns(const struct options *options);

/* ---- sweeps: runs at many rates ---- */

/** Own options of run. */
struct sweep_own {
	const char *slo;
	bool is_sweep;
};
extern struct sweep_own sweep_own;
extern const struct option_row sweep_options[];

/**
 * --sweep or --slo: runs the job at several rates, which depend on its capacity. Prints the
 * curve or the rate, and appends each run to the results; returns the exit status.
 */
int
sweep_execute(const struct options *options, struct nb_job *job,
	const struct nb_run_options *job_options, const struct run_sink *sink);

/* ---- experiments: consecutive runs ---- */

enum { CLOSING_TEXT, CLOSING_TAOBENCH };

/** Own options of run; load also has the format. */
struct experiments_own {
	const char *path;
	uint64_t format; /* CLOSING_* */
};
extern struct experiments_own experiments_own;
extern const struct option_row experiments_options[], closing_options[];

/** --experiments: runs the job for each line of the file; returns the exit status. */
int
experiments_execute(const struct options *options, struct nb_job *job,
	struct nb_run_options *run, const struct run_sink *sink);

#endif /* CLI_CMD_RUN_H */
