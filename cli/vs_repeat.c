/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One repetition of vs: load and run of the workload, or put and get of keys.
 *
 * Each step is this program again, with the options that were typed, so that it measures
 * what the same words measure by themselves; it leaves its results in a file. A new process
 * has a heap of its own and no pages of the engine before; a new directory has no data. What
 * a step prints is thrown away, what it says on standard error is shown if it fails.
 *
 * This process sleeps meanwhile, but for a look each second.
 */
#include "vs_repeat.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <mininb/mininb.h>

#include "cmd.h"
#include "interrupt.h"
#include "message.h"
#include "options.h"
#include "progress.h"

enum { LOOK_MS = 1000, STOP_LOOK_MS = 100, PATH_SIZE = 4400 };

/** Of the directory that vs_place_create() has made; it may not be there. */
static void
remove_tree(const char *path)
{
	if (nb_tree_remove(path) != 0)
		message_log(NULL, NB_LOG_WARNING, nb_error_text());
}

/** Whether the setting is one that a row of the table sets as well: "count=10". */
static bool
is_of_row(const char *setting)
{
	size_t length = strcspn(setting, "=");
	for (const struct option_row *row = option_table; row->name != NULL; row++)
		if (row->job_key != NULL && strlen(row->job_key) == length &&
			memcmp(row->job_key, setting, length) == 0)
			return true;
	return false;
}

/** Whether there is one: by its name, or by a mix that was typed (--read=95 --update=5). */
static bool
has_workload(const struct options *options)
{
	bool has_any = options->workload != NULL;
	for (size_t i = 0; i < options->job_setting_count; i++)
		has_any |= !is_of_row(options->job_settings[i]);
	return has_any;
}

/** Whether traces are replayed; a mix is then what becomes of bare keys, and no workload. */
static bool
has_trace(const struct options *options)
{
	return options->load != NULL || options->trace != NULL;
}

/* ---- words of a step ---- */

/** Ended by NULL; all owned. */
struct words {
	char **items;
	size_t count;
	bool is_short; /* of memory */
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

/** What is said otherwise, or not for a step. */
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

static const struct option_row *
row_of(const char *name, size_t action)
{
	const struct option_row *row = option_table;
	while (row->name != NULL &&
		(strcmp(row->name, name) != 0 || (row->actions & ACTION_BIT(action)) == 0))
		row++;
	return row;
}

/** Those that were typed, that vs looks at, and this action as well. */
static void
add_typed(struct words *words, const struct options *options, size_t action)
{
	struct options step = *options;
	struct options_list list;
	step.action = action;
	if (!options_list(&list, &step)) {
		words->is_short = true;
		return;
	}
	for (size_t i = 0; i < list.count; i++) {
		const struct option_row *row = row_of(list.names[i], action);
		/* What has just been made cannot be made cold. */
		bool is_for_first = strcmp(list.names[i], "cold") == 0 &&
			(action == ACTION_PUT || action == ACTION_LOAD);
		if (is_own(list.names[i]) || is_for_first ||
			(row->actions & ACTION_BIT(ACTION_VS)) == 0 ||
			!options_were_given(options, list.names[i]))
			continue;
		if (row->type == OPTION_FLAG)
			add_word(words, "--%s", list.names[i]);
		else
			add_word(words, "--%s=%s", list.names[i], list.values[i]);
	}
	options_list_destroy(&list);
}

/** Of each contestant its own, which no other has used. */
static void
database_path(char path[PATH_SIZE], const struct vs_repetition *repetition)
{
	snprintf(path, PATH_SIZE, "%s/db%" PRIu32, repetition->place->directory,
		repetition->contestant);
}

/** Names of files are of this directory, which the step has, too. */
static void
make_words(struct words *words, const struct vs_repetition *repetition, size_t action)
{
	const struct vs_place *place = repetition->place;
	const struct options *options = repetition->options;
	char database[PATH_SIZE];
	database_path(database, repetition);
	*words = (struct words){.items = NULL};
	add_word(words, "mininb");
	add_word(words, "%s", actions[action].name);
	add_typed(words, options, action);
	add_word(words, "--quiet");
	if (place->keys[0] != '\0')
		add_word(words, "--keys=%s", place->keys);
	else if (options_were_given(options, "keys"))
		add_word(words, "--keys=%s", options->keys);
	if (action == ACTION_KEYS)
		return;
	add_word(words, "--driver=%s", options->driver);
	add_word(words, "--path=%s", database);
	add_word(words, "--output=%s/result.json", place->directory);
	add_word(words, "--hang-after=%" PRIu64 "ns", options->hang_after_ns);
	if (action == ACTION_PUT || action == ACTION_LOAD ||
		(action == ACTION_REPLAY && options->workload == NULL))
		add_word(words, "--fresh");
	for (size_t i = 0; i < options->engine_option_count; i++)
		add_word(words, "--option=%s", options->engine_options[i]);
	for (size_t i = 0; i < options->job_setting_count && has_workload(options); i++)
		add_word(words, "--set=%s", options->job_settings[i]);
}

/* ---- a step ---- */

static _Noreturn void
be_step(const struct words *words, int null, int said, pid_t parent)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent || dup2(null, STDIN_FILENO) < 0 ||
		dup2(null, STDOUT_FILENO) < 0 || dup2(said, STDERR_FILENO) < 0)
		_exit(STATUS_FAILED);
	execv("/proc/self/exe", words->items);
	_exit(STATUS_FAILED);
}

