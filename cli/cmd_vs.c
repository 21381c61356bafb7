/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * vs: runs engines in turn, on new data, until the ratio of their throughputs is known.
 *
 * A repetition is load and run of a workload, put and get of keys, or the replay of a trace. A
 * round is one repetition of each engine, in an order drawn for each round. So a drift, caused
 * by heat or other load, affects all engines and not only the last (Mytkowicz and others,
 * ASPLOS 2009). The order depends on --seed, and each record has the number of its round.
 *
 * vs ends when each interval is within --precision, after at least ROUNDS_MIN rounds. Stopping
 * at the first precise round makes the confidence of the intervals slightly lower than stated;
 * ROUNDS_MIN limits the effect. With --runs it does not stop early. Without --runs it makes at
 * most RECORDS_MAX records, because each remains in memory with its histograms, about 1.4 MB.
 *
 * Cause of wrong results: a --path on a disk that becomes slow some minutes after writes
 * (caches of SSDs), because each repetition is then slowed down by the previous one.
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
#include "message.h"
#include "options.h"
#include "output.h"
#include "progress.h"
#include "results_files.h"
#include "vs_repeat.h"

static struct {
	uint64_t runs, budget_ns;
	const char *precision;
} own;

#define INTO(name) .into = &own.name
/* clang-format off */
static const struct option_row own_options[] = {
	{.name = "runs", .arg = "COUNT", .type = OPTION_COUNT, .min = 1, .max = 10000,
		.group = GROUP_COMPARE, .before = "confidence", .decides = true, INTO(runs),
		.help = "repetitions of each engine, regardless of --precision"},
	{.name = "precision", .arg = "SHARE", .type = OPTION_TEXT, .def = "5%",
		.group = GROUP_COMPARE, .decides = true, INTO(precision),
		.help = "stop when the ratio of throughputs is known to this precision",
		.detail = "The distance from the ratio to the ends of its interval. Stopping "
			"at the first round that is precise enough weakens the intervals a "
			"little: those of 95 % are of about 93 %. With --runs, vs does not "
			"stop early."},
	{.name = "budget", .arg = "TIME", .type = OPTION_TIME, .def = "10m",
		.group = GROUP_COMPARE, .decides = true, INTO(budget_ns),
		.help = "begin no new round after TIME"},
	{.name = NULL},
};
/* clang-format on */

enum {
	ROUNDS_MIN = 5,
	RECORDS_MAX = 512,
	RESAMPLES_MEANWHILE = 1000,
	/* A comparison of many runs takes long; limit it to 5 % of the time. */
	LOOK_SHARE = 20,
};

struct contestant {
	bool has_run; /* a repetition succeeded */
	bool is_out;  /* a repetition failed */
};

struct versus {
	const struct options *options;
	struct drivers drivers;
	struct contestant contestants[DRIVERS_MAX];
	struct vs_place place;
	struct nb_results *results; /* in the order of the runs */
	double precision;
	uint64_t begin_ns;
	uint64_t look_at_ns; /* no comparison before that time */
	uint32_t round;      /* current round, from 1 */
	const char *running; /* label */
	char known[160];     /* current ratio, for the progress line */
	int status;
};

/* ---- progress ---- */

/** The expected time of --runs, at most the rest of the budget. */
static uint64_t
left_ns(const struct versus *versus, uint64_t elapsed_ns)
{
	uint64_t budget = own.budget_ns, runs = own.runs;
	uint64_t left = elapsed_ns < budget ? budget - elapsed_ns : 0;
	if (runs > 0 && versus->round > 1) {
		uint64_t rest = elapsed_ns / (versus->round - 1) * (runs + 1 - versus->round);
		left = rest < left ? rest : left;
	}
	return left;
}

static void
show(void *arg)
{
	const struct versus *versus = arg;
	char text[512], elapsed[32], left[32];
	uint64_t passed = clock_now_ns() - versus->begin_ns;
	if (versus->options->is_quiet)
		return;
	clock_format_s(elapsed, sizeof(elapsed), passed / 1000000000);
	clock_format_s(left, sizeof(left), left_ns(versus, passed) / 1000000000);
	snprintf(text, sizeof(text), "round %" PRIu32 " %s  %s, %s left  %s", versus->round,
		versus->running, elapsed, left, versus->known);
	progress_show_text(text);
}

/* ---- comparing ---- */

/**
 * Compares all contestants that have not failed. Returns a code of the library; 1: fewer than
 * two remain.
 */
