/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The cells of a matrix.
 *
 * mininb parses a cell's options from a command line made from the plan. So the words of a plan
 * mean the same as for `vs`. The settings of a cell are a text: versions, the engine with its
 * effective options, the options of each step with their defaults, the whole workload.
 * The name of a result file is the hash of that text and the repetition. So a changed default,
 * workload file or engine makes a new cell and does not match an old file. Two combinations
 * with equal settings are one cell: an option of one engine does not multiply the others.
 *
 * The file also contains the text. A cell is done if its file can be read, has that text, and
 * has a complete result of each step. The existence of the file is not sufficient.
 *
 * The name does not cover the machine and the content of key files and traces. A comparison
 * reports different machines and rejects different streams of operations.
 */
#include "matrix_cells.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cmd.h"
#include "cmd_run.h"
#include "ending.h"
#include "kept.h"
#include "message.h"
#include "vs_repeat.h"

static const char no_option[] = "none"; /* value of the list `option` */

/* ---- command lines ---- */

struct line {
	char **words; /* ends with NULL */
	size_t count;
};

/** Adds --NAME=VALUE; for `option` one for each word of the value; for a flag only the name. */
static void
add_option(struct line *line, const char *name, const char *value)
{
	const struct option_row *row = option_find(name, strlen(name), &cmd_matrix);
	if (row != NULL && row->type == OPTION_FLAG &&
		(strcmp(value, "yes") == 0 || strcmp(value, "no") == 0)) {
		if (value[0] == 'y')
			line->words[line->count++] = kept_text("--%s", name);
		return;
	}
	if (strcmp(name, "option") != 0) {
		line->words[line->count++] = kept_text("--%s=%s", name, value);
		return;
	}
	char *rest = kept_text("%s", strcmp(value, no_option) == 0 ? "" : value);
	for (char *word; (word = strsep(&rest, " \t")) != NULL;)
		if (word[0] != '\0')
			line->words[line->count++] = kept_text("--option=%s", word);
}

/** An upper limit of the number of words of one cell, with the final NULL. */
static size_t
most_words(const struct nb_matrix *matrix, const struct options *options)
{
	size_t most = 4 + options->word_count + matrix->setting_count + matrix->axis_count;
	for (size_t i = 0; i < matrix->setting_count; i++)
		most += strlen(matrix->settings[i].value);
	for (size_t i = 0; i < matrix->axis_count; i++)
		for (size_t v = 0; v < matrix->axes[i].count; v++)
			most += strlen(matrix->axes[i].values[v]);
	return most;
}

/** The plan's settings come first, so options of the command line override them. */
static struct line
make_line(const struct nb_matrix *matrix, size_t cell, const struct options *options)
{
	struct line line = {
		.words = kept_array(most_words(matrix, options), sizeof(*line.words))};
	line.words[line.count++] = kept_text("mininb");
	line.words[line.count++] = kept_text("%s", options->action->name);
	for (size_t i = 0; i < matrix->setting_count; i++)
		add_option(&line, matrix->settings[i].name, matrix->settings[i].value);
	for (size_t i = 0; i < matrix->axis_count; i++)
		add_option(&line, matrix->axes[i].name, nb_matrix_value(matrix, cell, i));
	for (size_t i = 0; i < options->word_count; i++)
		if (i < options->action_from || i >= options->action_to)
			line.words[line.count++] = kept_text("%s", options->words[i]);
	return line;
}

/* ---- settings ---- */

