/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One repetition of vs: load and run of the workload, put and get of keys, or a replay.
 *
 * Each step is this program again, with the same options, so it measures the same as a command
 * by hand; it writes its results to a file. A new process has its own heap and no pages of an
 * earlier engine; a new directory has no data. The report of a step is dropped; its standard
 * error is shown if it fails.
 *
 * Meanwhile this process sleeps, except for one look a second.
 */
#include "vs_repeat.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <mininb/mininb.h>

#include "cmd.h"
#include "interrupt.h"
#include "message.h"
#include "options.h"
#include "progress.h"

enum { PATH_SIZE = 4400 };

/** Removes a tree in the directory of vs_place_create(); it may not exist. */
static void
remove_tree(const char *path)
{
	if (nb_tree_remove(path) != 0)
		message_warning("%s", nb_error_text());
}

/** Whether a row also sets the key: "count=10". */
static bool
is_of_row(const char *setting)
{
	size_t length = strcspn(setting, "=");
	for (const struct option_row *row = option_table(); row->name != NULL; row++)
		if (row->job_key != NULL && strlen(row->job_key) == length &&
			memcmp(row->job_key, setting, length) == 0)
			return true;
	return false;
}

/** Whether there is a workload: by name, or by a mix (--read=95 --update=5). */
static bool
has_workload(const struct options *options)
{
	bool has_any = options->workload != NULL;
	for (size_t i = 0; i < options->job_setting_count; i++)
		has_any |= !is_of_row(options->job_settings[i]);
	return has_any;
}

/** Whether traces are replayed; a mix then gives kinds to bare keys and is not a workload. */
static bool
has_trace(const struct options *options)
{
	return options->load != NULL || options->trace != NULL;
}

/* ---- words of a step ---- */

/** Ends with NULL; owned. */
struct words {
	char **items;
	size_t count;
	bool is_short; /* out of memory */
};

static void
add_word(struct words *words, const char *fmt, ...) NB_PRINTF(2, 3);

static void
add_word(struct words *words, const char *fmt, ...)
{
	char **grown = realloc(words->items, (words->count + 2) * sizeof(*grown));
	va_list args;
	if (grown == NULL) {
		words->is_short = true;
		return;
	}
	words->items = grown;
	va_start(args, fmt);
	if (vasprintf(&grown[words->count], fmt, args) < 0)
		words->is_short = true;
	else
		words->count++;
	va_end(args);
	grown[words->count] = NULL;
}

static void
destroy_words(struct words *words)
{
	for (size_t i = 0; i < words->count; i++)
		free(words->items[i]);
	free(words->items);
}

/** Whether a step gets another value of the option, or none. */
static bool
is_own(const char *name)
{
	static const char *const names[] = {"action", "driver", "path", "option", "set",
		"output", "hlog", "csv", "notebook", "strict", "allow", "quiet", "help",
		"version", "hang-after", "keys"};
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (strcmp(names[i], name) == 0)
			return true;
	return false;
}

/** Adds the given options that both vs and this action use. */
static void
add_typed(struct words *words, const struct options *options, const struct cmd *action)
{
	struct options step = *options;
	struct options_list list;
	step.action = action;
	if (!options_list(&list, &step)) {
		words->is_short = true;
		return;
	}
	for (size_t i = 0; i < list.count; i++) {
		const char *name = list.names[i];
		const struct option_row *row = option_find(name, strlen(name), action);
		/* A database that was just made cannot be cold. */
		bool is_for_first = strcmp(list.names[i], "cold") == 0 &&
			(action == &cmd_put || action == &cmd_load);
		if (is_own(list.names[i]) || is_for_first || !option_is_of(row, &cmd_vs) ||
			!options_were_given(options, list.names[i]))
			continue;
		if (row->type == OPTION_FLAG)
			add_word(words, "--%s", list.names[i]);
		else
			add_word(words, "--%s=%s", list.names[i], list.values[i]);
	}
	options_list_destroy(&list);
}

/** Each contestant has its own, which no other used. */
static void
database_path(char path[PATH_SIZE], const struct vs_repetition *repetition)
{
	snprintf(path, PATH_SIZE, "%s/db%" PRIu32, repetition->place->directory,
		repetition->contestant);
}