static int
compare(struct nb_comparison **out, const struct versus *versus, bool is_last)
{
	struct nb_compare_input input = {versus->results, "vs"};
	struct nb_compare_options options = compare_options_of(versus->options);
	size_t count = 0;
	if (!is_last)
		options.resamples = RESAMPLES_MEANWHILE;
	for (size_t i = 0; i < versus->drivers.count; i++)
		count += versus->contestants[i].has_run && !versus->contestants[i].is_out;
	return count < 2 ? 1 : nb_comparison_new(out, &input, 1, &options);
}

/** Compares after a round; returns whether vs can stop. */
static bool
is_known(struct versus *versus)
{
	struct nb_comparison *comparison;
	uint64_t begin = clock_now_ns();
	if (begin < versus->look_at_ns)
		return false;
	int rc = compare(&comparison, versus, false);
	if (rc != 0) {
		if (rc < 0)
			versus->status = message_last_failure(rc);
		return true; /* nothing can be compared */
	}
	nb_comparison_brief(comparison, versus->known, sizeof(versus->known));
	bool is_tight = versus->round >= ROUNDS_MIN &&
		nb_comparison_is_tight(comparison, versus->precision);
	nb_comparison_delete(comparison);
	uint64_t end = clock_now_ns();
	versus->look_at_ns = end + (end - begin) * LOOK_SHARE;
	return is_tight && own.runs == 0;
}

static bool
is_over_budget(const struct versus *versus)
{
	uint64_t elapsed = clock_now_ns() - versus->begin_ns;
	if (elapsed + elapsed / versus->round <= own.budget_ns)
		return false;
	message_log(NULL, NB_LOG_INFO,
		"the time budget is used up; a higher --budget gives more rounds");
	return true;
}

/* ---- rounds ---- */

static void
repeat(struct versus *versus, size_t index)
{
	struct options one = *versus->options;
	const struct drivers *drivers = &versus->drivers;
	struct contestant *contestant = &versus->contestants[index];
	one.driver = drivers->names[index];
	versus->running = drivers->labels[index];
	drivers_choose_options(&one, drivers->numbers[index]);
	struct vs_repetition repetition = {.place = &versus->place,
		.options = &one,
		.label = versus->running,
		.contestant = (uint32_t)index + 1,
		.round = versus->round,
		.results = versus->results,
		.tick = show,
		.tick_arg = versus};
	int status = vs_repeat(&repetition);
	contestant->has_run |= status == STATUS_DONE;
	if (status == STATUS_DONE || status == STATUS_INTERRUPTED)
		return;
	contestant->is_out = true;
	versus->status = STATUS_FAILED;
	message_error("%s failed; vs leaves it out from now on", versus->running);
}

static size_t
count_left(const struct versus *versus)
{
	size_t left = 0;
	for (size_t i = 0; i < versus->drivers.count; i++)
		left += !versus->contestants[i].is_out;
	return left;
}

static void
run_round(struct versus *versus)
{
	size_t order[DRIVERS_MAX];
	vs_draw_order(order, versus->drivers.count, versus->options->seed, versus->round);
	for (size_t i = 0; i < versus->drivers.count && !nb_stop_requested(); i++)
		if (!versus->contestants[order[i]].is_out)
			repeat(versus, order[i]);
}

/** Whether short runs would fill the memory: the budget may allow thousands. */
static bool
has_enough(const struct versus *versus)
{
	enum { ACTIONS = 2 }; /* for a repetition */
	uint64_t records = versus->round * count_left(versus) * ACTIONS;
	if (own.runs > 0 || versus->round < ROUNDS_MIN || records < RECORDS_MAX)
		return false;
	char text[256];
	snprintf(text, sizeof(text),
		"the ratio is not known to --precision after %u rounds; use longer runs (--count), which show more than many short ones, or set --runs",
		versus->round);
	message_log(NULL, NB_LOG_INFO, text);
	return true;
}

static void
run_rounds(struct versus *versus)
{
	bool is_done = false;
	versus->begin_ns = clock_now_ns();
	while (!is_done) {
		versus->round++;
		run_round(versus);
		is_done = nb_stop_requested() || count_left(versus) < 2 || is_known(versus) ||
			versus->round == own.runs || is_over_budget(versus) ||
			has_enough(versus);
	}
	progress_clear();
}

/* ---- the comparison ---- */

