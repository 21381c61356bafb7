/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * crash: kills engines during writes and checks the remaining data. It prints a row for each
 * engine and level as soon as it is known. It makes databases in --path if given, else in
 * $TMPDIR or /tmp, and removes them. Databases that show a failure are copied to --keep. A
 * power failure is simulated, so the medium does not matter, and memory is faster.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <mininb/mininb.h>

#include "clock.h"
#include "cmd.h"
#include "cmd_run.h"
#include "crash_report.h"
#include "kept.h"
#include "message.h"
#include "options.h"
#include "output.h"
#include "preload.h"
#include "progress.h"

struct crash_own crash_own;

#define INTO(name) .into = &crash_own.name
/* clang-format off */
static const struct option_row own_options[] = {
	{.name = "rounds", .arg = "COUNT", .type = OPTION_COUNT, .def = "100", .min = 1,
		.max = 1000000, .group = GROUP_CRASH, .before = "report-interval",
		.decides = true, INTO(rounds),
		.help = "crashes of each engine and level; with --power, recordings",
		.detail = "The default with --power is 6 recordings, with --states states "
			"each."},
	{.name = "ops", .arg = "COUNT", .type = OPTION_COUNT, .min = 1, .max = 1000000,
		.group = GROUP_CRASH, .decides = true, INTO(ops),
		.help = "maximum number of operations before a crash",
		.detail = "Each round draws its number at random; each power of ten is equally "
			"likely. The default is 10000, with --power 300. At commit the maximum "
			"is 1000 if the moment is counted, and 100 before a close."},
	{.name = "moment", .arg = "KIND", .type = OPTION_CHOICE, .def = "both",
		.choices = "both|timed|counted", .group = GROUP_CRASH, .decides = true,
		INTO(moment),
		.help = "how the moment of a kill is chosen",
		.detail = "timed: a time after an operation; counted: a number of system calls "
			"and instructions, which the seed repeats (ptrace, one session); both: "
			"eight crashes of each in turn."},
	{.name = "keep", .arg = "DIR", .type = OPTION_TEXT, .def = "./mininb-crash",
		.group = GROUP_CRASH, .words = WORDS_DIRECTORY, INTO(keep),
		.help = "directory for databases that show a failure; made if needed"},
	{.name = "again", .arg = "DIR", .type = OPTION_TEXT, .group = GROUP_CRASH,
		.words = WORDS_DIRECTORY, .decides = true, INTO(again),
		.help = "check the database that was kept in DIR again"},
	{.name = "power", .type = OPTION_FLAG, .group = GROUP_CRASH, .decides = true,
		INTO(is_power),
		.help = "simulate power failures instead of killing the process"},
	{.name = "file-system", .arg = "KIND", .type = OPTION_CHOICE, .def = "journalled",
		.choices = "journalled|posix", .group = GROUP_CRASH, .decides = true,
		INTO(file_system),
		.help = "with --power: how the file system keeps names and sizes of files",
		.detail = "journalled: changes survive in their order, as on ext4 and XFS; "
			"posix: only synced changes survive, and names only if their directory "
			"was synced."},
	{.name = "states", .arg = "COUNT", .type = OPTION_COUNT, .def = "50", .min = 1,
		.max = 100000, .group = GROUP_CRASH, .decides = true, INTO(states),
		.help = "with --power: states to test from each recording"},
	{.name = NULL},
};
/* clang-format on */

enum { LEVELS = NB_DUR_COMMIT + 1, RECORDINGS = 6 };

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

/** An engine with its options, loaded for a test. */
struct victim {
	const char *driver;
	uint32_t number; /* of two builds of one engine: position in --driver, from 1; else 0 */
	struct nb_engine_ref *ref;
	struct nb_option_value *values;
	struct options options; /* with the options of this engine */
};

/** Progress of the whole call. */
struct crash_call {
	nb_progress_fn show;
	char what[64];        /* "leveldb process" */
	uint64_t done, total; /* rounds */
	uint64_t rounds;      /* of a level */
	uint64_t begin_ns;
	bool has_titles; /* the table has been started */
};

static struct crash_call call;

