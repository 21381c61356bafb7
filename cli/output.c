/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Files of results. mininb writes them at the end, so no run is disturbed. It writes each to a
 * temporary file and renames it, so an older file stays until the new one is complete. It
 * checks before the run that they can be written.
 */
#include "output.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cmd.h"
#include "interrupt.h"
#include "message.h"
#include "options.h"

static const struct options *whole; /* as given, also in the process of one engine */
static FILE *nowhere;               /* replaces stdout, which gets the result file */

/* ---- before ---- */

static bool
is_stdout(const char *path)
{
	return path != NULL && strcmp(path, "-") == 0;
}

/** Checks the directory of `path`, where mininb makes a temporary file. */
static bool
can_write(const char *name, const char *path)
{
	if (path == NULL || is_stdout(path))
		return true;
	const char *slash = strrchr(path, '/');
	char *directory = slash == NULL
		? strdup(".")
		: strndup(path, slash > path ? (size_t)(slash - path) : 1);
	if (directory == NULL) {
		message_error("out of memory");
		return false;
	}
	struct stat st;
	bool is_there = stat(path, &st) == 0;
	bool is_name = path[0] != '\0' && path[strlen(path) - 1] != '/';
	bool is_special = is_there && (S_ISFIFO(st.st_mode) || S_ISCHR(st.st_mode));
	bool is_file = is_name && (!is_there || is_special || S_ISREG(st.st_mode));
	int failed = access(is_special ? path : directory, W_OK) != 0 ? errno : 0;
	free(directory);
	if (is_there && S_ISDIR(st.st_mode))
		message_error("--%s: %s is a directory", name, path);
	else if (!is_file)
		message_error("--%s: '%s' is not a file", name, path);
	else if (failed != 0)
		message_error("--%s: cannot write %s: %s", name, path, strerror(failed));
	return is_file && failed == 0;
}

/** One file would overwrite the other, and "-" means stdout only for --output. */
static bool
are_apart(const struct options *options)
{
	const char *const files[] = {
		options->output, options->hlog, options->notebook, options->csv};
	for (size_t i = 0; i < 4; i++) {
		for (size_t k = i + 1; k < 4; k++) {
			if (files[i] == NULL || files[k] == NULL ||
				strcmp(files[i], files[k]) != 0)
				continue;
			message_usage("%s: two results cannot have the same file", files[i]);
			return false;
		}
	}
	if (is_stdout(options->hlog) || is_stdout(options->notebook) ||
		is_stdout(options->csv)) {
		message_usage(
			"--hlog, --csv and --notebook need a file; --output=- is for standard output");
		return false;
	}
	return true;
}

/** An unknown name would allow nothing, and the user would see it hours later. */
static bool
are_notes(const char *list)
{
	enum { NAMES_MAX = 128 };
	const char *names[NAMES_MAX];
	size_t count = 0;
	for (const struct nb_note_kind *kind = nb_note_kinds();
		kind->id != NULL && count < NAMES_MAX; kind++)
		names[count++] = kind->id;
	while (list != NULL && *list != '\0') {
		char name[64];
		size_t length = strcspn(list, ","), i = 0;
		snprintf(name, sizeof(name), "%.*s", (int)length, list);
		while (i < count && strcmp(names[i], name) != 0)
			i++;
		if (i == count) {
			const char *near = nb_nearest(name, names, count);
			message_usage(
				"--allow: unknown note '%s'%s%s%s; mininb explain lists them",
				name, near != NULL ? ", did you mean '" : "",
				near != NULL ? near : "", near != NULL ? "'?" : "");
			return false;
		}
		list += length + (list[length] == ',');
	}
	return true;
}

int
output_begin(const struct options *options)
{
	whole = options;
	interrupt_hold();
	if (!are_notes(options->allowed) || !are_apart(options))
		return STATUS_USAGE;
	if (!can_write("output", options->output) || !can_write("hlog", options->hlog) ||
		!can_write("csv", options->csv) || !can_write("notebook", options->notebook))
		return STATUS_FAILED;
	if (!is_stdout(options->output))
		return STATUS_DONE;
	nowhere = fopen("/dev/null", "we");
	if (nowhere != NULL)
		return STATUS_DONE;
	message_error("cannot open /dev/null: %s", strerror(errno));
	return STATUS_FAILED;
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
	struct options_list list;
	char *text = NULL, *directory = getcwd(NULL, 0);
	struct nb_command command = {.size = sizeof(command),
		.action = options->action->name,
		.directory = directory,
		.words = whole->words,
		.word_count = whole->word_count};
	int rc = job != NULL ? nb_job_write(job, &text) : 0;
	if (rc == 0 && !options_list(&list, options))
		rc = NB_FAIL; /* it was reported */
	if (rc == 0) {
		command.names = list.names;
		command.values = (const char *const *)list.values;
		command.option_count = list.count;
		command.job = text;
		rc = nb_results_set_command(results, &command);
		options_list_destroy(&list);
	}
	free(text);
	free(directory);
	return rc;
}

/* ---- after ---- */

/** Whether `id` stands in a list "a,b,c". */
static bool
is_in_list(const char *list, const char *id)
{
	size_t length = strlen(id);
	for (const char *at = list; at != NULL && *at != '\0';) {
		size_t word = strcspn(at, ",");
		if (word == length && memcmp(at, id, length) == 0)
			return true;
		at += word + (at[word] == ',');
	}
	return false;
}

/** --strict: each note that is not allowed is a reason to fail. */
static int
judge(const struct options *options, const struct nb_results *results)
{
	size_t refused = 0;
	char last[64] = "";
	for (size_t run = 0; run < nb_results_count(results); run++) {
		const char *note;
		for (size_t i = 0; (note = nb_results_note(results, run, i)) != NULL; i++) {
			const char *id = nb_results_note_id(results, run, i);
			if (is_in_list(options->allowed, id))
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
output_write_others(const struct options *options, const struct nb_results *results)
{
	int statuses[3] = {STATUS_DONE};
	if (options->hlog != NULL)
		statuses[0] = message_last_failure(
			nb_results_write_file(results, "hlog", options->hlog, 0));
	if (options->csv != NULL)
		statuses[1] = message_last_failure(
			nb_results_write_csv_files(results, options->csv));
	if (options->notebook != NULL)
		statuses[2] = message_last_failure(
			nb_results_append_notebook(results, options->notebook));
	for (int i = 0; i < 3; i++) {
		if (statuses[i] != STATUS_DONE)
			return statuses[i];
	}
	return STATUS_DONE;
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

/** Warns if a repetition did other operations. Runs of skipped engines do not count. */
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
