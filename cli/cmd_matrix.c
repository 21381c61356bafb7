/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * matrix: runs every combination of lists of engines, workloads and settings, and continues
 * after an interruption.
 *
 * Each run is a repetition as in vs: each step has its own process and new data. Its result is
 * one file, which appears when it is complete. So an interruption at any moment loses only the
 * run in progress. The same command continues.
 *
 * The results directory has a lock, which the processes of runs inherit. After a killed matrix,
 * the next one waits until the last process of the old one has ended. Databases are in a
 * directory in --path whose name is derived from the results directory, so the next matrix also
 * removes them.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "clock.h"
#include "cmd.h"
#include "matrix_cells.h"
#include "message.h"
#include "kept.h"
#include "output.h"
#include "progress.h"
#include "results_files.h"
#include "vs_repeat.h"

static struct own {
	const char *results;
	bool is_dry, retries, keeps_data;
} own;

#define INTO(name) .into = &own.name
/* clang-format off */
static const struct option_row own_options[] = {
	{.name = "results", .arg = "DIR", .type = OPTION_TEXT, .group = GROUP_COMPARE,
		.words = WORDS_DIRECTORY, .before = "confidence", .decides = true, INTO(results),
		.help = "directory of the results: a file for each run, table.txt, index.html"},
	{.name = "dry-run", .type = OPTION_FLAG, .group = GROUP_COMPARE, .before = "confidence",
		.decides = true, INTO(is_dry),
		.help = "print the runs and the time that they need, and run nothing"},
	{.name = "retry", .type = OPTION_FLAG, .group = GROUP_COMPARE, .before = "confidence",
		.decides = true, INTO(retries),
		.help = "also repeat the runs that failed"},
	{.name = "keep", .type = OPTION_FLAG, .group = GROUP_COMPARE, .before = "confidence",
		INTO(keeps_data),
		.help = "leave the databases of the runs, and print where they are"},
	{.name = NULL},
};
/* clang-format on */

enum { LOCK_WAIT_MS = 10000, LOCK_STEP_MS = 20 };

struct matrix {
	struct own own; /* parsing the options of cells clears the static one */
	const struct options *options;
	struct cells cells;
	const char *databases; /* directory for temporary data of all runs */
	int lock;
	const struct run *running;
	uint64_t begin_ns; /* start of the current run */
};

/* ---- the directory ---- */

/** The processes of runs keep the lock, too. */
static int
take_lock(struct matrix *matrix)
{
	const char *path = kept_text("%s/lock", matrix->own.results);
	int rc = nb_tree_make(matrix->own.results);
	if (rc != 0)
		return message_last_failure(rc);
	matrix->lock = open(path, O_RDWR | O_CREAT | O_NOFOLLOW, 0666); /* inherited */
	if (matrix->lock < 0)
		return message_failed("%s: %s", path, strerror(errno));
	for (int ms = 0; flock(matrix->lock, LOCK_EX | LOCK_NB) != 0; ms += LOCK_STEP_MS) {
		if (errno != EWOULDBLOCK && errno != EINTR)
			return message_failed("%s: %s", path, strerror(errno));
		if (ms >= LOCK_WAIT_MS || nb_stop_requested())
			return message_failed(
				"--results: another matrix uses %s", matrix->own.results);
		usleep(LOCK_STEP_MS * 1000);
	}
	return STATUS_DONE;
}

/** A name that is unique to the results directory. */
static int
find_databases(struct matrix *matrix)
{
	char name[NB_SETTINGS_NAME];
	char *whole = realpath(matrix->own.results, NULL);
	if (whole == NULL)
		return message_failed("%s: %s", matrix->own.results, strerror(errno));
	nb_settings_name(name, whole);
	free(whole);
	matrix->databases = kept_text("%s/matrix-%.16s", matrix->options->path, name);
	return STATUS_DONE;
}

/** Removes those of a killed matrix, too. */
static int
remove_databases(const struct matrix *matrix)
{
	return matrix->own.keeps_data ? NB_OK : nb_tree_remove(matrix->databases);
}

/* ---- time ---- */