/** Converts the progress of one level to that of the whole call. */
static void
show_progress(void *arg, const struct nb_progress *progress)
{
	struct nb_progress whole = *progress;
	whole.what = call.what;
	if (progress->total > 0)
		whole.done = call.done + progress->done * call.rounds / progress->total;
	whole.total = call.total;
	whole.elapsed_ns = clock_now_ns() - call.begin_ns;
	call.show(arg, &whole);
}

/* ---- an engine ---- */

/** A power failure is simulated, so memory is suitable, too, and faster. */
static const char *
scratch_of(const struct options *options)
{
	bool is_in_memory = crash_own.is_power && access("/dev/shm", W_OK | X_OK) == 0;
	return test_scratch(options, is_in_memory ? "/dev/shm" : "/tmp");
}

static int
victim_load(struct victim *victim, const struct options *options, const char *driver)
{
	*victim = (struct victim){.driver = driver, .options = *options};
	victim->options.driver = driver;
	drivers_choose_options(&victim->options, 0);
	return test_load(&victim->ref, &victim->values, &victim->options, NULL);
}

static struct nb_crash_args
args_of(const struct victim *victim, struct nb_crash_row *row)
{
	const struct options *options = &victim->options;
	struct nb_crash_args args = NB_CRASH_ARGS_INIT;
	args.engine = nb_engine_table(victim->ref);
	args.options = victim->values;
	args.driver = victim->driver;
	args.engine_options = options->engine_options;
	args.engine_option_count = options->engine_option_count;
	/*
	 * An engine may choose its syncs by the medium: on memory it may rely on CPU
	 * instructions, which the simulation does not see. It is tested on disk.
	 */
	args.scratch = args.engine->auto_durability_at != NULL ? test_scratch(options, "/tmp")
							       : scratch_of(options);
	args.keep = crash_own.keep;
	args.seed = options->seed;
	args.how = crash_own.is_power ? NB_CRASH_POWER : NB_CRASH_KILL;
	args.durability = row->durability;
	args.file_system = (uint32_t)crash_own.file_system;
	args.rounds = (uint32_t)crash_own.rounds;
	args.states = (uint32_t)crash_own.states;
	args.sessions = (uint32_t)options->threads;
	args.ops = crash_own.ops;
	args.moment = (uint32_t)crash_own.moment;
	args.timeout_ns = test_patience_ns(options);
	args.report = crash_row_take;
	args.report_arg = row;
	args.progress = call.show != NULL ? show_progress : NULL;
	return args;
}

/** Adds a row for the engine at that level. */
static struct nb_crash_row *
begin_row(struct crash_rows *rows, const struct victim *victim, uint32_t level)
{
	const struct nb_engine *engine = nb_engine_table(victim->ref);
	size_t index = rows->count++;
	rows->items[index] = (struct nb_crash_row){.size = sizeof(struct nb_crash_row),
		.driver = victim->driver,
		.engine = kept_text("%s", engine->name),
		.version = kept_text("%s", engine->version()),
		.tally = &rows->tallies[index],
		.durability = level};
	if (victim->number > 0)
		snprintf(rows->labels[index], CRASH_LABEL, "%.9s#%u", engine->name,
			victim->number % 100);
	else
		snprintf(rows->labels[index], CRASH_LABEL, "%.12s", engine->name);
	snprintf(call.what, sizeof(call.what), "%.40s %s", engine->name,
		nb_durability_name(level));
	return &rows->items[index];
}

/** The worse status: an interruption, then a broken promise (STATUS_DATA), then a failure. */
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
how_text(void)
{
	if (!crash_own.is_power)
		return "kill -9";
	return crash_own.file_system == NB_CRASH_POSIX ? "loss of power (posix)"
						       : "loss of power (journalled)";
}

/** Prints the head of the table before the first row. Without rows nothing is printed. */
static void
print_row(const struct crash_rows *rows, const struct nb_crash_row *row)
{
	FILE *out = output_text();
	if (!call.has_titles) {
		fprintf(out, "Seed %" PRIu64 ", %s, databases in %s\n\n", rows->options->seed,
			how_text(), scratch_of(rows->options));
		crash_print_titles(out);
	}
	call.has_titles = true;
	crash_print_row(out, row, rows->labels[row - rows->items]);
}

