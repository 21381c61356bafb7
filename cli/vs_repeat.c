/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One repetition of vs or cell of a matrix: load and run of a workload, put and get of keys, or
 * a replay.
 *
 * Each step starts this program again with the same options, so it measures the same as a
 * manual command. It writes its results to a file. A new process has its own heap and no pages
 * of an earlier engine; a new directory has no data. The report of a step is discarded; its
 * warnings and errors are shown.
 *
 * Meanwhile this process sleeps, except for one check per second.
 */
#include "vs_repeat.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <mininb/mininb.h>

#include "cmd.h"
#include "cmd_run.h"
#include "interrupt.h"
#include "kept.h"
#include "message.h"
#include "options.h"
#include "output.h"
#include "progress.h"

enum { PATH_SIZE = 4400, COPY_BYTES = 16 << 20 };

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

/** Whether the options contain a workload: by name, or by a mix (--read=95 --update=5). */
static bool
has_workload(const struct options *options)
{
	bool has_any = options->workload != NULL;
	for (size_t i = 0; i < options->job_setting_count; i++)
		has_any |= !is_of_row(options->job_settings[i]);
	return has_any;
}

/** Whether traces are replayed; a mix then only gives kinds to bare keys. */
static bool
has_trace(const struct options *options)
{
	return options->load != NULL || options->trace != NULL;
}

/* ---- words of a step ---- */

/** Ends with NULL. */
struct words {
	char **items;
	size_t count;
};

static void
add_word(struct words *words, char *word)
{
	words->items[words->count++] = word;
}

/** Adds the given options that both the user's action and this one use. */
static void
add_typed(struct words *words, const struct options *options, const struct cmd *action)
{
	/* A step gets another value of these options, or none. */
	static const char others[] = "action driver path option set output hlog csv notebook "
				     "strict allow quiet help version hang-after keys";
	struct options step = *options;
	step.action = action;
	struct options_list list = options_list(&step);
	for (size_t i = 0; i < list.count; i++) {
		const char *name = list.names[i];
		const struct option_row *row = option_find(name, strlen(name), action);
		/* A new database cannot be cold. */
		bool is_for_first = strcmp(name, "cold") == 0 &&
			(action == &cmd_put || action == &cmd_load);
		if (options_has_word(others, name) || is_for_first ||
			!option_is_of(row, options->action) ||
			!options_were_given(options, name))
			continue;
		add_word(words,
			row->type == OPTION_FLAG ? kept_text("--%s", name)
						 : kept_text("--%s=%s", name, list.values[i]));
	}
}

/** Each contestant has its own directory, which no other contestant used. */
static void
database_path(char path[PATH_SIZE], const struct vs_repetition *repetition)
{
	snprintf(path, PATH_SIZE, "%s/db%" PRIu32, repetition->place->directory,
		repetition->contestant);
}

/** File names are relative to this directory, which is also that of the step. */
static char **
words_of(const struct vs_repetition *repetition, const struct cmd *action)
{
	const struct vs_place *place = repetition->place;
	const struct options *options = repetition->options;
	char database[PATH_SIZE];
	struct words words = {.items = kept_array(OPTIONS_MAX + options->engine_option_count +
					      options->job_setting_count,
				      sizeof(*words.items))};
	database_path(database, repetition);
	add_word(&words, kept_text("mininb"));
	add_word(&words, kept_text("%s", action->name));
	add_typed(&words, options, action);
	add_word(&words, kept_text("--quiet"));
	bool is_shuffled = action == &cmd_shuffle || action == &cmd_get;
	if (is_shuffled && place->shuffled[0] != '\0')
		add_word(&words, kept_text("--keys=%s", place->shuffled));
	else if (place->keys[0] != '\0')
		add_word(&words, kept_text("--keys=%s", place->keys));
	else if (options_were_given(options, "keys"))
		add_word(&words, kept_text("--keys=%s", options->keys));
	if (action == &cmd_keys || action == &cmd_shuffle)
		return words.items;
	add_word(&words, kept_text("--driver=%s", options->driver));
	add_word(&words, kept_text("--path=%s", database));
	add_word(&words, kept_text("--output=%s/result.json", place->directory));
	add_word(&words, kept_text("--hang-after=%" PRIu64 "ns", options->hang_after_ns));
	if (action == &cmd_put || action == &cmd_load ||
		(action == &cmd_replay && options->workload == NULL))
		add_word(&words, kept_text("--fresh"));
	for (size_t i = 0; i < options->engine_option_count; i++)
		add_word(&words, kept_text("--option=%s", options->engine_options[i]));
	for (size_t i = 0; i < options->job_setting_count && has_workload(options); i++)
		add_word(&words, kept_text("--set=%s", options->job_settings[i]));
	return words.items;
}