/** The mean duration of the runs that match: of this cell, or of any. 0: not known. */
static double
mean_seconds(const struct cells *cells, const struct cell *cell)
{
	double sum = 0;
	size_t count = 0;
	for (size_t i = 0; i < cells->run_count; i++) {
		const struct run *run = &cells->runs[i];
		if (run->seconds <= 0 || run->state != CELL_DONE ||
			(cell != NULL && run->cell != cell))
			continue;
		sum += run->seconds;
		count++;
	}
	return count > 0 ? sum / (double)count : 0;
}

static bool
is_pending(const struct matrix *matrix, const struct run *run)
{
	return run->state == CELL_TO_DO || (run->state == CELL_FAILED && matrix->own.retries);
}

static size_t
count_state(const struct matrix *matrix, enum cell_state state)
{
	size_t count = 0;
	for (size_t i = 0; i < matrix->cells.run_count; i++)
		count += matrix->cells.runs[i].state == state;
	return count;
}

/** The time for all remaining runs; 0: no run is done yet. */
static double
seconds_left(const struct matrix *matrix)
{
	const struct cells *cells = &matrix->cells;
	double all = mean_seconds(cells, NULL), sum = 0;
	for (size_t i = 0; i < cells->run_count && all > 0; i++) {
		if (!is_pending(matrix, &cells->runs[i]))
			continue;
		double one = mean_seconds(cells, cells->runs[i].cell);
		sum += one > 0 ? one : all;
	}
	return sum;
}

/** ", 3:07 left"; "" if that is not known. */
static const char *
left_text(const struct matrix *matrix, char text[64])
{
	char time[32];
	double left = seconds_left(matrix);
	text[0] = '\0';
	if (left > 0) {
		clock_format_s(time, sizeof(time), (uint64_t)(left + 0.5));
		snprintf(text, 64, ", %s left", time);
	}
	return text;
}

/** "leveldb, ycsb-a threads=2, repetition 1". Kept. */
static const char *
title_of(const struct run *run)
{
	const char *group = run->cell->group;
	return kept_text("%s%s%s, repetition %" PRIu32, run->cell->engine,
		group[0] != '\0' ? ", " : "", group, run->repetition);
}

static void
show(void *arg)
{
	const struct matrix *matrix = arg;
	char left[64], elapsed[32], text[512];
	const struct cells *cells = &matrix->cells;
	if (matrix->options->is_quiet)
		return;
	clock_format_s(
		elapsed, sizeof(elapsed), (clock_now_ns() - matrix->begin_ns) / 1000000000);
	snprintf(text, sizeof(text), "%zu of %zu done%s  %s  %s, %s, repetition %" PRIu32,
		count_state(matrix, CELL_DONE), cells->run_count, left_text(matrix, left),
		elapsed, matrix->running->cell->engine, matrix->running->cell->group,
		matrix->running->repetition);
	progress_show_text(text);
}

/* ---- a run ---- */

static int
run_one_cell(struct matrix *matrix, struct run *run, struct nb_results *results)
{
	struct options options = run->cell->options;
	struct vs_place place;
	options.path = matrix->databases;
	matrix->running = run;
	matrix->begin_ns = clock_now_ns();
	int status = vs_place_create(&place, &options);
	if (status != STATUS_DONE)
		return status;
	struct vs_repetition repetition = {.place = &place,
		.options = &options,
		.label = run->cell->engine,
		.contestant = run->cell->contestant,
		.round = run->repetition,
		.keeps_data = matrix->own.keeps_data,
		.results = results,
		.tick = show,
		.tick_arg = matrix};
	status = vs_repeat(&repetition);
	if (!matrix->own.keeps_data)
		vs_place_destroy(&place);
	else if (!nb_stop_requested())
		message_log(NULL, NB_LOG_INFO,
			kept_text("%s: kept in %s", run->cell->engine, place.directory));
	return status;
}

static void
report_run(const struct matrix *matrix, const struct run *run)
{
	char left[64], text[512];
	progress_clear();
	snprintf(text, sizeof(text), "%zu of %zu: %s: %s%.300s (%.1f s%s)",
		(size_t)(run - matrix->cells.runs) + 1, matrix->cells.run_count, title_of(run),
		run->state == CELL_DONE ? "done" : "failed: ",
		run->state == CELL_DONE ? "" : run->reason, run->seconds,
		left_text(matrix, left));
	message_log(NULL, NB_LOG_INFO, text);
}