/** Until it has ended; returns how, as waitpid() does. */
static int
wait_for(pid_t pid, const struct vs_repetition *repetition)
{
	int pidfd = (int)syscall(SYS_pidfd_open, pid, 0), status;
	struct interrupt_passed passed = {0};
	while (waitpid(pid, &status, WNOHANG) != pid) {
		interrupt_pass_on(&passed, pid);
		if (repetition->tick != NULL && passed.requests == 0)
			repetition->tick(repetition->tick_arg);
		struct pollfd wait = {.fd = pidfd, .events = POLLIN};
		poll(&wait, 1, pidfd < 0 || passed.requests > 0 ? STOP_LOOK_MS : LOOK_MS);
	}
	if (pidfd >= 0)
		close(pidfd);
	return status;
}

/** Show what it said, each line indented. */
static void
show_said(int said)
{
	FILE *file = lseek(said, 0, SEEK_SET) == 0 ? fdopen(dup(said), "r") : NULL;
	char line[2048];
	while (file != NULL && fgets(line, sizeof(line), file) != NULL)
		fprintf(stderr, "  %s%s", line, strchr(line, '\n') != NULL ? "" : "\n");
	if (file != NULL)
		fclose(file);
}

/** Into `end`, and to the user. */
static void
tell_failure(const struct vs_repetition *repetition, size_t action, int status, char *end,
	size_t size)
{
	if (WIFSIGNALED(status))
		snprintf(end, size, "%s was killed by signal %d (%s)", actions[action].name,
			WTERMSIG(status), strsignal(WTERMSIG(status)));
	else
		snprintf(end, size, "%s ended with status %d", actions[action].name,
			WEXITSTATUS(status));
	message_error("%s, round %" PRIu32 ": %s", repetition->label, repetition->round, end);
}

/** Run it; an exit status. `end` says how it failed. */
static int
run_step(const struct vs_repetition *repetition, size_t action, char *end, size_t size)
{
	struct words words;
	make_words(&words, repetition, action);
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	int said = open("/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	if (said < 0)
		said = (int)syscall(SYS_memfd_create, "said", 1u /* MFD_CLOEXEC */);
	pid_t parent = getpid(), pid = -1;
	fflush(NULL);
	if (!words.is_short && null >= 0 && said >= 0)
		pid = fork();
	if (pid == 0)
		be_step(&words, null, said, parent);
	int failed = errno, rc = STATUS_FAILED;
	if (pid < 0) {
		snprintf(end, size, "a process cannot be made: %s", strerror(failed));
		message_error("%s: %s", repetition->label, end);
	} else {
		int status = wait_for(pid, repetition);
		rc = WIFEXITED(status) ? WEXITSTATUS(status) : STATUS_FAILED;
		if (nb_stop_requested()) {
			rc = STATUS_INTERRUPTED;
		} else if (rc != STATUS_DONE) {
			tell_failure(repetition, action, status, end, size);
			show_said(said);
		}
	}
	close(null);
	close(said);
	destroy_words(&words);
	return rc;
}

/** Append what the step has left. A library code. */
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

/** What its steps have left. */
struct left {
	struct nb_results *results;
	char path[PATH_SIZE]; /* of the last step's file */
	char end[160];        /* how it failed */
};

/** What went wrong is kept with what there is of its figures, if there are any. */
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

/** The actions of a repetition, in their order; how many. */
static size_t
list_steps(const struct options *options, size_t steps[2])
{
	size_t count = 0;
	if (!has_trace(options)) {
		bool is_job = has_workload(options);
		steps[count++] = is_job ? ACTION_LOAD : ACTION_PUT;
		steps[count++] = is_job ? ACTION_RUN : ACTION_GET;
		return count;
	}
	if (options->workload != NULL)
		steps[count++] = ACTION_LOAD;
	steps[count++] = ACTION_REPLAY;
	return count;
}

/** A library code; *status is how the steps went. */
static int
run_steps(const struct vs_repetition *repetition, struct left *left, int *status)
{
	size_t steps[2], count = list_steps(repetition->options, steps);
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

/** The file of keys, unless there is one. */
static int
make_keys(struct vs_place *place, const struct options *options)
{
	char end[160];
	if (has_workload(options) || has_trace(options) || options_were_given(options, "keys"))
		return STATUS_DONE;
	snprintf(place->keys, sizeof(place->keys), "%s/keys.bin", place->directory);
	struct vs_repetition repetition = {.place = place, .options = options, .label = "vs"};
	return run_step(&repetition, ACTION_KEYS, end, sizeof(end));
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
		message_error("--path: a directory in %s cannot be made: %s", options->path,
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