/** *is_over: the next level would end in the same way. */
static int
crash_level(struct crash_rows *rows, const struct victim *victim, uint32_t level, bool *is_over)
{
	struct nb_crash_row *row = begin_row(rows, victim, level);
	struct nb_crash_tally *tally = &rows->tallies[row - rows->items];
	struct nb_crash_args args = args_of(victim, row);
	int rc = nb_crash(tally, &args);
	row->is_whole = rc == 0;
	progress_clear();
	if (rc == 0 || tally->crashes > 0)
		print_row(rows, row);
	call.done += args.rounds;
	*is_over = rc != 0;
	return worse_status(
		message_last_failure(rc), tally->broken > 0 ? STATUS_DATA : STATUS_DONE);
}

/** The levels to test, as bits. The library rejects a level that the engine does not offer. */
static uint32_t
levels_of(const struct victim *victim)
{
	const struct options *options = &victim->options;
	const struct nb_engine *engine = nb_engine_table(victim->ref);
	if (options->durability == 0) /* auto: all levels */
		return engine->durabilities;
	return NB_DUR_BIT((uint32_t)options->durability - 1);
}

static int
crash_engine(struct crash_rows *rows, const struct options *options, const char *driver,
	uint32_t number)
{
	struct victim victim;
	int status = victim_load(&victim, options, driver);
	victim.number = number;
	uint32_t levels = status == STATUS_DONE ? levels_of(&victim) : 0;
	uint32_t count = 0;
	for (uint32_t level = 0; level < LEVELS; level++)
		count += (levels & NB_DUR_BIT(level)) != 0;
	call.total = call.done + count * crash_own.rounds;
	bool is_over = false;
	for (uint32_t level = 0; level < LEVELS && !is_over; level++)
		if ((levels & NB_DUR_BIT(level)) != 0)
			status = worse_status(
				status, crash_level(rows, &victim, level, &is_over));
	test_unload(victim.ref, victim.values);
	return status;
}

static struct crash_rows
rows_of(const struct options *options, size_t count)
{
	return (struct crash_rows){.options = options,
		.items = kept_array(count, sizeof(struct nb_crash_row)),
		.tallies = kept_array(count, sizeof(struct nb_crash_tally)),
		.labels = kept_array(count, CRASH_LABEL)};
}

static int
crash_engines(const struct options *options, const struct drivers *drivers)
{
	struct crash_rows rows = rows_of(options, drivers->count * LEVELS);
	int status = STATUS_DONE;
	FILE *out = output_text();
	for (size_t i = 0; i < drivers->count && status != STATUS_INTERRUPTED; i++)
		status = worse_status(status,
			crash_engine(&rows, options, drivers->names[i],
				strchr(drivers->labels[i], '/') != NULL ? (uint32_t)i + 1 : 0));
	progress_clear();
	uint64_t crashes = 0;
	for (size_t i = 0; i < rows.count; i++)
		crashes += rows.tallies[i].crashes;
	if (crashes > 0)
		crash_print_findings(out, &rows);
	if (options->output != NULL && crashes > 0)
		status = worse_status(status, crash_write_json(options->output, &rows));
	return status;
}

/* ---- a kept database ---- */