/* ---- a step ---- */

static _Noreturn void
be_step(char **words, int errors, pid_t parent)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	nb_launch_forget(); /* its runs are not those of ranks */
	if (getppid() == parent && dup2(null, STDIN_FILENO) >= 0 &&
		dup2(null, STDOUT_FILENO) >= 0 && dup2(errors, STDERR_FILENO) >= 0)
		execv("/proc/self/exe", words);
	_exit(STATUS_FAILED);
}

static int
look(void *arg, bool is_stopping)
{
	const struct vs_repetition *repetition = arg;
	if (repetition->tick != NULL && !is_stopping)
		repetition->tick(repetition->tick_arg);
	return INTERRUPT_LOOK_MS;
}

/** Shows its standard error, indented. If it failed, appends the first line to `end`. */
static void
show_errors(int errors, bool has_failed, char *end, size_t size)
{
	static const char begin[] = "mininb: ";
	FILE *file = lseek(errors, 0, SEEK_SET) == 0 ? fdopen(dup(errors), "r") : NULL;
	char line[2048];
	bool has_reason = !has_failed;
	while (file != NULL && fgets(line, sizeof(line), file) != NULL) {
		size_t length = strcspn(line, "\n"), used = strlen(end);
		line[length] = '\0';
		fprintf(stderr, "  %s\n", line);
		if (has_reason || strncmp(line, begin, sizeof(begin) - 1) != 0)
			continue;
		snprintf(end + used, size - used, ": %s", line + sizeof(begin) - 1);
		has_reason = true;
	}
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
	char **words = words_of(repetition, action);
	int errors = memfd_create("errors", MFD_CLOEXEC), rc = STATUS_INTERRUPTED;
	fflush(NULL);
	pid_t parent = getpid(), pid = errors >= 0 ? fork() : -1;
	if (pid == 0)
		be_step(words, errors, parent);
	if (pid < 0) {
		snprintf(end, size, "cannot start a process: %s", strerror(errno));
		return message_failed("%s: %s", repetition->label, end);
	}
	int status = interrupt_wait(pid, look, (void *)repetition);
	if (!nb_stop_requested())
		rc = WIFEXITED(status) ? WEXITSTATUS(status) : STATUS_FAILED;
	bool has_failed = rc != STATUS_DONE && rc != STATUS_INTERRUPTED;
	if (has_failed)
		report_failure(repetition, action, status, end, size);
	if (rc != STATUS_INTERRUPTED)
		show_errors(errors, has_failed, end, size);
	close(errors);
	return rc;
}

/* ---- the repetition ---- */

/**
 * Whether load has records to insert; the groups of other workloads insert all that they need.
 */
static bool
has_records(const struct options *options)
{
	struct nb_job *job = NULL;
	bool has_some = true; /* also for a wrong workload, which load then rejects */
	if (job_options_read(&job, options->workload, options) == 0) {
		has_some = job->records > 0;
		nb_job_delete(job);
	}
	return has_some;
}

size_t
vs_steps(const struct options *options, const struct cmd *steps[VS_STEPS])
{
	size_t count = 0;
	if (!has_trace(options)) {
		bool is_job = has_workload(options);
		if (!is_job || has_records(options))
			steps[count++] = is_job ? &cmd_load : &cmd_put;
		steps[count++] = is_job ? &cmd_run : &cmd_get;
		return count;
	}
	if (options->workload != NULL)
		steps[count++] = &cmd_load;
	steps[count++] = &cmd_replay;
	return count;
}

/** Appends the results of the steps; returns their status. *rc: a code of the library. */
static int
run_steps(const struct vs_repetition *repetition, struct nb_results *results, int *rc)
{
	const struct cmd *steps[VS_STEPS];
	size_t count = vs_steps(repetition->options, steps);
	char path[PATH_SIZE], end[256] = "";
	int status = STATUS_DONE;
	snprintf(path, sizeof(path), "%s/result.json", repetition->place->directory);
	for (size_t i = 0; i < count && status == STATUS_DONE && *rc == 0; i++) {
		unlink(path);
		status = run_step(repetition, steps[i], end, sizeof(end));
		if (status != STATUS_INTERRUPTED)
			*rc = output_take(results, path, repetition->options->driver, end);
	}
	return status;
}

