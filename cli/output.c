/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Result files. mininb writes them at the end, so they disturb no run. It writes each to a
 * temporary file and renames it, so an older file stays until the new one is complete.
 *
 * Before any action mininb checks that each file can be written and may be replaced, because
 * after hours of measuring it would be too late. When the library writes a file, it again
 * checks links and files of other users in directories like /tmp, also with --force.
 */
#include "output.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cmd.h"
#include "interrupt.h"
#include "kept.h"
#include "message.h"
#include "options.h"
#include "results_files.h"

static const struct options *whole; /* as given, also in the process of one engine */
static FILE *nowhere;               /* replaces stdout, which receives the result file */

/* ---- before ---- */

static bool
is_stdout(const char *path)
{
	return path != NULL && strcmp(path, "-") == 0;
}

/** Checks the directory of `path`, where mininb makes a temporary file. */
static int
check_writable(const char *name, const char *path)
{
	const char *slash = strrchr(path, '/');
	const char *directory = slash == NULL ? "."
		: slash == path               ? "/"
					      : kept_text("%.*s", (int)(slash - path), path);
	struct stat st;
	bool is_there = stat(path, &st) == 0;
	bool is_special = is_there && (S_ISFIFO(st.st_mode) || S_ISCHR(st.st_mode));
	if (is_there && S_ISDIR(st.st_mode))
		message_error("--%s: %s is a directory", name, path);
	else if (path[0] == '\0' || path[strlen(path) - 1] == '/' ||
		(is_there && !is_special && !S_ISREG(st.st_mode)))
		message_error("--%s: '%s' is not a file", name, path);
	else if (access(is_special ? path : directory, W_OK) != 0)
		message_error("--%s: cannot write %s: %s", name, path, strerror(errno));
	else
		return STATUS_DONE;
	return STATUS_FAILED;
}

/** mininb appends to it, so it must be a notebook. */
static int
check_notebook(const char *path)
{
	struct stat st;
	if (stat(path, &st) != 0 ||
		(S_ISREG(st.st_mode) && (st.st_size == 0 || results_files_is_notebook(path))))
		return STATUS_DONE;
	message_error("%s: exists and is not a notebook; use another file", path);
	return STATUS_FAILED;
}

/** --csv is a prefix of several names. */
static int
check_tables(const struct options *options, const char *prefix)
{
	const char *suffix;
	int rc = 0;
	for (size_t i = 0; rc == 0 && (suffix = nb_results_csv_suffix(i)) != NULL; i++)
		rc = nb_file_may_replace(kept_text("%s%s", prefix, suffix), options->seed);
	return message_last_failure(rc);
}

static const char *
path_of(const struct options *options, const struct option_row *row)
{
	return option_is_written(row, options->action)
		? *(const char *const *)option_field(options, row)
		: NULL;
}

static int
check_file(const struct options *options, const struct option_row *row, const char *path)
{
	bool is_notebook = strcmp(row->name, "notebook") == 0;
	bool is_csv = strcmp(row->name, "csv") == 0;
	if (is_stdout(path))
		return is_notebook || is_csv || strcmp(row->name, "hlog") == 0
			? message_usage(
				  "--hlog, --csv and --notebook need a file; --output=- is for standard output")
			: STATUS_DONE;
	for (const struct option_row *other = option_table(); other < row; other++) {
		const char *same = path_of(options, other);
		if (same != NULL && strcmp(same, path) == 0)
			return message_usage("%s: two results cannot have the same file", path);
	}
	int status = is_notebook ? check_notebook(path) : STATUS_DONE;
	if (status == STATUS_DONE)
		status = check_writable(row->name, path);
	if (status != STATUS_DONE || is_notebook || options->is_forced)
		return status;
	return is_csv ? check_tables(options, path)
		      : message_last_failure(nb_file_may_replace(path, options->seed));
}

int
output_check(const struct options *options)
{
	int status = STATUS_DONE;
	for (const struct option_row *row = option_table();
		row->name != NULL && status == STATUS_DONE; row++) {
		const char *path = path_of(options, row);
		if (path != NULL)
			status = check_file(options, row, path);
	}
	return status;
}

/** An unknown name would allow nothing, which the user would notice only at the end. */
static int
check_notes(const char *list)
{
	enum { NAMES_MAX = 128 };
	const char *names[NAMES_MAX], *name;
	char *rest = list != NULL ? kept_text("%s", list) : NULL;
	size_t count = 0;
	for (const struct nb_note_kind *kind = nb_note_kinds();
		kind->id != NULL && count < NAMES_MAX; kind++)
		names[count++] = kind->id;
	while ((name = strsep(&rest, ",")) != NULL) {
		size_t i = 0;
		while (i < count && strcmp(names[i], name) != 0)
			i++;
		if (i < count || (name[0] == '\0' && rest == NULL))
			continue;
		return message_usage("--allow: unknown note '%s'%s; mininb explain lists them",
			name, message_guess(nb_nearest(name, names, count)));
	}
	return STATUS_DONE;
}