/** Loads an engine in its own process, because a plugin may crash it. */
static char *
read_engine(const struct options *options)
{
	char *text = NULL;
	size_t size = 0;
	int fd = memfd_create("engine", MFD_CLOEXEC);
	fflush(NULL);
	pid_t pid = fd >= 0 ? fork() : -1;
	if (pid == 0) {
		ending_begin();
		int rc = nb_engine_settings(&text, options->driver, options->engine_options,
			options->engine_option_count);
		bool is_good = rc == 0 &&
			write(fd, text, strlen(text)) == (ssize_t)strlen(text);
		int status = message_last_failure(rc);
		ending_end(is_good || rc != 0 ? status : STATUS_FAILED);
	}
	int status = 0;
	bool is_over = pid > 0;
	while (is_over && waitpid(pid, &status, 0) < 0)
		is_over = errno == EINTR;
	struct stat st;
	if (is_over && WIFEXITED(status) && WEXITSTATUS(status) == STATUS_DONE &&
		fstat(fd, &st) == 0) {
		size = (size_t)st.st_size;
		text = kept_array(size + 1, 1);
		if (pread(fd, text, size, 0) != (ssize_t)size)
			text = NULL;
	} else if (!is_over || !WIFEXITED(status)) {
		message_error("%s: the engine could not be loaded", options->driver);
	}
	if (fd >= 0)
		close(fd);
	return text;
}

/** The options of a step that affect its measurements. */
static void
add_step(FILE *text, const struct options *options, const struct cmd *action)
{
	/* excludes file names, output options, and options whose content is included */
	static const char others[] = "action driver option set output hlog csv notebook strict "
				     "allow quiet hang-after report-interval interval fold "
				     "force help version fresh";
	struct options step = *options;
	step.action = action;
	struct options_list list = options_list(&step);
	for (size_t i = 0; i < list.count; i++)
		if (!options_has_word(others, list.names[i]))
			fprintf(text, "%s %s=%s\n", action->name, list.names[i],
				list.values[i]);
}

/** The complete workload of a step; `classic` actions have none. */
static int
add_job(FILE *text, const struct options *options, const struct cmd *action)
{
	struct options step = *options;
	struct nb_job *job;
	char *written;
	step.action = action;
	if (!action->has_workload)
		return STATUS_DONE;
	int rc = job_options_read(&job, options->workload, &step);
	if (rc != 0)
		return message_last_failure(rc);
	rc = nb_job_write(job, &written);
	if (rc == 0) {
		fprintf(text, "%s\n%s\n", action->name, written);
		free(written);
	}
	nb_job_delete(job);
	return message_last_failure(rc);
}

static int
write_settings(FILE *text, const struct cell *cell, const char *engine)
{
	const struct cmd *steps[VS_STEPS];
	size_t count = vs_steps(&cell->options, steps);
	int status = STATUS_DONE;
	fprintf(text, "mininb %s\n%s", nb_version(), engine);
	if (cell->options.is_shuffled)
		fprintf(text, "shuffle\n");
	for (size_t i = 0; i < count && status == STATUS_DONE; i++) {
		add_step(text, &cell->options, steps[i]);
		status = add_job(text, &cell->options, steps[i]);
	}
	return status;
}

static int
find_settings(struct cell *cell)
{
	char *text = NULL;
	size_t size;
	const char *engine = read_engine(&cell->options);
	FILE *memory = engine != NULL ? open_memstream(&text, &size) : NULL;
	if (memory == NULL)
		return engine != NULL ? message_no_memory() : STATUS_USAGE;
	int status = write_settings(memory, cell, engine);
	if (fclose(memory) != 0)
		return message_no_memory();
	cell->settings = kept_text("%s", text);
	free(text);
	return status;
}

/* ---- labels ---- */

static bool
is_of_engine(const char *axis)
{
	return strcmp(axis, "driver") == 0 || strcmp(axis, "option") == 0;
}

/** The values of all lists, or of all lists that are not for the engine: "ycsb-a threads=2". */
static const char *
values_of(const struct nb_matrix *matrix, size_t cell, bool has_engine)
{
	const char *text = "";
	for (size_t i = 0; i < matrix->axis_count; i++) {
		const char *name = matrix->axes[i].name;
		bool is_plain = strcmp(name, "workload") == 0 && !has_engine;
		if (is_of_engine(name) && !has_engine)
			continue;
		text = kept_text("%s%s%s%s%s", text, text[0] != '\0' ? " " : "",
			is_plain ? "" : name, is_plain ? "" : "=",
			nb_matrix_value(matrix, cell, i));
	}
	return text;
}