int
vs_repeat(const struct vs_repetition *repetition)
{
	struct nb_results *results;
	char database[PATH_SIZE];
	int status = STATUS_DONE, rc = nb_results_new(&results);
	database_path(database, repetition);
	if (rc == 0)
		status = run_steps(repetition, results, &rc);
	if (rc == 0 && status != STATUS_INTERRUPTED) {
		nb_results_set_contestant(
			results, repetition->contestant, repetition->label, repetition->round);
		rc = nb_results_append(repetition->results, results);
	}
	nb_results_delete(results);
	if (!repetition->keeps_data)
		remove_tree(database);
	int kept = message_last_failure(rc);
	return status == STATUS_DONE ? kept : status;
}

/* ---- orders ---- */

/** splitmix64 (Steele, Lea and Flood, OOPSLA 2014). */
static uint64_t
next_random(uint64_t *state)
{
	uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);
	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	return z ^ (z >> 31);
}

/* Fisher-Yates shuffle. The remainder favours an order by less than 2^-47. */
void
vs_draw_order(size_t *order, size_t count, uint64_t seed, uint32_t round)
{
	uint64_t state = seed + ((uint64_t)round << 32);
	for (size_t i = 0; i < count; i++)
		order[i] = i;
	for (size_t i = count; i > 1; i--) {
		size_t other = next_random(&state) % i, kept = order[i - 1];
		order[i - 1] = order[other];
		order[other] = kept;
	}
}

/* ---- directories ---- */

int
vs_check(const struct options *options)
{
	if (!options->is_shuffled || (!has_workload(options) && !has_trace(options)))
		return STATUS_DONE;
	return message_usage(
		"--shuffle is for put and get of keys; a workload or trace has an order of its own");
}

/** Copies the keys that put uses: only their first `count`. */
static int
copy_keys(const char *to, const char *from, const struct options *options)
{
	uint64_t left = options->count * options->key_size;
	int in = open(from, O_RDONLY | O_CLOEXEC);
	if (in < 0)
		return message_failed("--keys: %s: %s", from, strerror(errno));
	int out = open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
	ssize_t copied = out < 0 ? -1 : 1;
	while (copied > 0 && left > 0 && !nb_stop_requested()) {
		size_t most = left < COPY_BYTES ? (size_t)left : COPY_BYTES;
		copied = sendfile(out, in, NULL, most);
		left -= copied > 0 ? (uint64_t)copied : 0;
	}
	int failure = errno;
	close(in);
	if (out >= 0 && close(out) != 0 && copied >= 0) {
		failure = errno;
		copied = -1;
	}
	if (copied < 0)
		return message_failed(
			"cannot copy the keys %s to %s: %s", from, to, strerror(failure));
	if (copied == 0 && left > 0)
		return message_failed("--keys: %s: holds fewer than %" PRIu64
				      " keys of %" PRIu64
				      " bytes; lower --count, or give a longer file",
			from, options->count, options->key_size);
	return STATUS_DONE;
}

/** Copies the keys in another order. */
static int
shuffle_keys(struct vs_place *place, const struct vs_repetition *repetition)
{
	char end[160];
	const struct options *options = repetition->options;
	if (!options->is_shuffled)
		return STATUS_DONE;
	snprintf(place->shuffled, sizeof(place->shuffled), "%s/shuffled.bin", place->directory);
	int status = copy_keys(
		place->shuffled, place->keys[0] != '\0' ? place->keys : options->keys, options);
	return status == STATUS_DONE ? run_step(repetition, &cmd_shuffle, end, sizeof(end))
				     : status;
}

/** Makes the key file, unless the user has one. */
static int
make_keys(struct vs_place *place, const struct options *options)
{
	char end[160];
	int status = STATUS_DONE;
	struct vs_repetition repetition = {.place = place, .options = options, .label = "vs"};
	if (has_workload(options) || has_trace(options))
		return STATUS_DONE;
	if (!options_were_given(options, "keys")) {
		snprintf(place->keys, sizeof(place->keys), "%s/keys.bin", place->directory);
		status = run_step(&repetition, &cmd_keys, end, sizeof(end));
	}
	return status == STATUS_DONE ? shuffle_keys(place, &repetition) : status;
}

int
vs_place_create(struct vs_place *place, const struct options *options)
{
	*place = (struct vs_place){.keys = ""};
	int status = message_last_failure(nb_tree_make(options->path));
	if (status != STATUS_DONE)
		return status;
	snprintf(place->directory, sizeof(place->directory), "%s/vs-XXXXXX", options->path);
	/* accessible, because a private server may run as another user */
	if (mkdtemp(place->directory) == NULL || chmod(place->directory, 0711) != 0) {
		return message_failed("--path: cannot make a directory in %s: %s",
			options->path, strerror(errno));
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