int
output_begin(const struct options *options)
{
	whole = options;
	interrupt_hold();
	int status = check_notes(options->allowed);
	if (status != STATUS_DONE || !is_stdout(options->output))
		return status;
	nowhere = fopen("/dev/null", "we");
	if (nowhere != NULL)
		return STATUS_DONE;
	return message_failed("cannot open /dev/null: %s", strerror(errno));
}

void
output_silence(void)
{
	if (nowhere == NULL)
		nowhere = fopen("/dev/null", "we");
}

FILE *
output_text(void)
{
	return nowhere != NULL ? nowhere : nb_stdout();
}

uint32_t
output_flags(const struct options *options)
{
	return (options->is_folded ? NB_TEXT_FOLD : 0) |
		(nowhere == NULL && isatty(fileno(nb_stdout())) ? NB_TEXT_BARS : 0);
}

/* ---- the command ---- */

int
output_set_command(
	struct nb_results *results, const struct options *options, const struct nb_job *job)
{
	struct options_list list = options_list(options);
	char *text = NULL, *directory = getcwd(NULL, 0);
	int rc = job != NULL ? nb_job_write(job, &text) : 0;
	struct nb_command command = {.size = sizeof(command),
		.action = options->action->name,
		.directory = directory,
		.words = whole->words,
		.word_count = whole->word_count,
		.names = list.names,
		.values = (const char *const *)list.values,
		.option_count = list.count,
		.job = text};
	if (rc == 0)
		rc = nb_results_set_command(results, &command);
	free(text);
	free(directory);
	return rc;
}

/* ---- after ---- */

/** --strict: each note that is not allowed causes a failure. */
static int
judge(const struct options *options, const struct nb_results *results)
{
	size_t refused = 0;
	char last[64] = "";
	for (size_t run = 0; run < nb_results_count(results); run++) {
		const char *note;
		for (size_t i = 0; (note = nb_results_note(results, run, i)) != NULL; i++) {
			const char *id = nb_results_note_id(results, run, i);
			if (options_has_word(options->allowed, id))
				continue;
			message_error("strict: %s: %s", id, note);
			snprintf(last, sizeof(last), "%s", id);
			refused++;
		}
	}
	if (refused == 0)
		return STATUS_DONE;
	message_error(
		"strict: %zu note%s why these numbers may be wrong; to accept a note, name it (--allow=%s,...)",
		refused, refused == 1 ? "" : "s", last);
	return STATUS_GATE;
}

int
output_take(struct nb_results *into, const char *path, const char *driver, const char *end)
{
	struct stat st;
	struct nb_results *own = NULL;
	size_t before = nb_results_count(into);
	int rc = stat(path, &st) == 0 && st.st_size > 0 ? nb_results_read(&own, path) : 0;
	if (rc == 0 && own != NULL)
		rc = nb_results_append(into, own);
	if (rc == 0 && nb_results_count(into) == before)
		rc = nb_results_add_failure(into, driver, end);
	else if (rc == 0 && end[0] != '\0')
		nb_results_set_end(into, end);
	nb_results_delete(own);
	return rc;
}

int
output_write_others(const struct options *options, const struct nb_results *results)
{
	int hlog = STATUS_DONE, csv = STATUS_DONE, notebook = STATUS_DONE;
	if (options->hlog != NULL)
		hlog = message_last_failure(
			nb_results_write_file(results, "hlog", options->hlog, 0));
	if (options->csv != NULL)
		csv = message_last_failure(nb_results_write_csv_files(results, options->csv));
	if (options->notebook != NULL)
		notebook = message_last_failure(
			nb_results_append_notebook(results, options->notebook));
	return hlog != STATUS_DONE ? hlog : csv != STATUS_DONE ? csv : notebook;
}

static int
write_files(const struct options *options, const struct nb_results *results)
{
	int status = STATUS_DONE;
	if (options->output != NULL) {
		int rc = nb_results_write_file(results, "json", options->output, 0);
		status = is_stdout(options->output) ? message_output_failure(rc)
						    : message_last_failure(rc);
	}
	int others = output_write_others(options, results);
	return status == STATUS_DONE ? others : status;
}

/** Warns if a repetition executed other operations. Runs of skipped engines do not count. */
static void
compare_streams(const struct nb_results *results, const struct nb_results *before)
{
	size_t count = nb_results_count(results);
	if (nb_results_count(before) < count)
		count = nb_results_count(before);
	for (size_t i = 0; i < count; i++) {
		struct nb_summary now, then;
		nb_results_summarize(results, i, &now);
		nb_results_summarize(before, i, &then);
		if (!now.is_measured || !then.is_measured || now.digest == then.digest)
			continue;
		message_warning(
			"this run did other operations than the run that it repeats: keys, workload or trace have changed");
		return;
	}
}

int
output_finish(const struct options *options, const struct nb_results *results, int status)
{
	fflush(output_text());
	if (options->same_as != NULL)
		compare_streams(results, options->same_as);
	int written = write_files(options, results);
	if (status == STATUS_DONE)
		status = written;
	if (status == STATUS_DONE && options->is_strict)
		status = judge(options, results);
	return status;
}