/** The driver and its options, if the matrix has a list of options. */
static const char *
engine_of(const struct nb_matrix *matrix, const struct cell *cell, const char *label)
{
	bool has_options = false;
	for (size_t i = 0; i < matrix->axis_count; i++)
		has_options |= strcmp(matrix->axes[i].name, "option") == 0;
	for (size_t i = 0; has_options && i < cell->options.engine_option_count; i++)
		label = kept_text("%s %s", label, cell->options.engine_options[i]);
	return label;
}

/* ---- creation ---- */

/**
 * Collects the labels of all engines, and checks that each prefix of an option is one of them.
 */
static int
read_drivers(
	struct drivers *drivers, const struct nb_matrix *matrix, const struct options *options)
{
	struct options all = *options;
	const char *list = NULL;
	for (size_t i = 0; i < matrix->axis_count; i++)
		for (size_t v = 0; v < matrix->axes[i].count &&
			strcmp(matrix->axes[i].name, "driver") == 0;
			v++)
			list = list == NULL
				? matrix->axes[i].values[v]
				: kept_text("%s,%s", list, matrix->axes[i].values[v]);
	if (list != NULL)
		all.driver = list;
	return drivers_read(drivers, &all, true);
}

static int
make_cell(struct cell *cell, const struct nb_matrix *matrix, size_t index,
	const struct options *options)
{
	struct line line = make_line(matrix, index, options);
	struct drivers drivers;
	int status = options_parse(&cell->options, (int)line.count, line.words);
	if (status == STATUS_DONE)
		status = vs_check(&cell->options);
	if (status == STATUS_DONE)
		status = read_drivers(&drivers, matrix, &cell->options);
	if (status != STATUS_DONE)
		return status;
	const char *label = cell->options.driver;
	for (size_t i = 0; i < drivers.count; i++)
		if (strcmp(drivers.names[i], cell->options.driver) == 0)
			label = drivers.labels[i];
	drivers_choose_options(&cell->options, 0);
	cell->engine = engine_of(matrix, cell, kept_text("%s", label));
	cell->group = values_of(matrix, index, false);
	cell->contestant = (uint32_t)index + 1;
	return find_settings(cell);
}

/** Rejects an option of the command line that a list would override. */
static int
check_lists(const struct nb_matrix *matrix, const struct options *options)
{
	for (size_t i = 0; i < matrix->axis_count; i++) {
		const char *name = matrix->axes[i].name;
		const struct option_row *row = option_find(name, strlen(name), &cmd_matrix);
		if (row != NULL && row->type != OPTION_LIST &&
			options->given[row - option_table()])
			return message_usage(
				"--%s: %s has a list of that name; use one of them", name,
				options->operand);
		if (row != NULL && (!option_is_of(row, &cmd_matrix) || row->is_output))
			return message_usage(
				"%s: '%s' cannot be a list", options->operand, name);
	}
	return STATUS_DONE;
}

static bool
is_new(const struct cells *cells, const struct cell *cell)
{
	for (size_t i = 0; i < cells->cell_count; i++)
		if (strcmp(cells->cells[i].settings, cell->settings) == 0)
			return false;
	return true;
}

/** Each repetition runs the cells in its own order, so a drift affects all of them. */
static void
make_runs(struct cells *cells, uint32_t repetitions, uint64_t seed)
{
	size_t *order = kept_array(cells->cell_count, sizeof(*order));
	cells->runs = kept_array(cells->cell_count * repetitions, sizeof(*cells->runs));
	for (uint32_t r = 1; r <= repetitions; r++) {
		vs_draw_order(order, cells->cell_count, seed, r);
		for (size_t i = 0; i < cells->cell_count; i++) {
			struct run *run = &cells->runs[cells->run_count++];
			run->cell = &cells->cells[order[i]];
			run->repetition = r;
			nb_settings_name(run->name,
				kept_text(
					"%srepetition %" PRIu32 "\n", run->cell->settings, r));
		}
	}
}

