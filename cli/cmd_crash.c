/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * crash: end engines in the midst of writes and see what is left, a row for each engine and
 * level as soon as it is known. Databases are made under --path if it was typed, else under
 * $TMPDIR or /tmp, and removed again; what repeats a failure is kept under --keep. A loss of
 * power is simulated, so there the medium does not matter and memory is faster.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <mininb/mininb.h>

#include "cmd.h"
#include "cmd_run.h"
#include "crash_report.h"
#include "message.h"
#include "options.h"
#include "output.h"
#include "preload.h"
#include "progress.h"

/* A recovery takes milliseconds; on a slow disk, of a level that syncs, seconds. */
#define RECOVERY_NS (60 * UINT64_C(1000000000))

enum { LEVELS = NB_DUR_COMMIT + 1, RECORDINGS = 6 };

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

/** An engine, ready to be crashed. */
struct victim {
	const char *driver;
	struct nb_engine_ref *ref;
	struct nb_option_value *values;
	struct options options; /* with the engine options that are for it */
	const char **chosen;
};

/** All of a call, for its progress. */
struct crash_call {
	nb_progress_fn show;
	char what[64];        /* "leveldb process" */
	uint64_t done, total; /* rounds */
	uint64_t rounds;      /* of a level */
	uint64_t begin_ns;
	bool has_titles; /* the table has begun */
};

static struct crash_call call;