/** Names of files are relative to this directory, which the step has, too. */
static void
make_words(
	struct words *words, const struct vs_repetition *repetition, const struct cmd *action)
{
	const struct vs_place *place = repetition->place;
	const struct options *options = repetition->options;
	char database[PATH_SIZE];
	database_path(database, repetition);
	*words = (struct words){.items = NULL};
	add_word(words, "mininb");
	add_word(words, "%s", action->name);
	add_typed(words, options, action);
	add_word(words, "--quiet");
	if (place->keys[0] != '\0')
		add_word(words, "--keys=%s", place->keys);
	else if (options_were_given(options, "keys"))
		add_word(words, "--keys=%s", options->keys);
	if (action == &cmd_keys)
		return;
	add_word(words, "--driver=%s", options->driver);
	add_word(words, "--path=%s", database);
	add_word(words, "--output=%s/result.json", place->directory);
	add_word(words, "--hang-after=%" PRIu64 "ns", options->hang_after_ns);
	if (action == &cmd_put || action == &cmd_load ||
		(action == &cmd_replay && options->workload == NULL))
		add_word(words, "--fresh");
	for (size_t i = 0; i < options->engine_option_count; i++)
		add_word(words, "--option=%s", options->engine_options[i]);
	for (size_t i = 0; i < options->job_setting_count && has_workload(options); i++)
		add_word(words, "--set=%s", options->job_settings[i]);
}

/* ---- a step ---- */

static _Noreturn void
be_step(const struct words *words, int null, int errors, pid_t parent)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent || dup2(null, STDIN_FILENO) < 0 ||
		dup2(null, STDOUT_FILENO) < 0 || dup2(errors, STDERR_FILENO) < 0)
		_exit(STATUS_FAILED);
	execv("/proc/self/exe", words->items);
	_exit(STATUS_FAILED);
}

static void
look(void *arg, bool is_stopping)
{
	const struct vs_repetition *repetition = arg;
	if (repetition->tick != NULL && !is_stopping)
		repetition->tick(repetition->tick_arg);
}

/** Shows its standard error, each line indented. */
static void
show_errors(int errors)
{
	FILE *file = lseek(errors, 0, SEEK_SET) == 0 ? fdopen(dup(errors), "r") : NULL;
	char line[2048];
	while (file != NULL && fgets(line, sizeof(line), file) != NULL)
		fprintf(stderr, "  %s%s", line, strchr(line, '\n') != NULL ? "" : "\n");
	if (file != NULL)
		fclose(file);
}

/** Writes the failure to `end` and reports it. */
static void
report_failure(const struct vs_repetition *repetition, const struct cmd *action, int status,
	char *end, size_t size)
{
	char name[SIGNAL_SIZE];
	if (WIFSIGNALED(status))
		snprintf(end, size, "%s was killed by %s", action->name,
			message_signal(WTERMSIG(status), name));
	else
		snprintf(end, size, "%s ended with status %d", action->name,
			WEXITSTATUS(status));
	message_error("%s, round %" PRIu32 ": %s", repetition->label, repetition->round, end);
}