static int
crash_again(const struct options *options, const struct nb_crash_kept *kept)
{
	struct options own = *options;
	struct crash_rows rows = rows_of(&own, 1);
	struct victim victim;
	own.engine_options = (const char **)kept->engine_options;
	own.engine_option_count = kept->engine_option_count;
	own.seed = kept->seed;
	crash_own.is_power = kept->how == NB_CRASH_POWER;
	crash_own.file_system = kept->file_system;
	bool is_typed = options_were_given(options, "driver");
	/* A kept database is data, perhaps of another user; a plugin is code. */
	if (!is_typed && strchr(kept->driver, '/') != NULL)
		return message_usage(
			"%s was made by the plugin %s, and mininb loads no plugin that only a file names: use --driver",
			crash_own.again, kept->driver);
	int status = victim_load(&victim, &own, is_typed ? options->driver : kept->driver);
	if (status == STATUS_DONE) {
		struct nb_crash_row *row = begin_row(&rows, &victim, kept->durability);
		struct nb_crash_args args = args_of(&victim, row);
		status = message_last_failure(
			nb_crash_again(&rows.tallies[0], &args, crash_own.again));
		row->is_whole = status == STATUS_DONE;
		if (status == STATUS_DONE && row->finding_count == 0)
			fprintf(output_text(), "%s: found no failure now\n", crash_own.again);
		crash_print_found(output_text(), &rows, 0);
		if (status == STATUS_DONE && row->tally->broken > 0)
			status = STATUS_DATA;
		if (status != STATUS_FAILED && options->output != NULL &&
			crash_write_json(options->output, &rows) != STATUS_DONE)
			status = STATUS_FAILED;
	}
	test_unload(victim.ref, victim.values);
	return status;
}

/** Rejects options that would have no effect. */
static int
check_options(const struct options *options)
{
	static const char *const of_power[] = {"states", "file-system"};
	static const char *const not_again[] = {"rounds", "ops", "moment", "seed", "threads",
		"durability", "power", "states", "file-system", "keep"};
	for (size_t i = 0; crash_own.again != NULL && i < COUNT_OF(not_again); i++)
		if (options_were_given(options, not_again[i]))
			return message_usage(
				"--again checks the kept database as it was made: omit --%s",
				not_again[i]);
	if (crash_own.again != NULL && options->engine_option_count > 0)
		return message_usage(
			"--again checks the kept database as it was made: omit -o");
	for (size_t i = 0; !crash_own.is_power && i < COUNT_OF(of_power); i++)
		if (options_were_given(options, of_power[i]))
			return message_usage("--%s needs --power", of_power[i]);
	if (crash_own.is_power && options_were_given(options, "moment"))
		return message_usage("--moment does not apply to --power");
	if (options->threads > 1 && crash_own.moment == NB_CRASH_COUNTED)
		return message_usage("--moment=counted needs one session: omit --threads");
	if (options->threads > 16)
		return message_usage("--threads: crash allows at most 16");
	return STATUS_DONE;
}

static int
do_crash(const struct options *options)
{
	struct drivers drivers;
	if (crash_own.is_power && !options_were_given(options, "rounds"))
		crash_own.rounds = RECORDINGS;
	int status = check_options(options);
	if (status != STATUS_DONE)
		return status;
	if (crash_own.is_power && !nb_crash_recorder_is_loaded())
		return preload_recorder(options);
	status = output_begin(options);
	if (status != STATUS_DONE)
		return status;
	call = (struct crash_call){.show = progress_function(!options->is_quiet),
		.rounds = crash_own.rounds,
		.begin_ns = clock_now_ns()};
	if (crash_own.again != NULL) {
		struct nb_crash_kept kept;
		status = message_last_failure(nb_crash_kept_read(&kept, crash_own.again));
		if (status != STATUS_DONE)
			return status;
		status = kept.boots > 0 && !nb_crash_recorder_is_loaded()
			? preload_recorder(options)
			: crash_again(options, &kept);
		nb_crash_kept_clear(&kept);
		return status;
	}
	status = drivers_read(&drivers, options, false);
	return status == STATUS_DONE ? crash_engines(options, &drivers) : status;
}

const struct cmd cmd_crash = {
	.name = "crash",
	.run = do_crash,
	.help = "kill an engine during writes, and verify what remains",
	.detail = "Kills a writing process at random moments: during writes, while it makes "
		  "the database, in flush and close, or in the recovery from an earlier crash. "
		  "Another process opens the database and compares it with everything that was "
		  "written. The exit status is 3 if a level breaks its promise; mininb then "
		  "keeps the database. Databases are made in --path, else in $TMPDIR or /tmp, "
		  "with --power in /dev/shm. See CRASHES.",
	.own = {own_options},
	.shares = "seed driver path option durability threads hang-after output quiet",
	.measures = true,
};