static uint64_t
now_ns(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/** Of one level's rounds, the place among those of all. */
static void
show_progress(void *arg, const struct nb_progress *progress)
{
	struct nb_progress whole = *progress;
	whole.what = call.what;
	if (progress->total > 0)
		whole.done = call.done + progress->done * call.rounds / progress->total;
	whole.total = call.total;
	whole.elapsed_ns = now_ns() - call.begin_ns;
	call.show(arg, &whole);
}

/* ---- an engine ---- */

static const char *
scratch_of(const struct options *options)
{
	const char *tmp = getenv("TMPDIR");
	if (options_were_given(options, "path"))
		return options->path;
	if (tmp != NULL && tmp[0] != '\0')
		return tmp;
	return options->is_power && access("/dev/shm", W_OK | X_OK) == 0 ? "/dev/shm" : "/tmp";
}

/** Likewise, of an engine for which the medium decides what it syncs: on memory it may leave
 * that to the processor, which a simulation does not see. */
static const char *
scratch_of_engine(const struct options *options, const struct nb_engine *engine)
{
	const char *scratch = scratch_of(options);
	bool is_chosen = options_were_given(options, "path") || scratch == getenv("TMPDIR");
	return engine->auto_durability_at != NULL && !is_chosen ? "/tmp" : scratch;
}

static int
victim_load(struct victim *victim, const struct options *options, const char *driver)
{
	*victim = (struct victim){.driver = driver, .options = *options};
	victim->options.driver = driver;
	victim->chosen = calloc(options->engine_option_count + 1, sizeof(*victim->chosen));
	if (victim->chosen == NULL) {
		message_error("out of memory");
		return STATUS_FAILED;
	}
	drivers_choose_options(&victim->options, 0, victim->chosen);
	int rc = nb_engine_load(&victim->ref, driver);
	if (rc == 0)
		rc = nb_engine_configure(&victim->values, victim->ref,
			victim->options.engine_options, victim->options.engine_option_count);
	if (rc == 0 && options_were_given(options, "path"))
		rc = nb_tree_make(options->path);
	return message_last_failure(rc);
}

static void
victim_unload(struct victim *victim)
{
	if (victim->values != NULL)
		nb_options_delete(victim->values, nb_engine_table(victim->ref));
	nb_engine_unload(victim->ref);
	free(victim->chosen);
}

static struct nb_crash_args
args_of(const struct victim *victim, struct crash_row *row)
{
	const struct options *options = &victim->options;
	struct nb_crash_args args = NB_CRASH_ARGS_INIT;
	args.engine = nb_engine_table(victim->ref);
	args.options = victim->values;
	args.driver = victim->driver;
	args.engine_options = options->engine_options;
	args.engine_option_count = options->engine_option_count;
	args.scratch = scratch_of_engine(options, args.engine);
	args.keep = options->keep;
	args.seed = options->seed;
	args.how = options->is_power ? NB_CRASH_POWER : NB_CRASH_KILL;
	args.durability = row->durability;
	args.file_system = (uint32_t)options->file_system;
	args.rounds = (uint32_t)options->rounds;
	args.states = (uint32_t)options->states;
	args.sessions = (uint32_t)options->threads;
	args.ops = options->ops;
	args.moment = (uint32_t)options->moment;
	args.timeout_ns = options_were_given(options, "hang-after") ? options->hang_after_ns
								    : RECOVERY_NS;
	if (args.timeout_ns == 0)
		args.timeout_ns = UINT64_MAX; /* never */
	args.report = crash_row_take;
	args.report_arg = row;
	args.progress = call.show != NULL ? show_progress : NULL;
	return args;
}

/** A new row for that engine at that level. */
static struct crash_row *
begin_row(struct crash_rows *rows, const struct victim *victim, uint32_t level)
{
	const struct nb_engine *engine = nb_engine_table(victim->ref);
	struct crash_row *row = crash_rows_append(rows);
	if (row == NULL)
		return NULL;
	row->driver = strdup(victim->driver);
	row->engine = strdup(engine->name);
	row->version = strdup(engine->version());
	row->durability = level;
	snprintf(call.what, sizeof(call.what), "%.40s %s", engine->name,
		nb_durability_name(level));
	if (row->driver != NULL && row->engine != NULL && row->version != NULL)
		return row;
	message_error("out of memory");
	return NULL;
}

/** Of several the worse: a failure hides no broken promise, and an interruption nothing. */
static int
worse_status(int a, int b)
{
	static const int order[] = {
		STATUS_INTERRUPTED, STATUS_DATA, STATUS_USAGE, STATUS_FAILED};
	for (size_t i = 0; i < sizeof(order) / sizeof(*order); i++)
		if (a == order[i] || b == order[i])
			return order[i];
	return STATUS_DONE;
}

static const char *
how_text(const struct options *options)
{
	if (!options->is_power)
		return "kill -9";
	return options->file_system == NB_CRASH_POSIX ? "loss of power (posix)"
						      : "loss of power (journalled)";
}

/** A row, and the table's head before the first one: where nothing could be tried there is
 * none. */
static void
print_row(const struct options *options, const struct crash_row *row)
{
	FILE *out = output_text();
	if (!call.has_titles) {
		fprintf(out, "Seed %" PRIu64 ", %s, databases in %s\n\n", options->seed,
			how_text(options), scratch_of(options));
		crash_print_titles(out);
	}
	call.has_titles = true;
	crash_print_row(out, row);
}

/** *is_over: it would be the same at the next level. */
static int
crash_level(struct crash_rows *rows, const struct victim *victim, uint32_t level, bool *is_over)
{
	struct crash_row *row = begin_row(rows, victim, level);
	*is_over = true;
	if (row == NULL)
		return STATUS_FAILED;
	struct nb_crash_args args = args_of(victim, row);
	int rc = nb_crash(&row->tally, &args);
	row->is_whole = rc == 0;
	progress_clear();
	if (rc == 0 || row->tally.crashes > 0)
		print_row(rows->options, row);
	call.done += args.rounds;
	*is_over = rc != 0;
	return worse_status(
		message_last_failure(rc), row->tally.broken > 0 ? STATUS_DATA : STATUS_DONE);
}

/** Levels that are asked for: bits. One that the engine does not offer is refused when tried. */
static uint32_t
levels_of(const struct victim *victim)
{
	const struct options *options = &victim->options;
	const struct nb_engine *engine = nb_engine_table(victim->ref);
	if (options->durability == 0) /* auto: each */
		return engine->durabilities;
	return NB_DUR_BIT((uint32_t)options->durability - 1);
}

static int
crash_engine(struct crash_rows *rows, const struct options *options, const char *driver)
{
	struct victim victim;
	int status = victim_load(&victim, options, driver);
	uint32_t levels = status == STATUS_DONE ? levels_of(&victim) : 0;
	uint32_t count = 0;
	for (uint32_t level = 0; level < LEVELS; level++)
		count += (levels & NB_DUR_BIT(level)) != 0;
	call.total = call.done + count * options->rounds;
	bool is_over = false;
	for (uint32_t level = 0; level < LEVELS && !is_over; level++)
		if ((levels & NB_DUR_BIT(level)) != 0)
			status = worse_status(
				status, crash_level(rows, &victim, level, &is_over));
	victim_unload(&victim);
	return status;
}

static int
crash_engines(const struct options *options, const struct drivers *drivers)
{
	struct crash_rows rows = {.options = options};
	int status = STATUS_DONE;
	FILE *out = output_text();
	for (size_t i = 0; i < drivers->count && status != STATUS_INTERRUPTED; i++)
		status = worse_status(status, crash_engine(&rows, options, drivers->names[i]));
	progress_clear();
	uint64_t crashes = 0;
	for (size_t i = 0; i < rows.count; i++)
		crashes += rows.items[i].tally.crashes;
	if (crashes > 0)
		crash_print_findings(out, &rows);
	if (options->output != NULL && crashes > 0 && !crash_write_json(options->output, &rows))
		status = worse_status(status, STATUS_FAILED);
	crash_rows_destroy(&rows);
	return status;
}

/* ---- one that was kept ---- */

static int
crash_again(const struct options *options, const struct nb_crash_kept *kept)
{
	struct options own = *options;
	struct crash_rows rows = {.options = &own};
	struct victim victim;
	own.engine_options = (const char **)kept->engine_options;
	own.engine_option_count = kept->engine_option_count;
	own.seed = kept->seed;
	own.is_power = kept->how == NB_CRASH_POWER;
	own.file_system = kept->file_system;
	bool is_typed = options_were_given(options, "driver");
	/* What was kept is data, and may be somebody else's; a plugin is code. */
	if (!is_typed && strchr(kept->driver, '/') != NULL)
		return message_usage(
			"%s is of the plugin %s, which is not loaded by what a file "
			"says: name it by --driver",
			options->again, kept->driver);
	int status = victim_load(&victim, &own, is_typed ? options->driver : kept->driver);
	struct crash_row *row = status == STATUS_DONE
		? begin_row(&rows, &victim, kept->durability)
		: NULL;
	if (row != NULL) {
		struct nb_crash_args args = args_of(&victim, row);
		status = message_last_failure(
			nb_crash_again(&row->tally, &args, options->again));
		row->is_whole = status == STATUS_DONE;
		if (status == STATUS_DONE && row->found_count == 0)
			fprintf(output_text(), "%s: nothing is wrong with it now\n",
				options->again);
		crash_print_found(output_text(), &rows, row);
		if (status == STATUS_DONE && row->tally.broken > 0)
			status = STATUS_DATA;
		if (status != STATUS_FAILED && options->output != NULL &&
			!crash_write_json(options->output, &rows))
			status = STATUS_FAILED;
	}
	crash_rows_destroy(&rows);
	victim_unload(&victim);
	return status;
}

/** Options that would change nothing, each with what it is for. */
static int
check_options(const struct options *options)
{
	static const char *const of_power[] = {"states", "file-system"};
	static const char *const not_again[] = {"rounds", "ops", "moment", "seed", "threads",
		"durability", "power", "states", "file-system", "keep"};
	for (size_t i = 0; options->again != NULL && i < COUNT_OF(not_again); i++)
		if (options_were_given(options, not_again[i]))
			return message_usage("--again checks what was kept, as it was made: "
					     "without --%s",
				not_again[i]);
	if (options->again != NULL && options->engine_option_count > 0)
		return message_usage(
			"--again checks what was kept, as it was made: without -o");
	for (size_t i = 0; !options->is_power && i < COUNT_OF(of_power); i++)
		if (options_were_given(options, of_power[i]))
			return message_usage(
				"--%s is of a loss of power: with --power", of_power[i]);
	if (options->is_power && options_were_given(options, "moment"))
		return message_usage("--moment is of a kill: without --power");
	if (options->threads > 1 && options->moment == NB_CRASH_COUNTED)
		return message_usage("--moment=counted is of one session: without --threads");
	if (options->threads > 16)
		return message_usage("--threads: a crash test has 16 at most");
	return STATUS_DONE;
}

int
cmd_crash(const struct options *typed)
{
	struct drivers drivers;
	struct options own = *typed;
	const struct options *options = &own;
	if (own.is_power && !options_were_given(typed, "rounds"))
		own.rounds = RECORDINGS;
	int status = check_options(typed);
	if (status != STATUS_DONE)
		return status;
	if (options->is_power && !nb_crash_recorder_is_loaded())
		return preload_recorder();
	status = output_begin(options);
	if (status != STATUS_DONE)
		return status;
	call = (struct crash_call){.show = progress_function(!options->is_quiet),
		.rounds = options->rounds,
		.begin_ns = now_ns()};
	if (options->again != NULL) {
		struct nb_crash_kept kept;
		status = message_last_failure(nb_crash_kept_read(&kept, options->again));
		if (status != STATUS_DONE)
			return status;
		status = crash_again(options, &kept);
		nb_crash_kept_clear(&kept);
		return status;
	}
	if (!drivers_split(&drivers, options->driver, false))
		return STATUS_USAGE;
	status = drivers_have_options(options, &drivers) ? crash_engines(options, &drivers)
							 : STATUS_USAGE;
	free(drivers.text);
	return status;
}