/** Runs the step; returns its exit status. `end`: how it failed. */
static int
run_step(const struct vs_repetition *repetition, const struct cmd *action, char *end,
	size_t size)
{
	struct words words;
	make_words(&words, repetition, action);
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	int errors = open("/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	if (errors < 0)
		errors = memfd_create("errors", MFD_CLOEXEC);
	pid_t parent = getpid(), pid = -1;
	fflush(NULL);
	if (!words.is_short && null >= 0 && errors >= 0)
		pid = fork();
	if (pid == 0)
		be_step(&words, null, errors, parent);
	int failed = errno, rc = STATUS_FAILED;
	if (pid < 0) {
		snprintf(end, size, "cannot start a process: %s", strerror(failed));
		message_error("%s: %s", repetition->label, end);
	} else {
		int status = interrupt_wait(pid, look, (void *)repetition);
		rc = WIFEXITED(status) ? WEXITSTATUS(status) : STATUS_FAILED;
		if (nb_stop_requested()) {
			rc = STATUS_INTERRUPTED;
		} else if (rc != STATUS_DONE) {
			report_failure(repetition, action, status, end, size);
			show_errors(errors);
		}
	}
	close(null);
	close(errors);
	destroy_words(&words);
	return rc;
}

/** Appends the step's results. Returns a code of the library. */
static int
take_results(struct nb_results *into, const char *path)
{
	struct nb_results *step;
	int rc = nb_results_read(&step, path);
	if (rc < 0)
		return rc;
	rc = nb_results_append(into, step);
	nb_results_delete(step);
	return rc;
}

/* ---- the repetition ---- */

/** Results of the steps. */
struct left {
	struct nb_results *results;
	char path[PATH_SIZE]; /* of the last step's file */
	char end[160];        /* how it failed */
};

/** Keeps the failure with the figures, if there are any. */
static int
take_failure(struct left *left, const struct vs_repetition *repetition)
{
	size_t before = nb_results_count(left->results);
	int rc = access(left->path, F_OK) == 0 ? take_results(left->results, left->path) : 0;
	if (rc == 0 && nb_results_count(left->results) == before)
		rc = nb_results_add_failure(
			left->results, repetition->options->driver, left->end);
	else if (rc == 0)
		nb_results_set_end(left->results, left->end);
	return rc;
}

/** The actions of a repetition, in their order; returns their number. */
static size_t
list_steps(const struct options *options, const struct cmd *steps[2])
{
	size_t count = 0;
	if (!has_trace(options)) {
		bool is_job = has_workload(options);
		steps[count++] = is_job ? &cmd_load : &cmd_put;
		steps[count++] = is_job ? &cmd_run : &cmd_get;
		return count;
	}
	if (options->workload != NULL)
		steps[count++] = &cmd_load;
	steps[count++] = &cmd_replay;
	return count;
}

/** Returns a code of the library; *status: of the steps. */
static int
run_steps(const struct vs_repetition *repetition, struct left *left, int *status)
{
	const struct cmd *steps[2];
	size_t count = list_steps(repetition->options, steps);
	int rc = 0;
	*status = STATUS_DONE;
	for (size_t i = 0; i < count && *status == STATUS_DONE && rc == 0; i++) {
		unlink(left->path);
		*status = run_step(repetition, steps[i], left->end, sizeof(left->end));
		if (*status == STATUS_DONE)
			rc = take_results(left->results, left->path);
	}
	if (*status != STATUS_DONE && *status != STATUS_INTERRUPTED)
		rc = take_failure(left, repetition);
	return rc;
}

int
vs_repeat(const struct vs_repetition *repetition)
{
	struct left left = {.results = NULL};
	char database[PATH_SIZE];
	int status = STATUS_DONE, rc = nb_results_new(&left.results);
	snprintf(left.path, sizeof(left.path), "%s/result.json", repetition->place->directory);
	database_path(database, repetition);
	if (rc == 0)
		rc = run_steps(repetition, &left, &status);
	if (rc == 0 && status != STATUS_INTERRUPTED) {
		nb_results_set_contestant(left.results, repetition->contestant,
			repetition->label, repetition->round);
		rc = nb_results_append(repetition->results, left.results);
	}
	nb_results_delete(left.results);
	remove_tree(database);
	int kept = message_last_failure(rc);
	return status == STATUS_DONE ? kept : status;
}

/* ---- places ---- */

/** Makes the key file, unless the user has one. */
static int
make_keys(struct vs_place *place, const struct options *options)
{
	char end[160];
	if (has_workload(options) || has_trace(options) || options_were_given(options, "keys"))
		return STATUS_DONE;
	snprintf(place->keys, sizeof(place->keys), "%s/keys.bin", place->directory);
	struct vs_repetition repetition = {.place = place, .options = options, .label = "vs"};
	return run_step(&repetition, &cmd_keys, end, sizeof(end));
}

int
vs_place_create(struct vs_place *place, const struct options *options)
{
	*place = (struct vs_place){.keys = ""};
	int status = message_last_failure(nb_tree_make(options->path));
	if (status != STATUS_DONE)
		return status;
	snprintf(place->directory, sizeof(place->directory), "%s/vs-XXXXXX", options->path);
	if (mkdtemp(place->directory) == NULL) {
		message_error("--path: cannot make a directory in %s: %s", options->path,
			strerror(errno));
		return STATUS_FAILED;
	}
	status = make_keys(place, options);
	if (status != STATUS_DONE)
		vs_place_destroy(place);
	return status;
}

void
vs_place_destroy(struct vs_place *place)
{
	remove_tree(place->directory);
}