static int
print_comparison(struct versus *versus)
{
	struct nb_comparison *comparison;
	int rc = compare(&comparison, versus, true);
	if (rc > 0) {
		return message_failed(
			"vs cannot compare: fewer than two engines completed a repetition");
	}
	if (rc < 0)
		return message_last_failure(rc);
	rc = nb_comparison_write(
		comparison, "text", output_text(), output_flags(versus->options));
	nb_comparison_delete(comparison);
	return message_output_failure(rc);
}

static int
finish(struct versus *versus)
{
	/* Failures were reported when they occurred. */
	if (versus->status == STATUS_DONE || versus->status == STATUS_FAILED) {
		int printed = print_comparison(versus);
		versus->status = versus->status == STATUS_DONE ? printed : versus->status;
	}
	if (nb_stop_requested()) {
		message_error("interrupted in round %" PRIu32, versus->round);
		versus->status = STATUS_INTERRUPTED;
	}
	return nb_results_count(versus->results) > 0
		? output_finish(versus->options, versus->results, versus->status)
		: versus->status;
}

/** A trace needs the records with which it was recorded, loaded once. */
static int
check_options(const struct options *options, const struct drivers *drivers)
{
	if (drivers->count == 1)
		return message_usage(
			"vs: needs two engines (--driver=%s,OTHER, or %s,%s to measure the noise)",
			drivers->names[0], drivers->names[0], drivers->names[0]);
	if (options->load != NULL && (options->trace != NULL || options->workload != NULL))
		return message_usage(
			"vs: --load replays one trace on a new database; it cannot be combined with --trace or --workload");
	if (options->trace != NULL && options->workload == NULL)
		return message_usage(
			"vs: --trace needs a database: give the --workload that it was recorded with, or replay it with --load on a new one");
	return vs_check(options);
}

/** Parses "5%" as 0.05: above 0 and up to 1. */
static int
parse_precision(double *share, const char *text)
{
	char number[32];
	size_t length = strlen(text);
	snprintf(number, sizeof(number), "%s", text);
	if (length > 1 && length < sizeof(number) && text[length - 1] == '%') {
		number[length - 1] = '\0';
		if (nb_parse_real(share, number) == 0 && *share > 0 && *share <= 100) {
			*share /= 100;
			return STATUS_DONE;
		}
	}
	return message_usage("--precision: '%s' is not a percentage above 0, like 5%%", text);
}

static int
run_versus(struct versus *versus)
{
	const struct options *options = versus->options;
	int rc = nb_results_new(&versus->results);
	if (rc == 0)
		rc = output_set_command(versus->results, options, NULL);
	int status = message_last_failure(rc);
	if (status == STATUS_DONE)
		status = vs_place_create(&versus->place, options);
	if (status == STATUS_DONE) {
		run_rounds(versus);
		vs_place_destroy(&versus->place);
		status = finish(versus);
	}
	nb_results_delete(versus->results);
	return status;
}

static int
do_vs(const struct options *options)
{
	static struct versus versus;
	versus.options = options;
	int status = drivers_read(&versus.drivers, options, true);
	if (status == STATUS_DONE)
		status = check_options(options, &versus.drivers);
	if (status == STATUS_DONE)
		status = parse_precision(&versus.precision, own.precision);
	if (status == STATUS_DONE)
		status = output_begin(options);
	return status == STATUS_DONE ? run_versus(&versus) : status;
}

const struct cmd cmd_vs = {
	.name = "vs",
	.run = do_vs,
	.help = "run engines in turn until their difference is known",
	.detail = "Each repetition runs in its own process on new data: load and run of the "
		  "workload, or put and get of keys if there is none. With --load=TRACE it "
		  "replays that trace on a new database; with --trace=TRACE it replays that "
		  "trace after the load of the --workload that it was recorded with. Each "
		  "round runs every engine once, in random order. From five rounds on, vs "
		  "stops when each ratio of throughputs is known to --precision. It also stops "
		  "after --budget or --runs (256 repetitions in all, if you give neither). "
		  "Then it prints the same as compare. The base of the comparison is the "
		  "engine named first. You can name an engine twice, with other options (-o "
		  "leveldb#2.block_size=64KiB) or with none, which shows how much two equal "
		  "runs differ. vs leaves out an engine that fails, and exits with status 1.",
	.own = {own_options, compare_options},
	.shares = SHARES_REPETITIONS,
	.has_workload = true,
	.measures = true,
	.is_repeatable = true,
};