/** Run the cell and write its file. A failed run is recorded, and NB_OK is returned. */
static int
do_run(struct matrix *matrix, struct run *run)
{
	struct nb_results *results;
	int rc = nb_results_new(&results);
	if (rc != 0)
		return message_last_failure(rc);
	int status = run_one_cell(matrix, run, results);
	double seconds = (double)(clock_now_ns() - matrix->begin_ns) / 1e9;
	bool is_kept = !nb_stop_requested() && nb_results_count(results) > 0;
	if (is_kept) {
		status = message_last_failure(run_write(&matrix->cells, run, results, seconds));
	}
	nb_results_delete(results);
	if (!is_kept)
		return status != STATUS_DONE ? status : STATUS_INTERRUPTED;
	if (status != STATUS_DONE)
		return status;
	run_look(&matrix->cells, run);
	if (run->state == CELL_TO_DO)
		return message_failed("%s: the result that was written cannot be read",
			run_path(&matrix->cells, run));
	report_run(matrix, run);
	return STATUS_DONE;
}

static int
do_runs(struct matrix *matrix)
{
	int status = STATUS_DONE;
	for (size_t i = 0; i < matrix->cells.run_count && status == STATUS_DONE; i++) {
		struct run *run = &matrix->cells.runs[i];
		if (nb_stop_requested())
			status = STATUS_INTERRUPTED;
		else if (is_pending(matrix, run))
			status = do_run(matrix, run);
	}
	if (remove_databases(matrix) != NB_OK)
		message_warning("%s", nb_error_text());
	if (nb_stop_requested()) {
		message_error(
			"interrupted: %zu of %zu runs are left; the same command continues",
			count_state(matrix, CELL_TO_DO), matrix->cells.run_count);
		status = STATUS_INTERRUPTED;
	}
	return status;
}

/* ---- the results ---- */

/** In the order of the plan, so that the first engine is the base of comparisons. */
static int
read_all(struct nb_results **out, const struct matrix *matrix)
{
	const struct cells *cells = &matrix->cells;
	int rc = nb_results_new(out);
	for (size_t i = 0; i < cells->run_count && rc == 0; i++) {
		struct nb_results *one;
		if (cells->runs[i].state == CELL_TO_DO)
			continue;
		rc = run_read(&one, cells, &cells->runs[i]);
		if (rc != 0)
			break;
		rc = nb_results_append(*out, one);
		nb_results_delete(one);
	}
	if (rc != 0)
		nb_results_delete(*out);
	return rc;
}

static int
write_table(const struct matrix *matrix, const struct nb_results *results, FILE *out)
{
	struct nb_comparison *comparison;
	struct nb_compare_input input = {results, "matrix"};
	struct nb_compare_options compare = compare_options_of(matrix->options);
	compare.is_alone = 1;
	compare.force = matrix->options->is_forced ? NB_COMPARE_FORCE : NB_COMPARE_UNRANKED;
	int rc = nb_comparison_new(&comparison, &input, 1, &compare);
	if (rc == NB_ERR_USAGE) { /* no run has a result: only failures */
		fprintf(out, "%s\n", nb_error_text());
		return 0;
	}
	if (rc == 0) {
		rc = nb_comparison_write(comparison, "table", out, 0);
		nb_comparison_delete(comparison);
	}
	return rc;
}

static void
write_failures(const struct matrix *matrix, FILE *out)
{
	for (size_t i = 0; i < matrix->cells.run_count; i++) {
		const struct run *run = &matrix->cells.runs[i];
		if (run->state == CELL_FAILED)
			fprintf(out, "failed: %s: %s\n", title_of(run), run->reason);
	}
}

/** Prints the table and writes it to a file. */
static int
print_table(const struct matrix *matrix, const struct nb_results *results)
{
	char *text = NULL;
	size_t size;
	FILE *memory = open_memstream(&text, &size);
	if (memory == NULL)
		return message_no_memory();
	int rc = write_table(matrix, results, memory);
	write_failures(matrix, memory);
	if (fclose(memory) != 0)
		return message_no_memory();
	if (rc == 0) {
		fputs(text, output_text());
		rc = nb_file_write(
			kept_text("%s/table.txt", matrix->own.results), text, strlen(text));
	}
	free(text);
	return message_last_failure(rc);
}