int
cells_create(struct cells *cells, const struct nb_matrix *matrix, const struct options *options)
{
	size_t count = nb_matrix_cells(matrix);
	int status = check_lists(matrix, options);
	cells->cells = kept_array(count, sizeof(*cells->cells));
	for (size_t i = 0; i < count && status == STATUS_DONE && !nb_stop_requested(); i++) {
		struct cell *cell = &cells->cells[cells->cell_count];
		status = make_cell(cell, matrix, i, options);
		if (status == STATUS_DONE)
			cells->cell_count += is_new(cells, cell);
		else
			message_error("%s: this is wrong in the cell '%s'", options->operand,
				values_of(matrix, i, true));
	}
	if (status == STATUS_DONE && nb_stop_requested())
		status = STATUS_INTERRUPTED;
	if (status == STATUS_DONE)
		make_runs(cells, matrix->repetitions, options->seed);
	return status;
}

/* ---- result files ---- */

const char *
run_path(const struct cells *cells, const struct run *run)
{
	return kept_text("%s/%s.json", cells->results, run->name);
}

/** Whether each step has a complete result; else the reason. */
static enum cell_state
state_of(const struct nb_results *results, size_t steps, char *reason, size_t size)
{
	for (size_t i = 0; i < nb_results_count(results); i++) {
		struct nb_summary summary;
		nb_results_summarize(results, i, &summary);
		if (summary.end[0] == '\0' && summary.is_measured && !summary.is_partial)
			continue;
		snprintf(reason, size, "%s",
			summary.end[0] != '\0' ? summary.end
					       : "a step ended before its last operation");
		return CELL_FAILED;
	}
	return nb_results_count(results) == steps ? CELL_DONE : CELL_TO_DO;
}

int
run_read(struct nb_results **out, const struct cells *cells, const struct run *run)
{
	const char *text;
	int rc = nb_results_read(out, run_path(cells, run));
	if (rc != 0)
		return rc;
	text = nb_results_option(*out, "settings");
	if (text == NULL || strcmp(text, run->cell->settings) != 0) {
		nb_results_delete(*out);
		return NB_ERR_DATA;
	}
	nb_results_set_contestant(
		*out, run->cell->contestant, run->cell->engine, run->repetition);
	nb_results_set_label(*out, run->cell->group);
	return 0;
}

void
run_look(const struct cells *cells, struct run *run)
{
	struct nb_results *results;
	const struct cmd *steps[VS_STEPS];
	run->state = CELL_TO_DO;
	run->seconds = 0;
	if (access(run_path(cells, run), F_OK) != 0 || run_read(&results, cells, run) != 0)
		return;
	const char *seconds = nb_results_option(results, "seconds");
	if (seconds == NULL || nb_parse_real(&run->seconds, seconds) != 0)
		run->seconds = 0;
	run->state = state_of(results, vs_steps(&run->cell->options, steps), run->reason,
		sizeof(run->reason));
	nb_results_delete(results);
}

int
run_write(const struct cells *cells, const struct run *run, struct nb_results *results,
	double seconds)
{
	const char *took = kept_text("%.3f", seconds);
	const struct options *options = &run->cell->options;
	struct nb_command command = {.size = sizeof(command),
		.action = "matrix",
		.words = options->words,
		.word_count = options->word_count,
		.names = (const char *const[]){"settings", "seconds"},
		.values = (const char *const[]){run->cell->settings, took},
		.option_count = 2};
	nb_results_set_label(results, run->cell->group);
	int rc = nb_results_set_command(results, &command);
	return rc == 0 ? nb_results_write_file(results, "json", run_path(cells, run), 0) : rc;
}