static int
finish(const struct matrix *matrix)
{
	struct nb_results *results;
	int status = message_last_failure(read_all(&results, matrix));
	if (status != STATUS_DONE)
		return status;
	status = print_table(matrix, results);
	if (status == STATUS_DONE)
		status = message_last_failure(nb_results_write_file(
			results, "html", kept_text("%s/index.html", matrix->own.results), 0));
	status = output_finish(matrix->options, results, status);
	nb_results_delete(results);
	size_t failed = count_state(matrix, CELL_FAILED);
	if (status != STATUS_DONE || failed == 0)
		return status;
	return message_failed("%zu of %zu runs failed; --retry repeats them", failed,
		matrix->cells.run_count);
}

/* ---- the action ---- */

static int
print_plan(const struct matrix *matrix)
{
	static const char *const states[] = {"to do", "done", "failed"};
	char time[32] = "not known until a run is done";
	size_t pending = 0;
	for (size_t i = 0; i < matrix->cells.run_count; i++) {
		const struct run *run = &matrix->cells.runs[i];
		pending += is_pending(matrix, run);
		fprintf(nb_stdout(), "%-6s  %s  %s%s%s\n", states[run->state], run->name,
			title_of(run), run->state == CELL_FAILED ? ": " : "",
			run->state == CELL_FAILED ? run->reason : "");
	}
	double left = seconds_left(matrix);
	if (left > 0 || pending == 0)
		clock_format_s(time, sizeof(time), (uint64_t)(left + 0.5));
	fprintf(nb_stdout(), "%zu runs, %zu to do; time left: %s\n", matrix->cells.run_count,
		pending, time);
	return STATUS_DONE;
}

static int
run_matrix(struct matrix *matrix)
{
	for (size_t i = 0; i < matrix->cells.run_count; i++)
		run_look(&matrix->cells, &matrix->cells.runs[i]);
	if (matrix->own.is_dry)
		return print_plan(matrix);
	int status = take_lock(matrix);
	if (status == STATUS_DONE)
		status = find_databases(matrix);
	if (status == STATUS_DONE)
		status = message_last_failure(remove_databases(matrix));
	if (status == STATUS_DONE)
		status = output_begin(matrix->options);
	if (status != STATUS_DONE)
		return status;
	for (size_t i = 0; i < matrix->cells.run_count; i++)
		run_look(&matrix->cells, &matrix->cells.runs[i]);
	status = do_runs(matrix);
	return status == STATUS_DONE ? finish(matrix) : status;
}

static int
do_matrix(const struct options *options)
{
	struct nb_matrix *plan;
	struct matrix matrix = {.own = own, .options = options, .lock = -1};
	if (own.results == NULL)
		return message_usage(
			"matrix: --results is missing (mininb matrix %s --results=DIR)",
			options->operand);
	int rc = nb_matrix_read(&plan, options->operand);
	if (rc != 0)
		return message_last_failure(rc);
	matrix.cells.results = matrix.own.results;
	int status = cells_create(&matrix.cells, plan, options);
	nb_matrix_delete(plan);
	return status == STATUS_DONE ? run_matrix(&matrix) : status;
}

const struct cmd cmd_matrix = {
	.name = "matrix",
	.run = do_matrix,
	.operand = "FILE",
	.help = "run every combination of engines, workloads and settings",
	.detail = "FILE is a plan, see MATRICES. Each run is a repetition as vs makes it. Its "
		  "result is one file in --results, named by the hash of everything that "
		  "decides the run: versions, options with their defaults, the workload. "
		  "After an interruption the same command runs only what is missing. A run "
		  "that fails is kept with its reason; --retry repeats it. At the end matrix "
		  "prints one table, and writes table.txt and the page index.html. The exit "
		  "status is 1 if a run failed.",
	.own = {own_options, compare_options},
	.shares = SHARES_REPETITIONS,
	.has_workload = true,
	.measures = true,
};
